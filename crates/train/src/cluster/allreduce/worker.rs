//! A worker that is a process.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use paceline_nets::Tally;
use paceline_wire::{
    AcceptError, Address, ConnectError, Connection, Deadline, FormError, Formation, Group, Links,
    Listener, ReduceError, Role, SendError,
};

use super::collective::{Broken, Collective};
use super::controller_link::ControllerLink;
use super::inbox::{CalledOff, End};
use super::overlap_trial::Verdict;
use super::replica::{Replica, StepResult};
use crate::clock::now;
use crate::cluster::evaluator::PROGRESS_EVERY;
use crate::cluster::protocol::{Activity, JoinRequest, Roster, ToController};
use crate::cluster::rendezvous::Rendezvous;
use crate::cluster::session::ClusterSession;
use crate::cluster::snapshot::{Assembler, Snapshot};
use crate::cluster::totals::WorkerTotals;
use crate::cluster::work_error::WorkError;
use crate::cluster::worker::reach;
use crate::cluster::worker_log::WorkerLog;

/// How long a worker tries to connect to the others before it asks anew.
const FORMS_WITHIN: Duration = Duration::from_secs(30);
/// How often it looks meanwhile whether the group is called off.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Who hangs is named by the trainer, and the group is then called off: a
/// worker waits for a peer that computes for however long.
const PATIENCE: Duration = Duration::MAX;
/// How long a worker that lost the trainer waits before it calls again.
const BEFORE_ANOTHER_CALL: Duration = Duration::from_millis(50);

/// Works until the trainer says that the training is over.
///
/// # Errors
/// If the trainer is not reached, also again after the connection broke, or
/// trains something else, or the worker cannot listen or record its iterations.
pub(in crate::cluster) fn work(
    session: &ClusterSession,
    worker: u32,
    incarnation: u32,
    rendezvous: &Rendezvous,
) -> Result<(), WorkError> {
    let trainer = rendezvous.servers.first().ok_or(WorkError::NoAddress)?;
    let credentials = rendezvous.credentials(Role::Worker, worker, incarnation);
    let call = || {
        reach(trainer, &credentials, rendezvous)
            .map_err(|source| WorkError::NoTrainer { worker, source })
    };
    let mut connection = call()?;
    let own = own_address(trainer, &connection, worker, incarnation);
    let listener = Listener::bind(&own, &credentials, &rendezvous.wire)
        .map_err(|source| WorkError::CannotListen { worker, source })?;
    let unrecorded = |source| WorkError::Record { worker, source };
    let log = WorkerLog::open(session.record.as_ref(), worker).map_err(unrecorded)?;
    let mut member = GroupWorker::new(session, worker, incarnation, rendezvous, &listener, log);
    let mut deadline = Deadline::after(rendezvous.patience);
    loop {
        match member.go(connection) {
            End::Over => return member.log.close().map_err(unrecorded),
            End::OtherTraining(difference) => {
                return Err(WorkError::OtherTrainer { worker, difference });
            }
            End::TrainerLost => {}
        }
        if member.group > 0 {
            deadline = Deadline::after(rendezvous.patience);
        } else if deadline.has_passed() {
            // Who is let in again and again and never takes part is not wanted.
            return Err(WorkError::TrainerLost { worker });
        }
        // The next trainer may be another one, at another step: what this
        // worker knows, the others know too, or the trainer knows better.
        member.begin_anew();
        std::thread::sleep(BEFORE_ANOTHER_CALL);
        connection = call()?;
    }
}

/// Ends the line also if the worker panics: it must not seem alive.
struct EndsTheLink<'a>(&'a ControllerLink);

impl Drop for EndsTheLink<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Where a worker listens for the others: beside the trainer's socket, or at
/// the address by which it reaches the trainer.
fn own_address(
    trainer: &Address,
    connection: &Connection,
    worker: u32,
    incarnation: u32,
) -> Address {
    match trainer {
        Address::Unix(path) => {
            Address::Unix(path.with_file_name(format!("worker{worker}.{incarnation}")))
        }
        Address::Tcp { host, .. } => Address::Tcp {
            host: connection
                .local_ip()
                .map_or_else(|| host.clone(), |ip| ip.to_string()),
            port: 0,
        },
    }
}

