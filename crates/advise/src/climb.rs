//! The climb of one numeric factor, decided by intervals instead of luck.

use paceline_dist::StudentT;
use thiserror::Error;

/// "Exponential increase, linear back down" of the Spark and BigDL study: double
/// the level while the cost falls; then go back to the best level and raise it by
/// a tenth while the cost falls.
///
/// The study compares two means of about five runs and stops on the first that
/// is not lower, so a single noisy comparison ends the search, and so does a
/// plateau: on the study's own problem the smallest rates all learn nothing and
/// cost the same. Here a level is worse only if the interval of the difference
/// says so (Welch 1947). A level that cannot be told from the best one is a tie:
/// the climb goes on past it, for at most [`ClimbParams::most_ties`] levels in a
/// row. The answer is the level of the lowest mean, which first earns more
/// replicates if no comparison has decided for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Climb {
    start: f64,
    replicates: usize,
    most_replicates: usize,
    most_ties: usize,
    most_runs: usize,
    confidence: f64,
    highest: f64,
    whole: bool,
}

/// A climb as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClimbParams {
    /// The first level; above zero.
    pub start: f64,
    /// Runs of a level before it is compared; at least two.
    pub replicates: usize,
    /// Runs of a level after which an undecided step of a tenth is a tie.
    pub most_replicates: usize,
    /// How many doublings in a row may be ties before the climb turns back.
    pub most_ties: usize,
    /// Runs after which the climb ends wherever it is.
    pub most_runs: usize,
    /// The confidence of the interval.
    pub confidence: f64,
    /// No level above this is run; infinite if there is no such limit.
    pub highest: f64,
    /// Levels are whole numbers: a step of a tenth is rounded up to the next.
    pub whole: bool,
}

impl Default for ClimbParams {
    fn default() -> Self {
        Self {
            start: 0.002,
            replicates: 5,
            most_replicates: 10,
            most_ties: 8,
            most_runs: 200,
            confidence: 0.95,
            highest: f64::INFINITY,
            whole: false,
        }
    }
}

/// Why parameters do not make a climb.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ClimbError {
    /// The start is not a positive number.
    #[error("the start {0} is not above zero")]
    Start(f64),
    /// The start lies above the highest level, which may not be a number.
    #[error("the start {start} lies above the highest level {highest}")]
    Highest {
        /// The first level.
        start: f64,
        /// The bound.
        highest: f64,
    },
    /// The start lies between two whole levels.
    #[error("the start {0} is not whole, and the levels are")]
    NotWhole(f64),
    /// A spread needs two runs.
    #[error("{0} replicates are too few; an interval needs at least 2")]
    Replicates(usize),
    /// The bound on replicates is below their number.
    #[error("at most {most} replicates are fewer than the {replicates} that are always made")]
    MostReplicates {
        /// How many are always made.
        replicates: usize,
        /// The bound.
        most: usize,
    },
    /// The confidence is not a probability.
    #[error("the confidence {0} is not between 0 and 1")]
    Confidence(f64),
}

/// One finished run of the climb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The level that was run.
    pub level: f64,
    /// Its cost; smaller is better. A run that failed or diverged has none.
    pub cost: Option<f64>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Run this level once more.
    Run {
        /// The level.
        level: f64,
        /// Which replicate of the level this is, counted from one.
        replicate: usize,
    },
    /// Stop.
    Done {
        /// The level of the lowest mean cost.
        best: f64,
        /// Its mean cost, if any of its runs had one.
        cost: Option<f64>,
        /// Why the climb ends.
        reason: EndReason,
    },
}

/// Why a climb ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// A step of a tenth is no improvement, and the interval says so.
    NoImprovement,
    /// Steps of a tenth are still undecided after the most replicates.
    Undecided,
    /// The next step leads above the highest level.
    RangeEnds,
    /// The runs are used up.
    RunsUsedUp,
    /// The first level has no cost: every run of it failed.
    StartFails,
}

/// How many undecided steps of a tenth in a row end a climb: about a third of
/// the level, beyond which doubling has looked already.
const MOST_SMALL_TIES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Lower,
    Higher,
    /// The interval contains zero.
    Tie,
}

