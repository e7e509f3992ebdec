//! Paceline's side of `cargo xtask bench tune`: Bayesian searches of the
//! problems that the peer's script searches too.
//!
//! `bench_tune SEEDS [TRAININGS.csv]` prints a JSON line for each problem and
//! seed: the regret of what the search would use, after every number of runs at
//! which the two sides are compared. `bench_tune --check` prints each problem's
//! cost at a few configurations, which the peer must agree with.

use paceline_advise::bayes::{Bayes, Dimension, Space, Step, Trial};
use paceline_numeric::Chance;
use std::io::Write;

/// The true cost of a configuration.
type Cost = Box<dyn Fn(&[f64]) -> f64>;

/// A problem with a known best.
struct Problem {
    name: &'static str,
    dimensions: Vec<Dimension>,
    /// How many configurations are run.
    runs: usize,
    /// The deviation of a run's logarithm around the cost.
    noise: f64,
    cost: Cost,
    /// The least cost there is.
    least: f64,
}

fn range(low: f64, high: f64, log: bool, whole: bool) -> Dimension {
    Dimension::Range {
        low,
        high,
        log,
        whole,
    }
}

/// Branin's function, shifted so that its least value is above zero as it is.
fn branin(at: &[f64]) -> f64 {
    let (x, y) = (at[0], at[1]);
    let pi = std::f64::consts::PI;
    let bend = y - 5.1 / (4.0 * pi * pi) * x * x + 5.0 / pi * x - 6.0;
    bend * bend + 10.0 * (1.0 - 1.0 / (8.0 * pi)) * x.cos() + 10.0
}

/// The loss of a training by its rate: too small learns nothing, too large
/// diverges.
fn learning_rate(at: &[f64]) -> f64 {
    let away = (at[0] / 0.03).ln();
    if at[0] > 1.0 {
        return 6.0;
    }
    (0.3 + 0.06 * away * away).min(2.3)
}

/// Four optimisers, each with a rate and a batch size of its own.
fn mixed(at: &[f64]) -> f64 {
    let optimizer = at[0] as usize;
    let rate = [0.5_f64, 0.08, 0.02, 0.003][optimizer];
    let batch = [256.0_f64, 128.0, 32.0, 64.0][optimizer];
    let floor = [0.60, 0.48, 0.52, 0.40][optimizer];
    let (a, b) = ((at[1] / rate).ln(), (at[2] / batch).ln());
    floor + (0.05 * a * a + 0.04 * b * b + 0.02 * a * b).min(2.0)
}

/// Time by batch size and threads: larger is faster, until it does not fit into
/// memory.
fn step(at: &[f64]) -> f64 {
    let (batch, threads) = (at[0], at[1]);
    if batch * (1.0 + 0.25 * threads) > 700.0 {
        return 90.0;
    }
    20.0 + 400.0 / batch + 30.0 / threads + 1.2 * threads
}

/// Guessing costs the same everywhere; there is one place where it learns.
fn plateau(at: &[f64]) -> f64 {
    let away = ((at[0] - 0.27) / 0.13).powi(2) + ((at[1] - 0.68) / 0.16).powi(2);
    1.0 - 0.9 * (-0.5 * away).exp()
}

fn problems(trainings: Option<&str>) -> Vec<Problem> {
    let mut problems = vec![
        Problem {
            name: "Branin",
            dimensions: vec![
                range(-5.0, 10.0, false, false),
                range(0.0, 15.0, false, false),
            ],
            runs: 40,
            noise: 0.0,
            cost: Box::new(branin),
            least: 0.397_887_357_729_738,
        },
        Problem {
            name: "noisy learning rate",
            dimensions: vec![range(1e-5, 10.0, true, false)],
            runs: 30,
            noise: 0.1,
            cost: Box::new(learning_rate),
            least: 0.3,
        },
        Problem {
            name: "mixed with categories",
            dimensions: vec![
                Dimension::Categories(4),
                range(1e-4, 3.0, true, false),
                Dimension::Levels(vec![16.0, 32.0, 64.0, 128.0, 256.0, 512.0]),
            ],
            runs: 40,
            noise: 0.0,
            cost: Box::new(mixed),
            least: 0.4,
        },
        Problem {
            name: "step",
            dimensions: vec![
                range(8.0, 1024.0, true, true),
                range(1.0, 16.0, false, true),
            ],
            runs: 40,
            noise: 0.0,
            cost: Box::new(step),
            least: 0.0,
        },
        Problem {
            name: "plateau",
            dimensions: vec![range(0.0, 1.0, false, false), range(0.0, 1.0, false, false)],
            runs: 40,
            noise: 0.0,
            cost: Box::new(plateau),
            least: 0.1,
        },
    ];
    // The least time is where the largest batch still fits.
    let batches = (8..=1024).flat_map(|b| (1..=16).map(move |t| [f64::from(b), f64::from(t)]));
    problems[3].least = batches.map(|at| step(&at)).fold(f64::INFINITY, f64::min);
    problems.extend(trainings.map(training));
    problems
}

