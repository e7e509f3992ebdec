//! Who of those that are started elsewhere has come, and who is missing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use paceline_wire::Address;

/// How long the missing must stay the same before they are told: members that
/// start together do not make a line each.
const SETTLED: Duration = Duration::from_secs(2);

/// Who takes part, as far as the controller knows.
#[derive(Debug)]
pub(crate) struct Membership {
    addresses: Vec<Address>,
    servers: BTreeSet<usize>,
    /// Servers that are connected and say nothing.
    silent: BTreeSet<usize>,
    /// By worker: the servers that have let it in.
    workers: Vec<BTreeSet<usize>>,
    changed: Instant,
    told: Option<String>,
}

impl Membership {
    /// Nobody has come yet.
    pub(crate) fn new(addresses: &[Address], workers: usize, now: Instant) -> Self {
        Self {
            addresses: addresses.to_vec(),
            servers: BTreeSet::new(),
            silent: BTreeSet::new(),
            workers: vec![BTreeSet::new(); workers],
            changed: now,
            told: None,
        }
    }

    pub(crate) fn server_came(&mut self, server: usize, now: Instant) {
        self.servers.insert(server);
        self.changed = now;
    }

    /// A server is connected and says nothing.
    pub(crate) fn server_fell_silent(&mut self, server: usize, now: Instant) {
        self.silent.insert(server);
        self.changed = now;
    }

    /// A server that said nothing is heard again.
    pub(crate) fn server_spoke(&mut self, server: usize, now: Instant) {
        self.silent.remove(&server);
        self.changed = now;
    }

    /// Whether any server knows a worker.
    pub(crate) fn is_anywhere(&self, worker: u32) -> bool {
        let seen_by = self.workers.get(worker as usize);
        seen_by.is_some_and(|seen_by| !seen_by.is_empty())
    }

    /// A server that starts again knows no worker.
    pub(crate) fn server_went(&mut self, server: usize, now: Instant) {
        self.servers.remove(&server);
        self.silent.remove(&server);
        for seen_by in &mut self.workers {
            seen_by.remove(&server);
        }
        self.changed = now;
    }

    /// A server has let a worker in.
    pub(crate) fn worker_came(&mut self, worker: u32, server: usize, now: Instant) {
        if let Some(seen_by) = self.workers.get_mut(worker as usize) {
            seen_by.insert(server);
            self.changed = now;
        }
    }

    /// A server has lost a worker.
    pub(crate) fn worker_went(&mut self, worker: u32, server: usize, now: Instant) {
        if let Some(seen_by) = self.workers.get_mut(worker as usize) {
            seen_by.remove(&server);
            self.changed = now;
        }
    }

    pub(crate) fn has_all_servers(&self) -> bool {
        self.servers.len() == self.addresses.len() && self.silent.is_empty()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.has_all_servers() && self.away().next().is_none()
    }

    /// Whether a worker takes part at every server.
    pub(crate) fn has_a_worker(&self) -> bool {
        self.away().count() < self.workers.len()
    }

    /// Since when who is missing is missing.
    pub(crate) fn unchanged_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.changed)
    }

    /// Who is missing, in words.
    pub(crate) fn missing(&self) -> String {
        let mut words: Vec<String> = (0..)
            .zip(&self.addresses)
            .filter(|(server, _)| !self.servers.contains(server))
            .map(|(server, address)| format!("server {server} at {address}"))
            .collect();
        for server in &self.silent {
            words.push(format!("server {server}, which says nothing"));
        }
        for (worker, seen_by) in self.away() {
            // A server that is away itself says nothing about a worker.
            let not_at = self.servers.difference(seen_by).next();
            words.push(match not_at {
                Some(server) if !seen_by.is_empty() => {
                    format!("worker {worker}, which has not reached server {server}")
                }
                _ => format!("worker {worker}"),
            });
        }
        words.join("; ")
    }

    /// What the user is to be told now, once it has settled.
    pub(crate) fn notice(&mut self, now: Instant) -> Option<String> {
        if self.unchanged_for(now) < SETTLED && !self.is_complete() {
            return None;
        }
        let missing = self.missing();
        if self.told.as_deref().unwrap_or_default() == missing {
            return None;
        }
        let notice = if missing.is_empty() {
            "nobody is missing any more".to_owned()
        } else {
            format!("missing: {missing}")
        };
        self.told = Some(missing);
        Some(notice)
    }

    fn away(&self) -> impl Iterator<Item = (usize, &BTreeSet<usize>)> {
        self.workers
            .iter()
            .enumerate()
            .filter(|(_, seen_by)| seen_by.len() < self.addresses.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;

    #[test]
    fn the_missing_are_told_when_they_have_settled_and_when_they_change() {
        let addresses: Vec<Address> = ["tcp://a:1", "tcp://b:2"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let start = now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut membership = Membership::new(&addresses, 2, start);
        assert_eq!(membership.notice(at(1)), None);
        assert_eq!(
            membership.notice(at(2)).unwrap(),
            "missing: server 0 at tcp://a:1; server 1 at tcp://b:2; worker 0; worker 1"
        );
        assert_eq!(membership.notice(at(9)), None, "it is told once");
        membership.server_came(0, at(10));
        membership.server_came(1, at(10));
        membership.worker_came(0, 0, at(10));
        membership.worker_came(1, 0, at(11));
        membership.worker_came(1, 1, at(11));
        assert_eq!(membership.notice(at(12)), None);
        assert_eq!(
            membership.notice(at(13)).unwrap(),
            "missing: worker 0, which has not reached server 1"
        );
        membership.worker_came(0, 1, at(14));
        assert!(membership.is_complete());
        assert_eq!(
            membership.notice(at(14)).unwrap(),
            "nobody is missing any more"
        );
        assert_eq!(membership.notice(at(20)), None);
        membership.server_went(1, at(20));
        assert_eq!(
            membership.notice(at(22)).unwrap(),
            "missing: server 1 at tcp://b:2; worker 0; worker 1"
        );
    }

    #[test]
    fn members_that_come_together_leave_no_line() {
        let addresses = ["tcp://a:1".parse().unwrap()];
        let start = now();
        let mut membership = Membership::new(&addresses, 1, start);
        membership.server_came(0, start);
        membership.worker_came(0, 0, start);
        assert_eq!(membership.notice(start + SETTLED), None);
    }
}
