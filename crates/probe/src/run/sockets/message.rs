//! The bytes of `NETLINK_SOCK_DIAG`: what is asked, and what the kernel answers.
//!
//! The layouts are those of `linux/netlink.h`, `linux/inet_diag.h` and of
//! `struct tcp_info` in `linux/tcp.h`, which only ever grow at their end: a
//! field that an old kernel lacks is absent here.

use std::net::{IpAddr, Ipv6Addr};

/// IPv4 and IPv6, as the kernel numbers them.
pub(super) const FAMILIES: [u8; 2] = [2, 10];

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST: u16 = 1;
/// `NLM_F_ROOT | NLM_F_MATCH`: everything that fits.
const DUMP: u16 = 0x300;
const TCP: u8 = 6;
/// `INET_DIAG_INFO` and `INET_DIAG_CGROUP_ID`.
const INFO: u16 = 2;
const CGROUP: u16 = 21;

/// `TCP_LISTEN` of `tcp_states.h`.
pub(super) const LISTEN: u8 = 10;
/// Every state but that of half-open connections and of those that only wait
/// for their number to be free again, which have no owner.
const STATES: u32 = !(1 << 3 | 1 << 6 | 1 << 12);

const HEADER: usize = 16;
const ID: usize = 48;
const MESSAGE: usize = 4 + ID + 20;

/// What names a socket to the kernel: ports, addresses, interface, cookie.
pub(super) type Id = [u8; ID];

/// One TCP socket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Socket {
    pub(super) family: u8,
    pub(super) state: u8,
    pub(super) id: Id,
    /// Zero once no process has it open.
    pub(super) inode: u32,
    /// The cgroup v2 in which it was made, where the kernel tells.
    pub(super) cgroup: Option<u64>,
    /// What passed through it; none of one that only waits for its end.
    pub(super) counts: Option<Counts>,
}

/// What a socket has counted since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Counts {
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    pub(super) segments: u32,
    pub(super) retransmits: u32,
    /// Microseconds in which sent data was not yet acknowledged.
    pub(super) busy_us: u64,
}

impl Socket {
    /// A number that no other socket has had since the machine started.
    pub(super) fn cookie(&self) -> u64 {
        u64_at(&self.id, 40).unwrap_or(0)
    }

    pub(super) fn local_port(&self) -> u16 {
        u16::from_be_bytes([self.id[0], self.id[1]])
    }

    pub(super) fn remote_port(&self) -> u16 {
        u16::from_be_bytes([self.id[2], self.id[3]])
    }

    fn address(&self, at: usize) -> IpAddr {
        let bytes: [u8; 16] = self.id[at..at + 16]
            .try_into()
            .expect("an address is 16 bytes of the 48");
        if self.family == FAMILIES[0] {
            IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]])
        } else {
            Ipv6Addr::from(bytes).to_canonical()
        }
    }

    /// Whether its bytes never leave the machine: a loopback address, or one and
    /// the same at both ends, which the kernel routes over loopback too.
    pub(super) fn is_loopback(&self) -> bool {
        let (local, remote) = (self.address(4), self.address(20));
        local.is_loopback() || remote.is_loopback() || local == remote
    }
}

/// Asks for all TCP sockets of a family.
pub(super) fn ask_all(family: u8, out: &mut Vec<u8>) {
    ask(family, STATES, &[0; ID], REQUEST | DUMP, out);
}

/// Asks for one socket.
pub(super) fn ask_one(family: u8, id: &Id, out: &mut Vec<u8>) {
    ask(family, u32::MAX, id, REQUEST, out);
}

fn ask(family: u8, states: u32, id: &Id, flags: u16, out: &mut Vec<u8>) {
    out.clear();
    let length = (HEADER + 8 + ID) as u32;
    out.extend_from_slice(&length.to_ne_bytes());
    out.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    out.extend_from_slice(&flags.to_ne_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&[family, TCP, 1 << (INFO - 1), 0]);
    out.extend_from_slice(&states.to_ne_bytes());
    out.extend_from_slice(id);
}

/// One message of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Answer {
    Socket(Socket),
    /// Nothing follows.
    End,
    /// The kernel's error number, positive.
    Refused(i32),
}

/// The messages of one datagram; ends at the first that is cut off.
pub(super) fn answers(mut bytes: &[u8]) -> impl Iterator<Item = Answer> {
    std::iter::from_fn(move || {
        loop {
            let length = u32_at(bytes, 0)? as usize;
            let kind = u16_at(bytes, 4)?;
            let body = bytes.get(HEADER..length)?;
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
            match kind {
                DONE => return Some(Answer::End),
                ERROR => {
                    let code = u32_at(body, 0)?.cast_signed();
                    return Some(Answer::Refused(code.saturating_neg()));
                }
                BY_FAMILY => {
                    if let Some(socket) = socket(body) {
                        return Some(Answer::Socket(socket));
                    }
                }
                _ => {}
            }
        }
    })
}

