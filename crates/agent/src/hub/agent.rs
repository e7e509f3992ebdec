//! One agent, as the controller knows it.

use super::clock::{ClockFilter, Exchange};
use super::run::NodeRun;
use crate::protocol::{Hello, NodeMessage, Refusal, ToAgent};
use paceline_engine::{AllocatedNode, NodeEvent, RunClock};
use paceline_model::Micros;
use paceline_wire::{Payload, WriteHalf};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One agent. It may be connected, or cut off for a while.
pub(crate) struct Agent {
    pub(crate) hello: Hello,
    clock: RunClock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    line: Option<Line>,
    /// The number of the last message that was taken.
    received: u64,
    /// The number that the agent was last told of.
    told: u64,
    filter: ClockFilter,
    /// When it was heard last, by the controller's clock.
    heard: Micros,
    run: Option<Arc<NodeRun>>,
    /// The run that [`NodeMessage::Begun`] or `Refused` is awaited of.
    answer: Option<Result<(), (Refusal, String)>>,
    ports: Option<(u64, Vec<u16>)>,
    is_lost: bool,
}

/// The connection of the moment; a later one has a higher number.
struct Line {
    number: u64,
    writer: Arc<Mutex<WriteHalf>>,
}

/// The agent did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoAnswer;

/// How many messages may be taken before the agent is told.
const TELL_EVERY: u64 = 32;

