//! What GPUs did, what they waited for, and the energy of all of it.

use crate::Amount;
use crate::bottleneck::{Class, Holder, Limits};
use crate::tally::Level;
use paceline_model::{Measure, PartKind, PartMeasure, ProcessName, Sample};

/// Joules of a run, by who used them. What never told is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energy {
    /// The processors of the node.
    pub cpu: Option<f64>,
    /// The memory of the node.
    pub dram: Option<f64>,
    /// The GPUs of the node.
    pub gpu: Option<f64>,
}

impl Energy {
    pub(crate) fn add(&mut self, sample: &Sample) {
        for (sum, measure) in [
            (&mut self.cpu, Measure::NodeCpuEnergy),
            (&mut self.dram, Measure::NodeDramEnergy),
            (&mut self.gpu, Measure::NodeGpuEnergy),
        ] {
            if let Some(joules) = sample.readings.get(measure) {
                *sum = Some(sum.unwrap_or(0.0) + joules);
            }
        }
    }

    /// The sum of those that told.
    #[must_use]
    pub fn total(&self) -> Option<f64> {
        let told = [self.cpu, self.dram, self.gpu].into_iter().flatten();
        told.reduce(|a, b| a + b)
    }
}

/// GPUs are read at most once a second, whatever the interval of the samples is:
/// each reading stands for the time since the one before.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct GpuTally {
    run: Levels,
    node: Levels,
    power: Level,
    temperature: Level,
    mem_total: Option<f64>,
    gpus: Option<f64>,
    run_gpus: Option<f64>,
    since: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Levels {
    busy: Level,
    memory: Level,
}

impl GpuTally {
    pub(crate) fn add(&mut self, sample: &Sample) {
        let read = |measure| sample.readings.get(measure);
        self.since += sample.interval.as_secs();
        let Some(gpus) = read(Measure::NodeGpus) else {
            return;
        };
        let seconds = std::mem::take(&mut self.since);
        let most = |a: Option<f64>, b: Option<f64>| a.map_or(b, |a| Some(a.max(b.unwrap_or(a))));
        self.gpus = most(self.gpus, Some(gpus));
        self.run_gpus = most(self.run_gpus, read(Measure::RunGpus));
        self.mem_total = most(self.mem_total, read(Measure::NodeGpuMemTotal));
        for (level, measure) in [
            (&mut self.run.busy, Measure::RunGpuBusy),
            (&mut self.run.memory, Measure::RunGpuMem),
            (&mut self.node.busy, Measure::NodeGpuBusy),
            (&mut self.node.memory, Measure::NodeGpuMem),
            (&mut self.power, Measure::NodeGpuPower),
            (&mut self.temperature, Measure::NodeGpuTemperature),
        ] {
            level.add(read(measure), seconds);
        }
    }

    /// Of the run's GPUs; where no driver tells whose they are, of the node's. A run
    /// that was on none has none.
    fn levels(&self) -> Option<&Levels> {
        match self.run_gpus {
            Some(0.0) => None,
            Some(_) => Some(&self.run),
            None => Some(&self.node),
        }
    }

    pub(crate) fn busy(&self) -> Option<Amount> {
        self.levels()?.busy.amount()
    }

    pub(crate) fn memory(&self) -> Option<Amount> {
        self.levels()?.memory.amount()
    }
}

/// What is known of the GPUs of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpus {
    /// How many the node has.
    pub count: f64,
    /// On how many the run was; nothing if no driver tells.
    pub of_run: Option<f64>,
    /// The share of the time in which they executed anything: the run's GPUs, or the
    /// node's where no driver tells whose they are.
    pub busy: Option<Amount>,
    /// Bytes in use: the run's, or the node's where no driver tells whose they are.
    pub memory_bytes: Option<Amount>,
    /// Bytes of all GPUs of the node.
    pub memory_total_bytes: Option<f64>,
    /// Watts of all GPUs of the node.
    pub power_w: Option<Amount>,
    /// Degrees Celsius of the hottest.
    pub temperature_celsius: Option<Amount>,
    /// What the run's GPUs waited for while they were idle, if one thing explains
    /// most of it.
    pub waited_for: Option<WaitedFor>,
}

/// What GPUs waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitedFor {
    /// What.
    pub what: Awaited,
    /// The share of the GPUs' idle time in which it was seen, from 0 to 1.
    pub share: f64,
}

/// What a GPU can wait for.
#[derive(Debug, Clone, PartialEq)]
pub enum Awaited {
    /// Processes of the run that are on no GPU computed, while those on a GPU did not.
    Others {
        /// CPUs that they kept busy meanwhile, on average.
        cpus: f64,
        /// Whether all of them are PyTorch's data loaders, which it names.
        are_loaders: bool,
    },
    /// The process on the GPU itself kept a CPU busy with something else.
    Host,
    /// Another resource held the run back.
    Resource(Holder),
}

