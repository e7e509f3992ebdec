//! What a node's resources did over a run.

use super::detail::groups;
use crate::base64;
use paceline_model::{Measure, Sample};
use serde_json::{Value, json};

/// A line of the time lines, in the order the page knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// CPUs that the run kept busy.
    RunCpus,
    /// CPUs that anything on the node kept busy.
    NodeCpus,
    /// Memory of the run, in bytes.
    RunMemory,
    /// Memory in use on the node, in bytes.
    NodeMemory,
    /// Bytes per second that the run read from disks.
    DiskRead,
    /// Bytes per second that the run wrote to disks.
    DiskWrite,
    /// Bytes per second that the run received from other hosts; the node, where
    /// nobody knows whose they are.
    NetReceived,
    /// Bytes per second that the run sent to other hosts; or the node.
    NetSent,
    /// Bytes per second over loopback.
    Loopback,
    /// The share of the time in which the run's GPUs executed anything.
    RunGpus,
    /// The same of all GPUs of the node.
    NodeGpus,
}

impl Resource {
    /// Every line, in the order of the page's data.
    pub const ALL: [Self; 11] = [
        Self::RunCpus,
        Self::NodeCpus,
        Self::RunMemory,
        Self::NodeMemory,
        Self::DiskRead,
        Self::DiskWrite,
        Self::NetReceived,
        Self::NetSent,
        Self::Loopback,
        Self::RunGpus,
        Self::NodeGpus,
    ];

    /// What a sample says, if it says it.
    #[must_use]
    pub fn of(self, sample: &Sample) -> Option<f64> {
        let read = |measure| sample.readings.get(measure);
        let both = |a, b| Some(read(a)? + read(b)?);
        let per_second = |amount: Option<f64>| {
            let seconds = sample.interval.as_secs();
            amount.filter(|_| seconds > 0.0).map(|x| x / seconds)
        };
        match self {
            Self::RunCpus => per_second(both(Measure::RunCpuUser, Measure::RunCpuSystem)),
            Self::NodeCpus => per_second(both(Measure::NodeCpuUser, Measure::NodeCpuSystem)),
            // Processes that have just exited have no memory, which is not what
            // the run worked with.
            Self::RunMemory => read(Measure::RunMemPss)
                .or(read(Measure::RunMemRss))
                .filter(|&bytes| bytes > 0.0),
            Self::NodeMemory => {
                Some(read(Measure::NodeMemTotal)? - read(Measure::NodeMemAvailable)?)
            }
            Self::DiskRead => per_second(read(Measure::RunDiskRead)),
            Self::DiskWrite => per_second(read(Measure::RunDiskWrite)),
            Self::NetReceived => per_second(read(Measure::RunNetRx).or(read(Measure::NodeNetRx))),
            Self::NetSent => per_second(read(Measure::RunNetTx).or(read(Measure::NodeNetTx))),
            Self::Loopback => {
                per_second(read(Measure::RunLoopbackTx).or(read(Measure::NodeLoopback)))
            }
            Self::RunGpus => read(Measure::RunGpuBusy),
            Self::NodeGpus => read(Measure::NodeGpuBusy),
        }
    }
}

/// The time lines of one node, thinned and encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeTrace(Value);

impl NodeTrace {
    /// The lines of a node with this many CPUs, in at most `points` points each.
    #[must_use]
    pub fn of(node: &str, cpus: usize, samples: &[Sample], points: usize) -> Self {
        let thinned = groups(samples.len(), points);
        let times: Vec<u32> = thinned
            .clone()
            .map(|group| {
                let at = samples[group.end - 1].at.0 / 1_000;
                u32::try_from(at).unwrap_or(u32::MAX)
            })
            .collect();
        let series = Resource::ALL.map(|resource| {
            let extremes: Vec<Option<(f64, f64)>> = thinned
                .clone()
                .map(|group| extremes(samples[group].iter().filter_map(|s| resource.of(s))))
                .collect();
            encode(&extremes)
        });
        Self(json!({ "n": node, "c": cpus, "t": base64::of_u32(&times), "s": series }))
    }

    /// The page's data.
    pub(crate) fn data(&self) -> &Value {
        &self.0
    }
}

fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |found, value| {
            let (low, high) = found.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })
}

/// What stands for a value that was not read.
const ABSENT: u16 = u16::MAX;
const STEPS: f64 = 65_534.0;

/// Least and greatest values as shares of the largest, in 16 bits: finer than
/// any screen. Nothing read is `null`; all zeros need no list.
fn encode(extremes: &[Option<(f64, f64)>]) -> Value {
    let largest = extremes.iter().flatten().map(|e| e.1).reduce(f64::max);
    let Some(largest) = largest else {
        return Value::Null;
    };
    let all_read = extremes.iter().all(Option::is_some);
    if largest <= 0.0 && all_read {
        return json!({ "m": 0 });
    }
    let step = |value: f64| {
        let share = if largest > 0.0 { value / largest } else { 0.0 };
        (share.clamp(0.0, 1.0) * STEPS).round() as u16
    };
    let of = |pick: fn(&(f64, f64)) -> f64| -> Vec<u16> {
        let steps = extremes.iter();
        steps
            .map(|e| e.as_ref().map_or(ABSENT, |e| step(pick(e))))
            .collect()
    };
    let (low, high) = (of(|e| e.0), of(|e| e.1));
    if low == high {
        json!({ "m": largest, "h": base64::of_u16(&high) })
    } else {
        json!({ "m": largest, "l": base64::of_u16(&low), "h": base64::of_u16(&high) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::{Micros, Readings};

    fn samples(cpu: &[Option<f64>]) -> Vec<Sample> {
        let sample = |(i, cpu): (usize, &Option<f64>)| {
            let mut readings = Readings::default();
            if let Some(cpu) = cpu {
                readings.set(Measure::RunCpuUser, *cpu);
                readings.set(Measure::RunCpuSystem, 0.0);
            }
            Sample {
                at: Micros(500_000 * (i as u64 + 1)),
                interval: Micros(500_000),
                gap: None,
                readings,
                parts: Vec::new(),
            }
        };
        cpu.iter().enumerate().map(sample).collect()
    }

    fn cpu_line(cpu: &[Option<f64>], points: usize) -> Value {
        let trace = NodeTrace::of("n", 2, &samples(cpu), points);
        trace.data()["s"][0].clone()
    }

    #[test]
    fn amounts_become_rates_and_absent_readings_stay_absent() {
        let line = cpu_line(&[Some(0.25), None, Some(0.5)], 10);
        assert_eq!(line["m"], 1.0);
        assert_eq!(line["h"], base64::of_u16(&[32_767, ABSENT, 65_534]));
        assert!(line.get("l").is_none(), "least and greatest are the same");
    }

    #[test]
    fn thinning_keeps_the_least_and_the_greatest() {
        let line = cpu_line(&[Some(0.0), Some(0.5), Some(0.25), None], 2);
        assert_eq!(line["l"], base64::of_u16(&[0, 32_767]));
        assert_eq!(line["h"], base64::of_u16(&[65_534, 32_767]));
    }

    #[test]
    fn nothing_read_and_nothing_used_are_told_apart() {
        assert_eq!(cpu_line(&[None, None], 5), Value::Null);
        assert_eq!(cpu_line(&[Some(0.0)], 5), json!({ "m": 0 }));
    }
}
