//! Connections: so many at once, and none that is silent for ever.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// So many connections at once; others wait at the door.
pub(super) const MOST: usize = 256;
/// A connection on which nothing was read or written for so long is closed: longer
/// than any answer may take.
const SILENCE: Duration = Duration::from_secs(150);

/// A listener with limits.
pub(super) struct Limited {
    pub(super) listener: TcpListener,
    pub(super) permits: Arc<Semaphore>,
}

impl axum::serve::Listener for Limited {
    type Io = Guarded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guarded, SocketAddr) {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let guarded = Guarded {
                        stream,
                        silence: Box::pin(sleep(SILENCE)),
                        _permit: permit,
                    };
                    return (guarded, from);
                }
                // Too many open files, or a peer that has gone: the next may do better.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with a limit to its silence.
pub(super) struct Guarded {
    stream: TcpStream,
    silence: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl Guarded {
    fn heard(&mut self) {
        self.silence.as_mut().reset(Instant::now() + SILENCE);
    }

    fn too_long(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let silence = self.silence.as_mut().poll(cx);
        silence.map(|()| io::ErrorKind::TimedOut.into())
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, into);
        match polled {
            Poll::Ready(read) => {
                self.heard();
                Poll::Ready(read)
            }
            Poll::Pending => self.too_long(cx).map(Err),
        }
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        match polled {
            Poll::Ready(written) => {
                self.heard();
                Poll::Ready(written)
            }
            Poll::Pending => self.too_long(cx).map(Err),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
