//! What a server tells the controller of its shard and its workers.

use std::borrow::Cow;
use std::time::Instant;

use paceline_sync::Doing;

use super::{Outbox, Server};
use crate::cluster::protocol::{Caption, Subject, ToController};
use crate::cluster::shard::Shown;
use crate::cluster::snapshot::SnapshotView;

impl Server<'_> {
    pub(super) fn show(&self, shown: Shown, out: &mut dyn Outbox) {
        let store = self.shard.store();
        let is_local = self
            .shard
            .rules()
            .plan()
            .consistency
            .iterations_per_update()
            > 1;
        let moments = match is_local {
            // Workers take the optimizer's steps, and keep its memory.
            true => Vec::new(),
            false => store
                .optimizer()
                .moments
                .iter()
                .map(|all| &all[..])
                .collect(),
        };
        let view = SnapshotView {
            caption: Caption {
                steps: shown.steps,
                optimizer_steps: store.optimizer().steps,
                tally: shown.tally,
                due: shown.due,
            },
            parameters: store.parameters(),
            moments,
        };
        let sent = view.send(|part| {
            out.to_controller(&ToController::Snapshot(part));
            Ok::<_, std::convert::Infallible>(())
        });
        let Ok(()) = sent;
    }

    pub(super) fn report(&mut self, is_last: bool, out: &mut dyn Outbox) {
        out.to_controller(&ToController::Progress {
            steps: self.shard.rules().steps(),
            tally: std::mem::take(&mut self.pulse),
            totals: Cow::Borrowed(&self.totals),
            is_last,
        });
    }

    /// Says for whom a worker waits longer than a loss takes to notice.
    pub(super) fn name_holdups(&mut self, now: Instant, out: &mut dyn Outbox) {
        let coordinator = self.shard.rules().coordinator();
        for view in coordinator.members() {
            let wait = &mut self.waits[view.worker.0 as usize];
            let Doing::Waiting(clock) = view.doing else {
                *wait = None;
                continue;
            };
            match wait {
                Some((since, began, told)) if *since == clock => {
                    let waited = now.saturating_duration_since(*began);
                    if *told || waited < self.session.cluster.failure_timeout {
                        continue;
                    }
                    *told = true;
                    let others: Vec<String> = coordinator
                        .holdups(view.worker)
                        .map(|other| other.to_string())
                        .collect();
                    let words = format!(
                        "{} waits to start iteration {clock} for {}",
                        view.worker,
                        others.join("; ")
                    );
                    out.to_controller(&ToController::Notice {
                        subject: Subject::WaitingWorker(view.worker.0),
                        words: &words,
                    });
                }
                _ => *wait = Some((clock, now, false)),
            }
        }
    }
}
