//! When the commands of a run are ended although they go on.

use crate::interrupt::{Interrupt, SIGTERM};
use crate::supervise::{GRACE, STOP_GRACE};
use paceline_engine::Job;
use paceline_model::{EndAsked, Micros};
use std::time::Duration;

/// Ends commands that take too long, or that the user wants to end: politely,
/// then at once.
pub(crate) struct TimeLimit {
    pub(crate) timeout: Option<Duration>,
    pub(crate) asked: Option<Micros>,
    /// When the wish to stop was first seen.
    pub(crate) stopping: Option<Micros>,
}

impl TimeLimit {
    /// Says why the commands were just asked to end, if they were.
    pub(crate) fn enforce(
        &mut self,
        now: Micros,
        job: &dyn Job,
        interrupt: &Interrupt,
    ) -> Option<EndAsked> {
        let over = |since: Option<Micros>, grace| {
            since.is_some_and(|since| Duration::from(now.since(since)) >= grace)
        };
        // A person who pressed Ctrl-C can press it again; whoever sent SIGTERM
        // has gone, and sends SIGKILL to us next.
        if over(self.asked, GRACE) || (over(self.stopping, STOP_GRACE) && interrupt.is_final()) {
            job.kill();
        }
        if self.stopping.is_none() && interrupt.is_wanted() {
            self.stopping = Some(now);
            return Some(EndAsked::User);
        }
        let timeout = self.timeout?;
        if self.asked.is_none() && Duration::from(now) >= timeout {
            job.signal(SIGTERM);
            self.asked = Some(now);
            return Some(EndAsked::TimeLimit);
        }
        None
    }
}
