//! Names of runs, nodes and workers.

use std::fmt;

/// The number of a worker within a run, from zero. The driver of a command
/// that is a single process is worker 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WorkerId(pub u32);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker{}", self.0)
    }
}

/// A host as the record names it: safe as a file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(String);

impl NodeName {
    /// Keeps letters, digits, `-`, `_` and inner dots; every other character
    /// becomes `-`, so that no host name can leave the `samples/` directory.
    #[must_use]
    pub fn from_host(host: &str) -> Self {
        let safe: String = host
            .chars()
            .take(64)
            .map(|c| {
                if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        let trimmed = safe.trim_matches('.');
        Self(if trimmed.is_empty() {
            "node".to_owned()
        } else {
            trimmed.to_owned()
        })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a run: also the name of its directory.
///
/// Lowercase letters, digits, `-`, `_` and `.`, not starting with a dot, at
/// most 100 bytes, so that it is one path component on every file system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

/// Why a text cannot name a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunIdError {
    /// Nothing was given.
    #[error("a run id cannot be empty")]
    Empty,
    /// Longer than 100 bytes.
    #[error("a run id has at most 100 characters, this one has {0}")]
    TooLong(usize),
    /// A character that is not allowed, and its position from 1.
    #[error(
        "`{found}` at position {position} cannot be in a run id (letters, digits, `-`, `_`, `.` can)"
    )]
    Character {
        /// The offending character.
        found: char,
        /// Its position, counted from 1.
        position: usize,
    },
}

impl RunId {
    /// Checks `text`.
    ///
    /// # Errors
    /// If `text` is empty, too long or holds a character that is not allowed.
    pub fn new(text: &str) -> Result<Self, RunIdError> {
        if text.is_empty() {
            return Err(RunIdError::Empty);
        }
        if text.len() > 100 {
            return Err(RunIdError::TooLong(text.len()));
        }
        let allowed = |(i, c): (usize, char)| {
            c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || (c == '.' && i > 0)
        };
        match text.chars().enumerate().find(|&pair| !allowed(pair)) {
            Some((i, found)) => Err(RunIdError::Character {
                found,
                position: i + 1,
            }),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_name_is_one_path_component() {
        assert_eq!(
            NodeName::from_host("../../etc/passwd").as_str(),
            "-..-etc-passwd"
        );
        assert_eq!(NodeName::from_host("..").as_str(), "node");
        assert_eq!(
            NodeName::from_host("gpu-01.rack.example").as_str(),
            "gpu-01.rack.example"
        );
    }

    #[test]
    fn a_run_id_cannot_leave_its_directory() {
        assert!(RunId::new("..").is_err());
        assert!(RunId::new("a/b").is_err());
        assert_eq!(
            RunId::new("a b"),
            Err(RunIdError::Character {
                found: ' ',
                position: 2
            })
        );
        assert!(RunId::new("20261115-lenet-01.b").is_ok());
    }
}
