//! What is in flight, in the order of simulated time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a seed means the same run
/// for ever, which no library's default generator promises.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; zero if `bound` is zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// How bad the network is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// A message takes 1 to this long, each on its own: messages overtake.
    pub(crate) delay: u64,
    /// Percent of messages that are lost.
    pub(crate) loss: u64,
    /// Percent of messages that arrive twice.
    pub(crate) repeat: u64,
}

/// Events waiting for their time; events of one time keep their order.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    now: u64,
    entered: u64,
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Option<E>>,
}

impl<E: Clone> Agenda<E> {
    pub(crate) fn new() -> Self {
        Self {
            now: 0,
            entered: 0,
            heap: BinaryHeap::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn after(&mut self, delay: u64, event: E) {
        self.events.push(Some(event));
        self.heap.push(Reverse((
            self.now + delay,
            self.entered,
            self.events.len() - 1,
        )));
        self.entered += 1;
    }

    /// Sends through the weather.
    pub(crate) fn send(&mut self, weather: Weather, random: &mut Random, event: E) {
        if random.percent(weather.repeat) {
            let delay = 1 + random.below(weather.delay);
            self.after(delay, event.clone());
        }
        if !random.percent(weather.loss) {
            let delay = 1 + random.below(weather.delay);
            self.after(delay, event);
        }
    }

    pub(crate) fn next(&mut self) -> Option<E> {
        let Reverse((time, _, index)) = self.heap.pop()?;
        self.now = time;
        self.events[index].take()
    }
}
