//! Watching the commands of one run until the last has exited.
//!
//! Each command has a thread that waits for it and two that carry its output.
//! One more, the conductor, decides in which order things are told: a command's
//! exit after its output, the last sample while the last command can still be
//! read (exited, but not waited for), the end after everything.

use super::pump::Pump;
use super::spawn::{Spawned, spawn};
use super::terminal::Lent;
use super::{LocalEngine, StartError, kernel, orphans};
use crate::clock::RunClock;
use crate::launch::{Command, Launch, Leftovers, Stdin};
use crate::message::{Ending, Message};
use paceline_model::{Micros, NodeName, Stream, WorkerId};
use paceline_probe::Cost;
use paceline_probe::cgroup::RunGroup;
use paceline_probe::{Counted, Interval, Probe, Processes, Sampler, Target};
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

/// The commands of one run, as long as somebody may want to signal them.
pub(super) struct Gang {
    running: Mutex<Vec<Pid>>,
    group: Mutex<Option<RunGroup>>,
}

/// What the thread that waits for a command has seen.
enum Seen {
    Exited { index: usize, at: Micros },
    Stopped { index: usize, at: Micros },
    Continued { index: usize, at: Micros },
}

/// One command, for the conductor.
struct Watched {
    worker: WorkerId,
    pid: Pid,
    started: Micros,
    pumps: [Pump; 2],
}

impl Gang {
    pub(super) fn start(
        engine: &LocalEngine,
        launch: Launch,
        group: Option<RunGroup>,
        clock: RunClock,
        messages: SyncSender<Message>,
    ) -> Result<Arc<Self>, StartError> {
        let gang = Arc::new(Self {
            running: Mutex::default(),
            group: Mutex::new(group),
        });
        let mut lent = match (launch.stdin, launch.commands.as_slice()) {
            (Stdin::Inherit, [_]) => Lent::available(),
            _ => None,
        };
        let (seen_by, seen) = channel();
        let mut watched = Vec::new();
        for command in launch.commands {
            let index = watched.len();
            let at = clock.now();
            let started = gang
                .spawn(&command, launch.stdin, lent.is_some(), launch.leftovers)
                .and_then(|spawned| watch(spawned, command, index, at, clock, &messages, &seen_by));
            match started {
                Ok(command) => {
                    if let Some(lent) = &mut lent {
                        lent.lend_to(command.pid);
                    }
                    watched.push(command);
                }
                Err(error) => {
                    gang.abandon();
                    return Err(error);
                }
            }
        }
        let sampler = gang.sample(engine, &watched, launch.interval, clock, &messages);
        let conductor = Conductor {
            gang: Arc::clone(&gang),
            watched: watched.into_iter().map(Some).collect(),
            sampler,
            lent,
            leftovers: launch.leftovers,
            messages,
        };
        let conduct = move || conductor.conduct(&seen);
        thread("conductor", conduct)
            .inspect_err(|_| gang.abandon())
            .map_err(StartError::Watch)?;
        Ok(gang)
    }

    fn spawn(
        &self,
        command: &Command,
        stdin: Stdin,
        foreground: bool,
        leftovers: Leftovers,
    ) -> Result<Spawned, StartError> {
        let entry = self.group().as_ref().map(RunGroup::entry).transpose();
        let entry = entry.map_err(StartError::Watch)?;
        let spawned = spawn(command, stdin, foreground, leftovers, entry)?;
        self.running().push(spawned.pid);
        Ok(spawned)
    }

    /// Starts sampling. A node that cannot be sampled is no reason not to run.
    fn sample(
        &self,
        engine: &LocalEngine,
        watched: &[Watched],
        interval: Interval,
        clock: RunClock,
        messages: &SyncSender<Message>,
    ) -> Option<Sampler> {
        let processes = match watched {
            [command] if !engine.sole => Processes::Tree(command.pid.as_raw_nonzero().get()),
            _ => Processes::Below(rustix::process::getpid().as_raw_nonzero().get()),
        };
        let target = Target {
            processes: Some(processes),
            cgroup: self.group().as_ref().map(|group| group.paths().clone()),
            counted: Counted::FromStart,
        };
        let probe = Probe::with_roots(&target, &engine.roots, clock.now()).ok()?;
        let (node, messages) = (engine.node.clone(), messages.clone());
        let deliver = move |sample| {
            orphans::reap();
            let message = Message::Sample {
                node: NodeName::clone(&node),
                sample: Box::new(sample),
            };
            // Nobody listens any more: the run is being torn down.
            let _ = messages.send(message);
        };
        Sampler::spawn(probe, interval, clock.zero(), deliver).ok()
    }

    pub(super) fn signal(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else {
            return;
        };
        for &pid in self.running().iter() {
            // It may have exited between two instructions; it cannot have been
            // waited for, so the number is still its own.
            let _ = kill_process_group(pid, signal);
        }
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL.as_raw());
        if let Some(group) = self.group().as_ref() {
            // What cannot be killed is counted as a leftover.
            let _ = group.kill_all();
        }
    }

    /// Ends a gang whose start has failed half-way.
    fn abandon(&self) {
        self.kill();
        let pids = std::mem::take(&mut *self.running());
        for pid in pids {
            let _ = kernel::reap(pid);
            orphans::Registry::lock().remove(pid);
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<Pid>> {
        self.running.lock()
    }

    fn group(&self) -> MutexGuard<'_, Option<RunGroup>> {
        self.group.lock()
    }
}

