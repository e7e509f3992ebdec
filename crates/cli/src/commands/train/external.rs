//! Workers and servers that somebody else starts, on any host.

use super::distributed::Plan;
use super::token_file;
use crate::failure::Failure;
use paceline_sync::Strategy;
use paceline_train::Rendezvous;
use std::ffi::OsString;
use std::fmt::Write;

/// Where the members meet, and what is to be started elsewhere.
pub(super) struct ExternalStart {
    pub(super) meeting: Rendezvous,
    /// The commands, for people.
    pub(super) text: String,
}

impl ExternalStart {
    pub(super) fn new(plan: &Plan) -> Result<Self, Failure> {
        let path = plan.token_file()?;
        let meeting = plan.meeting(token_file::read_or_create(path)?);
        // What follows `trainer` is what the user typed after `train`.
        let words: Vec<OsString> = std::env::args_os().skip(2).collect();
        let typed: String = words
            .iter()
            .map(|word| format!(" {}", quoted(&word.to_string_lossy())))
            .collect();
        let mut text = format!(
            "start these where they are to run, with a copy of {} beside them:\n",
            path.display()
        );
        let servers = match plan.cluster.strategy {
            // The workers meet at the trainer.
            Strategy::AllReduce => 0,
            _ => plan.cluster.servers.get(),
        };
        let members = (0..servers)
            .map(|rank| ("server", rank))
            .chain((0..plan.cluster.workers.get()).map(|rank| ("worker", rank)));
        for (role, rank) in members {
            writeln!(text, "  paceline {role} --rank {rank}{typed}")
                .expect("a string can be written to");
        }
        text.push_str(plan.exposure().unwrap_or_default());
        Ok(Self { meeting, text })
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_as_they_were_typed() {
        let check = |word, expected| assert_eq!(quoted(word), expected);
        check("--at=tcp://10.0.0.2:7001", "--at=tcp://10.0.0.2:7001");
        check("loss<=0.35", "'loss<=0.35'");
        check("", "''");
        check("it's", r"'it'\''s'");
        check("$(reboot)", "'$(reboot)'");
    }
}
