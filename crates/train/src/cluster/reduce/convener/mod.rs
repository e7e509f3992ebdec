//! The trainer's part where workers sum among themselves: it has them meet,
//! looks at snapshots, deals with losses and ends the training.

mod losses;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_nets::Tally;
use paceline_sync::OnWorkerLoss;
use paceline_wire::{
    Deadline, FirstRefusal, Frame, Header, Kind, Listener, Member, Payload, ReadHalf, Role,
    WriteHalf, wait_any,
};

use super::roster::{Roster, Standing};
use super::seat::Seat;
use super::signs::Doing;
use super::snapshots::Arriving;
use crate::clock::now;
use crate::cluster::account::Account;
use crate::cluster::charter::Charter;
use crate::cluster::conductor::{Conductor, Due, Snapshot};
use crate::cluster::crew::{Crew, Kill};
use crate::cluster::frames::{AS_SOON_AS_MAY_BE, Meeting, OTHER_TRAINING, unpack, unpack_accounts};
use crate::cluster::notice::Notice;
use crate::cluster::roll::Roll;
use crate::cluster::session::ClusterSession;
use crate::session::{Ending, TrainError};

/// Groups that form and break again before anybody completes a step.
const MOST_ATTEMPTS: u32 = 5;

/// How long the trainer waits for last words.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long it looks at its connections before it looks at its children.
const GLANCE: Duration = Duration::from_millis(20);

/// Trains until the goal is met. All workers have ended on return.
pub(in crate::cluster) fn train(
    session: &ClusterSession,
    meeting: &Meeting,
    crew: &mut dyn Crew,
    kills: &[Kill],
    conductor: &mut Conductor<'_>,
    stop: &AtomicBool,
) -> Result<(Ending, Vec<Account>), TrainError> {
    let address = meeting.servers.first().ok_or(TrainError::Nowhere)?;
    let me = meeting.credentials(Role::Controller, 0, 0);
    let listener = Listener::bind(address, &me, &meeting.wire).map_err(TrainError::Unheard)?;
    let mut convener = Convener::new(session, meeting, &listener, crew, kills);
    let outcome = convener.conduct(conductor, stop);
    convener.dismiss();
    let ending = outcome?;
    Ok((ending, convener.accounts()))
}

struct Convener<'a> {
    session: &'a ClusterSession,
    meeting: &'a Meeting,
    listener: &'a Listener,
    crew: &'a mut dyn Crew,
    /// Workers are started by somebody else.
    is_elsewhere: bool,
    charter: Charter,
    roll: Roll,
    policy: OnWorkerLoss,
    kills: Vec<Kill>,
    seats: Vec<Seat>,
    /// The number of the last group.
    generation: u32,
    /// Whether that group is at work, as far as is known.
    is_grouped: bool,
    /// Groups in a row that completed no step, and where they stood.
    attempts: u32,
    stood: Option<u64>,
    /// The step of the last snapshot that was looked at.
    looked: u64,
    pulse: Tally,
    steps: u64,
    began: Instant,
    /// The training is to end, for this reason, as soon as the workers agree.
    ending: Option<(Ending, Instant)>,
}

impl<'a> Convener<'a> {
    fn new(
        session: &'a ClusterSession,
        meeting: &'a Meeting,
        listener: &'a Listener,
        crew: &'a mut dyn Crew,
        kills: &[Kill],
    ) -> Self {
        let workers = session.cluster.workers.get();
        let layout = session.model.layout();
        let arriving = || Arriving::new(layout, session.settings.optimizer);
        let consistency = session.cluster.consistency();
        // The workers meet at the trainer, which is there.
        let mut roll = Roll::new(&meeting.servers[..1], workers as usize, now());
        roll.server_came(0, now());
        Self {
            is_elsewhere: crew.is_elsewhere(),
            charter: Charter::of(session),
            roll,
            policy: session
                .cluster
                .on_worker_loss
                .unwrap_or(OnWorkerLoss::usual_for(consistency)),
            kills: kills.to_vec(),
            seats: (0..workers)
                .map(|rank| Seat::new(rank, workers as usize, arriving()))
                .collect(),
            generation: 0,
            is_grouped: false,
            attempts: 0,
            stood: None,
            looked: session.progress.steps,
            pulse: Tally::default(),
            steps: session.progress.steps,
            began: now(),
            ending: None,
            session,
            meeting,
            listener,
            crew,
        }
    }

