//! What each process of a training used: trainer, servers and workers.

use crate::number::{bytes, duration, significant};
use crate::text::{Column, Style, Table};
use paceline_model::{NodeName, PartKind, PartMeasure, ProcessName, Sample};
use std::collections::{BTreeMap, BTreeSet};

/// What the processes of one name used. One that was started anew is another
/// process of the same name.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// `trainer`, `server0`, `worker1`.
    pub name: String,
    /// The node.
    pub node: NodeName,
    /// Their process numbers, in the order in which they were seen.
    pub pids: Vec<u32>,
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// How long they were seen, in seconds.
    pub seen_s: f64,
    /// The largest resident memory.
    pub mem_peak_bytes: f64,
}

/// The members of a training that ran as processes of their own, by name; none
/// if there were no servers or workers among the processes.
#[must_use]
pub fn members(samples: &[(NodeName, Vec<Sample>)]) -> Vec<Member> {
    let mut found: BTreeMap<(String, NodeName), Member> = BTreeMap::new();
    for (node, samples) in samples {
        for sample in samples {
            let processes = sample
                .parts
                .iter()
                .filter(|part| part.kind == PartKind::Process);
            let mut seen = BTreeSet::new();
            for part in processes {
                let Some(process) = ProcessName::parse(&part.name) else {
                    continue;
                };
                let (pid, name) = (process.pid, process.command);
                if !is_member(name) {
                    continue;
                }
                let place = (name.to_owned(), node.clone());
                let member = found.entry(place).or_insert_with(|| Member {
                    name: name.to_owned(),
                    node: node.clone(),
                    pids: Vec::new(),
                    cpu_s: 0.0,
                    seen_s: 0.0,
                    mem_peak_bytes: 0.0,
                });
                if !member.pids.contains(&pid) {
                    member.pids.push(pid);
                }
                let reading = |measure| part.readings.get(measure).unwrap_or(0.0);
                member.cpu_s += reading(PartMeasure::CpuUser) + reading(PartMeasure::CpuSystem);
                member.mem_peak_bytes = member.mem_peak_bytes.max(reading(PartMeasure::MemRss));
                if seen.insert(name) {
                    member.seen_s += sample.interval.as_secs();
                }
            }
        }
    }
    if found.keys().all(|(name, _)| name == TRAINER) {
        return Vec::new();
    }
    found.into_values().collect()
}

/// The process that starts the others.
const TRAINER: &str = "trainer";

fn is_member(name: &str) -> bool {
    let numbered = |role: &str| {
        name.strip_prefix(role)
            .is_some_and(|rank| !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name == TRAINER || numbered("worker") || numbered("server")
}

/// A table of the members; empty if there are none.
#[must_use]
pub fn table(members: &[Member], width: usize, style: Style) -> String {
    if members.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec![
        Column::words("process"),
        Column::words("node").optional(),
        Column::words("pid"),
        Column::amounts("cpu time"),
        Column::amounts("cpus"),
        Column::amounts("memory"),
    ]);
    for member in members {
        let pids: Vec<String> = member.pids.iter().map(u32::to_string).collect();
        table.row(vec![
            member.name.clone(),
            member.node.to_string(),
            pids.join(", "),
            duration(member.cpu_s),
            significant(mean_cpus(member), 2),
            bytes(member.mem_peak_bytes),
        ]);
    }
    table.render(width, style)
}

/// The members for programs.
#[must_use]
pub fn json(members: &[Member]) -> serde_json::Value {
    let one = |member: &Member| {
        serde_json::json!({
            "name": member.name,
            "node": member.node.as_str(),
            "pids": member.pids,
            "cpu_s": member.cpu_s,
            "cpus_mean": mean_cpus(member),
            "mem_peak_bytes": member.mem_peak_bytes,
        })
    };
    members.iter().map(one).collect()
}

fn mean_cpus(member: &Member) -> f64 {
    if member.seen_s > 0.0 {
        member.cpu_s / member.seen_s
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::{Micros, PartReading, PartReadings, Readings};

    fn sample(second: u64, processes: &[(&str, f64)]) -> Sample {
        let part = |(name, cpu): &(&str, f64)| {
            let mut readings = PartReadings::default();
            readings.set(PartMeasure::CpuUser, *cpu);
            readings.set(PartMeasure::MemRss, 1e6 * second as f64);
            PartReading {
                kind: PartKind::Process,
                name: (*name).to_owned(),
                readings,
            }
        };
        Sample {
            at: Micros(1_000_000 * second),
            interval: Micros(1_000_000),
            gap: None,
            readings: Readings::default(),
            parts: processes.iter().map(part).collect(),
        }
    }

    #[test]
    fn a_member_that_was_started_anew_is_one_with_two_processes() {
        let node = NodeName::from_host("n");
        let samples = vec![
            sample(
                1,
                &[
                    ("10 trainer", 0.1),
                    ("11 worker1", 0.5),
                    ("12 server0", 0.2),
                ],
            ),
            sample(
                2,
                &[("10 trainer", 0.1), ("13 worker1", 0.9), ("14 bash", 0.9)],
            ),
        ];
        let found = members(&[(node.clone(), samples)]);
        let names: Vec<&str> = found.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["server0", "trainer", "worker1"]);
        assert_eq!(found[2].pids, [11, 13]);
        assert!((mean_cpus(&found[2]) - 0.7).abs() < 1e-9);
        assert!((found[2].mem_peak_bytes - 2e6).abs() < 1e-9);
        let alone = vec![sample(1, &[("10 trainer", 0.1)])];
        assert!(members(&[(node, alone)]).is_empty());
    }
}