fn socket(body: &[u8]) -> Option<Socket> {
    let mut socket = Socket {
        family: *body.first()?,
        state: *body.get(1)?,
        id: body.get(4..4 + ID)?.try_into().ok()?,
        inode: u32_at(body, MESSAGE - 4)?,
        cgroup: None,
        counts: None,
    };
    let mut rest = body.get(MESSAGE..)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        let value = rest.get(4..length)?;
        match kind {
            INFO => socket.counts = counts(value),
            CGROUP => socket.cgroup = u64_at(value, 0),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Some(socket)
}

/// The fields of `struct tcp_info` that count; none before Linux 4.1, which
/// has no bytes.
fn counts(info: &[u8]) -> Option<Counts> {
    Some(Counts {
        // What was sent, without what was sent again, since Linux 4.19; else what
        // the other side has acknowledged. The end of a stream counts as a byte.
        sent_bytes: match (u64_at(info, 200), u64_at(info, 208)) {
            (Some(sent), Some(again)) => sent.saturating_sub(again),
            _ => u64_at(info, 120)?,
        },
        received_bytes: u64_at(info, 128)?,
        segments: u32_at(info, 136).unwrap_or(0),
        retransmits: u32_at(info, 100)?,
        busy_us: u64_at(info, 168).unwrap_or(0),
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message as the kernel writes it.
    fn message(socket: &Socket, info_bytes: usize) -> Vec<u8> {
        let mut body = vec![socket.family, socket.state, 0, 0];
        body.extend_from_slice(&socket.id);
        body.extend_from_slice(&[0; 16]);
        body.extend_from_slice(&socket.inode.to_ne_bytes());
        // An attribute of one byte, padded to four.
        body.extend_from_slice(&[5, 0, 8, 0, 7, 0, 0, 0]);
        if let Some(cgroup) = socket.cgroup {
            body.extend_from_slice(&[12, 0, 21, 0]);
            body.extend_from_slice(&cgroup.to_ne_bytes());
        }
        if let Some(counts) = socket.counts {
            let mut info = vec![0; 280];
            info[100..104].copy_from_slice(&counts.retransmits.to_ne_bytes());
            info[120..128].copy_from_slice(&counts.sent_bytes.to_ne_bytes());
            info[128..136].copy_from_slice(&counts.received_bytes.to_ne_bytes());
            info[136..140].copy_from_slice(&counts.segments.to_ne_bytes());
            info[168..176].copy_from_slice(&counts.busy_us.to_ne_bytes());
            let again = 1_448;
            info[200..208].copy_from_slice(&(counts.sent_bytes + again).to_ne_bytes());
            info[208..216].copy_from_slice(&again.to_ne_bytes());
            info.truncate(info_bytes);
            body.extend_from_slice(&(info.len() as u16 + 4).to_ne_bytes());
            body.extend_from_slice(&INFO.to_ne_bytes());
            body.extend_from_slice(&info);
        }
        framed(BY_FAMILY, &body)
    }

    fn framed(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&[0; 10]);
        bytes.extend_from_slice(body);
        bytes
    }

    fn between(local: [u8; 4], remote: [u8; 4], cookie: u64) -> Socket {
        let mut id = [0; ID];
        id[..2].copy_from_slice(&4242_u16.to_be_bytes());
        id[2..4].copy_from_slice(&443_u16.to_be_bytes());
        id[4..8].copy_from_slice(&local);
        id[20..24].copy_from_slice(&remote);
        id[40..].copy_from_slice(&cookie.to_ne_bytes());
        Socket {
            family: 2,
            state: 1,
            id,
            inode: 77,
            cgroup: Some(5),
            counts: Some(Counts {
                sent_bytes: 1 << 40,
                received_bytes: 12,
                segments: 9,
                retransmits: 3,
                busy_us: 1_500_000,
            }),
        }
    }

    #[test]
    fn a_socket_is_read_as_it_was_written() {
        let socket = between([192, 0, 2, 2], [192, 0, 2, 9], 1 << 33);
        let mut bytes = message(&socket, 280);
        bytes.extend(framed(DONE, &[0; 4]));
        let read: Vec<_> = answers(&bytes).collect();
        assert_eq!(read, [Answer::Socket(socket), Answer::End]);
        assert_eq!(socket.cookie(), 1 << 33);
        assert_eq!((socket.local_port(), socket.remote_port()), (4242, 443));
    }

    #[test]
    fn an_older_kernel_tells_acknowledged_bytes_and_one_without_bytes_nothing() {
        let socket = between([192, 0, 2, 2], [192, 0, 2, 9], 1);
        let read = |bytes| match answers(&message(&socket, bytes)).next() {
            Some(Answer::Socket(read)) => read.counts,
            other => panic!("{other:?}"),
        };
        let old = read(168).unwrap();
        assert_eq!((old.sent_bytes, old.busy_us), (1 << 40, 0));
        assert_eq!(read(104), None);
    }

    #[test]
    fn no_cut_makes_reading_fail_or_run_on() {
        let socket = between([192, 0, 2, 2], [192, 0, 2, 9], 1);
        let bytes = message(&socket, 280);
        for end in 0..bytes.len() {
            assert_eq!(answers(&bytes[..end]).count(), 0, "{end}");
        }
        // A length of nothing would be read for ever.
        assert_eq!(answers(&[0; 64]).count(), 0);
    }

    #[test]
    fn refusals_carry_the_kernels_number() {
        let bytes = framed(ERROR, &(-2_i32).to_ne_bytes());
        assert_eq!(answers(&bytes).next(), Some(Answer::Refused(2)));
    }

    #[test]
    fn loopback_is_told_by_its_addresses() {
        let is_loopback = |local, remote| between(local, remote, 1).is_loopback();
        assert!(is_loopback([127, 0, 0, 1], [127, 0, 0, 1]));
        assert!(is_loopback([192, 0, 2, 2], [192, 0, 2, 2]));
        assert!(!is_loopback([192, 0, 2, 2], [192, 0, 2, 9]));
        let mut mapped = between([0; 4], [0; 4], 1);
        mapped.family = 10;
        let address = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
        mapped.id[4..20].copy_from_slice(&address("::ffff:127.0.0.1"));
        mapped.id[20..36].copy_from_slice(&address("::ffff:127.0.0.1"));
        assert!(mapped.is_loopback());
        mapped.id[4..20].copy_from_slice(&address("2001:db8::1"));
        mapped.id[20..36].copy_from_slice(&address("2001:db8::2"));
        assert!(!mapped.is_loopback());
    }
}
