//! Questions to a server of this machine, and news for a webhook: plain HTTP.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

/// Who serves a directory; in a file that only its owner reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Host and port.
    pub place: String,
    /// What opens it.
    pub token: String,
    /// Its process.
    pub pid: u32,
}

/// Why nobody answered.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody serves this directory.
    #[error("nobody serves {0}")]
    Nobody(String),
    /// Whoever did does not answer.
    #[error("the server at {place} does not answer")]
    Silent {
        /// Host and port.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// An address that is none.
    #[error("`{0}` is not http://HOST[:PORT]/…")]
    Address(String),
}

/// The most that is read of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(130);
/// How long a webhook may take.
const WEBHOOK: Duration = Duration::from_secs(10);

impl Server {
    /// Who serves, by the queue's file.
    ///
    /// # Errors
    /// If nobody does.
    pub fn find(file: &Path) -> Result<Self, AskError> {
        let text = paceline_files::read_text(file, 1 << 16).ok();
        let found = text.and_then(|text| serde_json::from_str(&text).ok());
        found.ok_or_else(|| AskError::Nobody(file.parent().unwrap_or(file).display().to_string()))
    }

    /// Status and body of the answer to `request`, as in `POST /api/jobs`.
    ///
    /// # Errors
    /// If nobody answers.
    pub fn ask(&self, request: &str, body: &[u8]) -> Result<(u16, Value), AskError> {
        let bearer = format!("Authorization: Bearer {}\r\n", self.token);
        let silent = |source| AskError::Silent {
            place: self.place.clone(),
            source,
        };
        let (status, text) =
            exchange(&self.place, request, &bearer, body, PATIENCE).map_err(silent)?;
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok((status, value))
    }
}

/// Tells a webhook something: `POST` of JSON. Whoever does not listen is not told.
///
/// # Errors
/// If the address is none, or nobody answers there.
pub fn tell(url: &str, body: &[u8]) -> Result<u16, AskError> {
    let (place, path) = webhook(url)?;
    let request = format!("POST {path}");
    let told = exchange(&place, &request, "", body, WEBHOOK);
    told.map(|(status, _)| status)
        .map_err(|source| AskError::Silent { place, source })
}

/// Host with port, and path, of a webhook.
///
/// # Errors
/// If it is no address of plain HTTP.
pub fn webhook(url: &str) -> Result<(String, String), AskError> {
    let bad = || AskError::Address(url.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(bad)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    if host.is_empty() || !is_plain {
        return Err(bad());
    }
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    Ok((place, format!("/{path}")))
}

fn exchange(
    place: &str,
    request: &str,
    more: &str,
    body: &[u8],
    patience: Duration,
) -> io::Result<(u16, String)> {
    let mut places = place.to_socket_addrs()?;
    let nowhere = || io::Error::other("the name has no address");
    let address = places.next().ok_or_else(nowhere)?;
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    // Version 1.0: the body of the answer ends with the connection.
    let head = format!(
        "{request} HTTP/1.0\r\nHost: {place}\r\n{more}Content-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut bytes = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let answer = String::from_utf8_lossy(&bytes);
    let parsed = answer.split_once("\r\n\r\n").and_then(|(head, body)| {
        let status = head.split_whitespace().nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    });
    parsed.ok_or_else(|| io::Error::other("that is no answer of HTTP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_an_address_of_plain_http() {
        let check = |url: &str| webhook(url).ok();
        let pair = |place: &str, path: &str| Some((place.to_owned(), path.to_owned()));
        assert_eq!(
            check("http://localhost:9/a/b?c"),
            pair("localhost:9", "/a/b?c")
        );
        assert_eq!(check("http://example.org"), pair("example.org:80", "/"));
        for url in [
            "https://a/",
            "a",
            "http://",
            "http:///x",
            "http://a b/",
            "http://a/\r\nX: y",
        ] {
            assert_eq!(check(url), None, "{url}");
        }
    }
}
