//! What a process of a run is called in its samples.

use std::fmt;

/// A process's number and command, and what it is of a larger program:
/// `4711 python`, `4711 python (rank 3)`, `4720 pt_data_worker (of 4711, rank 3)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessName<'a> {
    /// Its number on its node.
    pub pid: u32,
    /// The command as the kernel has it, at most 15 bytes.
    pub command: &'a str,
    /// The process that it loads data for.
    pub loads_for: Option<u32>,
    /// Its rank, as the environment that it was started with says.
    pub rank: Option<u32>,
}

impl<'a> ProcessName<'a> {
    /// What PyTorch calls processes that load data for another.
    pub const DATA_LOADER: &'static str = "pt_data_worker";

    /// Reads a name as it is written; a command may hold any character.
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        let (pid, rest) = name.split_once(' ')?;
        let pid = pid.parse().ok()?;
        let plain = Self {
            pid,
            command: rest,
            loads_for: None,
            rank: None,
        };
        let about = rest
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once(" ("));
        let Some((command, about)) = about else {
            return Some(plain);
        };
        let mut found = Self { command, ..plain };
        for part in about.split(", ") {
            match part.split_once(' ').map(|(word, n)| (word, n.parse())) {
                Some(("of", Ok(pid))) => found.loads_for = Some(pid),
                Some(("rank", Ok(rank))) => found.rank = Some(rank),
                // The parentheses are the command's own.
                _ => return Some(plain),
            }
        }
        Some(found)
    }

    /// Whether it loads data for a training.
    #[must_use]
    pub fn is_data_loader(&self) -> bool {
        self.command == Self::DATA_LOADER
    }
}

impl fmt::Display for ProcessName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.command)?;
        match (self.loads_for, self.rank) {
            (Some(pid), Some(rank)) => write!(f, " (of {pid}, rank {rank})"),
            (Some(pid), None) => write!(f, " (of {pid})"),
            (None, Some(rank)) => write!(f, " (rank {rank})"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for command in ["python", "a b", "x (y)", "pt_data_worker", "(sd-pam)"] {
            for loads_for in [None, Some(12)] {
                for rank in [None, Some(0), Some(31)] {
                    let name = ProcessName {
                        pid: 4711,
                        command,
                        loads_for,
                        rank,
                    };
                    assert_eq!(ProcessName::parse(&name.to_string()), Some(name));
                }
            }
        }
        assert_eq!(ProcessName::parse("python"), None);
        assert_eq!(ProcessName::parse("x python"), None);
    }
}
