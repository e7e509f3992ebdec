//! Samples and events as bytes.
//!
//! Numbers are little-endian. Readings are a mask of the measures present, one
//! bit per line of the dictionary in as many words of 64 bits as that takes, and a
//! double for each.

use super::Codec;
use paceline_model::{
    Event, EventKind, GapReason, Measure, Micros, PartKind, PartMeasure, PartReading, PartReadings,
    Readings, Sample, WorkerId,
};

/// The longest name or text of an event, in bytes; the rest is cut and its
/// length stated, so that a job that reports nonsense cannot fill the record.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// A word of a log's dictionary that this version of Paceline has no meaning for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log speaks of `{0}`, which this version of Paceline does not know")]
pub struct UnknownName(String);

impl UnknownName {
    pub(super) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// Samples of one node.
pub(crate) struct SampleCodec {
    /// A measure that a newer version added is unknown, and skipped.
    measures: Vec<Option<Measure>>,
    part_measures: Vec<Option<PartMeasure>>,
    parts: Vec<PartKind>,
    gaps: Vec<GapReason>,
}

/// Events of a run.
pub(crate) struct EventCodec {
    kinds: Vec<EventKind>,
}

impl Codec for SampleCodec {
    type Item = Sample;

    fn dictionary() -> Vec<u8> {
        let measures = Measure::ALL.iter().map(|m| ("measure", m.name()));
        let part_measures = PartMeasure::ALL.iter().map(|m| ("part_measure", m.name()));
        let parts = PartKind::ALL.iter().map(|p| ("part", p.name()));
        let gaps = GapReason::ALL.iter().map(|g| ("gap", g.name()));
        lines(
            "samples",
            measures.chain(part_measures).chain(parts).chain(gaps),
        )
    }

    fn from_dictionary(dictionary: &[u8]) -> Result<Self, UnknownName> {
        let mut codec = Self {
            measures: Vec::new(),
            part_measures: Vec::new(),
            parts: Vec::new(),
            gaps: Vec::new(),
        };
        for (topic, name) in parse_lines("samples", dictionary)? {
            match topic {
                "measure" => codec.measures.push(Measure::from_name(name)),
                "part_measure" => codec.part_measures.push(PartMeasure::from_name(name)),
                "part" => codec
                    .parts
                    .push(known(name, &PartKind::ALL, PartKind::name)?),
                "gap" => codec
                    .gaps
                    .push(known(name, &GapReason::ALL, GapReason::name)?),
                _ => return Err(UnknownName(topic.to_owned())),
            }
        }
        Ok(codec)
    }

    fn encode(sample: &Sample, out: &mut Vec<u8>) {
        put_u64(out, sample.at.0);
        put_u64(out, sample.interval.0);
        out.push(match sample.gap {
            None => 0,
            Some(gap) => 1 + gap as u8,
        });
        let values = sample.readings.iter().map(|(m, v)| (m as usize, v));
        put_readings(out, Measure::ALL.len(), values);
        put_u32(out, sample.parts.len());
        for part in &sample.parts {
            out.push(part.kind as u8);
            put_text(out, &part.name);
            let values = part.readings.iter().map(|(m, v)| (m as usize, v));
            put_readings(out, PartMeasure::ALL.len(), values);
        }
    }

    fn decode(&self, payload: &[u8]) -> Option<Sample> {
        let mut input = Input(payload);
        let at = Micros(input.u64()?);
        let interval = Micros(input.u64()?);
        let gap = match input.u8()? {
            0 => None,
            n => Some(*self.gaps.get(usize::from(n) - 1)?),
        };
        let readings: Readings = input.readings(&self.measures)?;
        let count = input.u32()?;
        // A part has at least thirteen bytes: a count that cannot be is not allocated for.
        let mut parts = Vec::with_capacity(count.min(payload.len() / 13));
        for _ in 0..count {
            let kind = *self.parts.get(usize::from(input.u8()?))?;
            let name = input.text()?;
            let readings: PartReadings = input.readings(&self.part_measures)?;
            parts.push(PartReading {
                kind,
                name,
                readings,
            });
        }
        input.end()?;
        Some(Sample {
            at,
            interval,
            gap,
            readings,
            parts,
        })
    }
}

impl Codec for EventCodec {
    type Item = Event;

    fn dictionary() -> Vec<u8> {
        lines("events", EventKind::ALL.iter().map(|k| ("kind", k.name())))
    }

    fn from_dictionary(dictionary: &[u8]) -> Result<Self, UnknownName> {
        let mut kinds = Vec::new();
        for (topic, name) in parse_lines("events", dictionary)? {
            match topic {
                "kind" => kinds.push(known(name, &EventKind::ALL, EventKind::name)?),
                _ => return Err(UnknownName(topic.to_owned())),
            }
        }
        Ok(Self { kinds })
    }

