//! Workers that sum among themselves, without a server.
//!
//! The schedules are those of a training: recursive doubling for a short vector, a
//! ring for a long one. Each step of a worker ends when its own message and that of
//! its partner are through.

use crate::cluster::{Cluster, Placement};
use crate::fluid::Fluid;
use crate::outcome::{Bound, Outcome, Shares};
use paceline_numeric::Chance;

/// Bytes from which on a training uses the ring where nothing was measured: 16 Ki
/// numbers of four bytes.
const RING_FROM_BYTES: f64 = 65_536.0;

/// Up to so many workers every step of a ring is simulated. With more, a ring with
/// links of different speed is taken to go at the pace of the slowest, which is what
/// it comes to once the slowest has held up everybody.
const MOST_RING_STEPS: u32 = 512;

/// What a message of so many bytes takes from one worker to another.
struct Hops<'a> {
    cluster: &'a Cluster,
}

impl Hops<'_> {
    fn seconds(&self, from: u32, to: u32, bytes: f64) -> f64 {
        let cost = &self.cluster.server;
        // Every byte is sent by one core, and received and added by another.
        let cores = 2.0 * cost.message_s + bytes * (2.0 * cost.byte_s + cost.apply_byte_s);
        if matches!(self.cluster.placement, Placement::OneMachine { .. }) {
            return cores;
        }
        let link = self.cluster.link(from).min(self.cluster.link(to));
        cores + bytes / link + self.cluster.network.latency_s
    }

    fn are_equal(&self) -> bool {
        self.cluster.slow_links.is_empty()
    }
}

pub(crate) fn simulate(cluster: &Cluster, iterations: u32, seed: u64) -> Outcome {
    let workers = cluster.workers as usize;
    let mut chances: Vec<Chance> = (0..u64::from(cluster.workers))
        .map(|worker| Chance::new(seed, worker))
        .collect();
    let hops = Hops { cluster };
    let mut free = vec![0.0_f64; workers];
    let (mut since, mut computing, mut waiting, mut counted) = (0.0, 0.0, 0.0, 0_u64);
    let warm = (iterations / 10).max(1);
    for iteration in 0..iterations {
        if iteration == warm {
            since = free.iter().copied().fold(0.0, f64::max);
            (computing, waiting, counted) = (0.0, 0.0, 0);
        }
        let needs: Vec<f64> = (0..cluster.workers)
            .zip(&mut chances)
            .map(|(worker, chance)| {
                cluster.worker_overhead_s + cluster.slowness(worker) * cluster.compute.draw(chance)
            })
            .collect();
        let ready = computed(cluster, &free, &needs);
        let last = ready.iter().copied().fold(0.0, f64::max);
        for (began, ready) in free.iter().zip(&ready) {
            computing += ready - began;
            waiting += last - ready;
        }
        free = reduced(&hops, &ready);
        counted += 1;
    }
    let end = free.iter().copied().fold(0.0, f64::max);
    let elapsed_s = (end - since).max(f64::MIN_POSITIVE);
    let all = workers as f64 * elapsed_s;
    let computing = (computing / all).min(1.0);
    let waiting = (waiting / all).min(1.0 - computing);
    let each = bytes_of_each(cluster);
    let iterations_per_s = counted as f64 / elapsed_s;
    let link_busy = match cluster.placement {
        Placement::OneMachine { .. } => 0.0,
        Placement::Apart | Placement::Beside => {
            let slowest = (0..cluster.workers)
                .map(|worker| cluster.link(worker))
                .fold(f64::INFINITY, f64::min);
            (each * iterations_per_s / slowest).min(1.0)
        }
    };
    let cores_busy = match cluster.placement {
        Placement::OneMachine { cores } => {
            let need = cluster.compute.mean_s() + cluster.worker_overhead_s;
            (need * workers as f64 * iterations_per_s / cores).min(1.0)
        }
        Placement::Apart | Placement::Beside => 0.0,
    };
    let mut outcome = Outcome {
        elapsed_s,
        updates_per_s: iterations_per_s * workers as f64,
        iterations_per_s,
        shares: Shares {
            computing,
            waiting,
            communicating: 1.0 - computing - waiting,
        },
        staleness_mean: 0.0,
        staleness_max: 0,
        dropped_share: 0.0,
        bytes_per_s: each * workers as f64 * iterations_per_s,
        server_busy: 0.0,
        link_busy,
        switch_busy: 0.0,
        cores_busy,
        bound: Bound::Computing,
        losses: 0,
    };
    outcome.bound = Bound::of(&outcome, link_busy);
    outcome
}

