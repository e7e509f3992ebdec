//! Runs on several nodes, through their agents.

use crate::hub::{Agent, Hub, NoAnswer, NodeRun, WholeRun};
use crate::protocol::{Refusal, StartCommand, StartRun, ToAgent};
use crate::site::Site;
use paceline_engine::{
    Allocation, Command, Endpoint, Engine, Job, Launch, Leftovers, Message, NodeRequest, RunClock,
    StartError,
};
use paceline_model::{NodeName, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Starts commands on the nodes of a cluster, through one agent per node.
///
/// Agents stay from one run to the next. Dropping the engine ends them.
pub struct ClusterEngine {
    hub: Arc<Hub>,
    site: Arc<dyn Site>,
    /// Paceline's own program, as commands name it.
    program: PathBuf,
    numbers: AtomicU64,
}

/// How long an agent that is connected may take to answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long clocks are compared before the first run.
const COMPARISON: Duration = Duration::from_secs(3);

impl ClusterEngine {
    pub(crate) fn new(hub: Hub, site: Arc<dyn Site>, program: &Path) -> Self {
        Self {
            hub: Arc::new(hub),
            site,
            program: program.to_owned(),
            numbers: AtomicU64::new(1),
        }
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn agents(&self, nodes: &[NodeName]) -> Result<Vec<Arc<Agent>>, StartError> {
        let found = nodes.iter().map(|node| {
            let agent = self.hub.agent(node);
            agent.ok_or_else(|| silent(node))
        });
        found.collect()
    }

    /// Where each rank of each job can listen, by its place among the commands.
    fn endpoints(
        &self,
        launch: &Launch,
        agents: &[Arc<Agent>],
    ) -> Result<Vec<Option<Endpoint>>, StartError> {
        let request = self.number();
        let mut endpoints: Vec<Option<Endpoint>> = launch.commands.iter().map(|_| None).collect();
        for (index, agent) in agents.iter().enumerate() {
            let ranked = |command: &&Command| command.rank.is_some() && node_of(command) == index;
            let count = launch.commands.iter().filter(ranked).count();
            if count == 0 {
                continue;
            }
            let node = &agent.hello.machine.node;
            let ports = u32::try_from(count).unwrap_or(u32::MAX);
            let ports = agent.reserve(request, ports, ANSWER);
            let ports = ports.map_err(|NoAnswer| silent(node))?;
            if ports.len() < count {
                return Err(StartError::OnNode {
                    node: node.to_string(),
                    what: format!("{count} free ports are needed, and there are none"),
                    is_the_users: false,
                });
            }
            let mut ports = ports.into_iter();
            for (command, endpoint) in launch.commands.iter().zip(&mut endpoints) {
                if ranked(&command) {
                    *endpoint = ports.next().map(|port| Endpoint {
                        host: agent.hello.address.clone(),
                        port,
                    });
                }
            }
        }
        Ok(endpoints)
    }

    /// A command with everything that its agent has to know.
    fn command(
        &self,
        command: &Command,
        node: &NodeName,
        variables: Vec<(OsString, OsString)>,
        record: Option<&str>,
    ) -> StartCommand {
        let base = self.site.base(node);
        let of_record = |bytes: &[u8]| {
            record.is_some_and(|record| {
                let mut windows = bytes.windows(record.len().max(1));
                windows.any(|window| window == record.as_bytes())
            })
        };
        let there = |bytes: &[u8]| -> Vec<u8> {
            // A word that is a path below the base is a path below its copy; what
            // belongs to the run's record is the agent's to place.
            match &base {
                Some((here, there)) if !of_record(bytes) => moved(bytes, here, there),
                _ => bytes.to_vec(),
            }
        };
        let cwd = command.cwd.as_ref().map(|cwd| {
            let path = there(cwd.as_os_str().as_bytes());
            String::from_utf8_lossy(&path).into_owned()
        });
        let pairs = variables.iter().chain(&command.env);
        let is_program = |word: &OsString| *word == *self.program.as_os_str();
        StartCommand {
            worker: command.worker.0,
            argv: command
                .argv
                .iter()
                .map(|word| match is_program(word) {
                    true => word.as_bytes().to_vec(),
                    false => there(word.as_bytes()),
                })
                .collect(),
            env: pairs
                .map(|(name, value)| (name.as_bytes().to_vec(), there(value.as_bytes())))
                .collect(),
            cwd,
            cpus: command.cpus.as_ref().map(|cpus| cpus.cores().len() as u64),
        }
    }
}

impl Engine for ClusterEngine {
    fn kind(&self) -> &'static str {
        self.site.kind()
    }

    fn allocate(
        &self,
        request: &NodeRequest,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Allocation, StartError> {
        let acquired = self.site.acquire(&self.hub, request, is_cancelled)?;
        let agents = self.agents(&acquired.nodes);
        let agents = agents.inspect_err(|_| {
            let job = acquired.job.as_deref();
            self.site.release(&self.hub, &acquired.nodes, job);
        })?;
        for agent in &agents {
            agent.wait_for_clock(COMPARISON);
        }
        Ok(Allocation {
            nodes: agents.iter().map(|agent| agent.allocated()).collect(),
            queued: acquired.queued,
            job: acquired.job,
        })
    }

    fn release(&self, allocation: &Allocation) {
        let job = allocation.job.as_deref();
        self.site.release(&self.hub, &allocation.names(), job);
    }

    fn start(
        &self,
        mut launch: Launch,
        clock: RunClock,
        messages: SyncSender<Message>,
    ) -> Result<Arc<dyn Job>, StartError> {
        if launch.commands.is_empty() {
            return Err(StartError::Empty);
        }
        let agents = self.agents(&launch.nodes)?;
        let furthest = launch.commands.iter().map(node_of).max().unwrap_or(0);
        if furthest >= agents.len() {
            return Err(StartError::TooFewNodes {
                asked: u32::try_from(furthest + 1).unwrap_or(u32::MAX),
                found: u32::try_from(agents.len()).unwrap_or(u32::MAX),
            });
        }
        let endpoints = self.endpoints(&launch, &agents)?;
        let number = self.number();
        let began = clock.zero().checked_duration_since(self.hub.clock().zero());
        let began = match began {
            Some(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            None => {
                let before = self.hub.clock().zero() - clock.zero();
                -i64::try_from(before.as_micros()).unwrap_or(i64::MAX)
            }
        };
        let record = record_of(&launch).filter(|_| !self.site.shares_files());
        let taking_part: BTreeSet<usize> = launch.commands.iter().map(node_of).collect();
        let whole = WholeRun::of(taking_part.len());
        let mut runs = Vec::new();
        for &index in &taking_part {
            let agent = &agents[index];
            let node = &agent.hello.machine.node;
            let mut tees = BTreeMap::new();
            let (mut left, mut commands) = (BTreeSet::new(), Vec::new());
            for (place, command) in launch.commands.iter_mut().enumerate() {
                if node_of(command) != index {
                    continue;
                }
                let worker = command.worker;
                left.insert(worker);
                let out = command.tee_out.take().map(|tee| ((worker, false), tee));
                let err = command.tee_err.take().map(|tee| ((worker, true), tee));
                tees.extend(out.into_iter().chain(err));
                commands.push((place, worker));
            }
            let commands = commands.into_iter().map(|(place, _): (usize, WorkerId)| {
                let command = &launch.commands[place];
                let variables = variables(&launch.commands, command, &endpoints);
                self.command(command, node, variables, record.as_deref())
            });
            let start = StartRun {
                run: number,
                id: launch.run.to_string(),
                program: self.program.to_string_lossy().into_owned(),
                record: record.clone(),
                interval_us: u64::try_from(launch.interval.length().as_micros())
                    .unwrap_or(u64::MAX),
                memory_max: launch.memory_max,
                ends_leftovers: launch.leftovers == Leftovers::End,
                commands: commands.collect(),
            };
            let run = Arc::new(NodeRun::new(
                number,
                began,
                node.clone(),
                Arc::clone(&whole),
                messages.clone(),
                left,
                tees,
                &agent.hello.dictionary,
            ));
            runs.push((Arc::clone(agent), run, start));
        }
        drop(messages);
        let job = Arc::new(ClusterJob {
            hub: Arc::clone(&self.hub),
            site: Arc::clone(&self.site),
            parts: runs
                .iter()
                .map(|(agent, run, _)| (Arc::clone(agent), Arc::clone(run)))
                .collect(),
        });
        let mut failure = None;
        for (agent, run, start) in &runs {
            let start = ToAgent::Start(Box::new(start.clone()));
            if agent.begin(Arc::clone(run), start).is_err() {
                failure.get_or_insert(silent(&agent.hello.machine.node));
            }
        }
        for (agent, _, _) in &runs {
            let node = agent.hello.machine.node.to_string();
            match agent.answer(ANSWER) {
                Ok(Ok(())) => {}
                Ok(Err((why, what))) => {
                    failure = Some(StartError::OnNode {
                        node,
                        what,
                        is_the_users: why == Refusal::Command,
                    });
                }
                Err(NoAnswer) => {
                    failure.get_or_insert(silent(&agent.hello.machine.node));
                }
            }
        }
        match failure {
            Some(failure) => {
                job.kill();
                Err(failure)
            }
            None => {
                job.watch();
                Ok(job)
            }
        }
    }
}

impl Drop for ClusterEngine {
    fn drop(&mut self) {
        // Agents that were let go have ended when they are waited for.
        self.hub.dismiss_all();
        self.site.close();
    }
}

/// A run on several nodes.
struct ClusterJob {
    hub: Arc<Hub>,
    site: Arc<dyn Site>,
    parts: Vec<(Arc<Agent>, Arc<NodeRun>)>,
}

/// How often it is looked whether an agent has ended.
const GLANCE: Duration = Duration::from_millis(250);

impl ClusterJob {
    /// Gives up nodes whose agent is known to have ended, until the run is over:
    /// there is no need to wait for the time of silence.
    fn watch(self: &Arc<Self>) {
        let job = Arc::clone(self);
        let watching = std::thread::Builder::new()
            .name("nodes".to_owned())
            .stack_size(128 * 1024)
            .spawn(move || {
                while job.open().next().is_some() {
                    for (agent, _) in job.open() {
                        let node = &agent.hello.machine.node;
                        if !agent.is_connected() && job.site.has_ended(node) {
                            job.hub.lose(node);
                            agent.lose();
                        }
                    }
                    std::thread::sleep(GLANCE);
                }
            });
        // Without a thread, a lost node is noticed later.
        drop(watching);
    }

    fn open(&self) -> impl Iterator<Item = &(Arc<Agent>, Arc<NodeRun>)> {
        self.parts.iter().filter(|(_, run)| !run.is_over())
    }
}

impl Job for ClusterJob {
    fn signal(&self, signal: i32) {
        for (agent, _) in self.open() {
            agent.say(&ToAgent::Signal { signal });
        }
    }

    fn kill(&self) {
        for (agent, _) in self.open() {
            // Whom nobody can tell ends by himself, and is not waited for.
            if !agent.say(&ToAgent::Kill) && !agent.is_connected() {
                agent.lose();
            }
        }
    }
}

/// The number of the node that a command is for.
fn node_of(command: &Command) -> usize {
    command.rank.map_or(0, |rank| rank.node as usize)
}

/// The variables that tell a command of its peers.
fn variables(
    commands: &[Command],
    command: &Command,
    endpoints: &[Option<Endpoint>],
) -> Vec<(OsString, OsString)> {
    let Some(rank) = command.rank else {
        return Vec::new();
    };
    let peers = commands.iter().zip(endpoints);
    let peers = peers.filter(|(peer, _)| peer.rank.is_some_and(|it| it.job == rank.job));
    let peers: Vec<Endpoint> = peers.filter_map(|(_, endpoint)| endpoint.clone()).collect();
    rank.variables(&peers)
}

/// The directory of the run's record, which commands may name.
fn record_of(launch: &Launch) -> Option<String> {
    let env = launch.commands.first()?.env.iter();
    let (_, dir) = env.rev().find(|(name, _)| name == "PACELINE_RUN_DIR")?;
    dir.to_str().map(str::to_owned)
}

/// `word` with the path `here`, if it begins with it, replaced by `there`.
fn moved(word: &[u8], here: &Path, there: &Path) -> Vec<u8> {
    let from = here.as_os_str().as_bytes();
    match word.strip_prefix(from) {
        Some(rest) if rest.is_empty() || rest.starts_with(b"/") => {
            [there.as_os_str().as_bytes(), rest].concat()
        }
        _ => word.to_vec(),
    }
}

fn silent(node: &NodeName) -> StartError {
    StartError::OnNode {
        node: node.to_string(),
        what: "its agent does not answer".to_owned(),
        is_the_users: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_below_the_base_are_moved() {
        let check = |word: &str, expected: &str| {
            let found = moved(word.as_bytes(), Path::new("/home/me"), Path::new("/tmp/c"));
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        };
        check("/home/me", "/tmp/c");
        check("/home/me/train.py", "/tmp/c/train.py");
        check("/home/mean", "/home/mean");
        check("--data=/home/me", "--data=/home/me");
    }
}
