//! One question to a daemon's status page.

use anyhow::{Context, Result, bail};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// The most that a status page may answer.
const MOST_BYTES: u64 = 4 << 20;

/// The body of `http://ADDRESS/PATH`, where `address` is a number with a port.
pub(crate) fn get(address: &str, path: &str, token: Option<&str>) -> Result<String> {
    let limit = Duration::from_secs(5);
    let socket = address.parse().context("an address of ours")?;
    let mut stream = TcpStream::connect_timeout(&socket, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let bearer = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    // Version 1.0: the body ends with the connection, in one piece.
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nHost: {address}\r\n{bearer}\r\n"
    )?;
    let mut bytes = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let answer = String::from_utf8_lossy(&bytes);
    let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status != "200" {
        bail!("{address}{path} answers {status}");
    }
    Ok(body.to_owned())
}
