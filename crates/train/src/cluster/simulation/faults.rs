//! What goes wrong in a simulated world.

use super::Fault;
use super::network::Packet;
use super::processes::ConnectionId;
use super::world::{Event, Party, Pid, World};
use crate::cluster::launcher::Ended;
use paceline_wire::Member;

impl World<'_> {
    /// A process ends: its connections break.
    pub(super) fn end(&mut self, pid: Pid, how: &str) {
        let member = self.processes[pid].member;
        if self.current.get(&(member.role, member.rank)) != Some(&pid) {
            return;
        }
        self.note(format!("{member} ends: {how}"));
        self.current.remove(&(member.role, member.rank));
        self.processes[pid].program = None;
        self.processes[pid].missed.clear();
        self.processes[pid].is_stopped = false;
        for connection in 0..self.connections.len() {
            for end in 0..2 {
                if self.connections[connection].ends[end] == Party::Process(pid) {
                    self.close(connection, end);
                }
            }
        }
        let how = how.to_owned();
        let mut processes = self.launcher.0.borrow_mut();
        processes.stopped.remove(&member);
        processes.ended.push(Ended { member, how });
    }

    /// Something goes wrong.
    pub(super) fn strike(&mut self, fault: Fault) {
        self.note(format!("{fault:?}"));
        match fault {
            Fault::Kill(role, rank) => {
                if let Some(pid) = self.current.get(&(role, rank)).copied() {
                    self.end(pid, "signal: 9");
                }
            }
            Fault::Stop(role, rank, time) => {
                if let Some(pid) = self.current.get(&(role, rank)).copied() {
                    let member = self.processes[pid].member;
                    self.processes[pid].is_stopped = true;
                    self.launcher.0.borrow_mut().stopped.insert(member);
                    self.after(time, Event::Resume(member));
                }
            }
            Fault::Cut(server, worker, time) => {
                self.cuts.push((server, worker, self.now + time));
            }
        }
    }

    /// Sends a frame; in a story with garbled ones, now and then another.
    pub(super) fn send(&mut self, connection: ConnectionId, from: usize, mut packet: Packet) {
        if let Some(often) = self.garbled
            && self.chance.below(often) == 0
        {
            // It is said twice, or once and wrong.
            match self.chance.below(5) {
                0 => self.pass(connection, from, packet.clone()),
                _ => packet.garble(&mut self.chance),
            }
        }
        self.pass(connection, from, packet);
    }

    /// A process that was stopped goes on with what it has missed.
    pub(super) fn resume(&mut self, member: Member) -> Result<(), String> {
        self.launcher.0.borrow_mut().stopped.remove(&member);
        let Some(pid) = self.pid_of(member) else {
            return Ok(());
        };
        if std::mem::take(&mut self.processes[pid].is_stopped) {
            self.note(format!("{member} goes on"));
            for event in std::mem::take(&mut self.processes[pid].missed) {
                self.happen_to(pid, event)?;
            }
        }
        Ok(())
    }
}
