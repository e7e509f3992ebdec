//! A run's own group: made, entered, emptied, removed.

use super::layout::Layout;
use super::limits::{Limit, Limits};
use paceline_model::RunId;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, flock, fstat, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The group that holds those of all runs.
const FAMILY: &str = "paceline";

/// The group of this process itself, if it had to make room. It goes when the
/// scope that holds it goes: a process cannot remove its own group.
pub(super) const SUPERVISOR: &str = "paceline-supervisor";

/// The period over which a CPU quota is kept, the kernel's own default.
const QUOTA_PERIOD_US: u64 = 100_000;

/// A creation is tried this often, because other runs come and go.
const CREATION_TRIES: u32 = 10;
const CREATION_PAUSE: Duration = Duration::from_millis(1);

/// A removal is tried this often, because a process that has been killed stays
/// in its group until the kernel has torn it down.
const REMOVAL_TRIES: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(4);

/// A group is killed this often at most: a process may fork while the list of
/// members is walked.
const KILL_ROUNDS: u32 = 100;

/// Where a group's files are, for a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPaths {
    /// The list of members.
    pub procs: PathBuf,
    /// The group in the v2 hierarchy.
    pub unified: Option<PathBuf>,
    /// The group of the v1 `cpuacct` controller.
    pub cpuacct: Option<PathBuf>,
    /// The group of the v1 `memory` controller.
    pub memory: Option<PathBuf>,
    /// The group whose `cpu.stat` tells how long a CPU quota held the run
    /// back: its own or, if it has none, the one it was started in.
    pub throttle: Option<PathBuf>,
}

