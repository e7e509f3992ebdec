//! What the run sends and receives, by its own TCP sockets.
//!
//! The counters of interfaces belong to the whole machine: a run that sleeps
//! beside somebody's download has sent nothing. Here each socket that one of the
//! run's processes has open, or that was made in the run's cgroup, is read by
//! itself, and what ended since the last reading is heard of from the kernel.
//!
//! A socket that was opened and closed between two readings has no owner any
//! more. It is the run's if the run listens at one of its ports; otherwise
//! nobody knows whose it was, and it is left out. UDP has no counters.

mod holdings;
mod link;
mod message;

use crate::budget::Budget;
use crate::counter::Tick;
use holdings::Held;
use link::Link;
use message::{Counts, LISTEN, Socket};
use paceline_model::{Measure, Readings};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Up to how many sockets are asked for one by one. The kernel finds one at
/// once; for all of them it walks through a table made for the most there could
/// be.
const MOST_ASKED: usize = 256;

/// The sockets of the run.
#[derive(Debug)]
pub(crate) struct Sockets {
    proc: PathBuf,
    /// The namespace in which the probe itself is.
    own: Option<u64>,
    /// The number of the run's cgroup v2.
    cgroup: Option<u64>,
    from_start: bool,
    spaces: Vec<Space>,
    held: Vec<Held>,
    scans: Budget,
    /// False while somebody's sockets are hidden from the probe.
    is_known: bool,
}

/// The run's sockets in one network namespace.
#[derive(Debug)]
struct Space {
    namespace: u64,
    link: Link,
    tracked: Vec<Tracked>,
    listeners: Vec<Listener>,
    dumps: Budget,
}

/// A port at which the run takes connections.
#[derive(Debug)]
struct Listener {
    inode: u32,
    port: u16,
    /// For how many readings nobody has had it open: its connections are heard
    /// of a moment after their end.
    closed: u8,
}

#[derive(Debug)]
struct Tracked {
    socket: Socket,
    before: Counts,
    now: Counts,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// It is not there, and nothing has been heard of its end for this many
    /// readings.
    Missing(u8),
    /// Nothing will be added any more.
    Ended,
}

/// What was sent and received within an interval.
#[derive(Debug, Default)]
struct Amounts {
    connected: u64,
    /// Received and sent, to other machines and over loopback.
    wire: [u64; 2],
    loopback: [u64; 2],
    segments: u64,
    retransmits: u64,
    busiest_us: u64,
}

impl Sockets {
    /// `group` is the directory of the run's cgroup v2, if it has one.
    pub(crate) fn open(proc: &Path, group: Option<&Path>, from_start: bool) -> Self {
        let number = |directory: &Path| rustix::fs::stat(directory).ok().map(|found| found.st_ino);
        Self {
            proc: proc.to_owned(),
            own: holdings::namespace(&proc.join("self/ns/net")).ok(),
            cgroup: group.and_then(number),
            from_start,
            spaces: Vec::new(),
            held: Vec::new(),
            scans: Budget::default(),
            is_known: false,
        }
    }

    /// Reads the sockets of the processes `living`. Where somebody's cannot be
    /// read nothing is said: a sum that lacks a process would be a lie.
    pub(crate) fn read(
        &mut self,
        living: impl Iterator<Item = i32>,
        tick: &Tick,
        readings: &mut Readings,
    ) {
        self.look(living, tick);
        if !self.is_known {
            return;
        }
        let begins_at_zero = self.from_start || !tick.is_baseline();
        let mut sum = Amounts::default();
        for space in &mut self.spaces {
            let first = self.held.partition_point(|h| h.namespace < space.namespace);
            let held = &self.held[first..];
            let end = held.partition_point(|h| h.namespace == space.namespace);
            if space
                .read(&held[..end], self.cgroup, begins_at_zero, tick, &mut sum)
                .is_err()
            {
                self.is_known = false;
                return;
            }
        }
        // What was sent before the baseline stays open until the first sample.
        if !tick.is_baseline() {
            for space in &mut self.spaces {
                space.settle(&mut sum);
            }
            sum.report(tick, readings);
        }
    }

    /// Finds who has which sockets open.
    fn look(&mut self, living: impl Iterator<Item = i32>, tick: &Tick) {
        let Self {
            proc, held, scans, ..
        } = self;
        let looked = scans.spend(tick.interval, || {
            held.clear();
            let mut is_known = true;
            for pid in living {
                if holdings::of_process(proc, pid, held).is_err() {
                    // One that is gone has no sockets any more.
                    is_known &= !proc.join(pid.to_string()).exists();
                }
            }
            held.sort_unstable();
            held.dedup_by_key(|held| (held.namespace, held.inode));
            is_known
        });
        if let Some(is_known) = looked {
            self.is_known = is_known;
        }
        for index in 0..self.held.len() {
            let Held { namespace, pid, .. } = self.held[index];
            if self.spaces.iter().any(|s| s.namespace == namespace) {
                continue;
            }
            let path = self.proc.join(pid.to_string()).join("ns/net");
            let elsewhere = (self.own != Some(namespace)).then_some(path.as_path());
            match Link::open(elsewhere) {
                Ok(link) => self.spaces.push(Space {
                    namespace,
                    link,
                    tracked: Vec::new(),
                    listeners: Vec::new(),
                    dumps: Budget::default(),
                }),
                Err(_) => {
                    self.is_known = false;
                    return;
                }
            }
        }
    }
}

