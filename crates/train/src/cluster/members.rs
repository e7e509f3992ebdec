//! Who runs: starts, replaces, ends and counts the members of a training.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use paceline_wire::{Member, Role};

use super::launcher::{Ended, Kill, Launcher, Moment};
use super::notice::Notice;
use crate::session::{TrainError, Watch};

/// A member that has ended so often will not stay.
pub(crate) const MOST_STARTS: u32 = 20;

/// How long members that were told to go may take.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// How often it is looked whether they have gone.
const LOOKS_EVERY: Duration = Duration::from_millis(2);

/// The members of a training, by role and number.
pub(crate) struct Members<'a> {
    launcher: &'a mut dyn Launcher,
    kills: Vec<Kill>,
    slots: BTreeMap<(Role, u32), Slot>,
    /// When it was last looked who is stopped.
    looked: Option<Instant>,
}

/// A member's place. Its process may change, its number does not.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Who runs, or ran last.
    member: Member,
    is_alive: bool,
    starts: u32,
    started: Instant,
    /// Whether it has joined somebody since it was started.
    has_joined: bool,
    /// Since when it is seen to be stopped.
    stopped: Option<Instant>,
}

impl<'a> Members<'a> {
    /// Nobody has been started yet; these will be killed.
    pub(crate) fn new(launcher: &'a mut dyn Launcher, kills: &[Kill]) -> Self {
        Self {
            launcher,
            kills: kills.to_vec(),
            slots: BTreeMap::new(),
            looked: None,
        }
    }

    /// Whether somebody else starts members and looks after them.
    pub(crate) fn are_external(&self) -> bool {
        self.launcher.is_external()
    }

    /// Starts a member in its next incarnation.
    pub(crate) fn start(
        &mut self,
        role: Role,
        rank: u32,
        now: Instant,
    ) -> Result<Member, TrainError> {
        let starts = self.slots.get(&(role, rank)).map_or(0, |slot| slot.starts);
        let member = Member {
            role,
            rank,
            incarnation: starts,
        };
        self.launcher.start(member)?;
        let slot = Slot {
            member,
            is_alive: true,
            starts: starts + 1,
            started: now,
            has_joined: false,
            stopped: None,
        };
        self.slots.insert((role, rank), slot);
        Ok(member)
    }

    /// Starts another in the place of one that has ended, and says so; not one
    /// that was started `most` times.
    pub(crate) fn replace(
        &mut self,
        most: u32,
        role: Role,
        rank: u32,
        how: &str,
        now: Instant,
        watch: &mut dyn Watch,
    ) -> Result<Member, TrainError> {
        if let Some(Slot { member, starts, .. }) = self.slots.get(&(role, rank)).copied() {
            if starts >= most {
                return Err(TrainError::KeepsEnding {
                    member,
                    times: starts,
                    how: how.to_owned(),
                });
            }
            watch.noticed(&Notice::Replaced {
                member,
                how: how.to_owned(),
            });
        }
        self.start(role, rank, now)
    }

