//! Jobs with deadlines that arrive at random over an hour, on a simulated machine:
//! the queue's own admission against schedulers that predict nothing.
//!
//! `slo [SEEDS] [JOBS] [CPUS]` prints a line of JSON per policy, summed over seeds.
//! Nothing but the machine is simulated: what is believed of a job comes from four
//! measured runs of each configuration, as a study would have them, and the queue
//! never sees how long a job takes until it has ended.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use paceline_dist::{Normal, StudentT};
use paceline_serve::queue::{Belief, Candidate, Decision, Item, Wish, admit, place_of};

/// splitmix64.
struct Chance(u64);

impl Chance {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        Normal.quantile(self.unit())
    }
}

/// A configuration of a kind of job: batch size, CPUs, and how it really behaves.
#[derive(Clone)]
struct Configuration {
    batch: f64,
    cpus: u32,
    /// Of the logarithm.
    centre: f64,
    spread: f64,
    accuracy: f64,
    believed: Belief,
}

const BATCHES: [f64; 4] = [64.0, 128.0, 256.0, 512.0];
/// Runs of each configuration that are known beforehand.
const KNOWN: usize = 4;

/// Times fall with the batch and the CPUs, accuracy with the batch, as in tables 4 to 9
/// of the Courier paper; four kinds of job from 20 to 160 seconds.
fn kinds(chance: &mut Chance, cpus: u32) -> Vec<Vec<Configuration>> {
    let sizes = [20.0, 40.0, 80.0, 160.0];
    sizes
        .iter()
        .map(|size: &f64| {
            let mut all = Vec::new();
            for batch in BATCHES {
                for used in (1..=cpus).take(2) {
                    let speed = 1.0 / (0.25 + 0.75 / f64::from(used));
                    let seconds = size * (0.3 + 0.7 * (64.0 / batch).sqrt()) / speed;
                    let (centre, spread) = (seconds.ln(), 0.06);
                    let runs: Vec<f64> = (0..KNOWN)
                        .map(|_| centre + spread * chance.normal())
                        .collect();
                    all.push(Configuration {
                        batch,
                        cpus: used,
                        centre,
                        spread,
                        accuracy: 0.955 - 0.00012 * batch,
                        believed: learned(&runs),
                    });
                }
            }
            all
        })
        .collect()
}

/// What a few runs tell: log-normal, with Student's t.
fn learned(logs: &[f64]) -> Belief {
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let spread = (variance * (1.0 + 1.0 / n)).sqrt().max(0.01);
    let t = StudentT::new(n - 1.0).expect("more than one run");
    Belief::new(
        (0..40).map(|part| (mean + spread * t.quantile((f64::from(part) + 0.5) / 40.0)).exp()),
    )
}

struct Arrival {
    at: f64,
    due: f64,
    kind: usize,
    /// The same luck for every policy, whatever it chooses.
    luck: f64,
}

fn arrivals(chance: &mut Chance, count: usize) -> Vec<Arrival> {
    let mut all: Vec<Arrival> = (0..count)
        .map(|_| {
            let at = 3600.0 * chance.unit();
            let kind = (4.0 * chance.unit()) as usize;
            let size = [20.0, 40.0, 80.0, 160.0][kind];
            // Table 9's deadlines: normal, a third of the mean; never below a little.
            let factor = (1.8 + 0.6 * chance.normal()).max(0.4);
            Arrival {
                at,
                due: at + size * factor,
                kind,
                luck: chance.normal(),
            }
        })
        .collect();
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    all
}

#[derive(Clone, Copy, PartialEq)]
enum Policy {
    Paceline,
    /// The largest accuracy, first come, first served.
    Naive,
    /// Batch 128, first come, first served.
    Static,
    /// Batch 128, the earliest deadline first; what is overdue is dropped.
    Edf,
}

#[derive(Default)]
struct Account {
    submitted: usize,
    accepted: usize,
    kept: usize,
    stated: f64,
    accuracy: f64,
}

struct Job {
    id: String,
    arrival: usize,
    choice: Configuration,
    started: Option<f64>,
    ends: f64,
}

