//! Where a peer listens.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

/// Where a peer listens: `tcp://host:port` or `unix:///path`.
///
/// ```
/// # use paceline_wire::Address;
/// let address: Address = "tcp://[::1]:7077".parse()?;
/// assert_eq!(address.to_string(), "tcp://[::1]:7077");
/// // Without a host the address is this machine's, never every interface.
/// assert_eq!("tcp://:0".parse::<Address>()?.to_string(), "tcp://127.0.0.1:0");
/// assert!("unix://relative".parse::<Address>().is_err());
/// # Ok::<(), paceline_wire::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// A host name or IP address (without brackets) and a port. Port 0 asks the
    /// system for a free one when listening.
    Tcp {
        /// Host name, IPv4 or IPv6 address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix socket at an absolute path.
    Unix(PathBuf),
}

/// Why a text is no address.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AddressError {
    /// Neither `tcp://` nor `unix://`.
    #[error("`{0}` starts with neither `tcp://` nor `unix://`")]
    UnknownScheme(String),
    /// No `:port` at the end.
    #[error("`{0}` lacks a port; write `tcp://host:port`")]
    NoPort(String),
    /// The port is not a number of 0 to 65535.
    #[error("`{0}` is not a port")]
    BadPort(String),
    /// The host contains characters that no host has.
    #[error("`{0}` is not a host; an IPv6 address is written in brackets")]
    BadHost(String),
    /// A Unix socket's path is relative.
    #[error("`{0}` is not an absolute path; write `unix:///path`")]
    RelativePath(String),
    /// A Unix socket's path exceeds what the system can bind.
    #[error(
        "the path `{path}` has {length} bytes; a Unix socket's path has at most {MAX_UNIX_PATH}"
    )]
    PathTooLong {
        /// The path.
        path: String,
        /// Its length in bytes.
        length: usize,
    },
}

/// `sun_path` has 108 bytes on Linux, the last of which is zero.
const MAX_UNIX_PATH: usize = 107;

impl Address {
    /// A free port of the loopback interface.
    pub fn loopback() -> Self {
        Self::Tcp {
            host: "127.0.0.1".to_owned(),
            port: 0,
        }
    }

    /// A Unix socket at `path`.
    ///
    /// # Errors
    ///
    /// The path is relative, not Unicode, or longer than the system can bind.
    pub fn unix(path: &Path) -> Result<Self, AddressError> {
        let shown = path.display().to_string();
        let length = path.as_os_str().len();
        if !path.is_absolute() {
            Err(AddressError::RelativePath(shown))
        } else if length > MAX_UNIX_PATH {
            Err(AddressError::PathTooLong {
                path: shown,
                length,
            })
        } else {
            Ok(Self::Unix(path.to_owned()))
        }
    }

    /// Whether both ends of a connection to this address are certain to be on
    /// one host.
    pub fn is_same_host(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                host == "localhost"
                    || host
                        .parse::<std::net::IpAddr>()
                        .is_ok_and(|ip| ip.is_loopback())
            }
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix://") {
            return Self::unix(Path::new(path));
        }
        let Some(rest) = text.strip_prefix("tcp://") else {
            return Err(AddressError::UnknownScheme(text.to_owned()));
        };
        let Some((host, port)) = rest.rsplit_once(':') else {
            return Err(AddressError::NoPort(text.to_owned()));
        };
        // `tcp://::1` is an IPv6 address without brackets, not a host `:` and
        // a port; the check of the host refuses it.
        let host = match host.strip_prefix('[') {
            Some(inner) => inner
                .strip_suffix(']')
                .filter(|ip| ip.parse::<std::net::Ipv6Addr>().is_ok()),
            None if host.is_empty() => Some("127.0.0.1"),
            None => Some(host).filter(|name| is_host_name(name)),
        }
        .ok_or_else(|| AddressError::BadHost(host.to_owned()))?;
        let port = port
            .parse()
            .map_err(|_| AddressError::BadPort(port.to_owned()))?;
        Ok(Self::Tcp {
            host: host.to_owned(),
            port,
        })
    }
}

fn is_host_name(name: &str) -> bool {
    name.bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, AddressError>) {
        let parsed = text.parse::<Address>().map(|a| a.to_string());
        assert_eq!(parsed, expected.map(str::to_owned), "{text}");
    }

    #[test]
    fn addresses_print_as_they_are_written() {
        for text in [
            "tcp://127.0.0.1:80",
            "tcp://node-3.cluster:65535",
            "tcp://[fe80::1]:0",
            "unix:///run/paceline/s0",
        ] {
            check(text, Ok(text));
        }
    }

    #[test]
    fn what_is_no_address_says_why() {
        check(
            "http://a:1",
            Err(AddressError::UnknownScheme("http://a:1".into())),
        );
        check("tcp://node", Err(AddressError::NoPort("tcp://node".into())));
        check("tcp://node:", Err(AddressError::BadPort(String::new())));
        check(
            "tcp://node:65536",
            Err(AddressError::BadPort("65536".into())),
        );
        check("tcp://::1:5", Err(AddressError::BadHost("::1".into())));
        check(
            "tcp://[node]:5",
            Err(AddressError::BadHost("[node]".into())),
        );
        check("tcp://a b:5", Err(AddressError::BadHost("a b".into())));
        check("unix://x", Err(AddressError::RelativePath("x".into())));
        let long = format!("/{}", "x".repeat(107));
        check(
            &format!("unix://{long}"),
            Err(AddressError::PathTooLong {
                path: long,
                length: 108,
            }),
        );
    }

    #[test]
    fn loopback_and_unix_sockets_stay_on_the_host() {
        assert!(Address::loopback().is_same_host());
        assert!("tcp://[::1]:1".parse::<Address>().unwrap().is_same_host());
        assert!("unix:///x".parse::<Address>().unwrap().is_same_host());
        assert!(!"tcp://0.0.0.0:1".parse::<Address>().unwrap().is_same_host());
        assert!(!"tcp://node:1".parse::<Address>().unwrap().is_same_host());
    }
}
