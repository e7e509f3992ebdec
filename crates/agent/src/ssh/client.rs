//! OpenSSH's client, with one connection per host that all commands share.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Starts commands on hosts. The user's own configuration, keys and agent decide
/// how hosts are reached; nobody is asked for a password.
#[derive(Debug)]
pub(super) struct Client {
    config: Option<PathBuf>,
    /// Where the sockets of shared connections are.
    sockets: PathBuf,
}

/// What a command on a host has said.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) out: String,
    pub(super) err: String,
}

/// More than this of an answer is of no interest.
const LONGEST: u64 = 64 << 10;

impl Client {
    pub(super) fn new(config: Option<PathBuf>, sockets: PathBuf) -> Self {
        Self { config, sockets }
    }

    /// `script` for the host's `sh`, whatever the user's login shell is.
    pub(super) fn command(&self, host: &str, script: &str) -> Command {
        let mut command = self.ssh(&[]);
        command.args(["-T", "--", host]);
        command.arg(format!("exec sh -c {}", quoted(script)));
        command
    }

    /// As [`Client::command`]; what listens at `forward`, written as OpenSSH's `-R`
    /// is, comes here.
    pub(super) fn forwarding(&self, host: &str, forward: &str, script: &str) -> Command {
        let mut command = self.ssh(&["-R", forward, "-o", "ExitOnForwardFailure=yes"]);
        command.args(["-T", "--", host]);
        command.arg(format!("exec sh -c {}", quoted(script)));
        command
    }

    fn ssh(&self, words: &[&str]) -> Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "OpenSSH's client is how hosts are reached"
        )]
        let mut command = Command::new("ssh");
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        let mut path = OsString::from("ControlPath=");
        path.push(self.sockets.join("%C"));
        command.arg("-o").arg(path);
        for option in [
            "BatchMode=yes",
            "ControlMaster=auto",
            // Long enough for the next command, and gone before anybody wonders.
            "ControlPersist=15",
            "ConnectTimeout=10",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            "ForwardX11=no",
            "ForwardAgent=no",
        ] {
            command.args(["-o", option]);
        }
        command.args(words);
        command
    }

    /// Runs a script to its end, with `input` as its stdin.
    pub(super) fn ask(
        &self,
        host: &str,
        script: &str,
        input: Option<File>,
    ) -> std::io::Result<Answer> {
        let mut command = self.command(host, script);
        command
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        answer(command.spawn()?)
    }

    /// Closes the connection to a host, if there is one.
    pub(super) fn disconnect(&self, host: &str) {
        let mut command = self.ssh(&["-O", "exit", "--", host]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Without a connection there is nothing to close.
        let _ = command.status();
    }
}

/// Waits for the end of a command.
pub(super) fn answer(mut child: Child) -> std::io::Result<Answer> {
    let read = |from: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut from) = from {
                // What cannot be read is missing from a message.
                let _ = from.by_ref().take(LONGEST).read_to_end(&mut bytes);
                let _ = std::io::copy(&mut from, &mut std::io::sink());
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|it| Box::new(it) as _));
    let err = read(child.stderr.take().map(|it| Box::new(it) as _));
    child.wait()?;
    Ok(Answer {
        out: out.join().unwrap_or_default(),
        err: err.join().unwrap_or_default(),
    })
}

/// A word for a POSIX shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path for a POSIX shell.
pub(super) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_whatever_it_holds() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