    fn encode(event: &Event, out: &mut Vec<u8>) {
        put_u64(out, event.at.0);
        out.push(event.kind as u8);
        let mask = u8::from(event.worker.is_some())
            | u8::from(event.step.is_some()) << 1
            | u8::from(event.value.is_some()) << 2
            | u8::from(event.text.is_some()) << 3;
        out.push(mask);
        if let Some(WorkerId(worker)) = event.worker {
            out.extend_from_slice(&worker.to_le_bytes());
        }
        if let Some(step) = event.step {
            put_u64(out, step);
        }
        if let Some(value) = event.value {
            put_u64(out, value.to_bits());
        }
        put_text(out, &event.name);
        if let Some(text) = &event.text {
            put_text(out, text);
        }
    }

    fn decode(&self, payload: &[u8]) -> Option<Event> {
        let mut input = Input(payload);
        let at = Micros(input.u64()?);
        let kind = *self.kinds.get(usize::from(input.u8()?))?;
        let mask = input.u8()?;
        let has = |bit: u8| mask >> bit & 1 == 1;
        let (worker, step, value, text) = (has(0), has(1), has(2), has(3));
        let event = Event {
            at,
            kind,
            worker: match worker {
                true => Some(WorkerId(input.u32()? as u32)),
                false => None,
            },
            step: match step {
                true => Some(input.u64()?),
                false => None,
            },
            value: match value {
                true => Some(f64::from_bits(input.u64()?)),
                false => None,
            },
            name: input.text()?,
            text: match text {
                true => Some(input.text()?),
                false => None,
            },
        };
        input.end()?;
        Some(event)
    }
}

pub(super) fn lines(
    title: &str,
    entries: impl Iterator<Item = (&'static str, &'static str)>,
) -> Vec<u8> {
    let mut text = format!("{title}\n");
    for (topic, name) in entries {
        text.push_str(topic);
        text.push(' ');
        text.push_str(name);
        text.push('\n');
    }
    text.into_bytes()
}

pub(super) fn parse_lines<'a>(
    title: &str,
    dictionary: &'a [u8],
) -> Result<Vec<(&'a str, &'a str)>, UnknownName> {
    let unknown = |text: &str| UnknownName(text.to_owned());
    let text = std::str::from_utf8(dictionary).map_err(|_| unknown("bytes that are not text"))?;
    let mut lines = text.lines();
    match lines.next() {
        Some(found) if found == title => {}
        found => return Err(unknown(found.unwrap_or_default())),
    }
    lines
        .map(|line| line.split_once(' ').ok_or_else(|| unknown(line)))
        .collect()
}

fn known<T: Copy>(name: &str, all: &[T], name_of: fn(T) -> &'static str) -> Result<T, UnknownName> {
    all.iter()
        .copied()
        .find(|&item| name_of(item) == name)
        .ok_or_else(|| UnknownName(name.to_owned()))
}

fn put_u32(out: &mut Vec<u8>, value: usize) {
    let value = u32::try_from(value).expect("a frame has at most 16 MiB");
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    if text.len() <= MAX_TEXT_BYTES {
        put_u32(out, text.len());
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let kept = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    let clipped = format!("{kept}… ({} bytes cut)", text.len() - kept.len());
    put_u32(out, clipped.len());
    out.extend_from_slice(clipped.as_bytes());
}

/// The bytes of a mask over so many measures.
const fn mask_bytes(measures: usize) -> usize {
    measures.div_ceil(64) * 8
}

fn put_readings(out: &mut Vec<u8>, measures: usize, values: impl Iterator<Item = (usize, f64)>) {
    let mask_at = out.len();
    out.resize(mask_at + mask_bytes(measures), 0);
    for (index, value) in values {
        // A word's bytes are little-endian, so that bit `n` of all words is bit
        // `n % 8` of byte `n / 8`.
        out[mask_at + index / 8] |= 1 << (index % 8);
        put_u64(out, value.to_bits());
    }
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<usize> {
        self.take().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.u32()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }

    fn readings<M: Copy, R: FromIterator<(M, f64)>>(
        &mut self,
        measures: &[Option<M>],
    ) -> Option<R> {
        let (mask, rest) = self.0.split_at_checked(mask_bytes(measures.len()))?;
        self.0 = rest;
        let mut pairs = Vec::new();
        for bit in 0..8 * mask.len() {
            if mask[bit / 8] >> (bit % 8) & 1 == 1 {
                let measure = *measures.get(bit)?;
                let value = f64::from_bits(self.u64()?);
                pairs.extend(measure.map(|measure| (measure, value)));
            }
        }
        Some(pairs.into_iter().collect())
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
