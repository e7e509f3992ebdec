//! Resources that activities share fairly: links by transfers, cores by computations.
//!
//! An activity has an amount (bytes, seconds of a core) and uses one or more
//! resources. At every moment each has its max–min fair rate: no activity's rate can
//! grow without taking from one that has no more (Bertsekas and Gallager, *Data
//! Networks*, 1992, section 6.5.2). Activities with the same resources and the same
//! own limit form a *class* and have one rate, so that the cost of an event depends
//! on the number of classes that share a resource and not on that of activities.

use crate::agenda::Agenda;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A resource, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ResourceId(usize);

/// A class of activities, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassId(usize);

/// An activity, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ActivityId(u64);

#[derive(Debug)]
struct Resource {
    /// Amount a second.
    capacity: f64,
    classes: Vec<ClassId>,
    /// Amount handed out from one moment to another, for its utilisation.
    used: f64,
    used_since: f64,
    used_until: f64,
    rate: f64,
}

/// An amount of service that orders activities of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Served(f64);

impl Eq for Served {}

impl PartialOrd for Served {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Served {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[derive(Debug)]
struct Class {
    resources: Vec<ResourceId>,
    /// The most that one activity can use a second.
    limit: f64,
    /// What each activity gets a second now.
    rate: f64,
    /// What an activity that was there from the start would have got, until `at`.
    served: f64,
    at: f64,
    /// Those under way, by the service at which they end.
    ends: BinaryHeap<Reverse<(Served, ActivityId)>>,
    count: usize,
    /// Counts changes of the rate, so that outdated ends are known as such.
    epoch: u64,
}

/// The resources with everything under way on them.
#[derive(Debug)]
pub(crate) struct Fluid<T> {
    resources: Vec<Resource>,
    classes: Vec<Class>,
    /// What the caller knows each activity by; those that were cancelled are missing.
    tokens: BTreeMap<ActivityId, (ClassId, T)>,
    begun: u64,
    ends: Agenda<(ClassId, u64)>,
}

impl<T> Fluid<T> {
    pub(crate) fn new() -> Self {
        Self {
            resources: Vec::new(),
            classes: Vec::new(),
            tokens: BTreeMap::new(),
            begun: 0,
            ends: Agenda::new(),
        }
    }

    /// A resource with so much to give a second.
    pub(crate) fn resource(&mut self, capacity: f64) -> ResourceId {
        self.resources.push(Resource {
            capacity,
            classes: Vec::new(),
            used: 0.0,
            used_since: 0.0,
            used_until: 0.0,
            rate: 0.0,
        });
        ResourceId(self.resources.len() - 1)
    }

    /// The class of activities on these resources with this limit of each.
    ///
    /// # Panics
    /// If nothing bounds it: such an activity would take no time.
    pub(crate) fn class(&mut self, resources: &[ResourceId], limit: f64) -> ClassId {
        assert!(
            !resources.is_empty() || limit.is_finite(),
            "something bounds an activity"
        );
        let id = ClassId(self.classes.len());
        for resource in resources {
            self.resources[resource.0].classes.push(id);
        }
        self.classes.push(Class {
            resources: resources.to_vec(),
            limit,
            rate: 0.0,
            served: 0.0,
            at: 0.0,
            ends: BinaryHeap::new(),
            count: 0,
            epoch: 0,
        });
        id
    }

    /// Begins an activity.
    pub(crate) fn begin(&mut self, class: ClassId, amount: f64, now: f64, token: T) -> ActivityId {
        self.begun += 1;
        let id = ActivityId(self.begun);
        self.tokens.insert(id, (class, token));
        let own = &mut self.classes[class.0];
        own.advance(now);
        own.ends.push(Reverse((Served(own.served + amount), id)));
        own.count += 1;
        self.share(class, now);
        id
    }

    /// Ends an activity before its time; nothing happens if it has ended.
    pub(crate) fn cancel(&mut self, id: ActivityId, now: f64) {
        if let Some((class, _)) = self.tokens.remove(&id) {
            let own = &mut self.classes[class.0];
            own.advance(now);
            own.count -= 1;
            self.share(class, now);
        }
    }

    /// When the next activity ends, if any is under way.
    pub(crate) fn next_at(&mut self) -> Option<f64> {
        loop {
            let at = self.ends.next_at()?;
            if self.is_current() {
                return Some(at);
            }
            self.ends.pop();
        }
    }

    fn is_current(&self) -> bool {
        self.ends
            .peek()
            .is_some_and(|(class, epoch)| self.classes[class.0].epoch == *epoch)
    }