impl Space {
    fn read(
        &mut self,
        held: &[Held],
        cgroup: Option<u64>,
        begins_at_zero: bool,
        tick: &Tick,
        sum: &mut Amounts,
    ) -> Result<(), Errno> {
        let Self {
            link,
            tracked,
            listeners,
            dumps,
            ..
        } = self;
        // Whoever has been missing since the last reading was heard of or never
        // will be.
        tracked.retain(|it| it.state != State::Ended && !it.is_lost());
        for listener in listeners.iter_mut() {
            let is_open = is_held(held, listener.inode);
            listener.closed = if is_open { 0 } else { listener.closed + 1 };
        }
        listeners.retain(|listener| listener.closed <= 2);
        let is_met = |inode: u32| {
            tracked.iter().any(|it| it.socket.inode == inode)
                || listeners.iter().any(|it| it.inode == inode)
        };
        // One that is not connected yet is in no table: it stays a stranger.
        let has_strangers = held.iter().any(|held| !is_met(held.inode));
        let dumped = if has_strangers || tracked.len() > MOST_ASKED {
            dumps.spend(tick.interval, || {
                tracked.iter_mut().for_each(Tracked::miss);
                link.all(|socket| {
                    let known = tracked
                        .iter_mut()
                        .find(|it| it.socket.cookie() == socket.cookie());
                    if let Some(known) = known {
                        known.update(socket);
                        return;
                    }
                    let is_the_runs = is_held(held, socket.inode)
                        || socket.cgroup.is_some() && socket.cgroup == cgroup;
                    if !is_the_runs {
                        return;
                    }
                    if socket.state == LISTEN {
                        if !listeners.iter().any(|it| it.inode == socket.inode) {
                            listeners.push(Listener {
                                inode: socket.inode,
                                port: socket.local_port(),
                                closed: 0,
                            });
                        }
                    } else if let Some(now) = socket.counts {
                        tracked.push(Tracked {
                            socket,
                            before: if begins_at_zero {
                                Counts::default()
                            } else {
                                now
                            },
                            now,
                            state: State::Open,
                        });
                    }
                })
            })
        } else {
            None
        };
        match dumped {
            Some(result) => result?,
            None => {
                for it in tracked.iter_mut() {
                    match link.one(it.socket.family, &it.socket.id)? {
                        Some(socket) => it.update(socket),
                        None => it.miss(),
                    }
                }
            }
        }
        link.ended(|socket| {
            let cookie = socket.cookie();
            if let Some(it) = tracked.iter_mut().find(|it| it.socket.cookie() == cookie) {
                it.now = socket.counts.unwrap_or(it.now);
                it.state = State::Ended;
                return;
            }
            let is_ours = |port| listeners.iter().any(|it| it.port == port);
            let is_the_runs = is_ours(socket.local_port())
                || socket.is_loopback() && is_ours(socket.remote_port());
            if let Some(counts) = socket.counts
                && is_the_runs
                && begins_at_zero
            {
                sum.add(&socket, &Counts::default(), &counts);
            }
        });
        Ok(())
    }

    fn settle(&mut self, sum: &mut Amounts) {
        for it in &mut self.tracked {
            sum.connected += u64::from(it.state == State::Open);
            sum.add(&it.socket, &it.before, &it.now);
            it.before = it.now;
        }
    }
}

fn is_held(held: &[Held], inode: u32) -> bool {
    inode != 0 && held.binary_search_by_key(&inode, |held| held.inode).is_ok()
}

impl Tracked {
    fn update(&mut self, socket: Socket) {
        // One that only waits for its number to be free again counts nothing.
        match socket.counts {
            Some(now) => {
                self.now = now;
                self.state = State::Open;
                self.socket = socket;
            }
            None => self.miss(),
        }
    }

    fn miss(&mut self) {
        self.state = match self.state {
            State::Open => State::Missing(1),
            State::Missing(readings) => State::Missing(readings.saturating_add(1)),
            State::Ended => State::Ended,
        };
    }

    /// The kernel tells of an end a moment later; two readings later it never
    /// will.
    fn is_lost(&self) -> bool {
        matches!(self.state, State::Missing(2..))
    }
}

impl Amounts {
    fn add(&mut self, socket: &Socket, before: &Counts, now: &Counts) {
        let received = now.received_bytes.saturating_sub(before.received_bytes);
        let sent = now.sent_bytes.saturating_sub(before.sent_bytes);
        if socket.is_loopback() {
            self.loopback[0] += received;
            self.loopback[1] += sent;
            return;
        }
        self.wire[0] += received;
        self.wire[1] += sent;
        self.segments += u64::from(now.segments.wrapping_sub(before.segments));
        self.retransmits += u64::from(now.retransmits.wrapping_sub(before.retransmits));
        self.busiest_us = self
            .busiest_us
            .max(now.busy_us.saturating_sub(before.busy_us));
    }

    fn report(&self, tick: &Tick, readings: &mut Readings) {
        // A socket that was met late brings what it did before.
        let busy = self.busiest_us.min(tick.interval.0) as f64 / 1e6;
        for (measure, value) in [
            (Measure::RunNetRx, self.wire[0] as f64),
            (Measure::RunNetTx, self.wire[1] as f64),
            (Measure::RunNetBusy, busy),
            (Measure::RunLoopbackRx, self.loopback[0] as f64),
            (Measure::RunLoopbackTx, self.loopback[1] as f64),
            (Measure::RunTcpSegments, self.segments as f64),
            (Measure::RunTcpRetransmits, self.retransmits as f64),
            (Measure::RunTcpSockets, self.connected as f64),
        ] {
            readings.set(measure, value);
        }
    }
}
