//! The few things that no safe interface offers.
//!
//! This is the one module of the crate with `unsafe`: what a child does between
//! `fork` and `exec`; `wait4`, which alone tells what a child has used; `waitid`
//! with the child's id; the signal mask of a thread; its scheduling policy; and stopping
//! as Ctrl-Z does.

#![expect(unsafe_code, reason = "see the safety comment at each block")]

use crate::message::Usage;
use paceline_model::ExitStatus;
use paceline_probe::cgroup::Entry;
use rustix::process::{Pid, Signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What a child does before it becomes the command.
#[derive(Debug)]
pub(super) struct BeforeExec {
    /// The door to the run's cgroup.
    pub(super) cgroup: Option<Entry>,
    /// The CPUs it may use.
    pub(super) cpus: Option<rustix::thread::CpuSet>,
    /// Whether its process group takes the foreground of the terminal. The child
    /// does so itself: it might read before its parent could.
    pub(super) foreground: bool,
    /// The signal it gets if the thread that started it is gone.
    pub(super) when_orphaned: Signal,
}

impl BeforeExec {
    /// Makes `command` do all this in its child.
    pub(super) fn install(self, command: &mut Command) {
        let parent = rustix::process::getpid();
        // SAFETY: between `fork` and `exec` only async-signal-safe calls are allowed.
        // `prepare` makes plain system calls on values that exist already: it neither
        // allocates nor takes a lock (`Entry::enter` promises the same).
        unsafe {
            command.pre_exec(move || self.prepare(parent));
        }
    }

    fn prepare(&self, parent: Pid) -> io::Result<()> {
        if let Some(cgroup) = &self.cgroup {
            cgroup.enter()?;
        }
        if let Some(cpus) = &self.cpus {
            rustix::thread::sched_setaffinity(None, cpus)?;
        }
        if self.foreground {
            let own = rustix::process::getpid();
            without_sigttou(|| rustix::termios::tcsetpgrp(rustix::stdio::stdin(), own))?;
        }
        rustix::process::set_parent_process_death_signal(Some(self.when_orphaned))?;
        // If the parent died before the line above, no signal will ever come.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        Ok(())
    }
}

/// Takes the exit status and the account of an exited child off the kernel.
///
/// Blocks until the child has exited.
pub(super) fn reap(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live, writable locals of the right type.
        let waited = unsafe {
            libc::wait4(
                pid.as_raw_nonzero().get(),
                &raw mut status,
                0,
                usage.as_mut_ptr(),
            )
        };
        if waited >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all-zero bytes are a valid `rusage`, and wait4 has filled it in.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let status = if libc::WIFSIGNALED(status) {
        ExitStatus::Signalled(libc::WTERMSIG(status))
    } else {
        ExitStatus::Exited(libc::WEXITSTATUS(status))
    };
    let usage = Usage {
        cpu_user_s: seconds(usage.ru_utime),
        cpu_system_s: seconds(usage.ru_stime),
        // Linux counts in kibibytes.
        max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    };
    Ok((status, usage))
}

/// Has the calling thread never interrupt the thread that wakes it
/// (`SCHED_BATCH`).
pub(super) fn schedule_as_batch() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live local of the right type; zero is the
    // calling thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Runs `action` while this thread does not receive SIGTTOU, which the kernel
/// sends to a background process that changes its terminal.
pub(super) fn without_sigttou<T>(action: impl FnOnce() -> T) -> T {
    let mut blocked = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointers are to live locals of the right type, `sigemptyset`
    // initialises the set before it is read, and these calls cannot fail with
    // valid arguments.
    unsafe {
        libc::sigemptyset(blocked.as_mut_ptr());
        libc::sigaddset(blocked.as_mut_ptr(), libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr());
    }
    let result = action();
    // SAFETY: `before` was filled in by the call above.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
    }
    result
}

/// From now on this thread, and every thread it starts, may write to its
/// terminal from the background. Commands are not affected: they start with an
/// empty signal mask.
pub(super) fn block_sigttou() {
    let mut blocked = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointer is to a live local of the right type, `sigemptyset`
    // initialises the set before it is read, and the old mask is not asked for.
    unsafe {
        libc::sigemptyset(blocked.as_mut_ptr());
        libc::sigaddset(blocked.as_mut_ptr(), libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), std::ptr::null_mut());
    }
}

/// Stops this process and all others of its group, as Ctrl-Z does; returns once
/// it has been continued. Without a shell that could continue it, the kernel
/// ignores the request.
pub(super) fn stop_own_group() {
    // SAFETY: changing a signal's disposition to one of the two standard ones and
    // raising a signal need no further conditions. `raise` sends to this thread,
    // so the process stops before the next line runs; a signal to the group could
    // be taken by another thread, later. Hence the group's goes to the others
    // only: it is ignored here.
    unsafe {
        let before = libc::signal(libc::SIGTSTP, libc::SIG_IGN);
        libc::kill(0, libc::SIGTSTP);
        libc::signal(libc::SIGTSTP, libc::SIG_DFL);
        libc::raise(libc::SIGTSTP);
        libc::signal(libc::SIGTSTP, before);
    }
}

/// A child that has exited and that nobody has waited for yet, left in place.
pub(super) fn peek_exited() -> Option<Pid> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is to a live local of the right type, zeroed as waitid
    // asks for when WNOHANG finds nothing.
    let result = unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) };
    if result != 0 {
        return None;
    }
    // SAFETY: all-zero bytes are a valid `siginfo_t`, and after a successful
    // waitid its process id is the active field.
    let pid = unsafe { info.assume_init().si_pid() };
    Pid::from_raw(pid)
}
