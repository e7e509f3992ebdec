//! Questions to programs and daemons, each with an end.

use paceline_engine::host::answer_of;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a program said and how it ended.
pub(super) struct Answer {
    /// Its exit code; nothing if it could not be started or did not end in time.
    pub(super) code: Option<i32>,
    /// Everything it printed, on either stream.
    pub(super) text: String,
}

impl Answer {
    pub(super) fn is_good(&self) -> bool {
        self.code == Some(0)
    }

    /// The last line that says something.
    pub(super) fn last_line(&self) -> String {
        let line = self.text.lines().rev().find(|line| !line.trim().is_empty());
        match (line, self.code) {
            (Some(line), _) => line.trim().to_owned(),
            (None, Some(124 | 137)) => "it did not answer in time".to_owned(),
            (None, Some(code)) => format!("it ended with {code}"),
            (None, None) => "it cannot be started".to_owned(),
        }
    }

    /// The first line that says something.
    pub(super) fn first_line(&self) -> String {
        let line = self.text.lines().find(|line| !line.trim().is_empty());
        line.map_or_else(|| self.last_line(), |line| line.trim().to_owned())
    }
}

/// Runs a program for at most `seconds`.
pub(super) fn program(seconds: u32, words: &[&str]) -> Answer {
    let limit = seconds.to_string();
    let mut args = vec!["--kill-after=5", &limit[..]];
    // Complaints are on stderr, and they are what is asked for.
    args.extend(["sh", "-c", "exec \"$@\" 2>&1", "sh"]);
    args.extend(words);
    match answer_of("timeout", &args) {
        Some((code, output)) => Answer {
            code: Some(code),
            text: String::from_utf8_lossy(&output).into_owned(),
        },
        None => Answer {
            code: None,
            text: String::new(),
        },
    }
}

/// True if something listens at `address`, a host with a port.
pub(super) fn listens(address: &str) -> Result<(), String> {
    connect(address).map(drop)
}

fn connect(address: &str) -> Result<TcpStream, String> {
    let mut places = address
        .to_socket_addrs()
        .map_err(|error| error.to_string())?;
    let place = places.next().ok_or("the name has no address")?;
    TcpStream::connect_timeout(&place, PATIENCE).map_err(|error| error.to_string())
}
