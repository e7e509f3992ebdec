//! What is known of a shard's steps before the first.

use paceline_sync::Consistency;

use super::store::Rates;
use crate::cluster::milestones::Milestones;
use crate::session::Settings;

/// How updates count, and what a step does.
#[derive(Clone, Debug)]
pub(crate) struct ShardPlan {
    pub(crate) consistency: Consistency,
    pub(crate) workers: usize,
    pub(crate) milestones: Milestones,
    pub(crate) settings: Settings,
}

impl ShardPlan {
    /// Whether shards close an iteration with whoever comes first: one may be
    /// at the end while workers still have to bring another there.
    pub(crate) fn has_backups(&self) -> bool {
        matches!(self.consistency, Consistency::Backup { .. })
    }

    /// The step after so many updates that count; where updates are gathered,
    /// iterations are counted.
    pub(crate) fn steps(&self, counted: u64) -> u64 {
        if self.consistency.gathers() {
            counted
        } else {
            counted / self.workers as u64
        }
    }

    /// What has been counted at a step.
    pub(crate) fn counted_at(&self, steps: u64) -> u64 {
        if self.consistency.gathers() {
            steps
        } else {
            steps * self.workers as u64
        }
    }

    /// The rates of an update that is applied at a step.
    pub(crate) fn rates(&self, step: u64) -> Rates {
        Rates::at(step, &self.settings, self.milestones.per_epoch)
    }

    /// The rates of the sum of `counted` updates that closes iteration `clock`.
    /// With local steps the workers have applied their rates already, and a step
    /// leads to their mean.
    pub(crate) fn closing_rates(&self, clock: u64, counted: u32) -> Rates {
        let rates = match self.consistency {
            Consistency::Local { .. } => Rates {
                rate: 1.0,
                decay: 0.0,
                shrink: 1.0,
            },
            _ => self.rates(clock),
        };
        Rates {
            shrink: self.workers as f32 / counted as f32,
            ..rates
        }
    }
}
