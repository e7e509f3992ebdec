//! The part of a run that takes place on this node.

use super::Shared;
use crate::protocol::{NodeMessage, Refusal, StartCommand, StartRun};
use paceline_engine::{
    Command, Engine, Job, Launch, Leftovers, Message, RunClock, StartError, Stdin, host, leftovers,
};
use paceline_model::{Micros, RunId, WorkerId, error_chain};
use paceline_probe::Interval;
use paceline_probe::cgroup::CpuSet;
use paceline_records::SampleBytes;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A run that takes place, or has.
pub(super) struct Task {
    job: Arc<dyn Job>,
    thread: JoinHandle<()>,
}

/// Messages that may wait for the spool, 64 KiB each at most.
const QUEUE: usize = 64;
/// How often the file of reports is looked at.
const GLANCE: Duration = Duration::from_millis(200);
/// The most that is read of the file of reports at a time.
const PIECE: usize = 64 * 1024;
const SIGTERM: i32 = 15;

impl Task {
    /// Starts the commands and says so, or why not.
    pub(super) fn start(shared: &Arc<Shared>, start: StartRun) -> Result<Self, (Refusal, String)> {
        let of_node = |what: &str, error: io::Error| (Refusal::Node, format!("{what}: {error}"));
        let run = start.run;
        let dir = shared.session.join(format!("run-{run}"));
        paceline_files::create_private_directory(&dir)
            .map_err(|error| of_node("no directory for the run", error))?;
        let reports = dir.join("reports.jsonl");
        let made = File::create_new(&reports).and_then(|_| File::open(&reports));
        let tail = made.map_err(|error| of_node("no file for reports", error))?;
        let ends_leftovers = start.ends_leftovers;
        let launch = launch(shared, start, &dir, &reports)?;
        let clock = RunClock::start();
        let zero_us = shared.clock.now().0.saturating_sub(clock.now().0);
        let (sender, messages) = sync_channel(QUEUE);
        let job = shared
            .engine
            .start(launch, clock, sender)
            .map_err(|error| refusal(&error))?;
        let collector = Collector {
            shared: Arc::clone(shared),
            run,
            clock,
            tail,
            dir,
            ends_leftovers,
            room: Vec::new(),
        };
        let begin = NodeMessage::Begun { run, zero_us };
        let thread = std::thread::Builder::new()
            .name("collector".to_owned())
            .spawn(move || collector.collect(begin, &messages));
        match thread {
            Ok(thread) => Ok(Self { job, thread }),
            Err(error) => {
                job.kill();
                Err(of_node("no thread for the run", error))
            }
        }
    }

    /// Whether the run is over, or is within moments: the controller may hear of
    /// its end, and start the next, before the thread that told has returned.
    pub(super) fn is_over_soon(&self) -> bool {
        let pause = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        while !self.thread.is_finished() && waited < SOON {
            std::thread::sleep(pause);
            waited += pause;
        }
        self.thread.is_finished()
    }

    pub(super) fn signal(&self, signal: i32) {
        self.job.signal(signal);
    }

    pub(super) fn kill(&self) {
        self.job.kill();
    }

    /// Ends the commands: politely, then at once.
    pub(super) fn end(self, grace: Duration) {
        self.job.signal(SIGTERM);
        let pause = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        while !self.thread.is_finished() && waited < grace {
            std::thread::sleep(pause);
            waited += pause;
        }
        self.job.kill();
        // A panic of the thread has been reported by the panic hook.
        let _ = self.thread.join();
    }
}

/// What is left of a run after its end was told takes less.
const SOON: Duration = Duration::from_secs(2);

/// Turns what the engine tells into numbered messages.
struct Collector {
    shared: Arc<Shared>,
    run: u64,
    clock: RunClock,
    tail: File,
    dir: PathBuf,
    ends_leftovers: bool,
    room: Vec<u8>,
}

