//! What the controller sees of its host: processes that it starts, connections
//! that it wants.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use paceline_wire::Member;

use super::network::Packet;
use crate::cluster::controller::ServerLinks;
use crate::cluster::launcher::{Ended, Launcher, StartMemberError};
use crate::cluster::protocol::FromController;
use crate::session::TrainError;

/// What has been started, and what became of it, as the controller sees it.
#[derive(Default)]
pub(super) struct Processes {
    pub(super) started: Vec<Member>,
    pub(super) killed: Vec<Member>,
    pub(super) ended: Vec<Ended>,
    pub(super) stopped: BTreeSet<Member>,
}

/// Starts simulated processes.
#[derive(Clone, Default)]
pub(super) struct SimulatedLauncher(pub(super) Rc<RefCell<Processes>>);

impl Launcher for SimulatedLauncher {
    fn start(&mut self, member: Member) -> Result<(), StartMemberError> {
        self.0.borrow_mut().started.push(member);
        Ok(())
    }

    fn ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.0.borrow_mut().ended)
    }

    fn end(&mut self, member: Member) {
        self.0.borrow_mut().killed.push(member);
    }

    fn is_stopped(&self, member: Member) -> bool {
        self.0.borrow().stopped.contains(&member)
    }
}

/// What the controller wants of its connections.
pub(super) enum LinkWish {
    Send(usize, Packet),
    Connect(usize, Option<Duration>),
    Disconnect(usize),
}

/// Remembers what the controller wants of its connections.
pub(super) struct Links {
    pub(super) is_open: Vec<bool>,
    pub(super) wishes: Vec<LinkWish>,
}

impl ServerLinks for Links {
    fn send(&mut self, server: usize, message: &FromController<'_>) -> bool {
        if self.is_open[server] {
            let mut room = Vec::new();
            let packet = Packet::new(message.encode(&mut room));
            self.wishes.push(LinkWish::Send(server, packet));
        }
        self.is_open[server]
    }

    fn connect(&mut self, server: usize, within: Option<Duration>) -> Result<(), TrainError> {
        self.wishes.push(LinkWish::Connect(server, within));
        Ok(())
    }

    fn disconnect(&mut self, server: usize) {
        self.is_open[server] = false;
        self.wishes.push(LinkWish::Disconnect(server));
    }
}
