//! Carries a command's output to whoever watches.

use crate::clock::RunClock;
use crate::launch::Tee;
use crate::message::Message;
use paceline_model::{Stream, WorkerId};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

/// The size of a pipe's buffer: one read empties it.
const PIECE_BYTES: usize = 64 * 1024;

/// A thread that reads one stream until its end, or until it is told that the
/// command has exited: a daemon may hold the stream open for ever.
pub(super) struct Pump {
    thread: JoinHandle<()>,
    exited: OwnedFd,
}

impl Pump {
    pub(super) fn start(
        from: OwnedFd,
        worker: WorkerId,
        stream: Stream,
        tee: Option<Tee>,
        clock: RunClock,
        messages: SyncSender<Message>,
    ) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&from, true)?;
        let exited = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let watched = exited.try_clone()?;
        let name = match stream {
            Stream::Out => "stdout",
            Stream::Err => "stderr",
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(128 * 1024)
            .spawn(move || {
                let mut tee = tee;
                carry(&from, &watched, |bytes| {
                    // Whoever reads our own output has gone away. Closing the pipe tells
                    // the command in the way it would have learned without us: SIGPIPE.
                    if let Some(tee) = &mut tee {
                        tee.0.write_all(bytes).ok()?;
                    }
                    let (at, bytes) = (clock.now(), bytes.to_vec());
                    // An error means that nobody listens: the run is being torn down.
                    messages
                        .send(Message::Output {
                            worker,
                            stream,
                            at,
                            bytes,
                        })
                        .ok()
                });
            })?;
        Ok(Self { thread, exited })
    }

    /// Reads what the command has left in the pipe and ends the thread.
    pub(super) fn drain(self) {
        // An event counter that is already above zero says the same.
        let _ = rustix::io::write(&self.exited, &1_u64.to_ne_bytes());
        // A panic of the thread has been reported by the panic hook.
        let _ = self.thread.join();
    }
}

/// Reads until the end, until `deliver` declines, or, once the command has
/// exited, until the pipe is empty.
fn carry(from: &OwnedFd, exited: &OwnedFd, mut deliver: impl FnMut(&[u8]) -> Option<()>) {
    let mut buffer = vec![0; PIECE_BYTES];
    let mut draining = false;
    loop {
        match rustix::io::read(from, &mut buffer[..]) {
            Ok(0) => return,
            Ok(n) => {
                if deliver(&buffer[..n]).is_none() {
                    return;
                }
            }
            Err(Errno::AGAIN) if draining => return,
            Err(Errno::AGAIN) => draining = wait(from, exited),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Waits for output or for the command's exit; true if it has exited.
fn wait(from: &OwnedFd, exited: &OwnedFd) -> bool {
    let mut watched = [
        PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN),
        PollFd::new(exited, PollFlags::IN),
    ];
    // An interrupted wait is repeated by the caller's next read.
    let _ = poll(&mut watched, None);
    watched[1].revents().contains(PollFlags::IN)
}