/// A GPU that is busy for this share of the time hardly waits.
const HARDLY_WAITS: f64 = 0.85;
/// One thing explains idle GPUs if it was seen in this share of their idle time.
const EXPLAINS: f64 = 0.6;
/// A process below this share of a CPU waits itself.
const WAITS_ITSELF: f64 = 0.5;
impl Gpus {
    pub(crate) fn of(
        tally: &GpuTally,
        samples: &[Sample],
        classes: &[Class],
        limits: &Limits,
    ) -> Option<Self> {
        let busy = tally.busy();
        let waits = tally.run_gpus.is_some() && busy.is_some_and(|busy| busy.mean < HARDLY_WAITS);
        Some(Self {
            count: tally.gpus?,
            of_run: tally.run_gpus,
            busy,
            memory_bytes: tally.memory(),
            memory_total_bytes: tally.mem_total,
            power_w: tally.power.amount(),
            temperature_celsius: tally.temperature.amount(),
            waited_for: waits
                .then(|| waited_for(samples, classes, limits))
                .flatten(),
        })
    }
}

fn waited_for(samples: &[Sample], classes: &[Class], limits: &Limits) -> Option<WaitedFor> {
    let mut idle = 0.0;
    let (mut others, mut host) = (0.0, 0.0);
    let (mut cpus, mut are_loaders) = (0.0, true);
    let mut held: Vec<(Holder, f64)> = Vec::new();
    for (sample, class) in samples.iter().zip(classes) {
        let Some(busy) = sample.readings.get(Measure::RunGpuBusy) else {
            continue;
        };
        let weight = (1.0 - busy).max(0.0) * sample.interval.as_secs();
        idle += weight;
        match class.holder {
            Holder::Resource(crate::Resource::Cpu | crate::Resource::Gpu) | Holder::Nothing => {}
            holder => {
                match held.iter_mut().find(|(known, _)| *known == holder) {
                    Some((_, sum)) => *sum += weight,
                    None => held.push((holder, weight)),
                }
                continue;
            }
        }
        let work = Work::of(sample, limits);
        if work.on_gpu >= limits.cpu_of_one {
            host += weight;
        } else if work.on_gpu < WAITS_ITSELF && work.others >= limits.cpu_of_one {
            others += weight;
            cpus += weight * work.others_cpus;
            are_loaders &= work.are_loaders;
        }
    }
    let mut candidates = vec![
        (
            Awaited::Others {
                cpus: cpus / f64::max(others, f64::MIN_POSITIVE),
                are_loaders,
            },
            others,
        ),
        (Awaited::Host, host),
    ];
    candidates.extend(
        held.into_iter()
            .map(|(by, sum)| (Awaited::Resource(by), sum)),
    );
    let (what, sum) = candidates
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|&(_, sum)| idle > 0.0 && sum >= EXPLAINS * idle)?;
    Some(WaitedFor {
        what,
        share: sum / idle,
    })
}

/// What the run's processes did in one interval, in CPUs.
struct Work {
    /// The busiest process that is on a GPU.
    on_gpu: f64,
    /// The busiest process that is on none.
    others: f64,
    /// All those that are on none and hardly paused.
    others_cpus: f64,
    are_loaders: bool,
}