/// Starts the threads that watch one command.
fn watch(
    spawned: Spawned,
    command: Command,
    index: usize,
    started: Micros,
    clock: RunClock,
    messages: &SyncSender<Message>,
    seen: &Sender<Seen>,
) -> Result<Watched, StartError> {
    let Spawned { pid, out, err } = spawned;
    let worker = command.worker;
    let pump = |from, stream, tee| {
        Pump::start(from, worker, stream, tee, clock, messages.clone()).map_err(StartError::Watch)
    };
    let pumps = [
        pump(out, Stream::Out, command.tee_out)?,
        pump(err, Stream::Err, command.tee_err)?,
    ];
    let seen = seen.clone();
    thread("waiter", move || wait(pid, index, clock, &seen)).map_err(StartError::Watch)?;
    Ok(Watched {
        worker,
        pid,
        started,
        pumps,
    })
}

/// Tells what happens to a command until it has exited, and leaves it in place.
fn wait(pid: Pid, index: usize, clock: RunClock, seen: &Sender<Seen>) {
    let changes = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
    let peek = WaitIdOptions::EXITED | changes | WaitIdOptions::NOWAIT;
    loop {
        let status = match waitid(WaitId::Pid(pid), peek) {
            Ok(Some(status)) => status,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            // Nobody else waits for a registered command, so it is still ours;
            // an error here means that the kernel no longer knows it.
            Err(_) => {
                let _ = seen.send(Seen::Exited {
                    index,
                    at: clock.now(),
                });
                return;
            }
        };
        let at = clock.now();
        let told = if status.stopped() {
            seen.send(Seen::Stopped { index, at })
        } else if status.continued() {
            seen.send(Seen::Continued { index, at })
        } else {
            let _ = seen.send(Seen::Exited { index, at });
            return;
        };
        if told.is_err() {
            return;
        }
        // A stop is shown until it has been taken.
        let _ = waitid(WaitId::Pid(pid), changes | WaitIdOptions::NOHANG);
    }
}

struct Conductor {
    gang: Arc<Gang>,
    watched: Vec<Option<Watched>>,
    sampler: Option<Sampler>,
    lent: Option<Lent>,
    leftovers: Leftovers,
    messages: SyncSender<Message>,
}

impl Conductor {
    fn conduct(mut self, seen: &Receiver<Seen>) {
        for Watched {
            worker,
            pid,
            started,
            ..
        } in self.watched.iter().flatten()
        {
            let (worker, at, pid) = (*worker, *started, pid.as_raw_nonzero().get());
            let _ = self.messages.send(Message::Started { worker, at, pid });
        }
        let mut cost = None;
        let mut left = self.watched.len();
        while left > 0 {
            // Every waiter ends with an exit, so the channel cannot close before.
            let Ok(seen) = seen.recv() else { break };
            match seen {
                Seen::Stopped { index, at } => self.suspended(index, true, at),
                Seen::Continued { index, at } => self.suspended(index, false, at),
                Seen::Exited { index, at } => {
                    left -= 1;
                    if left == 0 {
                        cost = self.stop_sampling();
                    }
                    self.exited(index, at);
                }
            }
        }
        let leftovers = self.settle_leftovers();
        let memory_kills = self.gang.group().as_ref().map_or(0, RunGroup::memory_kills);
        drop(self.lent.take());
        *self.gang.group() = None;
        let _ = self.messages.send(Message::Ended(Ending {
            leftovers,
            memory_kills,
            probe: cost,
        }));
    }

    fn suspended(&self, index: usize, stopped: bool, at: Micros) {
        let Some(command) = &self.watched[index] else {
            return;
        };
        let _ = self.messages.send(Message::Suspended {
            worker: command.worker,
            stopped,
            at,
        });
        if let (Some(lent), true) = (&self.lent, stopped) {
            lent.suspended();
        }
    }

    fn exited(&mut self, index: usize, at: Micros) {
        let Some(Watched {
            worker, pid, pumps, ..
        }) = self.watched[index].take()
        else {
            return;
        };
        // From here on the number may become somebody else's.
        self.gang.running().retain(|&running| running != pid);
        let reaped = kernel::reap(pid);
        orphans::Registry::lock().remove(pid);
        for pump in pumps {
            pump.drain();
        }
        let (status, usage) = reaped.expect("a registered command is waited for here only");
        let _ = self.messages.send(Message::Exited {
            worker,
            at,
            status,
            usage,
        });
    }

    fn stop_sampling(&mut self) -> Option<Cost> {
        self.sampler.take()?.stop().ok()
    }

    /// Counts the processes that are still there, and ends them if asked to.
    fn settle_leftovers(&self) -> u32 {
        orphans::reap();
        let group = self.gang.group();
        let Some(group) = group.as_ref() else {
            return 0;
        };
        let members = group.members().map_or(0, |members| members.len());
        if members > 0 && self.leftovers.are_ended() {
            // What cannot be ended stays counted.
            let _ = group.kill_all();
            orphans::reap();
        }
        u32::try_from(members).unwrap_or(u32::MAX)
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
        .spawn(work)
        .map(drop)
}
