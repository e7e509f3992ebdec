//! The servers' welcomes to a worker.

use paceline_sync::Consistency;

/// The servers' welcomes to one incarnation of a worker.
#[derive(Clone, Debug)]
pub(super) struct Welcomes {
    /// Whether all servers go back together, and must have.
    needs_one_generation: bool,
    /// Whether an iteration starts from one version of all servers.
    needs_one_version: bool,
    /// By server: its generation, and the clock at which the worker starts.
    by_server: Vec<Option<(u32, u64)>>,
}

/// By whom a worker is welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Welcomed {
    /// Not yet by all.
    NotByAll,
    /// By all: it may begin.
    ByAll,
    /// Some are about to begin anew, and do not know it yet: it must come again.
    ByDifferentGenerations,
    /// Their versions differ, and an iteration starts from one.
    ByDifferentShards,
}

impl Welcomes {
    pub(super) fn new(consistency: Consistency, servers: usize) -> Self {
        let is_backup = matches!(consistency, Consistency::Backup { .. });
        Self {
            needs_one_generation: consistency.gathers(),
            needs_one_version: consistency.gathers() && !is_backup,
            by_server: vec![None; servers],
        }
    }

    /// A server welcomes the worker.
    pub(super) fn take(&mut self, server: usize, generation: u32, clock: u64) -> Welcomed {
        self.by_server[server] = Some((generation, clock));
        let Some(all) = self.by_server.iter().copied().collect::<Option<Vec<_>>>() else {
            return Welcomed::NotByAll;
        };
        let (generation, clock) = all[0];
        if self.needs_one_generation && all.iter().any(|other| other.0 != generation) {
            Welcomed::ByDifferentGenerations
        } else if self.needs_one_version && all.iter().any(|other| other.1 != clock) {
            Welcomed::ByDifferentShards
        } else {
            Welcomed::ByAll
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn welcomed(sync: &str, first: (u32, u64), second: (u32, u64)) -> Welcomed {
        let mut welcomes = Welcomes::new(sync.parse().unwrap(), 2);
        assert_eq!(welcomes.take(1, second.0, second.1), Welcomed::NotByAll);
        welcomes.take(0, first.0, first.1)
    }

    #[test]
    fn a_worker_begins_where_all_shards_are_at_one_version() {
        assert_eq!(welcomed("bsp", (1, 5), (1, 5)), Welcomed::ByAll);
        assert_eq!(welcomed("bsp", (1, 6), (1, 5)), Welcomed::ByDifferentShards);
        let differing = Welcomed::ByDifferentGenerations;
        assert_eq!(welcomed("local:2", (2, 4), (1, 6)), differing);
        assert_eq!(welcomed("backup:1", (2, 4), (1, 4)), differing);
        assert_eq!(welcomed("backup:1", (1, 4), (1, 6)), Welcomed::ByAll);
        for sync in ["ssp:2", "async"] {
            assert_eq!(welcomed(sync, (2, 4), (1, 6)), Welcomed::ByAll, "{sync}");
        }
    }
}