    /// Takes the activity that ends at the moment that [`Self::next_at`] gave.
    pub(crate) fn pop(&mut self) -> Option<(f64, T)> {
        self.next_at()?;
        let (at, (class, _)) = self.ends.pop()?;
        let own = &mut self.classes[class.0];
        own.advance(at);
        let ended = loop {
            let Reverse((_, id)) = own.ends.pop()?;
            // A cancelled one has left its place in the heap.
            if let Some((_, token)) = self.tokens.remove(&id) {
                break token;
            }
        };
        own.count -= 1;
        self.share(class, at);
        Some((at, ended))
    }

    /// From now on utilisation counts.
    pub(crate) fn begin_to_count(&mut self, now: f64) {
        for resource in &mut self.resources {
            resource.advance(now);
            resource.used = 0.0;
            resource.used_since = now;
        }
    }

    /// How much of a resource was handed out until `now`, from 0 to 1.
    pub(crate) fn utilisation(&mut self, resource: ResourceId, now: f64) -> f64 {
        let own = &mut self.resources[resource.0];
        own.advance(now);
        match now > own.used_since {
            true => own.used / (own.capacity * (now - own.used_since)),
            false => 0.0,
        }
    }

    /// Gives every class that shares a resource with `changed`, directly or through
    /// others, its fair rate.
    fn share(&mut self, changed: ClassId, now: f64) {
        let (classes, resources) = self.neighbours(changed);
        let mut left: Vec<(ResourceId, f64, usize)> = resources
            .iter()
            .map(|id| {
                let users = self.resources[id.0]
                    .classes
                    .iter()
                    .map(|class| self.classes[class.0].count)
                    .sum();
                (*id, self.resources[id.0].capacity, users)
            })
            .collect();
        let mut open: Vec<ClassId> = Vec::new();
        for id in classes {
            match self.classes[id.0].count {
                0 => self.set_rate(id, 0.0, now),
                _ => open.push(id),
            }
        }
        // The activity that can have least is given it, and what its class uses is
        // taken from its resources, until every class has its rate.
        while !open.is_empty() {
            let bound = |id: &ClassId| {
                let own = &self.classes[id.0];
                left.iter()
                    .filter(|(resource, _, _)| own.resources.contains(resource))
                    .map(|(_, capacity, users)| capacity / *users as f64)
                    .fold(own.limit, f64::min)
            };
            let bounds: Vec<f64> = open.iter().map(bound).collect();
            let least = bounds.iter().copied().fold(f64::INFINITY, f64::min);
            let mut rest = Vec::new();
            let mut fixed = Vec::new();
            for (id, bound) in open.iter().zip(bounds) {
                match bound <= least {
                    true => fixed.push(*id),
                    false => rest.push(*id),
                }
            }
            for id in fixed {
                let own = &self.classes[id.0];
                for (resource, capacity, users) in &mut left {
                    if own.resources.contains(resource) {
                        *capacity = (*capacity - least * own.count as f64).max(0.0);
                        *users -= own.count;
                    }
                }
                self.set_rate(id, least, now);
            }
            open = rest;
        }
        for id in resources {
            let rate = self.resources[id.0]
                .classes
                .iter()
                .map(|class| self.classes[class.0].rate * self.classes[class.0].count as f64)
                .sum();
            let own = &mut self.resources[id.0];
            own.advance(now);
            own.rate = rate;
        }
    }

    /// The classes under way that a change of one can concern, with their resources.
    fn neighbours(&self, changed: ClassId) -> (Vec<ClassId>, Vec<ResourceId>) {
        let mut classes = vec![changed];
        let mut resources: Vec<ResourceId> = Vec::new();
        let mut next = 0;
        while let Some(class) = classes.get(next).copied() {
            next += 1;
            for resource in &self.classes[class.0].resources {
                if resources.contains(resource) {
                    continue;
                }
                resources.push(*resource);
                for other in &self.resources[resource.0].classes {
                    if self.classes[other.0].count > 0 && !classes.contains(other) {
                        classes.push(*other);
                    }
                }
            }
        }
        (classes, resources)
    }

