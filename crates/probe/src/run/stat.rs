//! The files of one process.

use crate::scan::{number, value_of, words};
use crate::source::{Buffer, open};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// What a process has used since it started, descendants that were waited for
/// included: the kernel adds a child's account to its parent's when the parent
/// waits for it (`wait_task_zombie` in kernel/exit.c), bytes included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage(pub(crate) [u64; Usage::FIELDS]);

impl Usage {
    pub(crate) const FIELDS: usize = 8;
    pub(crate) const USER: usize = 0;
    pub(crate) const SYSTEM: usize = 1;
    // Minor and major page faults are 2 and 3.
    pub(crate) const DISK_READ: usize = 6;
    pub(crate) const DISK_WRITE: usize = 7;
    /// The fields from here on come from `io`, in the order of [`parse_io`].
    /// It knows no difference between a process's own bytes and those of
    /// children it waited for.
    pub(crate) const FIRST_IO: usize = 4;
}

/// The fields of `/proc/<pid>/stat` that a probe uses (proc(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat<'t> {
    pub(crate) command: &'t [u8],
    pub(crate) state: u8,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) threads: u64,
    /// When the process started, in clock ticks since boot. Together with the
    /// number it names a process for good, even where numbers are used again.
    pub(crate) start: u64,
    /// User, system, minor and major faults of the process alone.
    pub(crate) own: [u64; 4],
    /// The same of the children it waited for.
    pub(crate) reaped: [u64; 4],
}

impl<'t> Stat<'t> {
    pub(crate) fn parse(text: &'t [u8]) -> Option<Self> {
        // A command may hold blanks and parentheses; no later field does.
        let open = text.iter().position(|&b| b == b'(')?;
        let close = text.iter().rposition(|&b| b == b')')?;
        let command = text.get(open + 1..close)?;
        let mut fields = words(&text[close + 1..]);
        let state = *fields.next()?.first()?;
        let parent = i32::try_from(number(fields.next()?)?).ok()?;
        let group = number(fields.next()?).and_then(|n| i32::try_from(n).ok());
        // Session, terminal, terminal's group and flags are not needed.
        let mut rest = fields.skip(4);
        let mut next = || rest.next();
        let faults_minor = number(next()?)?;
        let reaped_minor = number(next()?)?;
        let faults_major = number(next()?)?;
        let reaped_major = number(next()?)?;
        let user = number(next()?)?;
        let system = number(next()?)?;
        // The kernel prints these two as signed; they are never negative.
        let reaped_user = number(next()?)?;
        let reaped_system = number(next()?)?;
        let _priority = next()?;
        let _nice = next()?;
        let threads = number(next()?)?;
        let _interval_timer = next()?;
        let start = number(next()?)?;
        Some(Self {
            command,
            state,
            parent,
            // A process outside the probe's namespace has the group -1 or 0.
            group: group.unwrap_or(0),
            threads,
            start,
            own: [user, system, faults_minor, faults_major],
            reaped: [reaped_user, reaped_system, reaped_minor, reaped_major],
        })
    }

    /// True if the process has ended and only waits to be waited for.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// The fields of `/proc/<pid>/io`: bytes through system calls, and bytes that
/// the process caused to be moved to or from disks.
pub(crate) fn parse_io(text: &[u8]) -> Option<[u64; 4]> {
    let written = value_of(text, b"write_bytes")?;
    // Pages that were dirtied and dropped again, as by truncating a file.
    let cancelled = value_of(text, b"cancelled_write_bytes")?;
    Some([
        value_of(text, b"rchar")?,
        value_of(text, b"wchar")?,
        value_of(text, b"read_bytes")?,
        written.saturating_sub(cancelled),
    ])
}

/// The variables that name a rank, the most telling first: that of torchrun and
/// of Paceline, that of Slurm, and the rank on the node alone.
const RANKS: [&[u8]; 3] = [b"RANK", b"SLURM_PROCID", b"LOCAL_RANK"];

/// The rank that an environment names: `NAME=VALUE`, each with a zero behind it.
pub(crate) fn parse_rank(environment: &[u8]) -> Option<u32> {
    RANKS.iter().find_map(|name| {
        let mut variables = environment.split(|&byte| byte == 0);
        let value = variables.find_map(|variable| {
            variable
                .strip_prefix(*name)
                .and_then(|rest| rest.strip_prefix(b"="))
        })?;
        std::str::from_utf8(value).ok()?.parse().ok()
    })
}

/// The open files of one process. An open file belongs to the process it was
/// opened for even when the number is used again: it then reads as gone.
#[derive(Debug)]
pub(crate) struct Files {
    directory: PathBuf,
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    stat: OwnedFd,
    statm: OwnedFd,
    io: Option<OwnedFd>,
}

impl Files {
    /// The files of `pid`, kept open if `keep`.
    pub(crate) fn open(proc: &Path, pid: i32, keep: bool) -> Self {
        let directory = proc.join(pid.to_string());
        let kept = keep
            .then(|| {
                Some(Kept {
                    stat: open(&directory.join("stat")).ok()?,
                    statm: open(&directory.join("statm")).ok()?,
                    io: open(&directory.join("io")).ok(),
                })
            })
            .flatten();
        Self { directory, kept }
    }

