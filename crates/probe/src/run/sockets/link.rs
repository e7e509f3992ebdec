//! The line to the kernel's table of sockets, one for each network namespace.

use super::message::{Answer, FAMILIES, Id, Socket, answers, ask_all, ask_one};
use crate::source::open;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::path::Path;

/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, as a mask.
const DESTROYED: u32 = 1 << 0 | 1 << 2;

/// More than the kernel puts into one datagram.
const DATAGRAM: usize = 64 << 10;

/// Asks about the sockets of one namespace, and hears of those that end.
#[derive(Debug)]
pub(super) struct Link {
    questions: OwnedFd,
    /// None where the kernel tells nobody of ended sockets (before Linux 4.5).
    endings: Option<OwnedFd>,
    request: Vec<u8>,
    datagram: Vec<u8>,
}

impl Link {
    /// Opens a line in the namespace of the file at `path`, or in this
    /// process's own if there is none.
    ///
    /// A socket belongs to the namespace in which it was made. The thread that
    /// makes it moves there and ends; the probe's own thread stays where it is.
    pub(super) fn open(namespace: Option<&Path>) -> Result<Self, Errno> {
        let Some(path) = namespace else {
            return Self::here();
        };
        let file = open(path)?;
        let there = move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Self::here()
        };
        let thread = std::thread::Builder::new()
            .name("namespace".to_owned())
            .spawn(there)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        thread.join().unwrap_or(Err(Errno::IO))
    }

    fn here() -> Result<Self, Errno> {
        let make = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(
                AddressFamily::NETLINK,
                SocketType::RAW,
                flags,
                Some(SOCK_DIAG),
            )
        };
        let endings = make().and_then(|line| {
            bind(&line, &SocketAddrNetlink::new(0, DESTROYED))?;
            Ok(line)
        });
        Ok(Self {
            questions: make()?,
            endings: endings.ok(),
            request: Vec::new(),
            datagram: vec![0; DATAGRAM],
        })
    }

    /// Hands every TCP socket of the namespace to `found`.
    pub(super) fn all(&mut self, mut found: impl FnMut(Socket)) -> Result<(), Errno> {
        for family in FAMILIES {
            ask_all(family, &mut self.request);
            send(&self.questions, &self.request, SendFlags::empty())?;
            'dump: loop {
                // A dump is in the queue as soon as it is asked for; the next
                // part of it as soon as this one has been taken.
                let length = take(&self.questions, &mut self.datagram)?;
                for answer in answers(&self.datagram[..length]) {
                    match answer {
                        Answer::Socket(socket) => found(socket),
                        Answer::End => break 'dump,
                        // A kernel without IPv6 has no such family.
                        Answer::Refused(code) if code == Errno::NOENT.raw_os_error() => {
                            break 'dump;
                        }
                        Answer::Refused(code) => return Err(Errno::from_raw_os_error(code)),
                    }
                }
            }
        }
        Ok(())
    }

    /// One socket, if it is still there.
    pub(super) fn one(&mut self, family: u8, id: &Id) -> Result<Option<Socket>, Errno> {
        ask_one(family, id, &mut self.request);
        send(&self.questions, &self.request, SendFlags::empty())?;
        loop {
            let length = take(&self.questions, &mut self.datagram)?;
            match answers(&self.datagram[..length]).next() {
                Some(Answer::Socket(socket)) => return Ok(Some(socket)),
                Some(Answer::Refused(code)) if code == Errno::NOENT.raw_os_error() => {
                    return Ok(None);
                }
                Some(Answer::Refused(code)) => return Err(Errno::from_raw_os_error(code)),
                Some(Answer::End) | None => {}
            }
        }
    }

    /// Hands every socket that has ended since the last call to `ended`, with
    /// its last counts. If too many ended for the queue, some are lost.
    pub(super) fn ended(&mut self, mut ended: impl FnMut(Socket)) {
        let Some(line) = &self.endings else { return };
        loop {
            match take(line, &mut self.datagram) {
                Ok(length) => {
                    for answer in answers(&self.datagram[..length]) {
                        if let Answer::Socket(socket) = answer {
                            ended(socket);
                        }
                    }
                }
                Err(Errno::NOBUFS) => {}
                Err(_) => return,
            }
        }
    }
}

fn take(line: &OwnedFd, datagram: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match recv(line, &mut *datagram, RecvFlags::DONTWAIT) {
            Ok((length, _)) => return Ok(length),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}