/// Why a run has no group of its own.
#[derive(Debug, thiserror::Error)]
pub enum CreateGroupError {
    /// Nothing is mounted.
    #[error("no cgroup hierarchy is mounted")]
    NoHierarchy,
    /// The directory of the group could not be made.
    #[error("cannot create the cgroup {path}")]
    Create {
        /// The group's directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A group of this name still has processes.
    #[error("the cgroup {path} is still in use")]
    InUse {
        /// The group's directory.
        path: PathBuf,
    },
    /// The hierarchy that would enforce a limit is not there.
    #[error("no cgroup controller enforces a {limit} here")]
    NoController {
        /// The limit that was asked for.
        limit: Limit,
    },
    /// The kernel refused a limit.
    #[error("cannot set the {limit} to {value} in {path}")]
    Limit {
        /// The limit that was asked for.
        limit: Limit,
        /// Its value as it was written.
        value: String,
        /// The file it was written to.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Why a group still has processes.
#[derive(Debug, thiserror::Error)]
pub enum KillGroupError {
    /// The list of members could not be read or the kill not be asked for.
    #[error("cannot kill the members of {path}")]
    Kill {
        /// The file that was used.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Processes kept appearing or would not end.
    #[error("{remaining} processes of {path} are still there")]
    Remaining {
        /// The group's list of members.
        path: PathBuf,
        /// How many there are.
        remaining: usize,
    },
}

/// A group of its own for one run. Dropping it removes the group if nobody is
/// left in it.
#[derive(Debug)]
pub struct RunGroup {
    /// The group's directory in each hierarchy that has one; never empty.
    directories: Vec<PathBuf>,
    paths: GroupPaths,
    /// Held as long as the group is somebody's. The kernel gives them up when
    /// their owner is killed, which tells the next run what it may sweep away.
    _locks: Vec<OwnedFd>,
}

impl RunGroup {
    /// Makes the group `paceline/<run>` below this process's own.
    ///
    /// v2 is used where it is mounted, and for what it does not offer, v1. A
    /// limit that cannot be enforced is an error; a controller that would only
    /// have measured is left out.
    ///
    /// # Errors
    /// If no hierarchy lets a group be made, or a limit cannot be set.
    pub fn create(layout: &Layout, run: &RunId, limits: &Limits) -> Result<Self, CreateGroupError> {
        let mut builder = Builder::default();
        let offers = |controller: &str| layout.unified_controllers.iter().any(|c| c == controller);
        let unified = layout.unified.as_deref().and_then(|parent| {
            let mut wanted = vec!["memory", "io"];
            wanted.extend(limits.cpu_quota.map(|_| "cpu"));
            wanted.extend(limits.cpu_set.as_ref().map(|_| "cpuset"));
            wanted.retain(|controller| offers(controller));
            hand_down(parent, &wanted);
            let enable = |family: &Path| hand_down(family, &wanted);
            builder.make(parent, run, enable)
        });
        let has = |file: &str| {
            unified
                .as_ref()
                .is_some_and(|group| group.join(file).exists())
        };
        let memory_in_v2 = has("memory.max");
        let memory = match &layout.memory {
            Some(parent) if !memory_in_v2 => builder.make(parent, run, |_| {}),
            _ => None,
        };
        let cpuacct = match &layout.cpuacct {
            Some(parent) if unified.is_none() => builder.make(parent, run, |_| {}),
            _ => None,
        };
        let mut throttle = layout.cpu.clone().or_else(|| layout.unified.clone());
        if let Some(cores) = limits.cpu_quota {
            let quota = (cores * QUOTA_PERIOD_US as f64).round().max(1000.0) as u64;
            if has("cpu.max") {
                let value = format!("{quota} {QUOTA_PERIOD_US}");
                set(&unified, "cpu.max", Limit::CpuQuota, value)?;
                throttle.clone_from(&unified);
            } else {
                let group = builder.need(&layout.cpu, run, Limit::CpuQuota, |_| {})?;
                let period = QUOTA_PERIOD_US.to_string();
                set(&group, "cpu.cfs_period_us", Limit::CpuQuota, period)?;
                set(
                    &group,
                    "cpu.cfs_quota_us",
                    Limit::CpuQuota,
                    quota.to_string(),
                )?;
                throttle = group;
            }
        }
        if let Some(cores) = &limits.cpu_set {
            if has("cpuset.cpus") {
                set(&unified, "cpuset.cpus", Limit::CpuSet, cores.to_string())?;
            } else {
                // A v1 group takes no process until it has memory nodes and
                // cores, neither of which it inherits.
                let group = builder.need(&layout.cpuset, run, Limit::CpuSet, inherit_cpuset)?;
                set(&group, "cpuset.cpus", Limit::CpuSet, cores.to_string())?;
            }
        }
        if let Some(bytes) = limits.memory_bytes {
            let value = bytes.to_string();
            // A run that swaps instead of ending would be timed for nothing.
            // Kernels without swap accounting lack the second file.
            if memory_in_v2 {
                set(&unified, "memory.max", Limit::Memory, value)?;
                let _ = set(&unified, "memory.swap.max", Limit::Memory, "0".to_owned());
            } else if memory.is_some() {
                set(
                    &memory,
                    "memory.limit_in_bytes",
                    Limit::Memory,
                    value.clone(),
                )?;
                let _ = set(&memory, "memory.memsw.limit_in_bytes", Limit::Memory, value);
            } else {
                return Err(builder.refuse(&layout.memory, Limit::Memory));
            }
        }
        // One hierarchy that refuses is one less to measure in, but a name that
        // is taken is another run's.
        let is_taken = matches!(builder.failure, Some(CreateGroupError::InUse { .. }));
        let first = match builder.directories.first() {
            Some(first) if !is_taken => first,
            _ => {
                let failure = builder.failure.take();
                return Err(failure.unwrap_or(CreateGroupError::NoHierarchy));
            }
        };
        let paths = GroupPaths {
            procs: first.join("cgroup.procs"),
            unified,
            cpuacct,
            memory,
            throttle,
        };
        Ok(Self {
            directories: std::mem::take(&mut builder.directories),
            paths,
            _locks: std::mem::take(&mut builder.locks),
        })
    }

    /// Where the group's files are, for a [`crate::Target`].
    #[must_use]
    pub fn paths(&self) -> &GroupPaths {
        &self.paths
    }

    /// The files to each of which a process's number has to be written for it
    /// to be in the group. A process writes `0` for itself.
    pub fn entry_files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.directories.iter().map(|d| d.join("cgroup.procs"))
    }

    /// Opens the group's door for a child to walk through between `fork` and
    /// `exec`.
    ///
    /// # Errors
    /// If a file cannot be opened for writing.
    pub fn entry(&self) -> io::Result<Entry> {
        let open = |path| OpenOptions::new().write(true).open(path);
        Ok(Entry {
            files: self.entry_files().map(open).collect::<io::Result<_>>()?,
        })
    }

    /// Puts a process into the group. Children it already has stay outside.
    ///
    /// # Errors
    /// If the process is gone or the kernel refuses.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        for file in self.entry_files() {
            write(&file, &pid.to_string())?;
        }
        Ok(())
    }

    /// The processes that are in the group now.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn members(&self) -> io::Result<Vec<i32>> {
        let text = fs::read_to_string(&self.paths.procs)?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// How many of the group's processes the kernel has ended for want of memory;
    /// zero where it does not tell.
    #[must_use]
    pub fn memory_kills(&self) -> u64 {
        let events = self
            .paths
            .unified
            .as_ref()
            .map(|it| it.join("memory.events"));
        let control = self
            .paths
            .memory
            .as_ref()
            .map(|it| it.join("memory.oom_control"));
        events
            .into_iter()
            .chain(control)
            .filter_map(|path| fs::read_to_string(path).ok())
            .find_map(|text| {
                let mut lines = text.lines();
                lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
            })
            .unwrap_or(0)
    }

    /// Ends every process of the group at once with `SIGKILL`, those it forks
    /// meanwhile included.
    ///
    /// # Errors
    /// If the kernel refuses, or processes remain after many attempts.
    pub fn kill_all(&self) -> Result<(), KillGroupError> {
        if let Some(group) = &self.paths.unified {
            let path = group.join("cgroup.kill");
            if path.exists() {
                return write(&path, "1").map_err(|source| KillGroupError::Kill { path, source });
            }
        }
        let path = self.paths.procs.clone();
        let mut remaining = 0;
        for _ in 0..KILL_ROUNDS {
            let members = self.members().map_err(|source| KillGroupError::Kill {
                path: path.clone(),
                source,
            })?;
            remaining = members.len();
            if members.is_empty() {
                return Ok(());
            }
            for pid in members.into_iter().filter_map(Pid::from_raw) {
                // It may have ended since the list was read.
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(KillGroupError::Remaining { path, remaining })
    }
}

impl Drop for RunGroup {
    fn drop(&mut self) {
        for directory in &self.directories {
            remove(directory);
        }
    }
}

/// Open files through which a process joins a group.
#[derive(Debug)]
pub struct Entry {
    files: Vec<File>,
}

impl Entry {
    /// Puts the calling process into the group.
    ///
    /// It only writes to open files, so that it may run between `fork` and
    /// `exec`, where allocation is forbidden.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn enter(&self) -> io::Result<()> {
        self.files
            .iter()
            .try_for_each(|mut file| file.write_all(b"0"))
    }
}

/// Makes the group in one hierarchy after the other, and unmakes it if a later
/// step fails.
#[derive(Default)]
struct Builder {
    directories: Vec<PathBuf>,
    locks: Vec<OwnedFd>,
    failure: Option<CreateGroupError>,
}

impl Builder {
    /// The group below `parent`, or `None` with the failure noted. `prepare`
    /// runs on the group that holds all runs before the run's own is made.
    fn make(&mut self, parent: &Path, run: &RunId, prepare: impl Fn(&Path)) -> Option<PathBuf> {
        let family = parent.join(FAMILY);
        let path = family.join(run.as_str());
        // `cpu` and `cpuacct` are often one hierarchy.
        if self.directories.contains(&path) {
            return Some(path);
        }
        let mut result = Err(ErrorKind::NotFound.into());
        // Another run may remove the family as it ends or, as it begins, sweep
        // the group away before it is locked.
        for _ in 0..CREATION_TRIES {
            match fs::create_dir(&family) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    result = Err(error);
                    break;
                }
                _ => prepare(&family),
            }
            sweep(&family);
            result = fs::create_dir(&path).and_then(|()| Ok(lock(&path)?));
            let kind = result.as_ref().err().map(io::Error::kind);
            match kind {
                Some(ErrorKind::NotFound | ErrorKind::WouldBlock | ErrorKind::AlreadyExists) => {
                    std::thread::sleep(CREATION_PAUSE)
                }
                _ => break,
            }
        }
        match result {
            Ok(lock) => {
                self.locks.push(lock);
                self.directories.push(path.clone());
                Some(path)
            }
            Err(source) => {
                self.failure.get_or_insert(match source.kind() {
                    ErrorKind::AlreadyExists => CreateGroupError::InUse { path },
                    _ => CreateGroupError::Create { path, source },
                });
                None
            }
        }
    }

