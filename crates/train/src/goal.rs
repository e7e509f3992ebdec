use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::checkpoint::Progress;
use crate::session::{Ending, Evaluation};

/// When training ends. Whatever comes first counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    /// After so many passes over the training split.
    pub epochs: Option<u64>,
    /// After so many steps.
    pub steps: Option<u64>,
    /// After this much time.
    pub time: Option<Duration>,
    /// When a metric is good enough, looked at every evaluation.
    pub until: Option<Condition>,
    /// When the test loss has not improved for so many evaluations.
    pub patience: Option<u32>,
}

impl Goal {
    /// Whether epochs, steps or time are done.
    pub(crate) fn is_done(&self, progress: &Progress, elapsed: Duration) -> Option<Ending> {
        if self.epochs.is_some_and(|most| progress.epochs >= most) {
            Some(Ending::Epochs)
        } else if self.steps.is_some_and(|most| progress.steps >= most) {
            Some(Ending::Steps)
        } else if self.time.is_some_and(|most| elapsed >= most) {
            Some(Ending::Time)
        } else {
            None
        }
    }

    /// Whether an evaluation ends the training.
    pub(crate) fn judge(&self, progress: &mut Progress, found: &Evaluation) -> Option<Ending> {
        if let Some(condition) = &self.until
            && condition.holds(found.metric(condition.metric))
        {
            return Some(Ending::Reached);
        }
        let loss = found.test.mean_loss();
        if progress.best_loss.is_none_or(|best| loss < best) {
            progress.best_loss = Some(loss);
            progress.stale = 0;
        } else {
            progress.stale += 1;
        }
        self.patience
            .filter(|patience| progress.stale >= *patience)
            .map(|_| Ending::Stale)
    }

    /// The largest of the shares of epochs, steps and time that are behind.
    pub(crate) fn share_done(
        &self,
        steps: u64,
        steps_per_epoch: u64,
        elapsed: Duration,
    ) -> Option<f64> {
        let steps = steps as f64;
        [
            self.epochs
                .map(|most| steps / (most * steps_per_epoch) as f64),
            self.steps.map(|most| steps / most as f64),
            self.time
                .map(|most| elapsed.as_secs_f64() / most.as_secs_f64()),
        ]
        .into_iter()
        .flatten()
        .reduce(f64::max)
        .map(|share| share.min(1.0))
    }
}

/// A bound on a metric, written as `loss<=0.35`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Of what.
    pub metric: Metric,
    /// Whether it may not be above or not below the bound.
    pub side: Side,
    /// The bound.
    pub bound: f64,
}

/// What an evaluation finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The mean loss of the training rows seen since the last evaluation.
    Loss,
    /// The share of those rows that were classified rightly.
    Accuracy,
    /// The mean loss on the test split.
    TestLoss,
    /// The share of the test split that is classified rightly.
    TestAccuracy,
}

/// The direction of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Not above.
    AtMost,
    /// Not below.
    AtLeast,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 4] = [
        Self::Loss,
        Self::Accuracy,
        Self::TestLoss,
        Self::TestAccuracy,
    ];

    /// Its name in records and conditions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Accuracy => "accuracy",
            Self::TestLoss => "test_loss",
            Self::TestAccuracy => "test_accuracy",
        }
    }
}

impl Condition {
    /// Whether `value` is good enough. NaN never is.
    pub fn holds(&self, value: f64) -> bool {
        match self.side {
            Side::AtMost => value <= self.bound,
            Side::AtLeast => value >= self.bound,
        }
    }
}

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseConditionError {
    /// There is no `<=` or `>=`.
    #[error("`{0}` is no condition; write it as loss<=0.35 or test_accuracy>=0.97")]
    Form(String),
    /// The metric is not one of the trainer's.
    #[error("`{0}` is not measured; known are loss, accuracy, test_loss and test_accuracy")]
    Metric(String),
    /// The bound is not a finite number.
    #[error("`{0}` is no bound: it must be a finite number")]
    Bound(String),
}

