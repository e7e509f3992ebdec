//! What each process of a run used.

use crate::number::{bytes, duration, significant};
use crate::text::{Column, Style, Table, paragraph};
use paceline_diagnose::{Loaders, Process, loaders, processes};
use paceline_model::{NodeName, Sample};
use serde_json::{Value, json};

/// So many processes are shown to people.
const SHOWN: usize = 12;

/// The processes of all nodes, and what there is to say of data loaders.
#[derive(Debug, Clone, PartialEq)]
pub struct Processes {
    /// Node by node, the one with most CPU time first.
    pub all: Vec<(NodeName, Process)>,
    /// Data loaders that were too slow or idle.
    pub loaders: Vec<(NodeName, Loaders)>,
}

/// The processes that samples list; `gpu_busy` is that of each node's GPUs.
#[must_use]
pub fn of(
    samples: &[(NodeName, Vec<Sample>)],
    gpu_busy: impl Fn(&NodeName) -> Option<f64>,
) -> Processes {
    let mut found = Processes {
        all: Vec::new(),
        loaders: Vec::new(),
    };
    for (node, samples) in samples {
        let own = processes(samples);
        let told = loaders(&own, gpu_busy(node)).into_iter();
        found.loaders.extend(told.map(|one| (node.clone(), one)));
        found
            .all
            .extend(own.into_iter().map(|one| (node.clone(), one)));
    }
    found
}

impl Processes {
    /// A table for people: empty if there was one process, of which everything
    /// has been said already.
    #[must_use]
    pub fn table(&self, width: usize, style: Style) -> String {
        let several_nodes = self.all.iter().any(|(node, _)| *node != self.all[0].0);
        if self.all.len() < 2 {
            return String::new();
        }
        let mut table = Table::new([
            Column::words("process"),
            Column::words(if several_nodes { "node" } else { "" }).optional(),
            Column::amounts("rank"),
            Column::amounts("cpu time"),
            Column::amounts("cpus"),
            Column::amounts("peak"),
            Column::amounts("memory"),
            Column::amounts("peak"),
        ]);
        let mut shown: Vec<&(NodeName, Process)> = self.all.iter().collect();
        shown.sort_by(|a, b| b.1.cpu_s.total_cmp(&a.1.cpu_s));
        for (node, process) in shown.into_iter().take(SHOWN) {
            table.row([
                called(process),
                if several_nodes {
                    node.to_string()
                } else {
                    String::new()
                },
                process
                    .rank
                    .map_or_else(String::new, |rank| rank.to_string()),
                duration(process.cpu_s),
                significant(process.cpus_mean(), 2),
                significant(process.cpus_peak, 2),
                bytes(process.mem_mean_bytes),
                bytes(process.mem_peak_bytes),
            ]);
        }
        let mut text = table.render(width, style);
        if self.all.len() > SHOWN {
            text += &format!(
                "and {} more; --format json has all\n",
                self.all.len() - SHOWN
            );
        }
        for (_, told) in &self.loaders {
            text += &paragraph("loaders   ", &told.to_string(), width);
        }
        text
    }

    /// The processes for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let one = |(node, process): &(NodeName, Process)| {
            json!({
                "pid": process.pid,
                "command": process.command,
                "node": node.as_str(),
                "rank": process.rank,
                "loads_for": process.loads_for,
                "cpu_s": process.cpu_s,
                "seen_s": process.seen_s,
                "cpus_mean": process.cpus_mean(),
                "cpus_peak": process.cpus_peak,
                "mem_mean_bytes": process.mem_mean_bytes,
                "mem_peak_bytes": process.mem_peak_bytes,
            })
        };
        self.all.iter().map(one).collect()
    }

    /// Rows for a page: name, node, rank, CPU time, mean and peak CPUs, mean and
    /// peak memory.
    pub(crate) fn rows(&self) -> Value {
        let shown = self.all.iter().take(4 * SHOWN);
        let row = |(node, process): &(NodeName, Process)| {
            json!([
                called(process),
                node.as_str(),
                process.rank,
                process.cpu_s,
                process.cpus_mean(),
                process.cpus_peak,
                process.mem_mean_bytes,
                process.mem_peak_bytes,
            ])
        };
        shown.map(row).collect()
    }
}

/// `4711 python`, `4720 data loader of 4711`.
fn called(process: &Process) -> String {
    match process.loads_for {
        Some(parent) => format!("{} data loader of {parent}", process.pid),
        None => format!("{} {}", process.pid, process.command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::{Micros, PartKind, PartMeasure, PartReading, PartReadings, Readings};

    fn run(names: &[&str]) -> Processes {
        let part = |name: &&str| {
            let mut readings = PartReadings::default();
            readings.set(PartMeasure::CpuUser, 0.5);
            readings.set(PartMeasure::MemRss, 2e6);
            PartReading {
                kind: PartKind::Process,
                name: (*name).to_owned(),
                readings,
            }
        };
        let sample = Sample {
            at: Micros(1_000_000),
            interval: Micros(1_000_000),
            gap: None,
            readings: Readings::default(),
            parts: names.iter().map(part).collect(),
        };
        of(&[(NodeName::from_host("n"), vec![sample])], |_| None)
    }

    #[test]
    fn one_process_needs_no_table_and_several_have_one() {
        assert_eq!(run(&["1 sh"]).table(80, Style::Plain), "");
        assert_eq!(run(&[]).table(80, Style::Plain), "");
        let text = run(&["1 python (rank 0)", "2 pt_data_worker (of 1, rank 0)"]);
        let text = text.table(80, Style::Plain);
        assert!(text.contains("2 data loader of 1"), "{text}");
        assert!(text.contains("1 python"), "{text}");
    }

    #[test]
    fn a_long_list_says_how_many_are_left_out() {
        let names: Vec<String> = (0..20).map(|pid| format!("{pid} python")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = run(&names);
        assert!(found.table(80, Style::Plain).contains("and 8 more"));
        assert_eq!(found.json().as_array().unwrap().len(), 20);
    }
}