    /// The group below `parent`, without which `limit` cannot be set.
    fn need(
        &mut self,
        parent: &Option<PathBuf>,
        run: &RunId,
        limit: Limit,
        prepare: impl Fn(&Path),
    ) -> Result<Option<PathBuf>, CreateGroupError> {
        let group = parent.as_ref().and_then(|p| self.make(p, run, &prepare));
        match group {
            Some(group) => {
                prepare(&group);
                Ok(Some(group))
            }
            None => Err(self.refuse(parent, limit)),
        }
    }

    fn refuse(&mut self, parent: &Option<PathBuf>, limit: Limit) -> CreateGroupError {
        match self.failure.take() {
            Some(failure) if parent.is_some() => failure,
            _ => CreateGroupError::NoController { limit },
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        for directory in &self.directories {
            remove(directory);
        }
    }
}

/// Removes groups whose owner was killed before it could do so. Those with
/// processes stay, since the kernel does not remove them.
fn sweep(family: &Path) {
    for entry in fs::read_dir(family).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(_lock) = lock(&path)
        {
            remove_below(&path);
        }
    }
}

/// Marks a group as somebody's, unless it is somebody else's.
fn lock(group: &Path) -> rustix::io::Result<OwnedFd> {
    let directory = crate::source::open(group)?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    // Between the two steps it may have been swept away: the lock would then
    // be on a directory that has no name any more.
    let (locked, named) = (fstat(&directory)?, stat(group)?);
    if (locked.st_dev, locked.st_ino) != (named.st_dev, named.st_ino) {
        return Err(Errno::NOENT);
    }
    Ok(directory)
}

