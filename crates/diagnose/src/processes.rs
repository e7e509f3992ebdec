//! What each process of a run used, and whether its data loaders kept up.

use paceline_model::{PartKind, PartMeasure, ProcessName, Sample};
use std::collections::BTreeMap;
use std::fmt;

/// What one process used. One of the same number that comes later is taken for
/// the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Its number on its node.
    pub pid: u32,
    /// Its command, as it was called last.
    pub command: String,
    /// Its rank, if its environment names one.
    pub rank: Option<u32>,
    /// The process that it loads data for.
    pub loads_for: Option<u32>,
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// How long it was seen, in seconds.
    pub seen_s: f64,
    /// The most CPUs that it used within one sample.
    pub cpus_peak: f64,
    /// Resident memory, mean over the time that it was seen, in bytes.
    pub mem_mean_bytes: f64,
    /// The largest resident memory in bytes.
    pub mem_peak_bytes: f64,
    /// Whether it was seen on a GPU.
    pub on_gpu: bool,
}

impl Process {
    /// CPUs in use, mean over the time that it was seen.
    #[must_use]
    pub fn cpus_mean(&self) -> f64 {
        match self.seen_s > 0.0 {
            true => self.cpu_s / self.seen_s,
            false => 0.0,
        }
    }

    /// Whether it loads data for another.
    #[must_use]
    pub fn is_data_loader(&self) -> bool {
        self.command == ProcessName::DATA_LOADER
    }
}

/// Every process that a node's samples list, the one with most CPU time first.
#[must_use]
pub fn processes(samples: &[Sample]) -> Vec<Process> {
    let mut found: BTreeMap<u32, Process> = BTreeMap::new();
    for sample in samples {
        let seconds = sample.interval.as_secs();
        for part in &sample.parts {
            let name = match part.kind {
                PartKind::Process => ProcessName::parse(&part.name),
                _ => None,
            };
            let Some(name) = name else { continue };
            let process = found.entry(name.pid).or_insert_with(|| Process {
                pid: name.pid,
                command: String::new(),
                rank: None,
                loads_for: None,
                cpu_s: 0.0,
                seen_s: 0.0,
                cpus_peak: 0.0,
                mem_mean_bytes: 0.0,
                mem_peak_bytes: 0.0,
                on_gpu: false,
            });
            if process.command != name.command {
                name.command.clone_into(&mut process.command);
            }
            process.rank = name.rank.or(process.rank);
            process.loads_for = name.loads_for.or(process.loads_for);
            let read = |measure| part.readings.get(measure);
            let cpu = read(PartMeasure::CpuUser).unwrap_or(0.0)
                + read(PartMeasure::CpuSystem).unwrap_or(0.0);
            let memory = read(PartMeasure::MemRss).unwrap_or(0.0);
            process.cpu_s += cpu;
            process.seen_s += seconds;
            if seconds > 0.0 {
                process.cpus_peak = process.cpus_peak.max(cpu / seconds);
            }
            // Summed up here, divided at the end.
            process.mem_mean_bytes += memory * seconds;
            process.mem_peak_bytes = process.mem_peak_bytes.max(memory);
            process.on_gpu |=
                read(PartMeasure::GpuMem).is_some() || read(PartMeasure::GpuBusy).is_some();
        }
    }
    let mut found: Vec<Process> = found.into_values().collect();
    for process in &mut found {
        process.mem_mean_bytes = match process.seen_s > 0.0 {
            true => process.mem_mean_bytes / process.seen_s,
            false => process.mem_peak_bytes,
        };
    }
    found.sort_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s).then(a.pid.cmp(&b.pid)));
    found
}

/// What the data loaders of one process were to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaders {
    /// The process that they load for.
    pub of: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// How many there were.
    pub count: usize,
    /// CPUs that one of them used on average.
    pub cpus: f64,
    /// CPUs that the process itself used on average.
    pub parent_cpus: f64,
    /// What that means.
    pub state: LoaderState,
}

/// Whether data loaders kept up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoaderState {
    /// They worked without a pause, and their parent mostly slept.
    Behind,
    /// They mostly slept, and their parent worked.
    Idle,
}

/// A loader that computes for this share of the time hardly pauses.
const BUSY: f64 = 0.85;
/// One that computes for less than this share is there for nothing.
const SLEEPS: f64 = 0.1;
/// A parent that computes for less than this share mostly waits.
const WAITS: f64 = 0.5;
/// Shorter lives than this tell nothing: processes start and load modules.
const LEAST_S: f64 = 5.0;

impl fmt::Display for Loaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| 100.0 * share;
        let rank = self
            .rank
            .map_or(String::new(), |rank| format!(" (rank {rank})"));
        let (loaders, each) = match self.count {
            1 => ("the data loader".to_owned(), ""),
            n => (format!("the {n} data loaders"), " each"),
        };
        write!(
            f,
            "{loaders} of process {}{rank} computed{each} {:.0}% of the time, the process itself \
             {:.0}%: ",
            self.of,
            percent(self.cpus),
            percent(self.parent_cpus)
        )?;
        match self.state {
            LoaderState::Behind => f.write_str("not fast enough for it"),
            LoaderState::Idle => f.write_str("mostly idle, fewer would do"),
        }
    }
}

