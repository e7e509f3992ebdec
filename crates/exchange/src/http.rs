//! Questions to a server, over HTTP and HTTPS.
//!
//! One request per connection and HTTP/1.0, so that an answer ends with its
//! connection. TLS trusts the system's authorities.

use paceline_answers::{Explained, Fault};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The most that is read of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where systems keep the authorities that they trust.
const AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A server by its address.
pub struct Server {
    place: String,
    host: String,
    /// What stands before every path; empty or with a slash at its beginning.
    prefix: String,
    token: Option<String>,
    tls: Option<Arc<ClientConfig>>,
}

/// Why a server gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is none.
    #[error("`{0}` is not http://HOST:PORT or https://HOST")]
    Address(String),
    /// A token that no header can carry.
    #[error("the token has characters that a header cannot carry")]
    Token,
    /// There is no file with the authorities to trust.
    #[error("cannot read the authorities that HTTPS trusts")]
    Authorities(#[source] io::Error),
    /// It is not reached, or does not answer.
    #[error("{place} does not answer")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// It refuses.
    #[error("{place} refuses {request} with {code}: {said}")]
    Refused {
        /// Host and port.
        place: String,
        /// What was asked.
        request: String,
        /// The status.
        code: u16,
        /// What it said.
        said: String,
    },
    /// The answer is no JSON.
    #[error("the answer of {place} to {request} is no JSON")]
    Json {
        /// Host and port.
        place: String,
        /// What was asked.
        request: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl Explained for HttpError {
    fn fault(&self) -> Fault {
        match self {
            Self::Address(_) | Self::Token => Fault::User,
            _ => Fault::World,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused {
                code: 401 | 403, ..
            } => Some("the token in MLFLOW_TRACKING_TOKEN is missing or wrong".to_owned()),
            Self::Authorities(_) => Some("SSL_CERT_FILE names the file".to_owned()),
            Self::Unreachable { .. } => {
                Some("is the server running, and the address right?".to_owned())
            }
            _ => None,
        }
    }
}

impl Server {
    /// The server at `url`. Nobody is asked yet. `authorities` is a PEM file to trust
    /// instead of the system's.
    ///
    /// # Errors
    /// If the address or the token cannot be used.
    pub fn new(
        url: &str,
        token: Option<&str>,
        authorities: Option<PathBuf>,
    ) -> Result<Self, HttpError> {
        let bad = || HttpError::Address(url.to_owned());
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let (secure, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(bad()),
        };
        let rest = rest.trim_end_matches('/');
        let (place, prefix) = match rest.split_once('/') {
            Some((place, prefix)) => (place, format!("/{prefix}")),
            None => (rest, String::new()),
        };
        // User names in addresses end in logs; the token has a variable of its own.
        if place.is_empty() || !is_plain(rest) || place.contains('@') {
            return Err(bad());
        }
        let bracket = place.rfind(']').unwrap_or(0);
        let (host, place) = match place[bracket..].rfind(':') {
            Some(colon) => (&place[..bracket + colon], place.to_owned()),
            None => (place, format!("{place}:{}", if secure { 443 } else { 80 })),
        };
        let token = token.map(str::trim).filter(|token| !token.is_empty());
        if token.is_some_and(|token| !is_plain(token)) {
            return Err(HttpError::Token);
        }
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            place,
            prefix,
            token: token.map(str::to_owned),
            tls: match secure {
                true => Some(trusting(authorities).map_err(HttpError::Authorities)?),
                false => None,
            },
        })
    }

    /// Host and port.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The JSON that answers `request`, as in `GET /api/version`. Nothing, if the
    /// server says that what was asked about does not exist.
    ///
    /// # Errors
    /// If there is no answer, or another refusal.
    pub fn ask(&self, request: &str, body: Option<&Value>) -> Result<Option<Value>, HttpError> {
        let text = body.map_or(String::new(), ToString::to_string);
        let answer = self.exchange(request, text.as_bytes());
        let (code, said) = answer.map_err(|source| HttpError::Unreachable {
            place: self.place.clone(),
            source,
        })?;
        // The query may be long and says nothing that the path does not.
        let request = request.split('?').next().unwrap_or_default().to_owned();
        match code {
            200..=299 => serde_json::from_str(&said)
                .map(Some)
                .map_err(|source| HttpError::Json {
                    place: self.place.clone(),
                    request,
                    source,
                }),
            404 => Ok(None),
            code => Err(HttpError::Refused {
                place: self.place.clone(),
                request,
                code,
                said: said.trim().chars().take(500).collect(),
            }),
        }
    }

    fn exchange(&self, request: &str, body: &[u8]) -> io::Result<(u16, String)> {
        let stream = self.connect()?;
        match &self.tls {
            None => self.over(stream, request, body),
            Some(config) => {
                let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
                let tls = ClientConnection::new(Arc::clone(config), name);
                let tls = tls.map_err(io::Error::other)?;
                self.over(StreamOwned::new(tls, stream), request, body)
            }
        }
    }

    /// A name may have several addresses of which one answers.
    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::other("the name has no address");
        for place in self.place.to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, PATIENCE) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn over(
        &self,
        mut stream: impl Read + Write,
        request: &str,
        body: &[u8],
    ) -> io::Result<(u16, String)> {
        let (method, path) = request.split_once(' ').unwrap_or(("GET", request));
        let bearer = match &self.token {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        let head = format!(
            "{method} {}{path} HTTP/1.0\r\nHost: {}\r\n{bearer}Accept: application/json\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.prefix,
            self.place,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()?;
        let mut bytes = Vec::new();
        match stream.take(MOST_BYTES).read_to_end(&mut bytes) {
            // Servers may close without TLS's own farewell; the length is checked below.
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            _ => {}
        }
        parse(&bytes)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Server({})", self.place)
    }
}

fn trusting(authorities: Option<PathBuf>) -> io::Result<Arc<ClientConfig>> {
    let known = || AUTHORITIES.iter().map(Path::new).find(|path| path.exists());
    let path = authorities
        .or_else(|| known().map(Path::to_owned))
        .ok_or(io::ErrorKind::NotFound)?;
    let mut roots = RootCertStore::empty();
    let bytes = paceline_files::read(&path, 16 << 20).map_err(|error| error.into_io())?;
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        // A system's list may hold what this version cannot use.
        let _ = roots.add(certificate.map_err(io::Error::other)?);
    }
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Status and body of an answer.
fn parse(bytes: &[u8]) -> io::Result<(u16, String)> {
    let nonsense = || io::Error::other("that is no answer of HTTP");
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.ok_or_else(nonsense)?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let body = &bytes[end + 4..];
    let mut words = head.split_whitespace();
    let version = words.next().unwrap_or_default();
    let code = words.next().and_then(|word| word.parse().ok());
    let code = code.filter(|_| version.starts_with("HTTP/1."));
    let code = code.ok_or_else(nonsense)?;
    let expected = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    if expected.is_some_and(|expected| body.len() < expected) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((code, String::from_utf8_lossy(body).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let check = |url: &str, place: &str, host: &str, prefix: &str| {
            let server = Server::new(url, None, None).unwrap();
            let found = (server.place(), server.host.as_str(), server.prefix.as_str());
            assert_eq!(found, (place, host, prefix));
        };
        check("http://h:5000/", "h:5000", "h", "");
        check("http://h/a/b", "h:80", "h", "/a/b");
        check("http://[::1]:5000", "[::1]:5000", "::1", "");
        check("http://[::1]", "[::1]:80", "::1", "");
        for bad in [
            "",
            "h:1",
            "ftp://h",
            "http://",
            "http://a b:1",
            "http://u:p@h",
        ] {
            assert!(Server::new(bad, None, None).is_err(), "{bad}");
        }
        assert!(Server::new("http://h", Some("a\r\nb: c"), None).is_err());
    }

    #[test]
    fn answers_that_are_cut_or_nonsense_are_told() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\n\r\n{}").unwrap().0, 200);
        let cut = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}");
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(parse(b"SSH-2.0\r\n\r\n").is_err());
        assert!(parse(b"").is_err());
    }
}