    fn conduct(
        &mut self,
        conductor: &mut Conductor<'_>,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        for worker in 0..self.seats.len() {
            self.start(worker)?;
        }
        self.began = now();
        loop {
            self.admit();
            self.tell_refusals(conductor);
            self.wait()?;
            for worker in 0..self.seats.len() {
                if let Some(ending) = self.listen(worker, conductor)? {
                    return Ok(ending);
                }
            }
            if let Some(ending) = self.look_after(conductor)? {
                return Ok(ending);
            }
            self.mind_silence(conductor)?;
            self.call_the_roll(conductor)?;
            self.kill();
            self.convene(conductor)?;
            let pulse = std::mem::take(&mut self.pulse);
            conductor.tell(pulse, self.steps, || self.accounts());
            let is_stopped = stop.load(Ordering::Relaxed);
            let has_begun = self.generation > 0;
            match self.ending {
                // There is nothing to look at, and perhaps nobody to ask.
                None if is_stopped && !has_begun => return Ok(Ending::Interrupted),
                None if is_stopped => self.end(Ending::Interrupted),
                None if has_begun && conductor.is_late() => self.end(Ending::Time),
                // Workers that hang do not hold up the end: the last snapshot
                // that was looked at is what remains.
                Some((ending, since)) if since.elapsed() > FAREWELL => return Ok(ending),
                _ => {}
            }
        }
    }

    fn start(&mut self, worker: usize) -> Result<(), TrainError> {
        let seat = &mut self.seats[worker];
        let member = Member {
            incarnation: seat.starts,
            ..seat.member
        };
        self.crew.start(member)?;
        seat.take(member);
        // A new member is a new attempt.
        self.attempts = 0;
        Ok(())
    }

    /// Lets workers in that have come.
    fn admit(&mut self) {
        while let Ok(connection) = self.listener.accept(Deadline::PASSED) {
            let peer = connection.peer();
            let is_elsewhere = self.is_elsewhere;
            let seat = self.seats.iter_mut().find(|seat| {
                // Who starts a worker elsewhere need not count its starts.
                let counts = |member: Member| Member {
                    incarnation: if is_elsewhere { 0 } else { member.incarnation },
                    ..member
                };
                counts(seat.member) == counts(peer)
            });
            // Anybody else is a process that was given up.
            let Some(seat) = seat else {
                continue;
            };
            let is_another = seat.is_connected();
            seat.meet(connection);
            if is_another {
                self.call_off();
            }
        }
    }

    /// Says who was refused first for each cause.
    fn tell_refusals(&self, conductor: &mut Conductor<'_>) {
        for FirstRefusal { from, cause } in self.listener.refusals().take_firsts() {
            conductor.watch.noticed(&Notice::Connection {
                words: format!("the trainer refused {from}, which {cause}"),
            });
        }
    }

    fn wait(&mut self) -> Result<(), TrainError> {
        let links = self.seats.iter().filter_map(Seat::link);
        let (readers, writers): (Vec<&ReadHalf>, Vec<&WriteHalf>) = links.unzip();
        if readers.is_empty() {
            std::thread::sleep(GLANCE);
        } else {
            wait_any(&readers, &writers, Deadline::after(GLANCE)).map_err(TrainError::Wait)?;
        }
        for seat in &mut self.seats {
            seat.drain();
        }
        Ok(())
    }

    /// Takes what a worker says; says if that ends the training.
    fn listen(
        &mut self,
        worker: usize,
        conductor: &mut Conductor<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let Some(mut reader) = self.seats[worker].lend() else {
            return Ok(None);
        };
        loop {
            match reader.try_receive() {
                Ok(Some(frame)) => {
                    self.seats[worker].hears();
                    let news = self.hear(worker, &frame);
                    if let Some(ending) = self.judge(worker, news, conductor)? {
                        self.seats[worker].put_back(reader);
                        return Ok(Some(ending));
                    }
                }
                Ok(None) => {
                    self.seats[worker].put_back(reader);
                    return Ok(None);
                }
                Err(_) => {
                    // Whether a process of this host has ended is seen where
                    // they are looked after, or by its silence.
                    if self.is_elsewhere {
                        self.lose(worker, "its connection broke".to_owned(), conductor)?;
                    } else {
                        self.part(worker);
                    }
                    return Ok(None);
                }
            }
        }
    }

    fn hear(&mut self, worker: usize, frame: &Frame<'_>) -> News {
        let header = frame.header;
        let seat = &mut self.seats[worker];
        match (header.kind, frame.payload()) {
            (Kind::Heartbeat, _) => seat.doing = Doing::from_code(header.start),
            (Kind::Join, Ok(Payload::Bytes(bytes))) => {
                let Some(standing) = Standing::unpack(&header, bytes) else {
                    return News::Nothing;
                };
                let theirs = standing.charter.as_bytes();
                if let Some(difference) = self.charter.difference(theirs) {
                    return News::Misled(difference);
                }
                seat.standing = Some(standing);
                seat.doing = Doing::Gathering;
                self.roll.worker_came(seat.member.rank, 0, now());
                self.call_off();
            }
            (Kind::Record, Ok(Payload::Bytes(bytes))) => {
                self.note(worker, &unpack(bytes));
            }
            (Kind::Fault, _) => return News::Diverged,
            _ => {
                if let Some(snapshot) = seat.arriving.take(frame) {
                    return News::Snapshot(snapshot);
                }
            }
        }
        News::Nothing
    }

    fn note(&mut self, worker: usize, numbers: &[u64]) {
        let [step, loss, hits, rows, account @ ..] = numbers else {
            return;
        };
        self.steps = self.steps.max(*step);
        self.pulse.add(Tally {
            loss: f64::from_bits(*loss),
            hits: *hits,
            rows: *rows,
        });
        let found = unpack_accounts(account, self.seats.len());
        if let Some(account) = found.into_iter().next() {
            self.seats[worker].note(account);
        }
    }

    fn judge(
        &mut self,
        worker: usize,
        news: News,
        conductor: &mut Conductor<'_>,
    ) -> Result<Option<Ending>, TrainError> {
        let mut snapshot = match news {
            News::Nothing => return Ok(None),
            News::Diverged => return Ok(Some(Ending::Diverged)),
            News::Misled(difference) => {
                let member = self.seats[worker].member;
                conductor.watch.noticed(&Notice::Misled {
                    words: format!("{member} was told to train something else: {difference}"),
                });
                let header = Header::new(Kind::Fault).at(0, OTHER_TRAINING);
                self.seats[worker].say(&header, Payload::Bytes(difference.as_bytes()));
                return Ok(None);
            }
            News::Snapshot(snapshot) => snapshot,
        };
        let (steps, ends) = (snapshot.steps, snapshot.due.end);
        self.looked = self.looked.max(steps);
        self.steps = self.steps.max(steps);
        let asked = self.ending.map(|(ending, _)| ending);
        snapshot.due.evaluation |= ends && asked == Some(Ending::Time);
        let found = conductor.hear(snapshot)?;
        let ending = found.or(asked.filter(|_| ends));
        if ending.is_none() {
            self.seats[0].say(&Header::new(Kind::Clock).clock(steps), Payload::NONE);
        }
        Ok(ending)
    }

    /// Has the workers agree on a step at which all stop.
    fn end(&mut self, ending: Ending) {
        self.ending = Some((ending, now()));
        let header = Header::new(Kind::Checkpoint).clock(AS_SOON_AS_MAY_BE);
        for seat in &mut self.seats {
            seat.say(&header, Payload::NONE);
        }
    }

    /// Has everybody leave the group that is broken.
    fn call_off(&mut self) {
        if !self.is_grouped {
            return;
        }
        self.is_grouped = false;
        let header = Header::new(Kind::Leave).at(0, u64::from(self.generation));
        for seat in &mut self.seats {
            seat.say(&header, Payload::NONE);
        }
    }

    /// Once all ask for it, has them form a group.
    fn convene(&mut self, conductor: &mut Conductor<'_>) -> Result<(), TrainError> {
        if self.is_grouped {
            return Ok(());
        }
        let standings: Option<Vec<&Standing>> = self
            .seats
            .iter()
            .map(|seat| seat.standing.as_ref().filter(|_| seat.is_connected()))
            .collect();
        let Some(standings) = standings else {
            return Ok(());
        };
        let addresses = standings.iter().map(|one| one.address.clone()).collect();
        // Of those who are furthest, the first.
        let (source, furthest) = (0..)
            .zip(&standings)
            .min_by_key(|(_, standing)| std::cmp::Reverse(standing.step))
            .expect("there are workers");
        let (mut source, mut step, mut caption) = (source, furthest.step, furthest.caption);
        // Where all begin, or were lost at once, the trainer may know better.
        if let Some(state) = self.known_beyond(step, conductor) {
            (source, step) = (0, state.steps);
            caption.tally = Tally::default();
            caption.optimizer_steps = state.optimizer.steps;
            self.seats[0].give(&state);
        }
        self.count_attempt(step)?;
        if self.generation == 0 {
            if self.is_elsewhere {
                conductor.begin();
            }
            self.began = now();
        } else {
            let lost = self.steps.saturating_sub(step);
            conductor
                .watch
                .noticed(&Notice::GroupResumed { step, lost });
        }
        self.generation += 1;
        self.is_grouped = true;
        self.steps = step;
        let roster = Roster {
            generation: self.generation,
            source,
            step,
            caption,
            looked: self.looked,
            milestones: self.session.milestones(),
            stops: self.ending.is_some(),
            addresses,
        };
        let (header, bytes) = (roster.header(), roster.pack());
        for seat in &mut self.seats {
            seat.standing = None;
            seat.say(&header, Payload::Bytes(&bytes));
        }
        Ok(())
    }

    /// The last version that the trainer looked at, or what it began with, if
    /// that is further than `step`.
    fn known_beyond(&self, step: u64, conductor: &Conductor<'_>) -> Option<Snapshot> {
        if let Some(last) = conductor.last() {
            return (last.steps > step).then(|| Snapshot {
                tally: Tally::default(),
                ..last.clone()
            });
        }
        let session = self.session;
        (session.progress.steps > step).then(|| Snapshot {
            steps: session.progress.steps,
            parameters: Arc::new(session.parameters.clone()),
            optimizer: session.optimizer.clone(),
            tally: Tally::default(),
            due: Due::default(),
        })
    }

    fn count_attempt(&mut self, step: u64) -> Result<(), TrainError> {
        if self.stood.replace(step) != Some(step) {
            self.attempts = 0;
        }
        self.attempts += 1;
        if self.attempts > MOST_ATTEMPTS {
            return Err(TrainError::Scattered {
                times: MOST_ATTEMPTS,
                step,
            });
        }
        Ok(())
    }

    fn accounts(&self) -> Vec<Account> {
        self.seats.iter().map(Seat::account).collect()
    }
}

/// What a frame leads to.
enum News {
    Nothing,
    /// The worker was started for another training, which differs in this.
    Misled(String),
    Snapshot(Snapshot),
    Diverged,
}