fn simulate(
    policy: Policy,
    kinds: &[Vec<Configuration>],
    arrivals: &[Arrival],
    cpus: u32,
    account: &mut Account,
) {
    let mut open: Vec<Job> = Vec::new();
    let mut next = 0;
    let mut now;
    loop {
        let end = open
            .iter()
            .filter(|job| job.started.is_some())
            .map(|job| job.ends);
        let end = end.fold(f64::INFINITY, f64::min);
        let comes = arrivals
            .get(next)
            .map_or(f64::INFINITY, |arrival| arrival.at);
        now = end.min(comes);
        if now == f64::INFINITY {
            return;
        }
        open.retain(|job| {
            let over = job.started.is_some() && job.ends <= now;
            if over && job.ends <= arrivals[job.arrival].due {
                account.kept += 1;
                account.accuracy += job.choice.accuracy;
            }
            !over
        });
        if comes <= now {
            account.submitted += 1;
            if let Some(job) = decide(policy, kinds, arrivals, next, &open, cpus, now, account) {
                account.accepted += 1;
                open.push(job);
            }
            next += 1;
        }
        if policy == Policy::Edf {
            open.retain(|job| job.started.is_some() || arrivals[job.arrival].due > now);
        }
        if matches!(policy, Policy::Paceline | Policy::Edf) {
            open.sort_by(|a, b| arrivals[a.arrival].due.total_cmp(&arrivals[b.arrival].due));
        }
        let held: u32 = open
            .iter()
            .filter(|job| job.started.is_some())
            .map(|job| job.choice.cpus)
            .sum();
        let mut free = cpus - held;
        for job in open.iter_mut().filter(|job| job.started.is_none()) {
            if job.choice.cpus <= free {
                free -= job.choice.cpus;
                job.started = Some(now);
                let luck = arrivals[job.arrival].luck;
                job.ends = now + (job.choice.centre + job.choice.spread * luck).exp();
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "one step of a simulation")]
fn decide(
    policy: Policy,
    kinds: &[Vec<Configuration>],
    arrivals: &[Arrival],
    at: usize,
    open: &[Job],
    cpus: u32,
    now: f64,
    account: &mut Account,
) -> Option<Job> {
    let arrival = &arrivals[at];
    let choices = &kinds[arrival.kind];
    let job = |choice: &Configuration| Job {
        id: format!("j{at:04}"),
        arrival: at,
        choice: choice.clone(),
        started: None,
        ends: f64::INFINITY,
    };
    let widest = |batch: f64| {
        let all = choices.iter().filter(|one| one.batch == batch);
        all.max_by_key(|one| one.cpus)
    };
    match policy {
        Policy::Naive => widest(64.0).map(job),
        Policy::Static | Policy::Edf => widest(128.0).map(job),
        Policy::Paceline => {
            let mut present: Vec<Item> = Vec::new();
            for one in open {
                let item = Item {
                    id: one.id.clone(),
                    left: match one.started {
                        Some(since) => one.choice.believed.left(now - since, None),
                        None => one.choice.believed.clone(),
                    },
                    cpus: one.choice.cpus,
                    active: one.started.is_some(),
                    due_s: Some(arrivals[one.arrival].due - now),
                    confidence: 0.95,
                };
                let place = match item.active {
                    true => 0,
                    false => place_of(&present, item.due_s),
                };
                present.insert(place, item);
            }
            let candidates: Vec<Candidate> = choices
                .iter()
                .map(|one| Candidate {
                    objective: one.accuracy,
                    alone: one.believed.clone(),
                    cpus: one.cpus,
                })
                .collect();
            let wish = Wish {
                id: format!("j{at:04}"),
                due_s: arrival.due - now,
                confidence: 0.95,
                tolerance: 0.0,
            };
            match admit(&present, &candidates, &wish, cpus) {
                Decision::Accepted(accepted) => {
                    account.stated += accepted.probability;
                    Some(job(&choices[accepted.candidate]))
                }
                Decision::Refused(_) => None,
            }
        }
    }
}

fn main() {
    let words: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let word = |at: usize, usual: usize| words.get(at).copied().unwrap_or(usual);
    let (seeds, jobs, cpus) = (word(0, 5), word(1, 200), word(2, 4) as u32);
    let policies = [
        ("paceline", Policy::Paceline),
        ("naive", Policy::Naive),
        ("static", Policy::Static),
        ("edf", Policy::Edf),
    ];
    for (name, policy) in policies {
        let mut account = Account::default();
        for seed in 0..seeds {
            let mut chance = Chance(1 + seed as u64);
            let kinds = kinds(&mut chance, cpus);
            let arrivals = arrivals(&mut chance, jobs);
            simulate(policy, &kinds, &arrivals, cpus, &mut account);
        }
        let share = |part: f64, of: usize| part / of.max(1) as f64;
        println!(
            "{{\"policy\":\"{name}\",\"submitted\":{},\"accepted\":{},\"kept\":{},\"stated\":{:.1},\
             \"kept_of_accepted\":{:.4},\"kept_of_submitted\":{:.4},\"accuracy_of_kept\":{:.4},\
             \"accuracy_per_submitted\":{:.4}}}",
            account.submitted,
            account.accepted,
            account.kept,
            account.stated,
            share(account.kept as f64, account.accepted),
            share(account.kept as f64, account.submitted),
            share(account.accuracy, account.kept),
            share(account.accuracy, account.submitted),
        );
    }
}
