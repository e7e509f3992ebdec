//! What held a run back, and when.
//!
//! Each sample's interval is given to at most one [`Resource`]: the one that
//! the kernel's pressure stall information (PSI) says tasks waited for, else
//! the one that was used to its limit. Intervals in which neither holds are
//! [`Holder::Nothing`]: the run waited for something that no counter shows, or
//! slept. The thresholds are in [`Limits`] and nowhere else.
//!
//! This crate deliberately reads no record and prints nothing: samples and
//! events come as arguments, findings go out with their evidence.

mod bottleneck;
mod gpu;
mod phases;
mod processes;
mod summary;
mod tally;
mod unusual;
mod workers;

pub use bottleneck::{Cause, Holder, Limits, Resource};
pub use gpu::{Awaited, Energy, Gpus, WaitedFor};
pub use phases::Phase;
pub use processes::{LoaderState, Loaders, Process, loaders, processes};
pub use summary::{Amount, Usage};
pub use tally::Tally;
pub use unusual::{Unusual, unusual};
pub use workers::{
    Cell, Excess, Gain, Means, Part, Reason, SLOWER_BY, Side, Straggler, StragglerTest, WhatIf,
    WorkerCourses, find_straggler, gains, realised, values, without,
};

use bottleneck::classify;
use paceline_model::{Event, Micros, Sample};

/// What is known of the node apart from its samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Logical CPUs that the run may use.
    pub cpus: usize,
    /// Memory that the run may use, in bytes, if limited.
    pub memory_max_bytes: Option<u64>,
}

/// The findings about one node of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The time covered by samples.
    pub observed: Micros,
    /// Mean and peak of each resource.
    pub usage: Usage,
    /// The node's GPUs, if any was read.
    pub gpus: Option<Gpus>,
    /// The energy of the node during the run.
    pub energy: Energy,
    /// How long each resource held the run back, longest first; those that
    /// never did are absent.
    pub held: Vec<Held>,
    /// The stretches of the run, as the job named them or as they were seen.
    pub phases: Vec<Phase>,
    /// What a careful reader would want to know.
    pub unusual: Vec<Unusual>,
}

/// How long one resource held the run back, and how that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// By what.
    pub by: Holder,
    /// For how long.
    pub time: Micros,
    /// The share of the observed time, from 0 to 1.
    pub share: f64,
    /// The evidence that decided most of that time.
    pub cause: Cause,
    /// The mean of that evidence over the time it decided: a share of time for
    /// pressure and busy disks, CPUs used for a saturated CPU.
    pub strength: f64,
}

/// Looks for what held the run back.
#[must_use]
pub fn diagnose(samples: &[Sample], events: &[Event], node: Node) -> Diagnosis {
    let limits = Limits::default();
    let classes: Vec<_> = samples
        .iter()
        .map(|sample| classify(sample, node, &limits))
        .collect();
    let mut tally = Tally::default();
    samples.iter().for_each(|sample| tally.add(sample));
    let observed = Micros(samples.iter().map(|sample| sample.interval.0).sum());
    Diagnosis {
        observed,
        usage: Usage::from(&tally),
        gpus: Gpus::of(&tally.gpu, samples, &classes, &limits),
        energy: tally.energy,
        held: held(samples, &classes, observed),
        phases: phases::find(samples, &classes, events),
        unusual: unusual(&tally, node),
    }
}