struct GroupWorker<'a> {
    session: &'a ClusterSession,
    worker: u32,
    rendezvous: &'a Rendezvous,
    listener: &'a Listener,
    replica: Replica<'a>,
    /// The last group that this worker was to be in, by this connection.
    group: u32,
    totals: WorkerTotals,
    log: WorkerLog,
    /// The rows of all workers since the last report.
    pulse: Tally,
    told: Instant,
    links: Option<Links>,
    /// Bytes that former groups sent and received.
    carried: (u64, u64),
    /// The step of the snapshot that is on its way.
    shown: Option<u64>,
}

impl<'a> GroupWorker<'a> {
    fn new(
        session: &'a ClusterSession,
        worker: u32,
        incarnation: u32,
        rendezvous: &'a Rendezvous,
        listener: &'a Listener,
        log: WorkerLog,
    ) -> Self {
        Self {
            session,
            worker,
            rendezvous,
            listener,
            replica: Replica::new(session, worker),
            group: 0,
            totals: WorkerTotals {
                restarts: incarnation,
                ..WorkerTotals::new(session.cluster.workers.get() as usize)
            },
            log,
            pulse: Tally::default(),
            told: now(),
            links: None,
            carried: (0, 0),
            shown: None,
        }
    }

    /// Knows no more than a worker that was just started.
    fn begin_anew(&mut self) {
        self.replica = Replica::new(self.session, self.worker);
        self.group = 0;
    }