impl Collector {
    fn collect(mut self, begin: NodeMessage, messages: &Receiver<Message>) {
        self.say(&begin);
        loop {
            let message = match messages.recv_timeout(GLANCE) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => {
                    self.glance();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let Some(message) = self.translate(message) else {
                continue;
            };
            let is_last = matches!(message, NodeMessage::Ended { .. });
            self.say(&message);
            if is_last {
                break;
            }
        }
        // What a command has left there is of no use to anybody on this node.
        let _ = paceline_files::remove_directory(&self.dir);
    }

    fn translate(&mut self, message: Message) -> Option<NodeMessage> {
        Some(match message {
            Message::Started { worker, at, pid } => NodeMessage::Started {
                worker: worker.0,
                at: at.0,
                pid,
            },
            Message::Output {
                worker,
                stream,
                at,
                bytes,
            } => NodeMessage::Output {
                worker: worker.0,
                stream,
                at: at.0,
                bytes,
            },
            Message::Sample { sample, .. } => {
                let mut bytes = Vec::new();
                SampleBytes::encode(&sample, &mut bytes);
                NodeMessage::Sample { bytes }
            }
            Message::Suspended {
                worker,
                stopped,
                at,
            } => NodeMessage::Suspended {
                worker: worker.0,
                stopped,
                at: at.0,
            },
            Message::Exited {
                worker,
                at,
                status,
                usage,
            } => {
                // All that a command reported comes before its exit.
                self.glance();
                NodeMessage::Exited {
                    worker: worker.0,
                    at: at.0,
                    status,
                    usage,
                }
            }
            Message::Ended(ending) => {
                self.glance();
                // The engine has ended what its cgroup holds, where it has one.
                let found = match self.ends_leftovers {
                    true => leftovers::end(&self.dir),
                    false => 0,
                };
                let found = u32::try_from(found).unwrap_or(u32::MAX);
                NodeMessage::Ended {
                    run: self.run,
                    leftovers: ending.leftovers.max(found),
                    memory_kills: ending.memory_kills,
                    probe: ending.probe.map(|cost| (cost.cpu_s, cost.samples)),
                }
            }
            // A local engine has one node, and its reports are read here.
            Message::Reports { .. } | Message::Noticed { .. } => return None,
        })
    }

    /// Sends what was appended to the file of reports.
    fn glance(&mut self) {
        let mut piece = vec![0; PIECE];
        while let Ok(length @ 1..) = self.tail.read(&mut piece) {
            let Micros(at) = self.clock.now();
            let bytes = piece[..length].to_vec();
            self.say(&NodeMessage::Reports { at, bytes });
        }
    }

    fn say(&mut self, message: &NodeMessage) {
        let kind = message.encode(&mut self.room);
        // A closed spool belongs to an agent that ends.
        self.shared.spool.append(kind, &self.room);
    }
}

fn launch(
    shared: &Shared,
    start: StartRun,
    dir: &Path,
    reports: &Path,
) -> Result<Launch, (Refusal, String)> {
    let interval = Interval::new(Duration::from_micros(start.interval_us))
        .map_err(|error| (Refusal::Node, error.to_string()))?;
    let run = RunId::new(&start.id).map_err(|error| (Refusal::Node, error.to_string()))?;
    let mut cpus = Cpus::new();
    let record = start.record.as_deref().map(|record| (record, dir));
    let mut commands = Vec::new();
    for command in start.commands {
        let cpus = cpus.take(command.cpus)?;
        commands.push(local(
            shared,
            command,
            &start.program,
            record,
            cpus,
            reports,
            dir,
        ));
    }
    Ok(Launch {
        run,
        commands,
        nodes: Vec::new(),
        stdin: Stdin::Null,
        memory_max: start.memory_max,
        interval,
        leftovers: match start.ends_leftovers {
            true => Leftovers::End,
            false => Leftovers::Leave,
        },
    })
}

/// A command as it is started here: what it names at the controller is what is
/// meant here.
fn local(
    shared: &Shared,
    command: StartCommand,
    program: &str,
    record: Option<(&str, &Path)>,
    cpus: Option<CpuSet>,
    reports: &Path,
    dir: &Path,
) -> Command {
    let here = |bytes: Vec<u8>| {
        OsString::from_vec(match record {
            Some((from, to)) => replaced(&bytes, from.as_bytes(), to.as_os_str().as_bytes()),
            None => bytes,
        })
    };
    let mut argv: Vec<OsString> = command.argv.into_iter().map(here).collect();
    if let Some(first) = argv.first_mut()
        && first.as_bytes() == program.as_bytes()
    {
        *first = shared.program.clone().into();
    }
    let pairs = command.env.into_iter();
    let mut env: Vec<(OsString, OsString)> = pairs
        .map(|(name, value)| (OsString::from_vec(name), here(value)))
        .collect();
    env.push(("PACELINE_EVENTS".into(), reports.into()));
    // By this the agent's warden knows the run's processes.
    env.push(("PACELINE_RUN_DIR".into(), dir.into()));
    Command {
        worker: WorkerId(command.worker),
        rank: None,
        argv,
        env,
        cwd: command.cwd.map(|cwd| PathBuf::from(here(cwd.into_bytes()))),
        cpus,
        tee_out: None,
        tee_err: None,
    }
}

/// Shares of the node's CPUs, one after the other.
struct Cpus(Vec<u32>);

impl Cpus {
    fn new() -> Self {
        let usable = host::usable_cpus();
        Self(usable.map_or_else(|_| Vec::new(), |cpus| cpus.cores().to_vec()))
    }

    fn take(&mut self, count: Option<u64>) -> Result<Option<CpuSet>, (Refusal, String)> {
        let Some(count) = count else { return Ok(None) };
        let there = self.0.len();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > there {
            let what = format!("{count} more cpus are asked for, and {there} are left");
            return Err((Refusal::Command, what));
        }
        let list: Vec<String> = self.0.drain(..count).map(|cpu| cpu.to_string()).collect();
        CpuSet::parse(&list.join(","))
            .map(Some)
            .map_err(|error| (Refusal::Node, error.to_string()))
    }
}

/// `bytes` with each occurrence of `from` replaced by `to`.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        match rest.strip_prefix(from) {
            Some(after) if !from.is_empty() => {
                result.extend_from_slice(to);
                rest = after;
            }
            _ => {
                result.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    result
}

/// Whose fault it is that commands are not started.
fn refusal(error: &StartError) -> (Refusal, String) {
    let why = match error {
        StartError::Empty
        | StartError::NotFound(_)
        | StartError::NotExecutable(_)
        | StartError::NoDirectory(_)
        | StartError::NoSuchCpus(_) => Refusal::Command,
        _ => Refusal::Node,
    };
    (why, error_chain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mention_of_the_record_means_the_nodes_own_directory() {
        let check = |text: &str, expected: &str| {
            let found = replaced(text.as_bytes(), b"/runs/r1", b"/tmp/x");
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        };
        check("--out=/runs/r1/work:/runs/r1", "--out=/tmp/x/work:/tmp/x");
        check("/runs/r", "/runs/r");
        check("", "");
    }
}