/// When each worker has computed what it needs, from the moment when it is free.
fn computed(cluster: &Cluster, free: &[f64], needs: &[f64]) -> Vec<f64> {
    let Placement::OneMachine { cores } = cluster.placement else {
        return free.iter().zip(needs).map(|(at, need)| at + need).collect();
    };
    let mut fluid = Fluid::new();
    let resource = fluid.resource(cores);
    let class = fluid.class(&[resource], 1.0);
    let mut order: Vec<usize> = (0..free.len()).collect();
    order.sort_by(|a, b| free[*a].total_cmp(&free[*b]));
    let mut ready = vec![0.0; free.len()];
    let mut next = order.into_iter().peekable();
    loop {
        let end = fluid.next_at();
        match (next.peek(), end) {
            (Some(worker), end) if end.is_none_or(|end| free[*worker] <= end) => {
                let worker = *worker;
                next.next();
                fluid.begin(class, needs[worker], free[worker], worker);
            }
            (_, Some(_)) => {
                if let Some((at, worker)) = fluid.pop() {
                    ready[worker] = at;
                }
            }
            (_, None) => return ready,
        }
    }
}

fn uses_ring(cluster: &Cluster) -> bool {
    cluster.update_bytes >= RING_FROM_BYTES
}

/// Bytes that each worker sends for one sum.
fn bytes_of_each(cluster: &Cluster) -> f64 {
    let workers = f64::from(cluster.workers);
    match (cluster.workers, uses_ring(cluster)) {
        (1, _) => 0.0,
        (_, true) => 2.0 * (workers - 1.0) / workers * cluster.update_bytes,
        (_, false) => workers.log2().ceil() * cluster.update_bytes,
    }
}

/// When each worker holds the sum.
fn reduced(hops: &Hops<'_>, ready: &[f64]) -> Vec<f64> {
    match (ready.len(), uses_ring(hops.cluster)) {
        (1, _) => ready.to_vec(),
        (_, true) => ring(hops, ready),
        (_, false) => doubling(hops, ready),
    }
}

fn ring(hops: &Hops<'_>, ready: &[f64]) -> Vec<f64> {
    let workers = ready.len() as u32;
    let chunk = hops.cluster.update_bytes / f64::from(workers);
    let before = |worker: u32| (worker + workers - 1) % workers;
    let costs: Vec<f64> = (0..workers)
        .map(|worker| hops.seconds(before(worker), worker, chunk))
        .collect();
    let steps = 2 * (workers - 1);
    if hops.are_equal() || workers > MOST_RING_STEPS {
        // With equal steps the last to be ready has reached everybody after half of
        // them: what follows is the same for all.
        let last = ready.iter().copied().fold(0.0, f64::max);
        let slowest = costs.iter().copied().fold(0.0, f64::max);
        return vec![last + f64::from(steps) * slowest; ready.len()];
    }
    let mut at = ready.to_vec();
    for _ in 0..steps {
        at = (0..workers)
            .map(|worker| {
                let both = at[worker as usize].max(at[before(worker) as usize]);
                both + costs[worker as usize]
            })
            .collect();
    }
    at
}

fn doubling(hops: &Hops<'_>, ready: &[f64]) -> Vec<f64> {
    let workers = ready.len() as u32;
    let bytes = hops.cluster.update_bytes;
    let mut at = ready.to_vec();
    // Those beyond the largest power of two hand their numbers to a partner first,
    // and take the sum from it in the end.
    let power = 1_u32 << workers.ilog2();
    for extra in power..workers {
        let partner = extra - power;
        let both = at[extra as usize].max(at[partner as usize]);
        at[partner as usize] = both + hops.seconds(extra, partner, bytes);
    }
    let mut distance = 1;
    while distance < power {
        at = (0..workers)
            .map(|worker| {
                if worker >= power {
                    return at[worker as usize];
                }
                let partner = worker ^ distance;
                let both = at[worker as usize].max(at[partner as usize]);
                both + hops.seconds(partner, worker, bytes)
            })
            .collect();
        distance *= 2;
    }
    for extra in power..workers {
        let partner = extra - power;
        at[extra as usize] = at[partner as usize] + hops.seconds(partner, extra, bytes);
    }
    at
}
