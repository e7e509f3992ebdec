//! `/proc/pressure`: how long tasks stalled for want of CPU, memory or disk.

use crate::counter::{Counter, Tick};
use crate::roots::Roots;
use crate::scan::{lines, number, words};
use crate::source::{Buffer, Source};
use paceline_model::{Measure, Readings};

/// One PSI file and what its two lines are called in a sample.
#[derive(Debug)]
pub(crate) struct Stalled {
    source: Source,
    some: (Counter, Measure),
    full: Option<(Counter, Measure)>,
}

impl Stalled {
    pub(crate) fn new(source: Source, some: Measure, full: Option<Measure>) -> Self {
        Self {
            source,
            some: (Counter::default(), some),
            full: full.map(|measure| (Counter::default(), measure)),
        }
    }

    /// Reads lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`,
    /// whose total is in microseconds (Documentation/accounting/psi.rst).
    pub(crate) fn read(&mut self, tick: &mut Tick, buffer: &mut Buffer, readings: &mut Readings) {
        let Some(text) = self.source.read(buffer) else {
            return;
        };
        for line in lines(text) {
            let (counter, measure) = match line {
                [b's', b'o', b'm', b'e', ..] => (&mut self.some.0, self.some.1),
                [b'f', b'u', b'l', b'l', ..] => match &mut self.full {
                    Some((counter, measure)) => (counter, *measure),
                    None => continue,
                },
                _ => continue,
            };
            let amount = words(line)
                .last()
                .and_then(|word| word.strip_prefix(b"total="))
                .and_then(number)
                .and_then(|now| counter.amount(now, tick));
            if let Some(micros) = amount {
                readings.set(measure, micros as f64 / 1e6);
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pressure {
    resources: [Stalled; 3],
}

impl Pressure {
    pub(crate) fn open(roots: &Roots) -> Self {
        let file = |name: &str| Source::open(roots.proc.join("pressure").join(name));
        Self {
            resources: [
                // The node as a whole has no `full` for CPU: some task always
                // runs, and the kernel reports zero there for old readers only.
                Stalled::new(file("cpu"), Measure::NodePsiCpuSome, None),
                Stalled::new(
                    file("memory"),
                    Measure::NodePsiMemorySome,
                    Some(Measure::NodePsiMemoryFull),
                ),
                Stalled::new(
                    file("io"),
                    Measure::NodePsiIoSome,
                    Some(Measure::NodePsiIoFull),
                ),
            ],
        }
    }

    pub(crate) fn read(&mut self, tick: &mut Tick, buffer: &mut Buffer, readings: &mut Readings) {
        for resource in &mut self.resources {
            resource.read(tick, buffer, readings);
        }
    }
}