impl ClimbParams {
    /// Accepts a positive start, two or more replicates and a probability.
    pub fn check(self) -> Result<Climb, ClimbError> {
        if !(self.start > 0.0 && self.start.is_finite()) {
            return Err(ClimbError::Start(self.start));
        }
        if self.highest.is_nan() || self.highest < self.start {
            return Err(ClimbError::Highest {
                start: self.start,
                highest: self.highest,
            });
        }
        if self.whole && self.start.fract() != 0.0 {
            return Err(ClimbError::NotWhole(self.start));
        }
        if self.replicates < 2 {
            return Err(ClimbError::Replicates(self.replicates));
        }
        if self.most_replicates < self.replicates {
            return Err(ClimbError::MostReplicates {
                replicates: self.replicates,
                most: self.most_replicates,
            });
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(ClimbError::Confidence(self.confidence));
        }
        Ok(Climb {
            start: self.start,
            replicates: self.replicates,
            most_replicates: self.most_replicates,
            most_ties: self.most_ties,
            most_runs: self.most_runs,
            confidence: self.confidence,
            highest: self.highest,
            whole: self.whole,
        })
    }
}

impl Climb {
    /// What to do next, given all runs so far. The climb has no state of its own:
    /// it is replayed from the history, so that it resumes after anything.
    pub fn next(&self, history: &[Observation]) -> Action {
        let seen = Seen(history);
        let wanted = self.wanted(&seen);
        let (level, reason) = match wanted {
            Wanted::Run(level) if history.len() < self.most_runs => {
                return Action::Run {
                    level,
                    replicate: seen.runs(level) + 1,
                };
            }
            Wanted::Run(_) => (seen.leader().unwrap_or(self.start), EndReason::RunsUsedUp),
            Wanted::End(level, reason) => (level, reason),
        };
        Action::Done {
            best: level,
            cost: mean(&seen.costs(level)),
            reason,
        }
    }

    fn wanted(&self, seen: &Seen<'_>) -> Wanted {
        if seen.runs(self.start) < self.replicates {
            return Wanted::Run(self.start);
        }
        if seen.costs(self.start).len() < 2 {
            return Wanted::End(self.start, EndReason::StartFails);
        }
        if let Some(level) = self.doubling(seen) {
            return Wanted::Run(level);
        }
        self.stepping(seen)
    }

    /// The next level that doubling wants to run; `None` once it has met a worse
    /// level, too many ties or the end of the range.
    fn doubling(&self, seen: &Seen<'_>) -> Option<f64> {
        let (mut best, mut last) = (self.start, self.start);
        let mut ties = 0;
        loop {
            let level = self.raised(last, 2.0);
            if level > self.highest || !level.is_finite() {
                return None;
            }
            if seen.runs(level) < self.replicates {
                return Some(level);
            }
            match self.compare(&seen.costs(level), &seen.costs(best)) {
                Comparison::Lower => {
                    best = level;
                    ties = 0;
                }
                Comparison::Higher => return None,
                Comparison::Tie => ties += 1,
            }
            if ties > self.most_ties {
                return None;
            }
            last = level;
        }
    }

    /// Steps of a tenth from the level of the lowest mean.
    fn stepping(&self, seen: &Seen<'_>) -> Wanted {
        let best = seen.leader().unwrap_or(self.start);
        let costs = seen.costs(best);
        let tried = seen.levels();
        let others = tried.iter().filter(|&&other| other != best);
        let worse = |&&other: &&f64| self.compare(&seen.costs(other), &costs) == Comparison::Higher;
        let (decided, all) = (others.clone().filter(worse).count(), others.count());
        // A mean that is the lowest by luck gives itself away when it is run again.
        if decided < all && seen.runs(best) < self.most_replicates && seen.varies(best) {
            return Wanted::Run(best);
        }
        // Where doubling tells no level from another, tenths tell less.
        if decided == 0 && all > 0 {
            return Wanted::End(best, EndReason::Undecided);
        }
        let (mut last, mut ties) = (best, 0);
        loop {
            let level = self.raised(last, 1.1);
            if level > self.highest || !level.is_finite() {
                return Wanted::End(best, EndReason::RangeEnds);
            }
            let runs = seen.runs(level);
            if runs < self.replicates {
                return Wanted::Run(level);
            }
            let found = self.compare(&seen.costs(level), &costs);
            match found {
                // Then its mean is below that of the lowest, which cannot be.
                Comparison::Lower => return Wanted::End(level, EndReason::NoImprovement),
                Comparison::Higher => return Wanted::End(best, EndReason::NoImprovement),
                Comparison::Tie if runs < self.most_replicates && seen.varies(level) => {
                    return Wanted::Run(level);
                }
                Comparison::Tie => ties += 1,
            }
            if ties >= MOST_SMALL_TIES {
                return Wanted::End(best, EndReason::Undecided);
            }
            last = level;
        }
    }

