//! A run on several nodes, node by node.

use crate::number::{bytes, duration, significant};
use crate::text::{Column, Style, Table};
use paceline_diagnose::Diagnosis;
use paceline_model::NodeName;
use paceline_records::{Cluster, ClusterNode};

/// A table of the nodes, and where they come from; empty if the run was on this
/// machine.
#[must_use]
pub fn table(
    cluster: Option<&Cluster>,
    found: &[(NodeName, Diagnosis)],
    width: usize,
    style: Style,
) -> String {
    let Some(cluster) = cluster else {
        return String::new();
    };
    let mut table = Table::new(vec![
        Column::words("node"),
        Column::words("workers"),
        Column::words("held by"),
        Column::amounts("cpus"),
        Column::amounts("memory"),
        Column::amounts("received"),
        Column::amounts("sent"),
        Column::words("clock").optional(),
    ]);
    for node in &cluster.nodes {
        let diagnosis = found.iter().find(|(name, _)| *name == node.node);
        let usage = diagnosis.map(|(_, it)| &it.usage);
        let held = diagnosis.and_then(|(_, it)| it.held.first());
        let absent = || "-".to_owned();
        table.row(vec![
            node.node.to_string(),
            workers(node),
            held.map_or_else(absent, |held| held.by.to_string()),
            usage
                .and_then(|usage| usage.cpus)
                .map_or_else(absent, |it| significant(it.mean, 2)),
            usage
                .and_then(|usage| usage.memory_bytes)
                .map_or_else(absent, |it| bytes(it.peak)),
            usage
                .and_then(|usage| usage.net_rx_bytes_per_s)
                .map_or_else(absent, |it| bytes(it.total)),
            usage
                .and_then(|usage| usage.net_tx_bytes_per_s)
                .map_or_else(absent, |it| bytes(it.total)),
            clock(node),
        ]);
    }
    let mut whence = format!("engine {}", cluster.engine);
    if let Some(job) = &cluster.job {
        whence += &format!(
            ", job {job}, {} in the queue",
            duration(cluster.queued.as_secs())
        );
    }
    format!("{whence}\n{}", table.render(width, style))
}

/// The same for programs; nothing of a run of this machine.
#[must_use]
pub fn json(
    cluster: Option<&Cluster>,
    found: &[(NodeName, Diagnosis)],
) -> Option<serde_json::Value> {
    let cluster = cluster?;
    let one = |node: &ClusterNode| {
        let diagnosis = found.iter().find(|(name, _)| *name == node.node);
        let usage = diagnosis.map(|(_, it)| &it.usage);
        let held = diagnosis.and_then(|(_, it)| it.held.first());
        let workers: Vec<u32> = node.workers.iter().map(|worker| worker.0).collect();
        serde_json::json!({
            "node": node.node.as_str(),
            "address": node.address,
            "workers": workers,
            "held_by": held.map(|held| held.by.to_string()),
            "cpus_mean": usage.and_then(|it| it.cpus).map(|it| it.mean),
            "mem_peak_bytes": usage.and_then(|it| it.memory_bytes).map(|it| it.peak),
            "net_rx_bytes": usage.and_then(|it| it.net_rx_bytes_per_s).map(|it| it.total),
            "net_tx_bytes": usage.and_then(|it| it.net_tx_bytes_per_s).map(|it| it.total),
            "clock_offset_s": node.clock_offset_us as f64 / 1e6,
            "clock_uncertainty_s": node.clock_uncertainty.as_secs(),
        })
    };
    Some(serde_json::json!({
        "engine": cluster.engine,
        "job": cluster.job,
        "queue_s": cluster.queued.as_secs(),
        "nodes": cluster.nodes.iter().map(one).collect::<Vec<_>>(),
    }))
}

/// `0–3`, or one by one where they do not follow each other.
fn workers(node: &ClusterNode) -> String {
    let numbers: Vec<u32> = node.workers.iter().map(|worker| worker.0).collect();
    match numbers.as_slice() {
        [] => "-".to_owned(),
        [only] => only.to_string(),
        [first, .., last] if last.checked_sub(*first) == Some(numbers.len() as u32 - 1) => {
            format!("{first}–{last}")
        }
        all => {
            let all: Vec<String> = all.iter().map(u32::to_string).collect();
            all.join(",")
        }
    }
}

/// How far the node's clock was ahead, and how wrong that can be.
fn clock(node: &ClusterNode) -> String {
    let millis = |micros: f64| significant(micros / 1e3, 2);
    format!(
        "{} ± {} ms",
        millis(node.clock_offset_us as f64),
        millis(node.clock_uncertainty.0 as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::{Micros, WorkerId};

    #[test]
    fn a_node_is_a_row_with_its_workers_and_its_clock() {
        let node = |name: &str, workers: &[u32], offset| ClusterNode {
            node: NodeName::from_host(name),
            address: "10.0.0.1".to_owned(),
            clock_offset_us: offset,
            clock_uncertainty: Micros(70),
            workers: workers.iter().copied().map(WorkerId).collect(),
        };
        let cluster = Cluster {
            engine: "slurm".to_owned(),
            job: Some("77".to_owned()),
            queued: Micros(2_500_000),
            nodes: vec![node("a", &[0, 1, 2], -1_500), node("b", &[3, 7], 0)],
        };
        let text = table(Some(&cluster), &[], 100, Style::Plain);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "engine slurm, job 77, 2.5 s in the queue");
        assert!(
            lines
                .iter()
                .any(|line| line.contains("0–2") && line.contains("-1.5 ± 0.070 ms")),
            "{text}"
        );
        assert!(lines.iter().any(|line| line.contains("3,7")));
        assert_eq!(table(None, &[], 100, Style::Plain), "");
        assert!(json(None, &[]).is_none());
    }
}