/// Trainings that were really made, looked up: a line for each combination, the
/// levels first, the cost last; words are numbered.
fn training(path: &str) -> Problem {
    let text = std::fs::read_to_string(path).expect("the table of trainings can be read");
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .map(|cell| cell.parse().expect("a number"))
                .collect()
        })
        .collect();
    let width = rows[0].len() - 1;
    let levels = |at: usize| {
        let mut levels: Vec<f64> = rows.iter().map(|row| row[at]).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels
    };
    let mut dimensions = vec![Dimension::Categories(levels(0).len())];
    dimensions.extend((1..width).map(|at| Dimension::Levels(levels(at))));
    let least = rows
        .iter()
        .map(|row| row[width])
        .fold(f64::INFINITY, f64::min);
    Problem {
        name: "real training",
        dimensions,
        runs: 30,
        noise: 0.0,
        cost: Box::new(move |at| {
            let row = rows.iter().find(|row| row[..width] == *at);
            row.expect("every combination was trained")[width]
        }),
        least,
    }
}

fn search(problem: &Problem, seed: u64) -> (Vec<f64>, usize) {
    let bayes = Bayes {
        space: Space::new(problem.dimensions.clone()),
        limits: Vec::new(),
        most_runs: problem.runs,
        least_improvement: 0.0,
        seed,
    };
    let mut chance = Chance::new(seed, 1 << 40);
    let mut history: Vec<Trial> = Vec::new();
    let best = loop {
        match bayes.next(&history).expect("the history is sound") {
            Step::Run(next) => {
                let cost = (problem.cost)(&next.configuration);
                history.push(Trial {
                    cost: cost * (problem.noise * chance.normal()).exp(),
                    configuration: next.configuration,
                    limited: Vec::new(),
                    seconds: 1.0,
                });
            }
            Step::Done { best, .. } => break best.expect("without limits there is a best"),
        }
    };
    (history[best].configuration.clone(), history.len())
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout().lock();
    let mut print = |line: String| writeln!(out, "{line}").expect("stdout is open");
    let problems = problems(words.get(1).map(String::as_str));
    if words.first().is_some_and(|word| word == "--check") {
        for problem in &problems {
            for part in [0.1_f64, 0.37, 0.62, 0.9] {
                let at: Vec<f64> = problem
                    .dimensions
                    .iter()
                    .map(|dimension| match dimension {
                        Dimension::Categories(count) => (part * *count as f64).floor(),
                        Dimension::Levels(levels) => levels[(part * levels.len() as f64) as usize],
                        Dimension::Range {
                            low, high, whole, ..
                        } => {
                            let value = low + part * (high - low);
                            if *whole { value.round() } else { value }
                        }
                    })
                    .collect();
                let cost = (problem.cost)(&at);
                print(format!(
                    "{{\"problem\": \"{}\", \"at\": {at:?}, \"cost\": {cost}}}",
                    problem.name
                ));
            }
        }
        return;
    }
    let seeds: u64 = words
        .first()
        .map_or(25, |word| word.parse().expect("a number of seeds"));
    for problem in &problems {
        for seed in 1..=seeds {
            let (best, runs) = search(problem, seed);
            let regret = (problem.cost)(&best) - problem.least;
            print(format!(
                "{{\"problem\": \"{}\", \"seed\": {seed}, \"runs\": {runs}, \"regret\": {regret}, \"at\": {best:?}}}",
                problem.name
            ));
        }
    }
}
