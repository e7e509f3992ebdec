//! Members, listeners and a meddler between them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread::JoinHandle;
use std::time::Duration;

use paceline_wire::{
    Address, Cause, Connection, Credentials, Deadline, Listener, Member, Refusals, Role, Security,
    Settings, Token, connect,
};

/// Long enough for a machine with other things to do; no test waits for it
/// unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes that a connecting member sends before its first frame.
pub(crate) const HELLO_BYTES: usize = 56;
pub(crate) const PROOF_BYTES: usize = 32;

pub(crate) fn soon() -> Deadline {
    Deadline::after(PATIENCE)
}

pub(crate) fn member(role: Role, rank: u32) -> Member {
    Member {
        role,
        rank,
        incarnation: 0,
    }
}

pub(crate) fn token(digit: char) -> Token {
    std::iter::repeat_n(digit, 64)
        .collect::<String>()
        .parse()
        .expect("64 digits are a token")
}

pub(crate) fn server() -> Credentials {
    Credentials {
        me: member(Role::Server, 0),
        token: token('a'),
        security: Security::Plain,
    }
}

pub(crate) fn worker(rank: u32) -> Credentials {
    Credentials {
        me: member(Role::Worker, rank),
        ..server()
    }
}

pub(crate) fn listen(settings: &Settings) -> Listener {
    Listener::bind(&Address::loopback(), &server(), settings).expect("a loopback port is free")
}

/// Connects `credentials` and returns the worker's and the server's end.
pub(crate) fn meet(listener: &Listener, credentials: &Credentials) -> (Connection, Connection) {
    let settings = Settings::default();
    let ours = connect(listener.address(), credentials, &settings, soon()).expect("is let in");
    let theirs = listener.accept(soon()).expect("comes out");
    (ours, theirs)
}

/// A directory that only its owner may enter.
pub(crate) fn private_directory() -> tempfile::TempDir {
    tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()
        .expect("the temporary directory is writable")
}

/// A connection without any manners.
pub(crate) fn stranger(address: &Address) -> TcpStream {
    let Address::Tcp { host, port } = address else {
        panic!("strangers come by TCP, not by {address}");
    };
    let stream = TcpStream::connect((host.as_str(), *port)).expect("the listener listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("time-outs can be set");
    stream
}

/// Reads until the other end closes; a reset is an end, too.
pub(crate) fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return seen,
            Ok(count) => seen.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return seen,
            Err(error) => panic!("the listener does not close: {error}"),
        }
    }
}

/// Waits until `cause` was counted `count` times.
pub(crate) fn await_refusals(refusals: &Refusals, cause: Cause, count: u64) {
    let deadline = soon();
    while refusals.count(cause) < count {
        assert!(
            !deadline.has_passed(),
            "{cause:?} is counted {count} times: {refusals:?}"
        );
        std::thread::yield_now();
    }
    assert_eq!(refusals.count(cause), count, "{cause:?}");
}

/// Passes the handshake between one member and `listener` unharmed, then sends
/// the listener `instead` of what the member sends, and closes. Returns where
/// the member must connect, and later what the member sent.
pub(crate) fn meddler(listener: &Address, instead: Vec<u8>) -> (Address, JoinHandle<Vec<u8>>) {
    let door = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let address = Address::Tcp {
        host: "127.0.0.1".to_owned(),
        port: door.local_addr().expect("it is bound").port(),
    };
    let mut server = stranger(listener);
    let thread = std::thread::spawn(move || {
        let (mut member, _) = door.accept().expect("the member comes");
        let mut sent = vec![0; HELLO_BYTES + PROOF_BYTES];
        let answers = {
            let mut server = server.try_clone().expect("descriptors are free");
            let mut member = member.try_clone().expect("descriptors are free");
            std::thread::spawn(move || std::io::copy(&mut server, &mut member))
        };
        for part in [0..HELLO_BYTES, HELLO_BYTES..HELLO_BYTES + PROOF_BYTES] {
            member
                .read_exact(&mut sent[part.clone()])
                .expect("the member speaks");
            server.write_all(&sent[part]).expect("the server listens");
        }
        server.write_all(&instead).expect("the server listens");
        server
            .shutdown(Shutdown::Write)
            .expect("the server is there");
        // The server closes once it has seen the end; a reset is fine.
        let _ = answers.join();
        sent
    });
    (address, thread)
}