    fn raised(&self, level: f64, factor: f64) -> f64 {
        let level = level * factor;
        // Twelve digits: a command gets 0.0022, not 0.0022000000000000003.
        let level = format!("{level:.11e}").parse().unwrap_or(level);
        if self.whole { level.ceil() } else { level }
    }

    /// Welch's interval of the difference of two means, two-sided.
    fn compare(&self, new: &[f64], old: &[f64]) -> Comparison {
        // A level at which runs fail or diverge is no improvement.
        if new.len() < 2 {
            return Comparison::Higher;
        }
        if old.len() < 2 {
            return Comparison::Lower;
        }
        let (of_new, of_old) = (squared_error(new), squared_error(old));
        let difference = mean(new).unwrap_or(0.0) - mean(old).unwrap_or(0.0);
        let squared = of_new + of_old;
        let half = if squared > 0.0 {
            let parts =
                of_new * of_new / (new.len() - 1) as f64 + of_old * of_old / (old.len() - 1) as f64;
            let freedom = (squared * squared / parts).max(1.0);
            let student = StudentT::new(freedom).expect("the freedom is at least one");
            squared.sqrt() * student.upper_quantile((1.0 - self.confidence) / 2.0)
        } else {
            0.0
        };
        if difference + half < 0.0 {
            Comparison::Lower
        } else if difference - half > 0.0 {
            Comparison::Higher
        } else {
            Comparison::Tie
        }
    }
}

/// What a climb wants, before it is known whether it may run more.
enum Wanted {
    Run(f64),
    End(f64, EndReason),
}

/// The runs so far, by level.
struct Seen<'a>(&'a [Observation]);

