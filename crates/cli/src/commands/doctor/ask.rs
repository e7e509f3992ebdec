//! Questions to programs and daemons, each with an end.

use paceline_engine::host::answer_of;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// The most that a daemon may answer.
const MOST_BYTES: u64 = 1 << 20;
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

/// One request over plain HTTP: status and body.
pub(super) fn http(
    address: &str,
    request: &str,
    token: Option<&str>,
    body: &str,
) -> Result<(u16, String), String> {
    let told = |error: std::io::Error| error.to_string();
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(told)?;
    let bearer = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    // Version 1.0: the body ends with the connection.
    let head = format!(
        "{request} HTTP/1.0\r\nHost: {address}\r\n{bearer}Content-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).map_err(told)?;
    let mut bytes = Vec::new();
    stream
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .map_err(told)?;
    let answer = String::from_utf8_lossy(&bytes);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP answer")?;
    let status = head
        .split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok());
    Ok((status.ok_or("no HTTP answer")?, body.to_owned()))
}
