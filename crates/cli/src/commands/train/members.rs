//! Workers and servers as child processes of the trainer.

use super::distributed::Plan;
use crate::context;
use crate::failure::Failure;
use anyhow::Context;
use paceline_train::{Ended, Launcher, Rendezvous, StartMemberError, is_process_stopped};
use paceline_wire::{Address, Member, Role, Token};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The trainer's child processes, and the private directory of their sockets.
pub(super) struct Members {
    program: PathBuf,
    /// What the user typed after `train`.
    words: Vec<OsString>,
    meeting: Rendezvous,
    /// The words name the addresses.
    has_addresses: bool,
    sockets: PathBuf,
    running: Vec<(Member, Child, ChildStdin)>,
}

impl Members {
    pub(super) fn new(plan: &Plan) -> Result<Self, Failure> {
        let sockets =
            std::env::temp_dir().join(format!("paceline-{}-{}", std::process::id(), nonce()?));
        let address = |server| Address::Unix(sockets.join(format!("server{server}")));
        let token = Token::random()
            .context("cannot make a token for the members")
            .map_err(Failure::world)?;
        let mut meeting = plan.meeting(token);
        let has_addresses = !meeting.servers.is_empty();
        if !has_addresses {
            meeting.servers = (0..plan.cluster.servers.get()).map(address).collect();
        }
        Ok(Self {
            has_addresses,
            program: context::program()?,
            words: std::env::args_os().skip(2).collect(),
            meeting,
            sockets,
            running: Vec::new(),
        })
    }

    pub(super) fn meeting(&self) -> Rendezvous {
        self.meeting.clone()
    }

    fn spawn(&self, member: Member) -> io::Result<(Child, ChildStdin)> {
        #[expect(clippy::disallowed_methods, reason = "members are child processes")]
        let mut command = Command::new(&self.program);
        command
            .arg(if member.role == Role::Server {
                "server"
            } else {
                "worker"
            })
            .args(["--rank", &member.rank.to_string()])
            .args(["--incarnation", &member.incarnation.to_string()]);
        if !self.has_addresses {
            for address in &self.meeting.servers {
                command.args(["--at", &address.to_string()]);
            }
        }
        let mut child = command
            .args(&self.words)
            .env_remove("PACELINE_EVENTS")
            .stdin(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().expect("its input is piped");
        writeln!(stdin, "{}", self.meeting.token.reveal())?;
        Ok((child, stdin))
    }
}

/// Keeps the sockets' directory apart from that of a former process with this
/// process's number.
fn nonce() -> Result<String, Failure> {
    let token = Token::random()
        .context("cannot name a directory for sockets")
        .map_err(Failure::world)?;
    Ok(token.reveal()[..8].to_owned())
}

impl Launcher for Members {
    fn start(&mut self, member: Member) -> Result<(), StartMemberError> {
        let (child, stdin) = self
            .spawn(member)
            .map_err(|source| StartMemberError { member, source })?;
        self.running.push((member, child, stdin));
        Ok(())
    }

    fn ended(&mut self) -> Vec<Ended> {
        let mut fallen = Vec::new();
        self.running.retain_mut(|(member, child, _)| {
            let Ok(Some(status)) = child.try_wait() else {
                return true;
            };
            fallen.push(Ended {
                member: *member,
                how: status.to_string(),
            });
            false
        });
        fallen
    }

    fn is_stopped(&self, member: Member) -> bool {
        let mut running = self.running.iter();
        let process = running.find(|(other, ..)| *other == member);
        process.is_some_and(|(_, child, _)| is_process_stopped(child.id()))
    }

    fn end(&mut self, member: Member) {
        for (other, child, _) in &mut self.running {
            if *other == member {
                // One that has ended already is as good.
                let _ = child.kill();
            }
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for (_, child, _) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Nothing but sockets is in there; a directory that never came to be
        // needs no removal.
        let _ = std::fs::remove_dir_all(&self.sockets);
    }
}