impl FromStr for Condition {
    type Err = ParseConditionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (left, side, right) = if let Some((left, right)) = text.split_once("<=") {
            (left, Side::AtMost, right)
        } else if let Some((left, right)) = text.split_once(">=") {
            (left, Side::AtLeast, right)
        } else {
            return Err(ParseConditionError::Form(text.to_owned()));
        };
        let name = left.trim();
        let metric = Metric::ALL
            .into_iter()
            .find(|metric| metric.name() == name)
            .ok_or_else(|| ParseConditionError::Metric(name.to_owned()))?;
        let bound = right
            .trim()
            .parse()
            .ok()
            .filter(|bound: &f64| bound.is_finite())
            .ok_or_else(|| ParseConditionError::Bound(right.trim().to_owned()))?;
        Ok(Self {
            metric,
            side,
            bound,
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.side {
            Side::AtMost => "<=",
            Side::AtLeast => ">=",
        };
        write!(formatter, "{}{sign}{}", self.metric.name(), self.bound)
    }
}

/// How often something is done: `100` steps, `0.5epochs`, `1epoch`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cadence {
    /// Every so many steps.
    Steps(u64),
    /// Every so many epochs, rounded to whole steps.
    Epochs(f64),
}

impl Cadence {
    /// In steps, of which an epoch has `per_epoch`. At least one.
    pub fn in_steps(self, per_epoch: u64) -> u64 {
        match self {
            Self::Steps(steps) => steps.max(1),
            Self::Epochs(epochs) => ((epochs * per_epoch as f64).round() as u64).max(1),
        }
    }
}

/// A text that says no cadence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` says not how often; write a number of steps such as 100, or 1epoch, or 0.5epochs")]
pub struct ParseCadenceError(String);

impl FromStr for Cadence {
    type Err = ParseCadenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseCadenceError(text.to_owned());
        let epochs = text
            .strip_suffix("epochs")
            .or_else(|| text.strip_suffix("epoch"));
        match epochs {
            Some(number) => number
                .trim()
                .parse()
                .ok()
                .filter(|epochs: &f64| epochs.is_finite() && *epochs > 0.0)
                .map(Self::Epochs)
                .ok_or_else(error),
            None => {
                let number = text.strip_suffix("steps").unwrap_or(text).trim();
                number
                    .parse()
                    .ok()
                    .filter(|steps| *steps > 0)
                    .map(Self::Steps)
                    .ok_or_else(error)
            }
        }
    }
}

impl fmt::Display for Cadence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(formatter, "{steps}"),
            Self::Epochs(epochs) => write!(formatter, "{epochs}epochs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_written_as_it_is_read() {
        for text in ["loss<=0.35", "test_accuracy>=0.97"] {
            assert_eq!(text.parse::<Condition>().unwrap().to_string(), text);
        }
        let spaced: Condition = " loss <= 0.35 ".parse().unwrap();
        assert!(spaced.holds(0.35) && !spaced.holds(0.36) && !spaced.holds(f64::NAN));
    }

    #[test]
    fn what_is_no_condition_is_refused_with_its_cause() {
        for (text, words) in [
            ("loss<0.35", "write it as"),
            ("los<=0.35", "known are"),
            ("loss<=abc", "finite"),
            ("loss<=inf", "finite"),
        ] {
            let error = text.parse::<Condition>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_cadence_counts_steps_or_epochs() {
        let steps = |text: &str| text.parse::<Cadence>().unwrap().in_steps(469);
        assert_eq!(steps("100"), 100);
        assert_eq!(steps("1epoch"), 469);
        assert_eq!(steps("0.5epochs"), 235);
        assert_eq!(steps("0.0001epochs"), 1);
        for text in ["0", "-1", "often", "0epochs", "NaNepochs"] {
            assert!(text.parse::<Cadence>().is_err(), "{text}");
        }
    }
}
