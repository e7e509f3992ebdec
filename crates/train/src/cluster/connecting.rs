//! How the controller reaches its servers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use paceline_wire::{ConnectError, Connection, Deadline, HandshakeError, Role, connect};

use super::rendezvous::Rendezvous;

/// What is heard of a server that is being reached.
pub(crate) enum ConnectNews {
    /// It is there.
    Reached(Box<Connection>),
    /// Somebody listens there and is not the server; it is tried again.
    Hindered(ConnectError),
    /// It did not come in time.
    GivenUp(ConnectError),
}

/// Tries to reach one server, on a thread of its own: a host that is switched
/// off takes seconds to not answer, and nobody is to wait for that.
#[derive(Debug)]
pub(crate) struct Connecting {
    news: Receiver<ConnectNews>,
    is_dropped: Arc<AtomicBool>,
}

/// How long one attempt may take. A server of this host answers in no time; a
/// handshake with another takes several round trips.
const ATTEMPT_HERE: Duration = Duration::from_millis(250);
const ATTEMPT_ELSEWHERE: Duration = Duration::from_secs(5);

/// How long a listener that refuses is left alone.
const PAUSE: Duration = Duration::from_millis(250);

impl Connecting {
    pub(crate) fn start(
        rendezvous: &Rendezvous,
        server: usize,
        deadline: Deadline,
    ) -> io::Result<Self> {
        // Room for one complaint and the end: complaints are told once.
        let (sender, news) = sync_channel(2);
        let is_dropped = Arc::new(AtomicBool::new(false));
        let (rendezvous, dropped) = (rendezvous.clone(), Arc::clone(&is_dropped));
        std::thread::Builder::new()
            .name("dial".to_owned())
            .spawn(move || dial(&rendezvous, server, deadline, &dropped, &sender))?;
        Ok(Self { news, is_dropped })
    }

    /// What is new, if anything is.
    pub(crate) fn news(&self) -> Option<ConnectNews> {
        self.news.try_recv().ok()
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }
}

fn dial(
    rendezvous: &Rendezvous,
    server: usize,
    deadline: Deadline,
    is_dropped: &AtomicBool,
    news: &SyncSender<ConnectNews>,
) {
    let credentials = rendezvous.credentials(Role::Controller, 0, 0);
    let address = &rendezvous.servers[server];
    let attempt = if address.is_same_host() {
        ATTEMPT_HERE
    } else {
        ATTEMPT_ELSEWHERE
    };
    let mut has_complained = false;
    while !is_dropped.load(Ordering::Relaxed) {
        let soon = Deadline::after(attempt).or_sooner(deadline);
        // Who has dropped this end needs no news.
        match connect(address, &credentials, &rendezvous.wire, soon) {
            Ok(connection) => {
                let _ = news.try_send(ConnectNews::Reached(Box::new(connection)));
                return;
            }
            Err(error) if deadline.has_passed() => {
                let _ = news.try_send(ConnectNews::GivenUp(error));
                return;
            }
            Err(ConnectError::Unreachable { .. }) => {}
            Err(error) => {
                let is_passing = matches!(
                    error,
                    ConnectError::Handshake {
                        source: HandshakeError::TimedOut
                            | HandshakeError::Truncated
                            | HandshakeError::Io(_),
                        ..
                    }
                );
                if !is_passing && !has_complained {
                    has_complained = true;
                    let _ = news.try_send(ConnectNews::Hindered(error));
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
}