    pub(crate) fn are_kept(&self) -> bool {
        self.kept.is_some()
    }

    pub(crate) fn stat<'b>(&self, buffer: &'b mut Buffer) -> Result<&'b [u8], Errno> {
        match &self.kept {
            Some(kept) => buffer.read_open(&kept.stat),
            None => buffer.read_once(&self.directory.join("stat")),
        }
    }

    /// Resident pages. `stat` has them, too, but only roughly on kernels that
    /// count them per CPU.
    pub(crate) fn resident_pages(&self, buffer: &mut Buffer) -> Option<u64> {
        let text = match &self.kept {
            Some(kept) => buffer.read_open(&kept.statm),
            None => buffer.read_once(&self.directory.join("statm")),
        };
        words(text.ok()?).nth(1).and_then(number)
    }

    /// Bytes, or `None` if this process may not be looked at.
    pub(crate) fn io(&self, buffer: &mut Buffer) -> Option<[u64; 4]> {
        let text = match &self.kept {
            Some(kept) => buffer.read_open(kept.io.as_ref()?),
            None => buffer.read_once(&self.directory.join("io")),
        };
        parse_io(text.ok()?)
    }

    /// Which rank of a distributed program the process is, as the environment that
    /// it was started with says.
    pub(crate) fn rank(&self, buffer: &mut Buffer) -> Option<u32> {
        let text = buffer.read_once(&self.directory.join("environ")).ok()?;
        parse_rank(text)
    }

    /// Proportional memory in bytes. The kernel walks all pages for it.
    pub(crate) fn proportional_bytes(&self, buffer: &mut Buffer) -> Option<u64> {
        let text = buffer
            .read_once(&self.directory.join("smaps_rollup"))
            .ok()?;
        value_of(text, b"Pss").map(|kib| kib * 1024)
    }

    /// Context switches of all threads, voluntary and forced.
    pub(crate) fn switches(&self, buffer: &mut Buffer) -> Option<u64> {
        let mut sum = 0;
        for thread in std::fs::read_dir(self.directory.join("task")).ok()? {
            // A thread that ends meanwhile takes its count along.
            let Ok(thread) = thread else { continue };
            let Ok(text) = buffer.read_once(&thread.path().join("status")) else {
                continue;
            };
            sum += value_of(text, b"voluntary_ctxt_switches")?;
            sum += value_of(text, b"nonvoluntary_ctxt_switches")?;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"4711 (a) b (c)) S 12 4711 4711 0 -1 4194304 5 6 7 8 9 10 11 12 20 0 3 0 \
        99 1000 200 18446744073709551615\n";

    #[test]
    fn a_rank_is_the_one_that_the_environment_names() {
        let check = |text: &[u8], expected| assert_eq!(parse_rank(text), expected);
        check(b"PATH=/bin\0RANK=3\0LOCAL_RANK=1\0", Some(3));
        check(b"LOCAL_RANK=1\0SLURM_PROCID=7\0", Some(7));
        check(b"LOCAL_RANK=1", Some(1));
        check(b"XRANK=3\0RANKS=2\0RANK_=4\0", None);
        check(b"RANK=\0LOCAL_RANK=two\0RANK", None);
        check(b"RANK=-1\0", None);
        check(b"", None);
    }

    #[test]
    fn a_command_with_parentheses_and_blanks_does_not_shift_the_fields() {
        let stat = Stat::parse(LINE).unwrap();
        assert_eq!(stat.command, b"a) b (c)");
        assert_eq!((stat.parent, stat.group, stat.threads), (12, 4711, 3));
        assert_eq!(stat.own, [9, 10, 5, 7]);
        assert_eq!(stat.reaped, [11, 12, 6, 8]);
        assert_eq!(stat.start, 99);
    }

    #[test]
    fn a_truncated_line_is_no_process() {
        for end in 0..60 {
            assert_eq!(Stat::parse(&LINE[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn pages_that_were_dropped_before_they_reached_a_disk_are_not_written() {
        let text = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n\
            write_bytes: 60\ncancelled_write_bytes: 10\n";
        assert_eq!(parse_io(text), Some([1, 2, 5, 50]));
    }
}