impl Work {
    fn of(sample: &Sample, limits: &Limits) -> Self {
        let mut work = Self {
            on_gpu: 0.0,
            others: 0.0,
            others_cpus: 0.0,
            are_loaders: true,
        };
        let seconds = sample.interval.as_secs();
        for part in &sample.parts {
            if part.kind != PartKind::Process || seconds <= 0.0 {
                continue;
            }
            let read = |measure| part.readings.get(measure);
            let time = read(PartMeasure::CpuUser).unwrap_or(0.0)
                + read(PartMeasure::CpuSystem).unwrap_or(0.0);
            let cpus = time / seconds;
            let is_on_gpu =
                read(PartMeasure::GpuMem).is_some() || read(PartMeasure::GpuBusy).is_some();
            if is_on_gpu {
                work.on_gpu = work.on_gpu.max(cpus);
            } else {
                work.others = work.others.max(cpus);
                if cpus >= limits.cpu_of_one {
                    work.others_cpus += cpus;
                    let name = ProcessName::parse(&part.name);
                    work.are_loaders &= name.is_some_and(|name| name.is_data_loader());
                }
            }
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, diagnose};
    use paceline_model::{Micros, PartReading, Readings};

    /// One process: its command, its CPUs, and whether it is on the GPU.
    type Process = (&'static str, f64, bool);

    /// Ten seconds in which the run's one GPU was this busy.
    fn gpus(busy: f64, told: bool, processes: &[Process], more: &[(Measure, f64)]) -> Gpus {
        let mut readings: Readings = more.iter().copied().collect();
        readings.set(Measure::NodeGpus, 2.0);
        readings.set(Measure::NodeGpuBusy, busy / 2.0);
        if told {
            readings.set(Measure::RunGpus, 1.0);
            readings.set(Measure::RunGpuBusy, busy);
        }
        let cpus = processes.iter().map(|process| process.1).sum();
        readings.set(Measure::RunCpuUser, cpus);
        let part = |(i, &(command, cpus, on_gpu)): (usize, &Process)| {
            let mut part = PartReading {
                kind: PartKind::Process,
                name: format!("{i} {command}"),
                readings: [(PartMeasure::CpuUser, cpus)].into_iter().collect(),
            };
            if on_gpu {
                part.readings.set(PartMeasure::GpuMem, 1.0);
            }
            part
        };
        let samples: Vec<Sample> = (1..=10)
            .map(|second| Sample {
                at: Micros(second * 1_000_000),
                interval: Micros(1_000_000),
                gap: None,
                readings: readings.clone(),
                parts: processes.iter().enumerate().map(part).collect(),
            })
            .collect();
        let node = Node {
            cpus: 8,
            memory_max_bytes: None,
        };
        diagnose(&samples, &[], node).gpus.expect("there are GPUs")
    }

    fn check(busy: f64, processes: &[Process], more: &[(Measure, f64)], expected: Option<Awaited>) {
        let found = gpus(busy, true, processes, more).waited_for;
        assert_eq!(found.map(|found| found.what), expected);
    }

    #[test]
    fn loaders_that_compute_while_the_gpus_process_waits_are_waited_for() {
        check(
            0.5,
            &[
                ("python", 0.2, true),
                ("pt_data_worker", 1.0, false),
                ("pt_data_worker", 1.0, false),
            ],
            &[],
            Some(Awaited::Others {
                cpus: 2.0,
                are_loaders: true,
            }),
        );
        // Who they are is said only if it is known of all.
        check(
            0.5,
            &[("python", 0.2, true), ("python", 1.0, false)],
            &[],
            Some(Awaited::Others {
                cpus: 1.0,
                are_loaders: false,
            }),
        );
    }

    #[test]
    fn nothing_is_said_without_evidence() {
        // The GPU hardly waits.
        check(
            0.9,
            &[("python", 0.2, true), ("python", 1.0, false)],
            &[],
            None,
        );
        // Nobody computes.
        check(
            0.4,
            &[("python", 0.2, true), ("python", 0.1, false)],
            &[],
            None,
        );
        // Both do half.
        check(
            0.4,
            &[("python", 0.6, true), ("python", 0.9, false)],
            &[],
            None,
        );
        // No driver tells whose GPU it is.
        let found = gpus(0.5, false, &[("python", 1.0, false)], &[]);
        assert_eq!(found.waited_for, None);
        assert_eq!(found.of_run, None);
        assert_eq!(found.busy.map(|busy| busy.mean), Some(0.25));
    }

    #[test]
    fn the_process_on_the_gpu_or_a_disk_is_waited_for() {
        check(0.4, &[("python", 1.0, true)], &[], Some(Awaited::Host));
        check(
            0.4,
            &[("python", 0.1, true)],
            &[(Measure::RunPsiIoSome, 0.7), (Measure::RunDiskRead, 1e8)],
            Some(Awaited::Resource(Holder::Resource(crate::Resource::Disk))),
        );
    }

    #[test]
    fn energy_is_the_sum_of_those_that_told() {
        let mut energy = Energy::default();
        assert_eq!(energy.total(), None);
        let sample = |readings: &[(Measure, f64)]| Sample {
            at: Micros(1),
            interval: Micros(1),
            gap: None,
            readings: readings.iter().copied().collect(),
            parts: Vec::new(),
        };
        energy.add(&sample(&[(Measure::NodeCpuEnergy, 2.0)]));
        energy.add(&sample(&[
            (Measure::NodeCpuEnergy, 3.0),
            (Measure::NodeGpuEnergy, 10.0),
        ]));
        assert_eq!(energy.total(), Some(15.0));
        assert_eq!(energy.dram, None);
    }

    #[test]
    fn a_reading_stands_for_the_time_since_the_one_before() {
        let mut tally = GpuTally::default();
        for tenth in 1..=20u64 {
            let mut readings = Readings::default();
            if tenth == 10 || tenth == 20 {
                readings.set(Measure::NodeGpus, 1.0);
                readings.set(Measure::NodeGpuBusy, if tenth == 10 { 1.0 } else { 0.5 });
            }
            tally.add(&Sample {
                at: Micros(tenth * 100_000),
                interval: Micros(100_000),
                gap: None,
                readings,
                parts: Vec::new(),
            });
        }
        let busy = tally.busy().expect("it was read");
        assert!((busy.mean - 0.75).abs() < 1e-12, "{busy:?}");
        assert_eq!(busy.peak, 1.0);
    }
}
