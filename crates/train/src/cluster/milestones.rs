//! The steps at which something is due.

use crate::session::Settings;

/// What is due at a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) evaluation: bool,
    pub(crate) checkpoint: bool,
    /// The training ends here.
    pub(crate) end: bool,
}

impl Due {
    pub(crate) fn is_any(self) -> bool {
        self.evaluation || self.checkpoint || self.end
    }

    /// What either says is due.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            evaluation: self.evaluation || other.evaluation,
            checkpoint: self.checkpoint || other.checkpoint,
            end: self.end || other.end,
        }
    }
}

/// The steps at which something is due. A step is an iteration of every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Milestones {
    pub(crate) per_epoch: u64,
    evaluate_every: u64,
    checkpoint_every: Option<u64>,
    end: Option<u64>,
}

impl Milestones {
    pub(crate) fn new(settings: &Settings, per_epoch: u64) -> Self {
        let goal = &settings.goal;
        let epochs = goal.epochs.map(|most| most.saturating_mul(per_epoch));
        Self {
            per_epoch,
            evaluate_every: settings.evaluate_every.in_steps(per_epoch),
            checkpoint_every: settings
                .checkpoint
                .as_ref()
                .map(|checkpoint| checkpoint.every.in_steps(per_epoch)),
            end: [goal.steps, epochs].into_iter().flatten().min(),
        }
    }

    /// How many numbers carry them.
    pub(crate) const NUMBERS: usize = 4;

    /// The steps as numbers, for members that the controller tells.
    pub(crate) fn numbers(&self) -> [u64; Self::NUMBERS] {
        // Nothing is due every zero steps: zero stands for never.
        [
            self.per_epoch,
            self.evaluate_every,
            self.checkpoint_every.unwrap_or(0),
            self.end.map_or(0, |end| end.saturating_add(1)),
        ]
    }

    /// The steps that [`Self::numbers`] carries; none from other numbers.
    pub(crate) fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Option<Self> {
        let [per_epoch, evaluate_every, checkpoint_every, end] = numbers;
        (per_epoch > 0 && evaluate_every > 0).then_some(Self {
            per_epoch,
            evaluate_every,
            checkpoint_every: (checkpoint_every > 0).then_some(checkpoint_every),
            end: end.checked_sub(1),
        })
    }

    /// What has become due since step `before`.
    pub(crate) fn between(&self, before: u64, now: u64) -> Due {
        let crossed = |every: u64| before / every != now / every;
        let end = self.end.is_some_and(|end| now >= end);
        Due {
            evaluation: crossed(self.evaluate_every) || end,
            checkpoint: self.checkpoint_every.is_some_and(crossed),
            end,
        }
    }
}
