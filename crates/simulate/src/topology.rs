//! Which resources a transfer or a computation uses.

use crate::cluster::{Cluster, Placement};
use crate::fluid::{ClassId, Fluid, ResourceId};
use std::collections::BTreeMap;

/// Which way parameters or updates go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    ToServer,
    ToWorker,
}

/// The hosts' links, the switch and the cores, as resources.
#[derive(Debug)]
pub(crate) struct Topology {
    /// Per server: its host's link towards the others, and from them.
    links: Vec<(Option<ResourceId>, Option<ResourceId>)>,
    switch: Option<ResourceId>,
    cores: Option<(ResourceId, ClassId)>,
    /// Classes that exist, by way, server, whether the worker shares its host with a
    /// server, and the worker's own limit.
    routes: BTreeMap<(Way, u32, Option<u32>, u64), Option<ClassId>>,
}

impl Topology {
    pub(crate) fn new<T>(cluster: &Cluster, servers: u32, fluid: &mut Fluid<T>) -> Self {
        let bandwidth = cluster.network.bandwidth;
        let is_networked = !matches!(cluster.placement, Placement::OneMachine { .. });
        let link = |server: u32, fluid: &mut Fluid<T>| {
            let own = match cluster.placement {
                Placement::Beside if server < cluster.workers => cluster.link(server),
                _ => bandwidth,
            };
            (is_networked && own.is_finite()).then(|| fluid.resource(own))
        };
        let links = (0..servers)
            .map(|server| (link(server, fluid), link(server, fluid)))
            .collect();
        let switch = cluster
            .network
            .switch
            .filter(|_| is_networked)
            .map(|capacity| fluid.resource(capacity));
        let cores = match cluster.placement {
            Placement::OneMachine { cores } => {
                let resource = fluid.resource(cores);
                Some((resource, fluid.class(&[resource], 1.0)))
            }
            Placement::Apart | Placement::Beside => None,
        };
        Self {
            links,
            switch,
            cores,
            routes: BTreeMap::new(),
        }
    }

    /// The class of threads on shared cores; none if every thread has its own.
    pub(crate) fn cores(&self) -> Option<ClassId> {
        self.cores.map(|(_, class)| class)
    }

    /// The server on a worker's host.
    fn companion(cluster: &Cluster, worker: u32, servers: u32) -> Option<u32> {
        (cluster.placement == Placement::Beside && worker < servers).then_some(worker)
    }

    /// Whether a transfer between the two stays on one host.
    pub(crate) fn is_local(cluster: &Cluster, worker: u32, server: u32) -> bool {
        match cluster.placement {
            Placement::OneMachine { .. } => true,
            Placement::Beside => worker == server,
            Placement::Apart => false,
        }
    }

    /// The class of a transfer; none if nothing bounds it.
    pub(crate) fn route<T>(
        &mut self,
        cluster: &Cluster,
        way: Way,
        worker: u32,
        server: u32,
        fluid: &mut Fluid<T>,
    ) -> Option<ClassId> {
        if Self::is_local(cluster, worker, server) {
            return None;
        }
        let servers = self.links.len() as u32;
        let companion = Self::companion(cluster, worker, servers);
        // A worker's own link is used by its transfers with all servers at once.
        let limit = match companion {
            Some(_) => f64::INFINITY,
            None => cluster.link(worker) / f64::from(servers),
        };
        let key = (way, server, companion, limit.to_bits());
        if let Some(class) = self.routes.get(&key) {
            return *class;
        }
        let (out, into) = self.links[server as usize];
        let own = companion.map(|own| self.links[own as usize]);
        let used = match way {
            Way::ToServer => [own.and_then(|(out, _)| out), into, self.switch],
            Way::ToWorker => [out, own.and_then(|(_, into)| into), self.switch],
        };
        let used: Vec<ResourceId> = used.into_iter().flatten().collect();
        let class = (!used.is_empty() || limit.is_finite()).then(|| fluid.class(&used, limit));
        self.routes.insert(key, class);
        class
    }

    /// How busy the busiest link, the switch and the cores were until `now`.
    pub(crate) fn busy<T>(&self, fluid: &mut Fluid<T>, now: f64) -> Busy {
        let mut used = |resource: Option<ResourceId>| {
            resource.map_or(0.0, |resource| fluid.utilisation(resource, now))
        };
        let (mut link, mut both_ways) = (0.0_f64, 0.0_f64);
        for (out, into) in &self.links {
            let (out, into) = (used(*out), used(*into));
            link = link.max(out).max(into);
            both_ways = both_ways.max(out + into);
        }
        Busy {
            link: link.min(1.0),
            both_ways,
            switch: used(self.switch).min(1.0),
            cores: used(self.cores.map(|(resource, _)| resource)).min(1.0),
        }
    }
}

/// How busy resources were, from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Busy {
    /// The busiest link of a server, in its busier direction.
    pub(crate) link: f64,
    /// The busiest link of a server, both directions added: bulk synchronous rounds
    /// use one after the other.
    pub(crate) both_ways: f64,
    pub(crate) switch: f64,
    pub(crate) cores: f64,
}