    /// Takes part as long as the connection to the trainer lasts.
    fn go(&mut self, connection: Connection) -> End {
        let (reader, writer) = connection.split();
        let link = ControllerLink::new(writer);
        let session = self.session;
        let arriving = Assembler::whole(session.settings.optimizer, session.layout().len());
        let every = session.cluster.failure_timeout / 4;
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("line".to_owned())
                .spawn_scoped(scope, || link.attend(reader, arriving, every))
                .expect("the system starts a thread");
            let _guard = EndsTheLink(&link);
            let end = self.take_turns(&link);
            if end == End::Over {
                // Nobody is left to be told if it fails.
                let _ = self.report(&link, true);
            }
            end
        })
    }

    /// Takes part in one group after another.
    fn take_turns(&mut self, link: &ControllerLink) -> End {
        loop {
            link.status.does(Activity::Joining);
            // A trainer that is gone is seen on the link.
            let _ = self.ask(link);
            let roster = match link.next_roster(self.group) {
                Ok(roster) => roster,
                Err(end) => return end,
            };
            self.group = roster.generation;
            self.shown = None;
            // Whatever ended the group, the next one is asked for.
            let _ = self.take_part(link, &roster);
            link.leave();
            self.carried = self.bytes();
            self.links = None;
            if let Some(end) = link.end() {
                return end;
            }
        }
    }

    /// Says where this worker stands.
    fn ask(&self, link: &ControllerLink) -> Result<(), Gone> {
        let caption = self.replica.caption();
        let request = JoinRequest {
            step: caption.steps,
            optimizer_steps: caption.optimizer_steps,
            tally: caption.tally,
            address: self.listener.address().clone(),
            identity: self.session.identity().text(),
        };
        Ok(link.post(&ToController::JoinGroup(request))?)
    }

    /// Forms a group and takes its steps, until they are done or it breaks.
    fn take_part(&mut self, link: &ControllerLink, roster: &Roster) -> Result<(), Gone> {
        if let Some(state) = link.given() {
            self.replica.restore(&state);
        }
        self.replica.follow(roster.milestones);
        let mut group = self.form(link, roster)?;
        let links = group.links();
        link.enter(roster.generation, &links)?;
        self.links = Some(links);
        if group.size() == 2 {
            // The sum of two numbers has the same bits by either algorithm. Of
            // more, a measurement would decide in which order they are added,
            // and a repetition end with other bits.
            group.measure()?;
        }
        self.replica.settle(&mut group, roster)?;
        self.step_on(link, group, roster)?;
        self.report(link, false)?;
        link.await_dismissal(roster.generation);
        Ok(())
    }

    fn form(&self, link: &ControllerLink, roster: &Roster) -> Result<Group, Gone> {
        let credentials = self
            .rendezvous
            .credentials(Role::Worker, self.worker, roster.generation);
        let (addresses, wire) = (&roster.addresses, &self.rendezvous.wire);
        let mut formation = Formation::new(self.listener, addresses, &credentials, wire);
        let deadline = Deadline::after(FORMS_WITHIN);
        loop {
            link.stands(roster.generation)?;
            match formation.advance(Deadline::after(POLL_EVERY).or_sooner(deadline)) {
                Ok(()) => return Ok(formation.into_group(PATIENCE)?),
                Err(
                    FormError::Unreached {
                        source: ConnectError::Unreachable { .. },
                        ..
                    }
                    | FormError::Absent {
                        source: AcceptError::TimedOut,
                        ..
                    },
                ) if !deadline.has_passed() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn step_on(
        &mut self,
        link: &ControllerLink,
        group: Group,
        roster: &Roster,
    ) -> Result<(), Gone> {
        let mut collective = Collective::Processes(Box::new(group));
        let mut trial = self.replica.trial();
        // What the former first worker did not come to show.
        let overdue = self.replica.due_since(roster.taken);
        if overdue.is_any() {
            self.show(link, |replica| replica.snapshot(overdue))?;
        }
        if overdue.end {
            return Ok(());
        }
        let mut carried = self.bytes();
        loop {
            let began = now();
            match self.replica.stride(&mut collective, &link.status)? {
                StepResult::Taken(step) => {
                    let mut row = step.row(&self.log);
                    let before = std::mem::replace(&mut carried, self.bytes());
                    row.sent_bytes = carried.0 - before.0;
                    row.received_bytes = carried.1 - before.1;
                    self.totals.enter(&row);
                    self.log.enter(&row);
                    if let Some(trial) = &mut trial {
                        match trial.step(began.elapsed(), step.votes) {
                            Verdict::On => {}
                            Verdict::Turn { early } => collective = collective.turned(early)?,
                            Verdict::Vote(gain) => self.replica.vote(gain),
                        }
                    }
                    self.pulse.add(step.all);
                    if step.due.is_any() {
                        self.show(link, |replica| replica.snapshot(step.due))?;
                    }
                    if step.due.end {
                        return Ok(());
                    }
                    if self.told.elapsed() >= PROGRESS_EVERY {
                        self.report(link, false)?;
                    }
                }
                StepResult::Stopped => {
                    return self.show(link, |replica| replica.last_snapshot());
                }
                StepResult::Diverged => {
                    link.post(&ToController::Diverged)?;
                    return Ok(());
                }
            }
        }
    }

    /// The first worker shows the trainer its parameters, which are
    /// everybody's. It goes on while the trainer looks, but not beyond the next
    /// snapshot: every one is looked at, so that a repetition finds the same.
    fn show(
        &mut self,
        link: &ControllerLink,
        look: impl FnOnce(&Replica<'_>) -> Snapshot,
    ) -> Result<(), Gone> {
        if self.worker != 0 {
            return Ok(());
        }
        if let Some(before) = self.shown.replace(self.replica.step()) {
            link.await_look(before, self.group)?;
        }
        Ok(link.show(&look(&self.replica))?)
    }

    /// Tells what this worker did; the first also what all found.
    fn report(&mut self, link: &ControllerLink, is_last: bool) -> Result<(), Gone> {
        self.told = now();
        (self.totals.bytes_sent, self.totals.bytes_received) = self.bytes();
        let pulse = std::mem::take(&mut self.pulse);
        let pulse = if self.worker == 0 {
            pulse
        } else {
            Tally::default()
        };
        Ok(link.post(&ToController::Progress {
            steps: self.replica.step(),
            tally: pulse,
            totals: Cow::Borrowed(std::slice::from_ref(&self.totals)),
            is_last,
        })?)
    }

    fn bytes(&self) -> (u64, u64) {
        let (sent, received) = self.links.as_ref().map_or((0, 0), Links::bytes);
        (self.carried.0 + sent, self.carried.1 + received)
    }
}

/// The group is of no further use, or the trainer is gone: which, the line
/// knows.
struct Gone;

macro_rules! gone {
    ($($error:ty),*) => {
        $(impl From<$error> for Gone {
            fn from(_: $error) -> Self {
                Self
            }
        })*
    };
}

gone!(Broken, CalledOff, FormError, ReduceError, SendError);