/// Data loaders that did not keep up or were idle; none where that cannot be told.
/// `gpu_busy` is the share of the time in which the run's GPUs executed anything,
/// if it has any: a process that sleeps while they work waits for them.
#[must_use]
pub fn loaders(processes: &[Process], gpu_busy: Option<f64>) -> Vec<Loaders> {
    let mut by_parent: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
    for process in processes.iter().filter(|process| process.is_data_loader()) {
        if let Some(parent) = process.loads_for
            && process.seen_s >= LEAST_S
        {
            by_parent.entry(parent).or_default().push(process);
        }
    }
    let told = by_parent.into_iter().filter_map(|(of, loaders)| {
        let parent = processes.iter().find(|process| process.pid == of)?;
        let (time, seen) = loaders.iter().fold((0.0, 0.0), |(time, seen), loader| {
            (time + loader.cpu_s, seen + loader.seen_s)
        });
        let least = loaders
            .iter()
            .map(|loader| loader.cpus_mean())
            .fold(f64::INFINITY, f64::min);
        let most = loaders
            .iter()
            .map(|loader| loader.cpus_mean())
            .fold(0.0, f64::max);
        let gpu_works = gpu_busy.is_some_and(|busy| busy >= WAITS);
        let state = if least >= BUSY && parent.cpus_mean() < WAITS && !gpu_works {
            LoaderState::Behind
        } else if most < SLEEPS && (parent.cpus_mean() >= BUSY || gpu_works) {
            LoaderState::Idle
        } else {
            return None;
        };
        Some(Loaders {
            of,
            rank: parent.rank,
            count: loaders.len(),
            cpus: time / seen,
            parent_cpus: parent.cpus_mean(),
            state,
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::{Micros, PartReading, PartReadings, Readings};

    /// Ten seconds of these processes: name, CPUs.
    fn samples(parts: &[(&str, f64)]) -> Vec<Sample> {
        let part = |second: u64, (name, cpus): &(&str, f64)| {
            let mut readings = PartReadings::default();
            readings.set(PartMeasure::CpuUser, *cpus);
            readings.set(PartMeasure::MemRss, 1e6 * second as f64);
            PartReading {
                kind: PartKind::Process,
                name: (*name).to_owned(),
                readings,
            }
        };
        (1..=10)
            .map(|second| Sample {
                at: Micros(second * 1_000_000),
                interval: Micros(1_000_000),
                gap: None,
                readings: Readings::default(),
                parts: parts.iter().map(|one| part(second, one)).collect(),
            })
            .collect()
    }

    #[test]
    fn a_process_has_its_mean_and_peak() {
        let found = processes(&samples(&[("7 sh", 0.0), ("9 python (rank 2)", 1.5)]));
        assert_eq!((found[0].pid, found[0].command.as_str()), (9, "python"));
        assert_eq!(found[0].rank, Some(2));
        assert!((found[0].cpus_mean() - 1.5).abs() < 1e-9);
        assert!((found[0].cpus_peak - 1.5).abs() < 1e-9);
        assert!((found[0].mem_mean_bytes - 5.5e6).abs() < 1.0);
        assert!((found[0].mem_peak_bytes - 1e7).abs() < 1.0);
    }

    /// A parent and two loaders at these loads.
    fn state(parent: f64, loaders_cpus: [f64; 2], gpu: Option<f64>) -> Option<LoaderState> {
        let found = processes(&samples(&[
            ("1 python (rank 0)", parent),
            ("2 pt_data_worker (of 1, rank 0)", loaders_cpus[0]),
            ("3 pt_data_worker (of 1, rank 0)", loaders_cpus[1]),
        ]));
        loaders(&found, gpu).first().map(|loaders| loaders.state)
    }

    #[test]
    fn loaders_are_named_only_if_they_are_behind_or_idle() {
        assert_eq!(state(0.2, [0.97, 0.95], None), Some(LoaderState::Behind));
        assert_eq!(state(0.99, [0.02, 0.03], None), Some(LoaderState::Idle));
        // The parent computes as well: both are at work.
        assert_eq!(state(0.9, [0.97, 0.95], None), None);
        // It sleeps while its GPU works: it waits for that.
        assert_eq!(state(0.2, [0.97, 0.95], Some(0.9)), None);
        assert_eq!(state(0.2, [0.02, 0.03], Some(0.9)), Some(LoaderState::Idle));
        // One of them pauses, so there was something to wait for elsewhere.
        assert_eq!(state(0.2, [0.97, 0.5], None), None);
        // All sleep: something else holds the run.
        assert_eq!(state(0.1, [0.02, 0.03], None), None);
        // One does most of the work: fewer would not do.
        assert_eq!(state(0.99, [0.02, 0.6], None), None);
    }

    #[test]
    fn other_children_and_short_lives_tell_nothing() {
        let children = [("1 python", 0.1), ("2 python", 0.99), ("3 python", 0.99)];
        assert!(loaders(&processes(&samples(&children)), None).is_empty());
        let mut short = samples(&[("1 python", 0.1), ("2 pt_data_worker (of 1)", 0.99)]);
        short.truncate(4);
        assert!(loaders(&processes(&short), None).is_empty());
    }

    #[test]
    fn a_sentence_says_what_was_seen() {
        let found = processes(&samples(&[
            ("1 python (rank 3)", 0.25),
            ("2 pt_data_worker (of 1, rank 3)", 0.95),
        ]));
        let told = loaders(&found, None)[0].to_string();
        assert_eq!(
            told,
            "the data loader of process 1 (rank 3) computed 95% of the time, the process itself \
             25%: not fast enough for it"
        );
    }
}