impl Agent {
    pub(crate) fn new(hello: Hello, clock: RunClock) -> Self {
        Self {
            hello,
            clock,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Takes a connection into use, the first one or one after the line was cut.
    /// False if the agent is given up, or the line is cut again.
    pub(super) fn connect(&self, number: u64, writer: WriteHalf, is_back: bool) -> bool {
        let now = self.clock.now();
        let (received, run) = {
            let mut state = self.state.lock();
            if state.is_lost {
                return false;
            }
            // The one before may be cut without either end having noticed.
            if let Some(before) = state.line.take()
                && let Some(mut writer) = before.writer.try_lock()
            {
                writer.close();
            }
            state.line = Some(Line {
                number,
                writer: Arc::new(Mutex::new(writer)),
            });
            state.heard = now;
            (state.received, state.run.clone())
        };
        let welcomed = self.say(&ToAgent::Welcome { received });
        self.ping();
        if let (Some(run), true) = (run, is_back) {
            run.notice(run.run_time(now), NodeEvent::LineBack);
        }
        self.changed.notify_all();
        welcomed
    }

    /// The connection `number` has ended.
    pub(super) fn disconnect(&self, number: u64) {
        let run = {
            let mut state = self.state.lock();
            if state.line.as_ref().is_none_or(|line| line.number != number) {
                return;
            }
            state.line = None;
            state.run.clone()
        };
        if let Some(run) = run.filter(|run| !run.is_over()) {
            run.notice(run.run_time(self.clock.now()), NodeEvent::LineCut);
        }
        self.changed.notify_all();
    }

    /// Takes a numbered message: once, and in order. False if one is missing,
    /// which no agent does.
    pub(super) fn take(&self, number: u64, message: NodeMessage) -> bool {
        let (run, target) = {
            let mut state = self.state.lock();
            state.heard = self.clock.now();
            if number <= state.received {
                return true;
            }
            if number != state.received + 1 || state.is_lost {
                return false;
            }
            state.received = number;
            let current = state.run.as_ref().map(|run| run.number);
            let of_run = |run: u64| current == Some(run);
            match &message {
                NodeMessage::Begun { run, zero_us } if of_run(*run) => {
                    if let Some(begun) = &state.run {
                        begun.begin(*zero_us, state.filter.offset());
                    }
                    state.answer = Some(Ok(()));
                    self.changed.notify_all();
                }
                NodeMessage::Refused { run, why, what } if of_run(*run) => {
                    state.answer = Some(Err((*why, what.clone())));
                    state.run = None;
                    self.changed.notify_all();
                }
                _ => {}
            }
            let offset = state.filter.offset();
            let target = state.run.as_ref().and_then(|run| run.time_map(offset));
            (state.run.clone(), target)
        };
        if let Some(run) = run {
            // Outside of the lock: a full record holds the node back, not us.
            run.take(message, target);
            if run.is_over() {
                let mut state = self.state.lock();
                if state.run.as_ref().is_some_and(|it| it.number == run.number) {
                    state.run = None;
                }
            }
        }
        self.tell_received(TELL_EVERY);
        true
    }

    fn tell_received(&self, from: u64) {
        let received = {
            let mut state = self.state.lock();
            if state.received - state.told < from {
                return;
            }
            state.told = state.received;
            state.received
        };
        self.say(&ToAgent::Ack { received });
    }

    /// Takes the answer to a ping.
    pub(super) fn pong(&self, exchange: Exchange, wall_us: u64) {
        let mut state = self.state.lock();
        state.heard = self.clock.now();
        let now = self.wall_us(exchange.returned);
        let ahead = i64::try_from(wall_us).unwrap_or(0) - i64::try_from(now).unwrap_or(0);
        state.filter.add(exchange, ahead);
        let is_new = state.filter.count() < FIRST_EXCHANGES;
        drop(state);
        self.changed.notify_all();
        if is_new {
            self.ping();
        }
    }

    fn wall_us(&self, at: u64) -> u64 {
        let since = self
            .clock
            .started_at()
            .duration_since(SystemTime::UNIX_EPOCH);
        let since = since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(0));
        since.saturating_add(at)
    }

    pub(super) fn ports(&self, request: u64, ports: Vec<u16>) {
        self.state.lock().ports = Some((request, ports));
        self.changed.notify_all();
    }

    /// Says something; false if there is no line, or it breaks.
    pub(crate) fn say(&self, message: &ToAgent) -> bool {
        let writer = match &self.state.lock().line {
            Some(line) => Arc::clone(&line.writer),
            None => return false,
        };
        let mut room = Vec::new();
        let header = message.encode(&mut room);
        let mut writer = writer.lock();
        let said = writer.send(&header, Payload::Bytes(&room)).is_ok();
        if !said {
            // The thread that reads sees it, and ends the connection.
            writer.close();
        }
        said
    }

    pub(crate) fn ping(&self) {
        let received = {
            let mut state = self.state.lock();
            state.told = state.received;
            state.received
        };
        let sent_us = self.clock.now().0;
        self.say(&ToAgent::Ping { sent_us, received });
    }

    /// Waits until its clock is known well enough.
    pub(crate) fn wait_for_clock(&self, patience: Duration) {
        let mut state = self.state.lock();
        let unknown = |state: &mut State| state.filter.count() < FIRST_EXCHANGES && !state.is_lost;
        self.changed.wait_while_for(&mut state, unknown, patience);
    }

    /// The node, as an allocation describes it.
    pub(crate) fn allocated(&self) -> AllocatedNode {
        AllocatedNode {
            machine: self.hello.machine.clone(),
            address: self.hello.address.clone(),
            clock: self.state.lock().filter.wall(),
        }
    }

    /// Free ports of the node.
    pub(crate) fn reserve(
        &self,
        request: u64,
        ports: u32,
        patience: Duration,
    ) -> Result<Vec<u16>, NoAnswer> {
        if !self.say(&ToAgent::Reserve { request, ports }) {
            return Err(NoAnswer);
        }
        let mut state = self.state.lock();
        let is_open = |state: &mut State| {
            !state.is_lost && state.ports.as_ref().is_none_or(|(of, _)| *of != request)
        };
        self.changed.wait_while_for(&mut state, is_open, patience);
        match state.ports.take() {
            Some((of, ports)) if of == request => Ok(ports),
            _ => Err(NoAnswer),
        }
    }

    /// Begins a run on the node, without waiting for the answer.
    pub(crate) fn begin(&self, run: Arc<NodeRun>, start: ToAgent) -> Result<(), NoAnswer> {
        {
            let mut state = self.state.lock();
            state.run = Some(run);
            state.answer = None;
        }
        match self.say(&start) {
            true => Ok(()),
            false => Err(NoAnswer),
        }
    }

    /// Whether the run has begun.
    pub(crate) fn answer(
        &self,
        patience: Duration,
    ) -> Result<Result<(), (Refusal, String)>, NoAnswer> {
        let mut state = self.state.lock();
        let is_open = |state: &mut State| state.answer.is_none() && !state.is_lost;
        self.changed.wait_while_for(&mut state, is_open, patience);
        state.answer.take().ok_or(NoAnswer)
    }

    pub(crate) fn is_connected(&self) -> bool {
        let state = self.state.lock();
        state.line.is_some() && !state.is_lost
    }

    /// For how long nothing was heard.
    pub(crate) fn silent_for(&self) -> Duration {
        self.clock.now().since(self.state.lock().heard).into()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.state.lock().is_lost
    }

    /// Gives the agent up, and what runs on its node.
    pub(crate) fn lose(&self) {
        let run = {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.is_lost, true) {
                return;
            }
            if let Some(line) = state.line.take()
                && let Some(mut writer) = line.writer.try_lock()
            {
                writer.close();
            }
            state.run.take()
        };
        self.changed.notify_all();
        if let Some(run) = run {
            run.lose(run.run_time(self.clock.now()));
        }
    }
}

/// How many exchanges are made as soon as an agent is there.
const FIRST_EXCHANGES: usize = 5;
