//! Searches from their first run to their end.

use super::*;

fn range(low: f64, high: f64, log: bool) -> Dimension {
    Dimension::Range {
        low,
        high,
        log,
        whole: false,
    }
}

fn search(dimensions: Vec<Dimension>, most_runs: usize, seed: u64) -> Bayes {
    Bayes {
        space: Space::new(dimensions),
        limits: Vec::new(),
        most_runs,
        least_improvement: 0.005,
        seed,
    }
}

/// What came of a search: its runs, the best of them, why it ended.
struct Found {
    history: Vec<Trial>,
    best: Option<usize>,
    reason: StopReason,
    unexplored: Unexplored,
}

fn run(search: &Bayes, mut of: impl FnMut(&[f64]) -> (f64, Vec<f64>)) -> Found {
    let mut history: Vec<Trial> = Vec::new();
    loop {
        match search.next(&history).unwrap() {
            Step::Run(next) => {
                let (cost, limited) = of(&next.configuration);
                history.push(Trial {
                    configuration: next.configuration,
                    cost,
                    limited,
                    seconds: 10.0,
                });
            }
            Step::Done {
                best,
                reason,
                unexplored,
            } => {
                return Found {
                    history,
                    best,
                    reason,
                    unexplored,
                };
            }
        }
    }
}

#[test]
fn the_search_finds_the_least_cost_within_the_limit_and_stops_by_itself() {
    let mut search = search(vec![range(0.001, 3.2, true)], 40, 3);
    search.limits = vec![Limit::AtMost(0.5)];
    // The cost is least at 0.1; the limited response excludes rates above 0.5.
    let found = run(&search, |at| {
        (1.0 + (at[0] / 0.1).ln().powi(2), vec![at[0]])
    });
    let rate = found.history[found.best.unwrap()].configuration[0];
    assert!((0.08..0.125).contains(&rate), "{rate}");
    assert_eq!(found.reason, StopReason::NotWorthIt);
    assert!(found.history.len() < 25, "{} runs", found.history.len());
}

/// The cost of a training by optimiser and rate: each optimiser has a rate of
/// its own, and one of them is best.
fn training(at: &[f64], winner: usize) -> f64 {
    let category = at[0] as usize;
    let centre = [0.003_f64, 0.1, 0.02, 0.5][category];
    let level = if category == winner { 1.0 } else { 1.6 };
    level * (1.0 + 0.15 * (at[1] / centre).ln().powi(2))
}

#[test]
fn the_better_category_is_found_wherever_it_is_listed() {
    for winner in 0..4 {
        for seed in 1..=2 {
            let space = vec![Dimension::Categories(4), range(1e-4, 3.0, true)];
            let search = search(space, 40, seed);
            let found = run(&search, |at| (training(at, winner), Vec::new()));
            let best = &found.history[found.best.unwrap()].configuration;
            assert_eq!(best[0], winner as f64, "seed {seed}: {best:?}");
            for category in 0..4 {
                let with = |trial: &&Trial| trial.configuration[0] == f64::from(category);
                let times = found.history.iter().filter(with).count();
                assert!(times >= 2, "category {category} was run {times} times");
            }
        }
    }
}

#[test]
fn every_category_is_run_before_a_stop_even_where_costs_are_equal() {
    let space = vec![Dimension::Categories(7), Dimension::Categories(2)];
    let search = search(space, 14, 2);
    let found = run(&search, |_| (1.0, Vec::new()));
    assert_eq!(
        found.reason,
        StopReason::AllRun.min_by_runs(found.history.len())
    );
    assert!(found.unexplored.categories.is_empty());
}

impl StopReason {
    /// Fourteen configurations and fourteen runs end together.
    fn min_by_runs(self, runs: usize) -> Self {
        if runs >= 14 { Self::RunsUsedUp } else { self }
    }
}

#[test]
fn a_stop_for_lack_of_runs_says_what_was_not_explored() {
    let space = vec![Dimension::Categories(9), range(0.0, 1.0, false)];
    let found = run(&search(space, 5, 1), |at| (at[0] + at[1], Vec::new()));
    assert_eq!(found.reason, StopReason::RunsUsedUp);
    assert_eq!(found.unexplored.categories.len(), 4);
    let promising = found.unexplored.promising.unwrap();
    assert!((0.0..=1.0).contains(&promising.better));
}

#[test]
fn until_a_run_keeps_the_limit_the_search_looks_for_one() {
    let mut search = search(vec![range(0.0, 1.0, false), range(0.0, 1.0, false)], 30, 1);
    search.limits = vec![Limit::AtLeast(0.9)];
    let found = run(&search, |at| (at[0], vec![at[1]]));
    let best = &found.history[found.best.unwrap()];
    assert!(best.limited[0] >= 0.9 && best.cost < 0.1, "{best:?}");
}

#[test]
fn the_same_history_gives_the_same_step() {
    let search = search(
        vec![Dimension::Categories(3), range(0.1, 10.0, true)],
        12,
        7,
    );
    let cost = |at: &[f64]| (training(at, 1), Vec::new());
    let (a, b) = (run(&search, cost), run(&search, cost));
    assert_eq!(a.history, b.history);
    // An interrupted search goes on as it would have.
    let half = &a.history[..6];
    let Step::Run(next) = search.next(half).unwrap() else {
        panic!("the search ends early");
    };
    assert_eq!(next.configuration, a.history[6].configuration);
}

#[test]
fn a_history_without_sense_is_refused() {
    let search = search(vec![range(0.0, 1.0, false)], 12, 7);
    let trial = |cost: f64, limited: Vec<f64>| Trial {
        configuration: vec![0.5],
        cost,
        limited,
        seconds: 1.0,
    };
    assert_eq!(
        search.next(&[trial(f64::NAN, vec![])]),
        Err(BayesError::NotFinite)
    );
    assert!(matches!(
        search.next(&[trial(1.0, vec![2.0])]),
        Err(BayesError::Limits { .. })
    ));
}

/// Two of the first runs are about equally good: that they are alike must not make
/// the search content with either.
#[test]
fn the_search_does_not_stop_before_it_has_seen_the_valley() {
    for seed in 1..=6 {
        let search = search(vec![range(0.001, 1.0, true)], 66, seed);
        let mut run_count = 0_u32;
        let found = run(&search, |at| {
            run_count += 1;
            let scatter = 0.01 * (f64::from(run_count * 7 % 5) - 2.0);
            (
                1.0 + 0.5 * (at[0] / 0.02).ln().powi(2) + scatter,
                Vec::new(),
            )
        });
        let rate = found.history[found.best.unwrap()].configuration[0];
        assert!((0.015..0.027).contains(&rate), "seed {seed}: {rate}");
        assert!(found.history.len() >= 8, "{} runs", found.history.len());
    }
}