impl Seen<'_> {
    fn of(&self, level: f64) -> impl Iterator<Item = &Observation> {
        let same = move |o: &&Observation| (o.level - level).abs() <= 1e-9 * level;
        self.0.iter().filter(same)
    }

    fn runs(&self, level: f64) -> usize {
        self.of(level).count()
    }

    fn costs(&self, level: f64) -> Vec<f64> {
        let costs = self.of(level).filter_map(|run| run.cost);
        costs.filter(|cost| cost.is_finite()).collect()
    }

    /// Whether replicates of a level differ, so that more of them tell more.
    fn varies(&self, level: f64) -> bool {
        let costs = self.costs(level);
        costs.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// Every level, ascending.
    fn levels(&self) -> Vec<f64> {
        let mut levels: Vec<f64> = self.0.iter().map(|run| run.level).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * *b);
        levels
    }

    /// The level of the lowest mean; the lower one of two that are equal but for
    /// rounding.
    fn leader(&self) -> Option<f64> {
        let means = self.levels().into_iter().filter_map(|level| {
            let costs = self.costs(level);
            Some((level, mean(&costs).filter(|_| costs.len() >= 2)?))
        });
        let leader = means.reduce(|best, next| {
            let below = next.1 < best.1 - 1e-12 * best.1.abs();
            if below { next } else { best }
        });
        leader.map(|(level, _)| level)
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The squared standard error of the mean.
fn squared_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let centre = mean(values).unwrap_or(0.0);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    squares / (count - 1.0) / count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the climb to its end on a cost with alternating scatter.
    fn climb(
        params: ClimbParams,
        cost: impl Fn(f64) -> Option<f64>,
        scatter: f64,
    ) -> (Action, Vec<Observation>) {
        let climb = params.check().unwrap();
        let mut history = Vec::new();
        loop {
            match climb.next(&history) {
                Action::Run { level, replicate } => {
                    // A pattern with no period in common with the replicates.
                    let sign = f64::from((replicate * 7 % 5) as u32) - 2.0;
                    let cost = cost(level).map(|cost| cost * (1.0 + scatter * sign));
                    history.push(Observation { level, cost });
                }
                done => return (done, history),
            }
        }
    }

    fn params(start: f64) -> ClimbParams {
        ClimbParams {
            start,
            ..ClimbParams::default()
        }
    }

    fn end(action: &Action) -> (f64, EndReason) {
        match action {
            Action::Done { best, reason, .. } => (*best, *reason),
            Action::Run { .. } => panic!("{action:?}"),
        }
    }

    #[test]
    fn the_climb_doubles_then_steps_by_a_tenth_and_stops_past_the_optimum() {
        let bowl = |level: f64| Some(1.0 + (level / 9.0).ln().powi(2));
        let (done, _) = climb(params(1.0), bowl, 0.0005);
        let (best, reason) = end(&done);
        assert!((8.0..=9.7).contains(&best), "{best}");
        assert_ne!(reason, EndReason::RunsUsedUp);
        assert_eq!(done, climb(params(1.0), bowl, 0.0005).0);
    }

    /// The Spark study's problem: a rate that is too small learns nothing, so that
    /// the first levels cost the same but for scatter.
    #[test]
    fn a_plateau_at_the_start_is_passed() {
        let accuracy = |rate: f64| 0.1 + 0.85 / (1.0 + (0.08 / rate).powi(2));
        let cost = |rate: f64| Some(0.6 / accuracy(rate).powi(2) * (1.0 + (rate / 5.0).powi(2)));
        for scatter in [0.0, 0.02, 0.15] {
            let (done, history) = climb(params(0.002), cost, scatter);
            let (best, _) = end(&done);
            let (reached, start) = (cost(best).unwrap(), cost(0.002).unwrap());
            assert!(reached < 0.05 * start, "{best} costs {reached} of {start}");
            assert!(history.len() < 200, "{} runs", history.len());
        }
    }

    #[test]
    fn the_lowest_mean_is_the_answer_even_where_no_comparison_decides() {
        let falling = |level: f64| Some(50.0 - level.log2());
        let (done, history) = climb(params(1.0), falling, 0.2);
        let (best, reason) = end(&done);
        assert_eq!(reason, EndReason::Undecided);
        let seen = Seen(&history);
        assert_eq!(Some(best), seen.leader());
        assert!(best > 1.0, "{history:?}");
        // The leader was run again before it became the answer.
        assert_eq!(seen.runs(best), 10);
    }

    #[test]
    fn scatter_alone_decides_nothing() {
        let (done, history) = climb(params(1.0), |_| Some(5.0), 0.1);
        assert_eq!(end(&done).1, EndReason::Undecided);
        // Ten levels, none by a step of a tenth, each with its replicates at most.
        let seen = Seen(&history);
        assert_eq!(
            seen.levels(),
            (0..10).map(|i| 2_f64.powi(i)).collect::<Vec<_>>()
        );
        assert!(seen.levels().iter().all(|&level| seen.runs(level) <= 10));
    }

    #[test]
    fn equal_costs_without_scatter_earn_no_replicates() {
        let (done, history) = climb(params(1.0), |_| Some(5.0), 0.0);
        assert_eq!(end(&done), (1.0, EndReason::Undecided));
        assert_eq!(history.len(), 10 * 5);
    }

    #[test]
    fn a_level_that_diverges_is_no_improvement_and_a_failing_start_ends_the_climb() {
        let bounded = |level: f64| (level < 1.5).then_some(1.0 / level);
        let (best, _) = end(&climb(params(1.0), bounded, 0.0).0);
        assert!(best > 1.3 && best < 1.5, "{best}");
        let (done, history) = climb(params(1.0), |_| None, 0.0);
        assert_eq!(end(&done), (1.0, EndReason::StartFails));
        assert_eq!(history.len(), 5);
    }

    #[test]
    fn runs_are_bounded() {
        let few = ClimbParams {
            most_runs: 12,
            ..params(1.0)
        };
        let (done, history) = climb(few, |level| Some(1.0 / level), 0.0);
        // The third level has two runs and the lowest mean.
        assert_eq!(end(&done), (4.0, EndReason::RunsUsedUp));
        assert_eq!(history.len(), 12);
    }

    #[test]
    fn whole_levels_stay_whole_and_short_levels_short() {
        let levels = |params: ClimbParams| {
            let falling = |level: f64| (level <= 9.0).then_some(1.0 / level);
            let (_, history) = climb(params, falling, 0.0);
            let mut levels: Vec<f64> = history.iter().map(|run| run.level).collect();
            levels.dedup();
            levels
        };
        let whole = ClimbParams {
            whole: true,
            replicates: 2,
            ..params(3.0)
        };
        assert_eq!(levels(whole), [3.0, 6.0, 12.0, 7.0, 8.0, 9.0, 10.0]);
        let short = ClimbParams {
            replicates: 2,
            ..params(6.0)
        };
        assert_eq!(
            levels(short),
            [6.0, 12.0, 6.6, 7.26, 7.986, 8.7846, 9.66306]
        );
    }

    #[test]
    fn no_level_above_the_highest_is_run() {
        let bounded = ClimbParams {
            highest: 5.0,
            ..params(1.0)
        };
        let (done, _) = climb(bounded, |level| Some(1.0 / level), 0.0);
        assert_eq!(end(&done), (4.84, EndReason::RangeEnds));
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert_eq!(params(0.0).check(), Err(ClimbError::Start(0.0)));
        let one = ClimbParams {
            replicates: 1,
            ..params(1.0)
        };
        assert_eq!(one.check(), Err(ClimbError::Replicates(1)));
    }
}
