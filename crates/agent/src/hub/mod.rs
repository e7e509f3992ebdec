//! The controller's side: agents come, are known by their node, and are heard.

mod agent;
mod clock;
mod run;

pub(crate) use agent::{Agent, NoAnswer};
pub(crate) use run::{NodeRun, WholeRun};

use crate::node::line_settings;
use crate::protocol::{FromAgent, Hello, ToAgent, VERSION};
use clock::Exchange;
use paceline_engine::RunClock;
use paceline_model::NodeName;
use paceline_wire::{
    AcceptError, Address, BindError, Connection, Credentials, Deadline, Listener, Member, Payload,
    RandomnessError, Role, Security, Token,
};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Where agents come to.
pub(crate) struct Hub {
    shared: Arc<Shared>,
    address: Address,
    token: Token,
}

/// Why nobody can come.
#[derive(Debug, thiserror::Error)]
pub enum OpenHubError {
    /// The system gives no random bytes.
    #[error(transparent)]
    Token(#[from] RandomnessError),
    /// Nobody can listen there.
    #[error("agents cannot be listened for")]
    Bind(#[from] BindError),
    /// A thread cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

struct Shared {
    clock: RunClock,
    silence: Duration,
    agents: Mutex<Agents>,
    changed: Condvar,
    is_closed: AtomicBool,
    connections: AtomicU64,
}

#[derive(Default)]
struct Agents {
    by_node: BTreeMap<NodeName, Arc<Agent>>,
    /// As what agents may come.
    expected: BTreeSet<String>,
}

/// How often agents are pinged.
const PULSE: Duration = Duration::from_secs(1);
/// How long somebody who connects may take to say who he is.
const INTRODUCTION: Duration = Duration::from_secs(10);
/// An agent that hears nothing ends everything after the time of silence; it is
/// given up only when that is certain to be over.
const MARGIN: Duration = Duration::from_secs(4);

impl Hub {
    /// Listens for agents at `address`.
    pub(crate) fn open(address: &Address, silence: Duration) -> Result<Self, OpenHubError> {
        let token = Token::random()?;
        let credentials = Credentials {
            me: Member {
                role: Role::Controller,
                rank: 0,
                incarnation: 0,
            },
            token: token.clone(),
            security: Security::Tls,
        };
        let listener = Listener::bind(address, &credentials, &line_settings(silence))?;
        let address = listener.address().clone();
        let shared = Arc::new(Shared {
            clock: RunClock::start(),
            silence,
            agents: Mutex::default(),
            changed: Condvar::new(),
            is_closed: AtomicBool::new(false),
            connections: AtomicU64::new(1),
        });
        let hub = Self {
            shared: Arc::clone(&shared),
            address,
            token,
        };
        thread("agents", {
            let shared = Arc::clone(&shared);
            move || shared.accept_all(&listener)
        })?;
        thread("pulse", move || shared.keep_time())?;
        Ok(hub)
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Where agents come to, if they know this machine as `host`.
    pub(crate) fn reached_at(&self, host: &str) -> String {
        let port = match &self.address {
            Address::Tcp { port, .. } => *port,
            Address::Unix(_) => 0,
        };
        match host.contains(':') {
            true => format!("tcp://[{host}]:{port}"),
            false => format!("tcp://{host}:{port}"),
        }
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    pub(crate) fn clock(&self) -> &RunClock {
        &self.shared.clock
    }

    /// From now on agents of `group` may come.
    pub(crate) fn expect(&self, group: &str) {
        self.shared.agents().expected.insert(group.to_owned());
    }

    /// Agents of `group` may not come any more, and those that are there go.
    pub(crate) fn dismiss(&self, group: &str) {
        let leaving: Vec<_> = {
            let mut agents = self.shared.agents();
            agents.expected.remove(group);
            let (leaving, staying) = std::mem::take(&mut agents.by_node)
                .into_iter()
                .partition(|(_, agent)| agent.hello.group == group);
            agents.by_node = staying;
            let leaving: BTreeMap<_, _> = leaving;
            leaving.into_values().collect()
        };
        for agent in leaving {
            agent.say(&ToAgent::Leave);
            agent.lose();
        }
    }

    /// The agent of a node, if it is there and connected.
    pub(crate) fn agent(&self, node: &NodeName) -> Option<Arc<Agent>> {
        let agents = self.shared.agents();
        let agent = agents.by_node.get(node)?;
        agent.is_connected().then(|| Arc::clone(agent))
    }

    /// The nodes whose agents are connected.
    pub(crate) fn connected(&self) -> Vec<NodeName> {
        let agents = self.shared.agents();
        let members = agents.by_node.iter();
        members
            .filter(|(_, agent)| agent.is_connected())
            .map(|(node, _)| node.clone())
            .collect()
    }

    /// Lets all agents go; none may come any more.
    pub(crate) fn dismiss_all(&self) {
        let groups = std::mem::take(&mut self.shared.agents().expected);
        for group in groups {
            self.dismiss(&group);
        }
    }

    /// The nodes of `group` whose agents are connected.
    pub(crate) fn nodes_of(&self, group: &str) -> Vec<NodeName> {
        let agents = self.shared.agents();
        let members = agents.by_node.iter();
        members
            .filter(|(_, agent)| agent.hello.group == group && agent.is_connected())
            .map(|(node, _)| node.clone())
            .collect()
    }

    /// Waits until something about the agents changes, at most `patience`.
    pub(crate) fn wait(&self, patience: Duration) {
        let mut agents = self.shared.agents();
        self.shared.changed.wait_for(&mut agents, patience);
    }

    /// Gives the agent of a node up: whoever started it knows that it has ended.
    pub(crate) fn lose(&self, node: &NodeName) {
        let agent = self.shared.agents().by_node.remove(node);
        if let Some(agent) = agent {
            agent.lose();
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        let agents = std::mem::take(&mut self.shared.agents().by_node);
        for agent in agents.into_values() {
            agent.say(&ToAgent::Leave);
            agent.lose();
        }
    }
}

impl Shared {
    fn agents(&self) -> MutexGuard<'_, Agents> {
        self.agents.lock()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    fn accept_all(self: &Arc<Self>, listener: &Listener) {
        while !self.is_closed() {
            match listener.accept(Deadline::after(Duration::from_millis(200))) {
                Ok(connection) => {
                    let shared = Arc::clone(self);
                    // Without a thread the agent is cut off, and tries again.
                    let _ = thread("agent", move || shared.listen(connection));
                }
                Err(AcceptError::TimedOut) => {}
                Err(AcceptError::Ended) => return,
            }
        }
    }

    /// Hears one connection until it ends.
    fn listen(&self, connection: Connection) {
        let (mut reader, mut writer) = connection.split();
        let hello = match reader.receive(Deadline::after(INTRODUCTION)) {
            Ok(frame) => match FromAgent::decode(&frame) {
                Ok(FromAgent::Hello(hello)) => *hello,
                _ => return,
            },
            Err(_) => return,
        };
        let (agent, is_back) = match self.admit(hello) {
            Ok(admitted) => admitted,
            Err(why) => {
                let mut room = Vec::new();
                let header = ToAgent::Unwanted { why }.encode(&mut room);
                // An agent that does not hear it is turned away again.
                let _ = writer.send(&header, Payload::Bytes(&room));
                return;
            }
        };
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        if !agent.connect(number, writer, is_back) {
            agent.disconnect(number);
            return;
        }
        self.changed.notify_all();
        loop {
            let until = Deadline::after(self.silence / 2);
            let Ok(frame) = reader.receive(until) else {
                break;
            };
            let returned = self.clock.now().0;
            match FromAgent::decode(&frame) {
                Ok(FromAgent::Pong {
                    sent_us,
                    received_us,
                    replied_us,
                    wall_us,
                }) => {
                    let exchange = Exchange {
                        sent: sent_us,
                        received: received_us,
                        replied: replied_us,
                        returned,
                    };
                    agent.pong(exchange, wall_us);
                }
                Ok(FromAgent::Ports { request, ports }) => agent.ports(request, ports),
                Ok(FromAgent::Node { number, message }) => {
                    if !agent.take(number, message) {
                        break;
                    }
                }
                Ok(FromAgent::Hello(_)) | Err(_) => break,
            }
        }
        agent.disconnect(number);
        self.changed.notify_all();
    }

    /// The agent that says this of itself, and whether it was there before.
    fn admit(&self, hello: Hello) -> Result<(Arc<Agent>, bool), String> {
        if hello.version != VERSION {
            return Err(format!(
                "it speaks version {}, the controller {VERSION}",
                hello.version
            ));
        }
        let mut agents = self.agents();
        if !agents.expected.contains(&hello.group) || self.is_closed() {
            return Err("it is not expected (any more)".to_owned());
        }
        let node = hello.machine.node.clone();
        let before = agents.by_node.get(&node).cloned();
        match before {
            Some(agent) if agent.hello.life == hello.life && !agent.is_lost() => Ok((agent, true)),
            Some(agent) if agent.hello.life == hello.life => {
                Err("it was given up, and what ran on it".to_owned())
            }
            before => {
                let agent = Arc::new(Agent::new(hello, self.clock));
                agents.by_node.insert(node, Arc::clone(&agent));
                drop(agents);
                // Another process of the same name: the one before has ended.
                if let Some(before) = before {
                    before.lose();
                }
                Ok((agent, false))
            }
        }
    }

    /// Pings agents, and gives up those that were not heard for too long.
    fn keep_time(self: &Arc<Self>) {
        while !self.is_closed() {
            std::thread::sleep(PULSE);
            let agents: Vec<_> = self.agents().by_node.values().cloned().collect();
            for agent in agents {
                if agent.silent_for() < self.silence + MARGIN {
                    agent.ping();
                    continue;
                }
                {
                    let mut agents = self.agents();
                    let node = &agent.hello.machine.node;
                    if agents
                        .by_node
                        .get(node)
                        .is_some_and(|it| Arc::ptr_eq(it, &agent))
                    {
                        agents.by_node.remove(node);
                    }
                }
                self.changed.notify_all();
                // The record may have to be waited for; the others must not.
                let lost = Arc::clone(&agent);
                if thread("lost", move || lost.lose()).is_err() {
                    agent.lose();
                }
            }
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), OpenHubError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
        .spawn(work)
        .map(drop)
        .map_err(OpenHubError::Thread)
}
