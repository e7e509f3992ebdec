//! The climb of one numeric factor, decided by intervals instead of luck.

use paceline_dist::StudentT;
use thiserror::Error;

/// "Exponential increase, linear back down" of the Spark and BigDL study: double
/// the level while the cost falls; once it does not, go back and raise the level
/// by a tenth while the cost falls.
///
/// The study compares two means of about five runs and stops on the first that
/// is not lower, so a single noisy comparison ends the search. Here a level is an
/// improvement only if the interval of the difference says so (Welch 1947), and
/// an undecided comparison first earns more replicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Climb {
    start: f64,
    replicates: usize,
    most_replicates: usize,
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
    /// Runs of a level after which an undecided comparison counts as no
    /// improvement.
    pub most_replicates: usize,
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
        /// The best level.
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
    /// A step of a tenth is still undecided after the most replicates.
    Undecided,
    /// The next step leads above the highest level.
    RangeEnds,
    /// The runs are used up.
    RunsUsedUp,
    /// The first level has no cost: every run of it failed.
    StartFails,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Doubling,
    Stepping,
}

enum Comparison {
    Lower,
    NotLower,
    Undecided,
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
        let mut best = self.start;
        let runs_of = |level: f64| -> Vec<Observation> {
            let same = |o: &&Observation| (o.level - level).abs() <= 1e-9 * level;
            history.iter().filter(same).copied().collect()
        };
        let run = |level: f64| Action::Run {
            level,
            replicate: runs_of(level).len() + 1,
        };
        let done = |best: f64, reason: EndReason| Action::Done {
            best,
            cost: mean(&costs(&runs_of(best))),
            reason,
        };
        let used_up = history.len() >= self.most_runs;
        if runs_of(best).len() < self.replicates {
            return if used_up {
                done(best, EndReason::RunsUsedUp)
            } else {
                run(best)
            };
        }
        if costs(&runs_of(best)).len() < 2 {
            return done(best, EndReason::StartFails);
        }
        let mut stage = Stage::Doubling;
        loop {
            let level = self.raised(best, stage);
            if level > self.highest {
                match stage {
                    Stage::Doubling => {
                        stage = Stage::Stepping;
                        continue;
                    }
                    Stage::Stepping => return done(best, EndReason::RangeEnds),
                }
            }
            let runs = runs_of(level);
            if runs.len() < self.replicates {
                return if used_up {
                    done(best, EndReason::RunsUsedUp)
                } else {
                    run(level)
                };
            }
            let last = runs.len() >= self.most_replicates;
            match (self.compare(&costs(&runs), &costs(&runs_of(best))), stage) {
                (Comparison::Lower, _) => best = level,
                (Comparison::Undecided, _) if !last && used_up => {
                    return done(best, EndReason::RunsUsedUp);
                }
                (Comparison::Undecided, _) if !last => return run(level),
                (Comparison::Undecided | Comparison::NotLower, Stage::Doubling) => {
                    stage = Stage::Stepping;
                }
                (Comparison::Undecided, Stage::Stepping) => {
                    return done(best, EndReason::Undecided);
                }
                (Comparison::NotLower, Stage::Stepping) => {
                    return done(best, EndReason::NoImprovement);
                }
            }
        }
    }

    /// The level after `best`.
    fn raised(&self, best: f64, stage: Stage) -> f64 {
        let level = match stage {
            Stage::Doubling => best * 2.0,
            Stage::Stepping => best * 1.1,
        };
        // Twelve digits: a command gets 0.0022, not 0.0022000000000000003.
        let level = format!("{level:.11e}").parse().unwrap_or(level);
        if self.whole { level.ceil() } else { level }
    }

    /// Welch's interval of the difference of two means, two-sided.
    fn compare(&self, new: &[f64], old: &[f64]) -> Comparison {
        // A level at which runs fail or diverge is no improvement.
        if new.len() < 2 {
            return Comparison::NotLower;
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
        } else if difference - half >= 0.0 {
            Comparison::NotLower
        } else {
            Comparison::Undecided
        }
    }
}

fn costs(runs: &[Observation]) -> Vec<f64> {
    let costs = runs.iter().filter_map(|run| run.cost);
    costs.filter(|cost| cost.is_finite()).collect()
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
    ) -> (Action, usize) {
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
                done => return (done, history.len()),
            }
        }
    }

    fn params(start: f64) -> ClimbParams {
        ClimbParams {
            start,
            ..ClimbParams::default()
        }
    }

    #[test]
    fn the_climb_doubles_then_steps_by_a_tenth_and_stops_past_the_optimum() {
        let bowl = |level: f64| Some(1.0 + (level / 9.0).ln().powi(2));
        let (end, _) = climb(params(1.0), bowl, 0.0005);
        let Action::Done { best, reason, .. } = end else {
            panic!("{end:?}");
        };
        assert!((8.0..=9.7).contains(&best), "{best}");
        assert_ne!(reason, EndReason::RunsUsedUp);
        let again = climb(params(1.0), bowl, 0.0005);
        assert_eq!(end, again.0);
    }

    #[test]
    fn scatter_alone_does_not_move_the_level() {
        let (end, runs) = climb(params(1.0), |_| Some(5.0), 0.1);
        assert!(
            matches!(
                end,
                Action::Done {
                    best: 1.0,
                    reason: EndReason::Undecided,
                    ..
                }
            ),
            "{end:?}"
        );
        // The start, and both kinds of step with all the replicates they may have.
        assert_eq!(runs, 5 + 10 + 10);
    }

    #[test]
    fn a_level_that_diverges_is_no_improvement_and_a_failing_start_ends_the_climb() {
        let (end, _) = climb(
            params(1.0),
            |level| (level < 1.5).then_some(1.0 / level),
            0.0,
        );
        let Action::Done { best, .. } = end else {
            panic!("{end:?}");
        };
        assert!(best > 1.3 && best < 1.5, "{best}");
        let (end, runs) = climb(params(1.0), |_| None, 0.0);
        assert!(matches!(
            end,
            Action::Done {
                reason: EndReason::StartFails,
                ..
            }
        ));
        assert_eq!(runs, 5);
    }

    #[test]
    fn runs_are_bounded() {
        let few = ClimbParams {
            most_runs: 12,
            ..params(1.0)
        };
        let (end, runs) = climb(few, |level| Some(1.0 / level), 0.0);
        assert!(matches!(
            end,
            Action::Done {
                reason: EndReason::RunsUsedUp,
                ..
            }
        ));
        assert_eq!(runs, 12);
    }

    #[test]
    fn whole_levels_stay_whole_and_short_levels_short() {
        let falling = |level: f64| Some(1.0 / level);
        let levels = |params: ClimbParams| {
            let climb = params.check().unwrap();
            let mut history: Vec<Observation> = Vec::new();
            while let Action::Run { level, .. } = climb.next(&history) {
                let cost = if level > 9.0 { None } else { falling(level) };
                history.push(Observation { level, cost });
            }
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
        let (end, _) = climb(bounded, |level| Some(1.0 / level), 0.0);
        let Action::Done { best, reason, .. } = end else {
            panic!("{end:?}");
        };
        assert_eq!((best, reason), (4.84, EndReason::RangeEnds));
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