    /// Who has ended since the last call. What is heard of former incarnations
    /// is passed over.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        let mut ended = self.launcher.ended();
        ended.retain(|Ended { member, .. }| {
            match self.slots.get_mut(&(member.role, member.rank)) {
                Some(slot) if slot.member == *member => {
                    slot.is_alive = false;
                    true
                }
                _ => false,
            }
        });
        ended
    }

    /// Kills a member; its end is seen like any other.
    pub(crate) fn kill(&mut self, role: Role, rank: u32) {
        if let Some(slot) = self.slots.get(&(role, rank)) {
            self.launcher.end(slot.member);
        }
    }

    /// Kills whom the user wants killed by now.
    pub(crate) fn kill_due(&mut self, elapsed: Duration, steps: u64) {
        let is_due = |kill: &Kill| match kill.at {
            Moment::Time(time) => time <= elapsed,
            Moment::Step(step) => step <= steps,
        };
        let (due, later): (Vec<Kill>, _) = self.kills.drain(..).partition(is_due);
        self.kills = later;
        for kill in due {
            self.kill(kill.role, kill.rank);
        }
    }

    /// Who runs, or ran last, in a place.
    pub(crate) fn member(&self, role: Role, rank: u32) -> Option<Member> {
        self.slots.get(&(role, rank)).map(|slot| slot.member)
    }

    pub(crate) fn is_alive(&self, role: Role, rank: u32) -> bool {
        let slot = self.slots.get(&(role, rank));
        slot.is_some_and(|slot| slot.is_alive)
    }

    /// A member has joined somebody.
    pub(crate) fn has_joined(&mut self, role: Role, rank: u32) {
        if let Some(slot) = self.slots.get_mut(&(role, rank)) {
            slot.has_joined = true;
        }
    }

    /// Whether a member runs that has been missed since `missed` for longer than
    /// the first limit, or if it has never joined, has run for longer than the
    /// second.
    pub(crate) fn hangs(
        &self,
        role: Role,
        rank: u32,
        missed: Instant,
        limits: (Duration, Duration),
        now: Instant,
    ) -> bool {
        let slot = self.slots.get(&(role, rank)).filter(|slot| slot.is_alive);
        slot.is_some_and(|slot| match slot.has_joined {
            true => now.saturating_duration_since(missed) >= limits.0,
            false => now.saturating_duration_since(slot.started) >= limits.1,
        })
    }

    /// Kills members that somebody has stopped for longer than `limit`; workers
    /// only if they `may` be. Their ends are seen like any other.
    pub(crate) fn kill_stopped(
        &mut self,
        limit: Duration,
        workers_may_be: bool,
        now: Instant,
        watch: &mut dyn Watch,
    ) {
        if self
            .looked
            .is_some_and(|looked| now.saturating_duration_since(looked) < limit / 4)
        {
            return;
        }
        self.looked = Some(now);
        for slot in self.slots.values_mut().filter(|slot| slot.is_alive) {
            let may_be = workers_may_be || slot.member.role != Role::Worker;
            if !may_be || !self.launcher.is_stopped(slot.member) {
                slot.stopped = None;
                continue;
            }
            let since = *slot.stopped.get_or_insert(now);
            let time = now.saturating_duration_since(since);
            if time >= limit {
                slot.stopped = None;
                let member = slot.member;
                watch.noticed(&Notice::Stopped { member, time });
                self.launcher.end(member);
            }
        }
    }

    /// How many of a role run.
    pub(crate) fn count_alive(&self, role: Role) -> usize {
        self.of(role).filter(|slot| slot.is_alive).count()
    }

    /// The numbers of those of a role that have ended.
    pub(crate) fn gone(&self, role: Role) -> Vec<u32> {
        self.of(role)
            .filter(|slot| !slot.is_alive)
            .map(|slot| slot.member.rank)
            .collect()
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Slot> {
        let slots = self.slots.iter();
        slots
            .filter(move |((of, _), _)| *of == role)
            .map(|(_, slot)| slot)
    }

    /// Waits a moment for members that were told to go, since when `since`
    /// says; false once nobody is awaited any more. Who stays for longer than
    /// [`GRACE`] is ended. Of members that somebody else started only the caller
    /// knows whether they `stay`.
    pub(crate) fn await_departure(&mut self, stay: bool, since: Instant) -> bool {
        self.take_ended();
        let is_awaited = match self.are_external() {
            true => stay,
            false => self.slots.values().any(|slot| slot.is_alive),
        };
        if !is_awaited {
            return false;
        }
        if since.elapsed() > GRACE {
            for slot in self.slots.values().filter(|slot| slot.is_alive) {
                self.launcher.end(slot.member);
            }
            return false;
        }
        std::thread::sleep(LOOKS_EVERY);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;
    use crate::cluster::launcher::StartMemberError;
    use crate::session::{Evaluation, ProgressReport};

    /// Starts members in name only; whom it ends, ends.
    #[derive(Default)]
    struct Fake {
        started: Vec<Member>,
        ended: Vec<Ended>,
        stopped: Option<Member>,
    }

    impl Launcher for Fake {
        fn start(&mut self, member: Member) -> Result<(), StartMemberError> {
            self.started.push(member);
            Ok(())
        }

        fn ended(&mut self) -> Vec<Ended> {
            std::mem::take(&mut self.ended)
        }

        fn end(&mut self, member: Member) {
            let how = "signal 9".to_owned();
            self.ended.push(Ended { member, how });
        }

        fn is_stopped(&self, member: Member) -> bool {
            self.stopped == Some(member)
        }
    }

    #[test]
    fn a_member_that_is_stopped_for_too_long_is_killed_and_named() {
        let limit = Duration::from_secs(2);
        let mut fake = Fake::default();
        let mut watch = Notices::default();
        let mut members = Members::new(&mut fake, &[]);
        let start = now();
        let stopped = members.start(Role::Worker, 0, start).unwrap();
        members.start(Role::Worker, 1, start).unwrap();
        // By a launcher that says so of the first worker from now on.
        let mut fake = Fake {
            stopped: Some(stopped),
            ..Fake::default()
        };
        let slots = std::mem::take(&mut members.slots);
        let mut members = Members::new(&mut fake, &[]);
        members.slots = slots;
        members.kill_stopped(limit, false, start, &mut watch);
        members.kill_stopped(limit, false, start + limit, &mut watch);
        assert!(members.take_ended().is_empty(), "the user wants it awaited");
        for seconds in [3, 4] {
            members.kill_stopped(
                limit,
                true,
                start + Duration::from_secs(seconds),
                &mut watch,
            );
            assert!(members.take_ended().is_empty());
        }
        members.kill_stopped(limit, true, start + Duration::from_secs(5), &mut watch);
        assert_eq!(members.take_ended()[0].member, stopped);
        assert_eq!(
            watch.0,
            ["worker 0 has been stopped for 2.0 s and is killed"]
        );
    }

    #[derive(Default)]
    struct Notices(Vec<String>);

    impl Watch for Notices {
        fn progressed(&mut self, _: &ProgressReport) {}

        fn evaluated(&mut self, _: &Evaluation) {}

        fn noticed(&mut self, notice: &Notice) {
            self.0.push(notice.to_string());
        }
    }

    #[test]
    fn a_replacement_has_the_next_incarnation_and_the_former_is_forgotten() {
        let mut fake = Fake::default();
        let mut watch = Notices::default();
        let mut members = Members::new(&mut fake, &[]);
        let first = members.start(Role::Worker, 1, now()).unwrap();
        members.kill(Role::Worker, 1);
        let ended = members.take_ended();
        assert_eq!(ended.len(), 1);
        assert_eq!(members.gone(Role::Worker), [1]);
        let how = &ended[0].how;
        let next = members.replace(2, Role::Worker, 1, how, now(), &mut watch);
        assert_eq!(next.unwrap().incarnation, 1);
        assert_eq!(members.count_alive(Role::Worker), 1);
        members.launcher.end(first);
        assert!(members.take_ended().is_empty(), "a former incarnation");
        assert!(members.is_alive(Role::Worker, 1));
        assert_eq!(
            watch.0,
            ["worker 1 has ended (signal 9) and is started again"]
        );
    }

    #[test]
    fn a_member_that_keeps_ending_is_not_started_for_ever() {
        let mut fake = Fake::default();
        let mut watch = Notices::default();
        let mut members = Members::new(&mut fake, &[]);
        members.start(Role::Server, 0, now()).unwrap();
        let error = loop {
            let next = members.replace(
                MOST_STARTS,
                Role::Server,
                0,
                "exit code 1",
                now(),
                &mut watch,
            );
            if let Err(error) = next {
                break error;
            }
        };
        assert_eq!(
            error.to_string(),
            format!("server 0 (restart 19) has ended {MOST_STARTS} times: exit code 1")
        );
        assert_eq!(fake.started.len(), MOST_STARTS as usize);
    }

    #[test]
    fn whom_the_user_wants_killed_is_killed_when_it_is_time() {
        let mut fake = Fake::default();
        let kills = [
            "worker0@step5".parse().unwrap(),
            "server0@2s".parse().unwrap(),
        ];
        let mut members = Members::new(&mut fake, &kills);
        members.start(Role::Worker, 0, now()).unwrap();
        members.start(Role::Server, 0, now()).unwrap();
        members.kill_due(Duration::from_secs(1), 4);
        assert!(members.take_ended().is_empty());
        members.kill_due(Duration::from_secs(1), 5);
        assert_eq!(members.take_ended()[0].member.role, Role::Worker);
        members.kill_due(Duration::from_secs(2), 5);
        assert_eq!(members.take_ended()[0].member.role, Role::Server);
        members.kill_due(Duration::from_secs(3), 9);
        assert!(members.take_ended().is_empty(), "each is killed once");
    }
}
