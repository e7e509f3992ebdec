//! Who starts and ends the members of a training.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use paceline_wire::{Member, Role};

/// Starts and ends members: as processes of this host, as threads in a test.
pub trait Launcher {
    /// Starts a member. A server gets its state from the controller when they
    /// meet.
    ///
    /// # Errors
    /// If the system does not start it.
    fn start(&mut self, member: Member) -> Result<(), StartMemberError>;

    /// Who has ended since the last call, whatever the reason.
    fn ended(&mut self) -> Vec<Ended>;

    /// Ends a member at once.
    fn end(&mut self, member: Member);

    /// Whether a member runs and does nothing, because somebody stopped it
    /// (`SIGSTOP`). Its connections stay open, and nothing else tells.
    fn is_stopped(&self, member: Member) -> bool {
        let _ = member;
        false
    }

    /// Whether somebody else starts the members and looks after them: they
    /// come when they come, and their end is seen by their connections alone.
    fn is_external(&self) -> bool {
        false
    }
}

/// Members that are started by somebody else on any host: by hand, or by a
/// cluster's scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub struct External;

impl Launcher for External {
    fn start(&mut self, _: Member) -> Result<(), StartMemberError> {
        Ok(())
    }

    fn ended(&mut self) -> Vec<Ended> {
        Vec::new()
    }

    fn end(&mut self, _: Member) {}

    fn is_external(&self) -> bool {
        true
    }
}

/// Whether the process `pid` of this host is stopped.
pub fn is_process_stopped(pid: u32) -> bool {
    // The state follows the program's name, which is in parentheses and may
    // hold any character.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_some_and(|rest| rest.starts_with('T'))
    })
}

/// A member that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Who.
    pub member: Member,
    /// How, in words such as `signal 9`.
    pub how: String,
}

/// The system did not start a member.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {member}: {source}")]
pub struct StartMemberError {
    /// Who.
    pub member: Member,
    /// Why.
    pub source: io::Error,
}

/// A member that is killed at some moment, written as `worker2@10s` or
/// `server0@step100`: a fault for experiments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kill {
    /// Whether a worker or a server.
    pub role: Role,
    /// Its number, from zero.
    pub rank: u32,
    /// When.
    pub at: Moment,
}

/// When a member is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// So long after the members were started.
    Time(Duration),
    /// When the controller hears that this step is done.
    Step(u64),
}

/// A text that kills nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` kills no member; write it as worker2@10s, server0@500ms or worker1@step100")]
pub struct ParseKillError(String);

impl FromStr for Kill {
    type Err = ParseKillError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseKillError(text.to_owned());
        let (who, at) = text.split_once('@').ok_or_else(error)?;
        let (role, rank) = if let Some(rank) = who.strip_prefix("worker") {
            (Role::Worker, rank)
        } else if let Some(rank) = who.strip_prefix("server") {
            (Role::Server, rank)
        } else {
            return Err(error());
        };
        let rank = rank.parse().map_err(|_| error())?;
        if let Some(step) = at.strip_prefix("step") {
            let at = Moment::Step(step.parse().map_err(|_| error())?);
            return Ok(Self { role, rank, at });
        }
        let (number, unit) = match at.strip_suffix("ms") {
            Some(number) => (number, 1e-3),
            None => (at.strip_suffix('s').unwrap_or(at), 1.0),
        };
        let seconds: f64 = number.parse().map_err(|_| error())?;
        Ok(Self {
            role,
            rank,
            at: Moment::Time(Duration::try_from_secs_f64(seconds * unit).map_err(|_| error())?),
        })
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Worker => "worker",
            Role::Server => "server",
            Role::Controller => "controller",
        };
        write!(formatter, "{role}{}@", self.rank)?;
        match self.at {
            Moment::Time(time) => write!(formatter, "{}s", time.as_secs_f64()),
            Moment::Step(step) => write!(formatter, "step{step}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_written_as_it_is_read() {
        for text in ["worker2@10s", "server0@0.5s", "worker0@step7"] {
            assert_eq!(text.parse::<Kill>().unwrap().to_string(), text);
        }
        let soon: Kill = "worker1@250ms".parse().unwrap();
        assert_eq!(soon.at, Moment::Time(Duration::from_millis(250)));
        for text in [
            "worker2",
            "worker@1s",
            "w2@1s",
            "worker1@-1s",
            "worker1@soon",
        ] {
            assert!(text.parse::<Kill>().is_err(), "{text}");
        }
    }
}
