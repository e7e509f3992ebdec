//! How nodes reach this machine.

use crate::ssh::OpenClusterError;
use paceline_wire::Address;
use std::net::UdpSocket;

/// How agents reach this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// At the address from which their host was reached.
    Back,
    /// At this host, and this port if not any.
    To(String, u16),
    /// Through the connection to their host.
    Tunnel,
}

impl Way {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, OpenClusterError> {
        let Some(text) = text else {
            return Ok(Self::Back);
        };
        if text == "tunnel" {
            return Ok(Self::Tunnel);
        }
        let with_port = match text.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => text.to_owned(),
            _ => format!("{text}:0"),
        };
        match format!("tcp://{with_port}").parse() {
            Ok(Address::Tcp { host, port }) => Ok(Self::To(host, port)),
            _ => Err(OpenClusterError::Address(text.to_owned())),
        }
    }

    /// This machine, as the user says that nodes know it.
    pub(crate) fn host(&self) -> Option<String> {
        match self {
            Self::To(host, _) => Some(host.clone()),
            Self::Back | Self::Tunnel => None,
        }
    }

    /// Where the controller listens. Whoever comes has to know the token.
    pub(crate) fn listen(&self) -> Address {
        let host = match self {
            Self::Tunnel => "127.0.0.1",
            Self::Back | Self::To(..) => "0.0.0.0",
        };
        let port = match self {
            Self::To(_, port) => *port,
            Self::Back | Self::Tunnel => 0,
        };
        Address::Tcp {
            host: host.to_owned(),
            port,
        }
    }
}

/// The address of this machine on the way to `place`, a host with a port; its name
/// if there is no such way.
pub(crate) fn address_towards(place: &str) -> String {
    // A datagram socket that is connected sends nothing: the system only chooses.
    let chosen = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect(place)?;
        socket.local_addr()
    });
    match chosen {
        Ok(address) => address.ip().to_string(),
        Err(_) => own_name(),
    }
}

/// What this machine calls itself.
pub(crate) fn own_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_port() {
        let way = |text| Way::parse(Some(text)).unwrap();
        assert_eq!(Way::parse(None).unwrap(), Way::Back);
        assert_eq!(way("tunnel"), Way::Tunnel);
        assert_eq!(way("10.0.0.1"), Way::To("10.0.0.1".to_owned(), 0));
        assert_eq!(way("head:7000"), Way::To("head".to_owned(), 7000));
        assert_eq!(way("[fe80::1]:7000"), Way::To("fe80::1".to_owned(), 7000));
        assert!(Way::parse(Some("a b")).is_err());
    }

    #[test]
    fn the_way_to_a_place_has_an_address_and_nowhere_has_a_name() {
        assert_eq!(address_towards("127.0.0.1:7077"), "127.0.0.1");
        assert_eq!(address_towards("yarn"), own_name());
    }
}