/// Lets a v2 group's children have controllers. What is refused shows when a
/// limit that needs it is set.
///
/// A group other than the root that holds processes may not hand anything down
/// (Documentation/admin-guide/cgroup-v2.rst, "no internal process"). If this
/// process is the only one, as in a scope made for it, it steps aside into a
/// group of its own.
fn hand_down(group: &Path, controllers: &[&str]) {
    let file = group.join("cgroup.subtree_control");
    for controller in controllers {
        let order = format!("+{controller}");
        if let Err(error) = write(&file, &order)
            && error.kind() == ErrorKind::ResourceBusy
            && step_aside(group).is_ok()
        {
            let _ = write(&file, &order);
        }
    }
}

fn step_aside(group: &Path) -> io::Result<()> {
    let me = std::process::id().to_string();
    let members = fs::read_to_string(group.join("cgroup.procs"))?;
    if members.trim() != me {
        return Err(ErrorKind::ResourceBusy.into());
    }
    let aside = group.join(SUPERVISOR);
    match fs::create_dir(&aside) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    write(&aside.join("cgroup.procs"), &me)
}

/// Copies cores and memory nodes from the group above.
fn inherit_cpuset(group: &Path) {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let above = group.parent().map(|parent| parent.join(file));
        if let Some(value) = above.and_then(|path| fs::read_to_string(path).ok()) {
            // What could not be copied shows when the limit is written.
            let _ = write(&group.join(file), value.trim());
        }
    }
}

fn set(
    group: &Option<PathBuf>,
    file: &str,
    limit: Limit,
    value: String,
) -> Result<(), CreateGroupError> {
    let Some(group) = group else {
        return Err(CreateGroupError::NoController { limit });
    };
    let path = group.join(file);
    write(&path, &value).map_err(|source| CreateGroupError::Limit {
        limit,
        value,
        path,
        source,
    })
}

/// Writes in one call and without creating: the kernel's files are there or
/// they are not.
fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all(value.as_bytes())
}

/// Removes a group and those the run made below it, and the family if this was
/// its last member. What is still in use stays.
fn remove(directory: &Path) {
    for attempt in 0..REMOVAL_TRIES {
        if let Ok(entries) = fs::read_dir(directory) {
            for entry in entries.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    remove_below(&entry.path());
                }
            }
        }
        match fs::remove_dir(directory) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            Err(_) if attempt + 1 < REMOVAL_TRIES => std::thread::sleep(REMOVAL_PAUSE),
            Err(_) => return,
        }
    }
    if let Some(family) = directory.parent() {
        let _ = fs::remove_dir(family);
    }
}

/// Removes a group below the run's, innermost first.
fn remove_below(directory: &Path) {
    if let Ok(entries) = fs::read_dir(directory) {
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_below(&entry.path());
            }
        }
    }
    let _ = fs::remove_dir(directory);
}
