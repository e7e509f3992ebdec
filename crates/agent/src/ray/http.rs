//! Questions to Ray's dashboard, over plain HTTP.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The jobs API of a Ray cluster.
#[derive(Clone)]
pub struct RayApi {
    /// Host and port.
    place: String,
    token: Option<String>,
}

/// Why the dashboard gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum RayApiError {
    /// The address is none.
    #[error("`{0}` is not http://HOST:PORT")]
    Address(String),
    /// A token that no header can carry.
    #[error("the token for Ray has characters that a header cannot carry")]
    Token,
    /// It is not reached, or does not answer.
    #[error("Ray's dashboard at {place} does not answer")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// It does not accept the token.
    #[error("Ray's dashboard at {place} answers {code}: the token is missing or wrong")]
    Unauthorized {
        /// Host and port.
        place: String,
        /// 401 or 403.
        code: u16,
    },
    /// It refuses.
    #[error("Ray's dashboard refuses `{request}` with {code}: {said}")]
    Refused {
        /// What was asked.
        request: String,
        /// The status.
        code: u16,
        /// What it said.
        said: String,
    },
}

/// The most that is read of an answer.
const MOST_BYTES: u64 = 16 << 20;
/// How long the dashboard may take.
const PATIENCE: Duration = Duration::from_secs(20);

impl RayApi {
    /// The API at `url`, as in `http://10.0.0.1:8265`. Nobody is asked yet.
    ///
    /// # Errors
    /// If `url` or the token cannot be used.
    pub fn new(url: &str, token: Option<&str>) -> Result<Self, RayApiError> {
        let place = url.strip_prefix("http://").unwrap_or_default();
        let place = place.trim_end_matches('/');
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if place.is_empty() || place.contains('/') || !is_plain(place) {
            return Err(RayApiError::Address(url.to_owned()));
        }
        let token = token.map(str::trim).filter(|token| !token.is_empty());
        if token.is_some_and(|token| !is_plain(token)) {
            return Err(RayApiError::Token);
        }
        Ok(Self {
            place: place.to_owned(),
            token: token.map(str::to_owned),
        })
    }

    /// Host and port of the dashboard.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The body of the answer to `request`, as in `GET /api/version`.
    ///
    /// # Errors
    /// If there is no answer, or none of status 200.
    pub fn ask(&self, request: &str, body: &[u8]) -> Result<String, RayApiError> {
        let (code, said) =
            self.exchange(request, body)
                .map_err(|source| RayApiError::Unreachable {
                    place: self.place.clone(),
                    source,
                })?;
        match code {
            200 => Ok(said),
            401 | 403 => Err(RayApiError::Unauthorized {
                place: self.place.clone(),
                code,
            }),
            code => Err(RayApiError::Refused {
                request: request.to_owned(),
                code,
                said: said.trim().chars().take(2000).collect(),
            }),
        }
    }

    fn exchange(&self, request: &str, body: &[u8]) -> io::Result<(u16, String)> {
        let mut places = self.place.to_socket_addrs()?;
        let nowhere = || io::Error::other("the name has no address");
        let place = places.next().ok_or_else(nowhere)?;
        let mut stream = TcpStream::connect_timeout(&place, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let bearer = match &self.token {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        // Version 1.0: the body of the answer ends with the connection.
        let head = format!(
            "{request} HTTP/1.0\r\nHost: {}\r\n{bearer}Content-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            self.place,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut bytes = Vec::new();
        stream.take(MOST_BYTES).read_to_end(&mut bytes)?;
        parse(&bytes).ok_or_else(|| io::Error::other("that is no answer of HTTP"))
    }
}

impl std::fmt::Debug for RayApi {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RayApi({})", self.place)
    }
}

/// Status and body of an answer.
fn parse(bytes: &[u8]) -> Option<(u16, String)> {
    let answer = String::from_utf8_lossy(bytes);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut words = head.split_whitespace();
    let version = words.next()?;
    let status = words.next()?.parse().ok()?;
    version
        .starts_with("HTTP/1.")
        .then(|| (status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Answers one request with `answer`, and gives what was asked.
    fn once(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            let count = stream.read(&mut asked).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&asked[..count]).into_owned()
        });
        (url, asked)
    }

    #[test]
    fn a_request_has_the_token_and_an_answer_its_body() {
        let (url, asked) = once("HTTP/1.0 200 OK\r\nX: y\r\n\r\n{\"a\": 1}");
        let api = RayApi::new(&url, Some("secret\n")).unwrap();
        assert_eq!(api.ask("GET /api/version", b"").unwrap(), "{\"a\": 1}");
        let asked = asked.join().unwrap();
        assert!(
            asked.starts_with("GET /api/version HTTP/1.0\r\n"),
            "{asked}"
        );
        assert!(
            asked.contains("Authorization: Bearer secret\r\n"),
            "{asked}"
        );
        assert!(!format!("{api:?}").contains("secret"));
    }

    #[test]
    fn a_wrong_token_a_refusal_and_nonsense_are_told_apart() {
        let ask = |answer| {
            let (url, _) = once(answer);
            let api = RayApi::new(&url, None).unwrap();
            api.ask("GET /x", b"").unwrap_err()
        };
        let error = ask("HTTP/1.1 403 Forbidden\r\n\r\n");
        assert!(matches!(error, RayApiError::Unauthorized { code: 403, .. }));
        let error = ask("HTTP/1.1 500 No\r\n\r\nbecause");
        assert!(error.to_string().contains("because"), "{error}");
        let error = ask("SSH-2.0-OpenSSH\r\n\r\n");
        assert!(matches!(error, RayApiError::Unreachable { .. }), "{error}");
    }

    #[test]
    fn what_is_no_address_or_token_is_refused() {
        for bad in [
            "",
            "h:1",
            "https://h:1",
            "http://",
            "http://h:1/x",
            "http://a b:1",
        ] {
            assert!(RayApi::new(bad, None).is_err(), "{bad}");
        }
        assert!(RayApi::new("http://h:1", Some("a\r\nb: c")).is_err());
    }
}