    fn set_rate(&mut self, id: ClassId, rate: f64, now: f64) {
        let own = &mut self.classes[id.0];
        own.advance(now);
        own.rate = rate;
        own.epoch += 1;
        while let Some(Reverse((_, first))) = own.ends.peek() {
            if self.tokens.contains_key(first) {
                break;
            }
            own.ends.pop();
        }
        if let (true, Some(Reverse((Served(end), _)))) = (own.count > 0, own.ends.peek()) {
            let wait = (end - own.served).max(0.0) / rate;
            self.ends.enter(now + wait, (id, own.epoch));
        }
    }
}

impl Class {
    fn advance(&mut self, now: f64) {
        self.served += self.rate * (now - self.at);
        self.at = now;
    }
}

impl Resource {
    fn advance(&mut self, now: f64) {
        self.used += self.rate * (now - self.used_until);
        self.used_until = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(fluid: &mut Fluid<u32>) -> Vec<(f64, u32)> {
        std::iter::from_fn(|| fluid.pop()).collect()
    }

    #[test]
    fn transfers_on_one_link_share_it_equally() {
        let mut fluid = Fluid::new();
        let link = fluid.resource(10.0);
        let class = fluid.class(&[link], f64::INFINITY);
        fluid.begin(class, 10.0, 0.0, 1);
        fluid.begin(class, 20.0, 0.0, 2);
        // Both at 5 until the first ends at 2 s; then 10 for the rest of the other.
        assert_eq!(ends(&mut fluid), [(2.0, 1), (3.0, 2)]);
        assert!((fluid.utilisation(link, 6.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn one_that_is_bounded_elsewhere_leaves_its_share_to_the_others() {
        let mut fluid = Fluid::new();
        let (wide, narrow) = (fluid.resource(10.0), fluid.resource(2.0));
        let both = fluid.class(&[wide, narrow], f64::INFINITY);
        let one = fluid.class(&[wide], f64::INFINITY);
        fluid.begin(both, 2.0, 0.0, 1);
        fluid.begin(one, 8.0, 0.0, 2);
        assert_eq!(ends(&mut fluid), [(1.0, 1), (1.0, 2)]);
    }

    #[test]
    fn a_core_is_not_used_by_halves_of_one_thread() {
        let mut fluid = Fluid::new();
        let cores = fluid.resource(2.0);
        let class = fluid.class(&[cores], 1.0);
        fluid.begin(class, 1.0, 0.0, 1);
        assert_eq!(fluid.next_at(), Some(1.0), "one thread uses one core");
        for token in [2, 3, 4] {
            fluid.begin(class, 1.0, 0.0, token);
        }
        let at: Vec<f64> = ends(&mut fluid).iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [2.0, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn what_is_cancelled_uses_nothing_more_and_never_ends() {
        let mut fluid = Fluid::new();
        let link = fluid.resource(10.0);
        let class = fluid.class(&[link], f64::INFINITY);
        let lost = fluid.begin(class, 5.0, 0.0, 1);
        fluid.begin(class, 10.0, 0.0, 2);
        fluid.cancel(lost, 0.5);
        fluid.cancel(lost, 0.5);
        // Five a second for half a second, ten for the remaining 7.5.
        assert_eq!(ends(&mut fluid), [(1.25, 2)]);
    }

    proptest! {
        /// Max–min: every class is at its limit, or uses a full resource on which no
        /// other has a higher rate.
        #[test]
        fn rates_are_max_min_fair(
            capacities in proptest::collection::vec(1.0_f64..100.0, 1..5),
            classes in proptest::collection::vec((1_usize..31, 0.5_f64..50.0, 1_usize..6), 1..8),
        ) {
            let mut fluid = Fluid::new();
            let resources: Vec<_> = capacities.iter().map(|c| fluid.resource(*c)).collect();
            for (mask, limit, count) in &classes {
                let used: Vec<_> = resources
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| mask >> i & 1 == 1)
                    .map(|(_, id)| *id)
                    .collect();
                let class = fluid.class(&used, *limit);
                for _ in 0..*count {
                    fluid.begin(class, 1.0, 0.0, 0);
                }
            }
            for (at, resource) in fluid.resources.iter().enumerate() {
                prop_assert!(resource.rate <= capacities[at] * (1.0 + 1e-9));
            }
            for class in &fluid.classes {
                let at_limit = class.rate >= class.limit * (1.0 - 1e-9);
                let is_held = class.resources.iter().any(|id| {
                    let resource = &fluid.resources[id.0];
                    let is_full = resource.rate >= resource.capacity * (1.0 - 1e-9);
                    let highest = resource.classes.iter().map(|c| fluid.classes[c.0].rate);
                    is_full && highest.fold(0.0, f64::max) <= class.rate * (1.0 + 1e-9)
                });
                prop_assert!(at_limit || is_held, "{class:?}");
            }
        }
    }
}
