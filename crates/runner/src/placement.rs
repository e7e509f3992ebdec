//! Who the commands of a run are, and where.

use paceline_engine::{Allocation, NodeRequest, Rank};
use paceline_model::WorkerId;
use paceline_records::{Cluster, ClusterNode};
use paceline_study::Share;

/// What a run with this share asks of its engine.
#[must_use]
pub fn request(share: Share) -> NodeRequest {
    NodeRequest {
        nodes: share.nodes,
        cores: share.executor_cores,
        is_spread: share.is_spread,
    }
}

/// The ranks of `copies` identical jobs with `per_node` commands on each node of
/// the allocation, in the order of their workers. A command of this machine that
/// works alone has none.
#[must_use]
pub fn ranks(allocation: &Allocation, copies: u32, per_node: u32) -> Vec<Option<Rank>> {
    let copies = copies.max(1);
    match allocation.nodes.len() {
        0 if per_node <= 1 => (0..copies).map(|_| None).collect(),
        nodes => {
            let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).max(1);
            Rank::all(copies, nodes, per_node.max(1))
                .map(Some)
                .collect()
        }
    }
}

/// What a record says of where a cluster has placed a run; nothing of a run of
/// this machine.
#[must_use]
pub fn cluster(engine: &str, allocation: &Allocation, ranks: &[Option<Rank>]) -> Option<Cluster> {
    if allocation.nodes.is_empty() {
        return None;
    }
    let on = |index: usize| {
        let workers = (0..).map(WorkerId).zip(ranks);
        let there = workers.filter(|(_, rank)| rank.map_or(0, |it| it.node as usize) == index);
        there.map(|(worker, _)| worker).collect()
    };
    let nodes = allocation.nodes.iter().enumerate();
    let nodes = nodes.map(|(index, node)| ClusterNode {
        node: node.machine.node.clone(),
        address: node.address.clone(),
        clock_offset_us: node.clock.offset_us,
        clock_uncertainty: paceline_model::Micros(node.clock.uncertainty_us),
        workers: on(index),
    });
    Some(Cluster {
        engine: engine.to_owned(),
        job: allocation.job.clone(),
        queued: allocation.queued.into(),
        nodes: nodes.collect(),
    })
}