fn held(samples: &[Sample], classes: &[bottleneck::Class], observed: Micros) -> Vec<Held> {
    let mut held: Vec<Held> = Vec::new();
    for by in Holder::ALL {
        let of_holder = || {
            samples
                .iter()
                .zip(classes)
                .filter(move |(_, class)| class.holder == by)
        };
        let time = Micros(of_holder().map(|(sample, _)| sample.interval.0).sum());
        if time == Micros::ZERO {
            continue;
        }
        let time_by = |cause: Cause| -> u64 {
            of_holder()
                .filter(|(_, c)| c.cause == cause)
                .map(|(s, _)| s.interval.0)
                .sum()
        };
        let cause = Cause::ALL
            .into_iter()
            .max_by_key(|&cause| time_by(cause))
            .expect("the list of causes is not empty");
        let weighted: f64 = of_holder()
            .filter(|(_, class)| class.cause == cause)
            .map(|(sample, class)| class.strength * sample.interval.as_secs())
            .sum();
        held.push(Held {
            by,
            time,
            share: time.as_secs() / observed.as_secs(),
            cause,
            strength: weighted / Micros(time_by(cause)).as_secs(),
        });
    }
    held.sort_by_key(|held| std::cmp::Reverse(held.time));
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::Measure::{self, *};
    use paceline_model::Readings;

    const NODE: Node = Node {
        cpus: 4,
        memory_max_bytes: None,
    };

    /// One-second samples with the given readings, repeated.
    fn samples(rows: &[(usize, &[(Measure, f64)])]) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (times, readings) in rows {
            for _ in 0..*times {
                let at = Micros(1_000_000 * (samples.len() as u64 + 1));
                samples.push(Sample {
                    at,
                    interval: Micros(1_000_000),
                    gap: None,
                    readings: readings.iter().copied().collect::<Readings>(),
                    parts: Vec::new(),
                });
            }
        }
        samples
    }

    fn check(rows: &[(usize, &[(Measure, f64)])], expected: &[(Holder, Cause, f64)]) {
        let diagnosis = diagnose(&samples(rows), &[], NODE);
        let found: Vec<_> = diagnosis
            .held
            .iter()
            .map(|h| (h.by, h.cause, h.share))
            .collect();
        assert_eq!(found, expected);
    }

    const CPU: Holder = Holder::Resource(Resource::Cpu);
    const DISK: Holder = Holder::Resource(Resource::Disk);
    const MEMORY: Holder = Holder::Resource(Resource::Memory);

    #[test]
    fn a_single_busy_thread_is_held_by_the_cpu() {
        check(
            &[(
                10,
                &[
                    (RunCpuUser, 0.98),
                    (RunCpuSystem, 0.01),
                    (NodePsiCpuSome, 0.0),
                ],
            )],
            &[(CPU, Cause::Saturated, 1.0)],
        );
    }

    #[test]
    fn pressure_outranks_utilisation() {
        check(
            &[(
                8,
                &[
                    (RunCpuUser, 0.95),
                    (NodePsiIoFull, 0.6),
                    (NodePsiIoSome, 0.7),
                    (RunDiskWrite, 1e8),
                ],
            )],
            &[(DISK, Cause::Pressure, 1.0)],
        );
    }

    #[test]
    fn a_sleeper_beside_somebodys_download_is_not_held_by_the_network() {
        let elsewhere: &[(Measure, f64)] = &[
            (NodeNetRx, 80e6),
            (NodeTcpRetransmits, 900.0),
            (NodeNetTxPackets, 10_000.0),
        ];
        // Whether its own traffic is known to be none or is not known at all.
        let known: Vec<_> = [elsewhere, &[(RunNetRx, 0.0), (RunNetTx, 0.0)]].concat();
        check(&[(5, elsewhere)], &[(Holder::Nothing, Cause::Unknown, 1.0)]);
        check(&[(5, &known)], &[(Holder::Nothing, Cause::Unknown, 1.0)]);
        let diagnosis = diagnose(&samples(&[(5, &known)]), &[], NODE);
        assert_eq!(diagnosis.unusual, []);
        assert_eq!(
            diagnosis.usage.net_rx_bytes_per_s.map(|a| a.total),
            Some(0.0)
        );
        assert!(diagnosis.usage.net_is_own);
        let diagnosis = diagnose(&samples(&[(5, elsewhere)]), &[], NODE);
        assert!(!diagnosis.usage.net_is_own);
    }

    #[test]
    fn a_run_whose_own_data_moves_while_it_does_not_compute_is_held_by_the_network() {
        const NETWORK: Holder = Holder::Resource(Resource::Network);
        let download: &[(Measure, f64)] = &[(RunNetRx, 5e6), (RunNetTx, 1e3), (RunCpuUser, 0.1)];
        check(&[(5, download)], &[(NETWORK, Cause::Saturated, 1.0)]);
        // A slow link moves little, but always has something to carry.
        let slow: &[(Measure, f64)] = &[(RunNetTx, 5e4), (RunNetRx, 0.0), (RunNetBusy, 0.97)];
        check(&[(5, slow)], &[(NETWORK, Cause::Saturated, 1.0)]);
        // Whoever computes meanwhile does not wait for it.
        let busy: &[(Measure, f64)] = &[(RunNetTx, 5e6), (RunNetRx, 0.0), (RunCpuUser, 0.99)];
        check(&[(5, busy)], &[(CPU, Cause::Saturated, 1.0)]);
    }

    #[test]
    fn what_loopback_sends_again_is_no_loss_on_the_way_to_other_hosts() {
        let row: &[(Measure, f64)] = &[
            (RunLoopbackTx, 1e9),
            (RunLoopbackRx, 1e9),
            (RunNetRx, 0.0),
            (RunNetTx, 0.0),
            (RunTcpSegments, 0.0),
            (RunTcpRetransmits, 0.0),
            (NodeTcpRetransmits, 1e5),
            (NodeNetDrops, 3.0),
            (NodeNetErrors, 0.0),
        ];
        let diagnosis = diagnose(&samples(&[(5, row)]), &[], NODE);
        assert_eq!(diagnosis.unusual, []);
        assert_eq!(diagnosis.held[0].by, Holder::Nothing);
        let lossy: &[(Measure, f64)] = &[
            (RunNetRx, 0.0),
            (RunNetTx, 1e7),
            (RunTcpSegments, 7e3),
            (RunTcpRetransmits, 300.0),
        ];
        let diagnosis = diagnose(&samples(&[(5, lossy)]), &[], NODE);
        let said: Vec<String> = diagnosis.unusual.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["its TCP connections sent 1500 segments again: the way to other hosts loses packets"]
        );
    }

    #[test]
    fn somebody_elses_disk_pressure_is_not_blamed_on_a_run_without_disk_traffic() {
        check(
            &[(
                4,
                &[
                    (RunCpuUser, 0.95),
                    (NodePsiIoSome, 0.7),
                    (RunDiskWrite, 0.0),
                    (RunDiskRead, 0.0),
                ],
            )],
            &[(CPU, Cause::Saturated, 1.0)],
        );
    }

    #[test]
    fn swapping_is_memory_and_sleeping_is_nothing() {
        check(
            &[
                (1, &[(RunCpuUser, 0.1), (NodePsiMemorySome, 0.5)]),
                (3, &[(RunCpuUser, 0.01)]),
            ],
            &[
                (Holder::Nothing, Cause::Unknown, 0.75),
                (MEMORY, Cause::Pressure, 0.25),
            ],
        );
    }

    #[test]
    fn others_are_blamed_only_if_the_run_was_long_enough_to_tell() {
        let busy: &[(Measure, f64)] = &[
            (NodeCpuUser, 2.0),
            (NodeCpuSystem, 0.0),
            (RunCpuUser, 0.5),
            (RunCpuSystem, 0.0),
            (NodeCpuSteal, 0.4),
        ];
        let blamed = |interval: u64| {
            let mut samples = samples(&[(1, busy)]);
            samples[0].interval = Micros(interval);
            diagnose(&samples, &[], NODE)
                .unusual
                .iter()
                .filter(|u| u.is_disturbance())
                .count()
        };
        assert_eq!(blamed(1_000_000), 2);
        assert_eq!(blamed(100_000), 0);
    }

    #[test]
    fn a_run_without_samples_has_an_empty_diagnosis() {
        let diagnosis = diagnose(&[], &[], NODE);
        assert_eq!(diagnosis.observed, Micros::ZERO);
        assert!(diagnosis.held.is_empty() && diagnosis.phases.is_empty());
    }

    #[test]
    fn phases_are_seen_where_the_holder_changes_for_long() {
        let diagnosis = diagnose(
            &samples(&[
                (20, &[(NodePsiIoSome, 0.9), (RunDiskRead, 1e8)]),
                (1, &[(RunCpuUser, 0.99)]),
                (20, &[(NodePsiIoSome, 0.9), (RunDiskRead, 1e8)]),
                (60, &[(RunCpuUser, 3.9)]),
            ]),
            &[],
            NODE,
        );
        let seen: Vec<_> = diagnosis
            .phases
            .iter()
            .map(|p| (p.name.as_str(), p.from.0 / 1_000_000, p.to.0 / 1_000_000))
            .collect();
        assert_eq!(seen, [("disk", 0, 41), ("cpu", 41, 101)]);
    }
}
