//! Who a command is among those that work together.

use std::ffi::OsString;

/// A command's place among the commands of one job on several nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// Its number among all of them, from zero; those of a node follow each other.
    pub rank: u32,
    /// How many there are.
    pub world: u32,
    /// Its number among those of its node, from zero.
    pub local_rank: u32,
    /// How many there are on its node.
    pub local_world: u32,
    /// Its node's number among those of the launch, from zero.
    pub node: u32,
    /// The job, where a run starts several at the same time.
    pub job: u32,
}

/// Where a command can listen for its peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its node's address.
    pub host: String,
    /// A port that was free when it was looked for.
    pub port: u16,
}

impl Rank {
    /// The ranks of `jobs` jobs that each have `per_node` commands on each of
    /// `nodes` nodes.
    pub fn all(jobs: u32, nodes: u32, per_node: u32) -> impl Iterator<Item = Self> {
        let world = nodes.saturating_mul(per_node);
        let of_job = move |job| {
            (0..world).map(move |rank| Self {
                rank,
                world,
                local_rank: rank % per_node,
                local_world: per_node,
                node: rank / per_node,
                job,
            })
        };
        (0..jobs).flat_map(of_job)
    }

    /// The variables that `torch.distributed` and TensorFlow read, given where
    /// each rank of the job can listen.
    ///
    /// # Panics
    /// If there is not one endpoint per rank.
    #[must_use]
    pub fn variables(&self, endpoints: &[Endpoint]) -> Vec<(OsString, OsString)> {
        assert_eq!(
            endpoints.len(),
            self.world as usize,
            "one endpoint per rank"
        );
        let first = &endpoints[0];
        let listed: Vec<String> = endpoints.iter().map(Endpoint::quoted).collect();
        let tf_config = format!(
            r#"{{"cluster": {{"worker": [{}]}}, "task": {{"type": "worker", "index": {}}}}}"#,
            listed.join(", "),
            self.rank
        );
        let number = |name: &str, number: u32| (name.into(), number.to_string().into());
        vec![
            number("RANK", self.rank),
            number("WORLD_SIZE", self.world),
            number("LOCAL_RANK", self.local_rank),
            number("LOCAL_WORLD_SIZE", self.local_world),
            number("NODE_RANK", self.node),
            ("MASTER_ADDR".into(), first.host.clone().into()),
            number("MASTER_PORT", first.port.into()),
            ("TF_CONFIG".into(), tf_config.into()),
        ]
    }
}

impl Endpoint {
    /// As a JSON text. Hosts are names and addresses, which have no quotes.
    fn quoted(&self) -> String {
        match self.host.contains(':') {
            true => format!("\"[{}]:{}\"", self.host, self.port),
            false => format!("\"{}:{}\"", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_node_follow_each_other() {
        let ranks: Vec<Rank> = Rank::all(1, 2, 2).collect();
        let seen = ranks.iter().map(|r| (r.rank, r.node, r.local_rank));
        assert_eq!(
            seen.collect::<Vec<_>>(),
            [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
        );
        assert!(ranks.iter().all(|r| r.world == 4 && r.local_world == 2));
    }

    #[test]
    fn jobs_side_by_side_have_ranks_of_their_own() {
        let ranks: Vec<_> = Rank::all(2, 1, 2).map(|r| (r.job, r.rank)).collect();
        assert_eq!(ranks, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn a_rank_is_told_in_the_words_of_both_frameworks() {
        let endpoints = ["10.0.0.1", "fe80::2"].map(|host| Endpoint {
            host: host.to_owned(),
            port: 4000,
        });
        let rank = Rank::all(1, 2, 1).nth(1).unwrap();
        let text =
            |(name, value): (OsString, OsString)| format!("{}={}", name.display(), value.display());
        let variables: Vec<String> = rank.variables(&endpoints).into_iter().map(text).collect();
        assert_eq!(
            variables,
            [
                "RANK=1",
                "WORLD_SIZE=2",
                "LOCAL_RANK=0",
                "LOCAL_WORLD_SIZE=1",
                "NODE_RANK=1",
                "MASTER_ADDR=10.0.0.1",
                "MASTER_PORT=4000",
                r#"TF_CONFIG={"cluster": {"worker": ["10.0.0.1:4000", "[fe80::2]:4000"]}, "task": {"type": "worker", "index": 1}}"#,
            ]
        );
    }
}
