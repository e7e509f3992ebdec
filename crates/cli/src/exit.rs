//! The exit codes that scripts may rely on.

use std::process::ExitCode;

/// How `paceline` ended. `paceline run` alone also passes on its command's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Done, but a trial failed or nothing meets the limit.
    Unmet,
    /// The user's error: nothing was started.
    User,
    /// The world's: a disk, a network, another program.
    World,
    /// A record that cannot be read or is too new.
    Record,
    /// Interrupted; the record is closed.
    Interrupted,
    /// The code of the command that `paceline run` ran.
    Command(u8),
}

impl Exit {
    /// The number the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unmet => 1,
            Self::User => 2,
            Self::World => 3,
            Self::Record => 4,
            Self::Interrupted => 130,
            Self::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_documented() {
        let page = include_str!("../../../docs/reference/exit-codes.md");
        for exit in [
            Exit::Done,
            Exit::Unmet,
            Exit::User,
            Exit::World,
            Exit::Record,
            Exit::Interrupted,
        ] {
            let row = format!("| {} | ", exit.code());
            assert!(page.contains(&row), "no row for {exit:?}");
        }
    }
}
