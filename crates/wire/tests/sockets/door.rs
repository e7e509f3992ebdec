//! Strangers at the door, over real sockets: refused, counted, told once, and
//! nobody inside is disturbed.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::support::{
    HELLO_BYTES, await_refusals, listen, meddler, meet, member, private_directory, read_to_end,
    server, soon, stranger, token, worker,
};
use paceline_wire::{
    Address, BindError, Cause, ConnectError, Connection, Credentials, HandshakeError, Header, Kind,
    Listener, Payload, ReadHalf, Role, Security, Settings, connect, wait_any,
};

const PUSH: Kind = Kind(6);
const PARAMETERS: Kind = Kind(8);
const STOP: Kind = Kind(12);

/// A frame there and back.
fn check_alive(ours: &mut Connection, theirs: &mut Connection) {
    let header = Header::new(PUSH).with_fields([7, 0, 0]).with_flags(2);
    let values = [1.0, -2.5, f32::MIN_POSITIVE];
    let check = |from: &mut Connection, to: &mut Connection| {
        from.send(&header, Payload::Dense(&values)).expect("sends");
        let frame = to.receive(soon()).expect("receives");
        assert_eq!(frame.header, header);
        assert_eq!(frame.payload().expect("is whole"), Payload::Dense(&values));
    };
    check(ours, theirs);
    check(theirs, ours);
}

/// Runs `disturb` against a listener that serves a member before, meanwhile
/// and afterwards; `cause` must have been counted `count` times, and told once.
fn check_refused(settings: &Settings, cause: Cause, count: u64, disturb: impl FnOnce(&Listener)) {
    let listener = listen(settings);
    let (mut ours, mut theirs) = meet(&listener, &worker(0));
    check_alive(&mut ours, &mut theirs);
    disturb(&listener);
    check_alive(&mut ours, &mut theirs);
    await_refusals(&listener.refusals(), cause, count);
    let firsts = listener.refusals().take_firsts();
    assert_eq!(
        firsts.iter().filter(|first| first.cause == cause).count(),
        1
    );
    assert_eq!(
        listener.refusals().total(),
        count,
        "{:?}",
        listener.refusals()
    );
    let (mut ours, mut theirs) = meet(&listener, &worker(1));
    assert_eq!(theirs.peer(), member(Role::Worker, 1));
    assert_eq!(ours.peer(), member(Role::Server, 0));
    check_alive(&mut ours, &mut theirs);
}

#[test]
fn a_port_scanner_is_counted_and_forgotten() {
    check_refused(&Settings::default(), Cause::Silent, 20, |listener| {
        for _ in 0..20 {
            drop(stranger(listener.address()));
        }
    });
}

#[test]
fn random_bytes_are_refused_at_the_eighth() {
    check_refused(&Settings::default(), Cause::NotPaceline, 50, |listener| {
        // A fixed sequence (Knuth's MMIX generator) stands for random bytes.
        let mut state = 1u64;
        for _ in 0..50 {
            let bytes: Vec<u8> = (0..300)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    state.to_be_bytes()[0]
                })
                .collect();
            let mut stream = stranger(listener.address());
            stream.write_all(&bytes).unwrap();
            assert_eq!(read_to_end(&mut stream), []);
        }
    });
}

#[test]
fn a_web_browser_is_refused() {
    check_refused(&Settings::default(), Cause::NotPaceline, 1, |listener| {
        let mut stream = stranger(listener.address());
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        assert_eq!(read_to_end(&mut stream), []);
    });
}

#[test]
fn one_byte_at_a_time_does_not_extend_the_deadline() {
    let settings = Settings {
        handshake_timeout: Duration::from_millis(200),
        ..Settings::default()
    };
    check_refused(&settings, Cause::TooSlow, 1, |listener| {
        let mut stream = stranger(listener.address());
        let pause = Duration::from_millis(10);
        // The pause is the attack, not a synchronisation: the listener must
        // end it although every single read succeeds.
        for byte in b"PACELINE\x04\0".iter().chain(std::iter::repeat(&1)) {
            if stream.write_all(&[*byte]).is_err() {
                break;
            }
            stream.set_read_timeout(Some(pause)).unwrap();
            match stream.read(&mut [0; 64]) {
                Ok(0) => break,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                _ => {}
            }
        }
    });
}

#[test]
fn an_old_version_is_told_ours() {
    check_refused(&Settings::default(), Cause::Version, 1, |listener| {
        let mut hello = b"PACELINE".to_vec();
        hello.extend_from_slice(&0u16.to_le_bytes());
        let mut stream = stranger(listener.address());
        stream.write_all(&hello).unwrap();
        let answer = read_to_end(&mut stream);
        assert_eq!(answer.len(), HELLO_BYTES);
        assert_eq!(answer[..10], *b"PACELINE\x04\0");
    });
}

#[test]
fn a_wrong_token_is_refused_and_told_so() {
    check_refused(&Settings::default(), Cause::WrongToken, 1, |listener| {
        let credentials = Credentials {
            token: token('b'),
            ..worker(1)
        };
        let refused = connect(
            listener.address(),
            &credentials,
            &Settings::default(),
            soon(),
        );
        assert!(matches!(
            refused,
            Err(ConnectError::Handshake {
                source: HandshakeError::Refused,
                ..
            })
        ));
    });
}

#[test]
fn a_listener_without_the_token_is_no_server_of_ours() {
    // Answers everything as a listener would, but cannot make the last MAC:
    // it sends the hello back as a challenge, and the proof as a verdict.
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp {
        host: "127.0.0.1".to_owned(),
        port: door.local_addr().unwrap().port(),
    };
    let mirror = std::thread::spawn(move || {
        let (mut stream, _) = door.accept().unwrap();
        let mut hello = [0; HELLO_BYTES];
        stream.read_exact(&mut hello).unwrap();
        stream.write_all(&hello).unwrap();
        let mut proof = [0; 33];
        stream.read_exact(&mut proof[1..]).unwrap();
        stream.write_all(&proof).unwrap();
    });
    let refused = connect(&address, &worker(0), &Settings::default(), soon());
    assert!(matches!(
        refused,
        Err(ConnectError::Handshake {
            source: HandshakeError::WrongToken,
            ..
        })
    ));
    mirror.join().unwrap();
}

#[test]
fn a_member_says_which_version_the_server_speaks() {
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp {
        host: "127.0.0.1".to_owned(),
        port: door.local_addr().unwrap().port(),
    };
    let newer = std::thread::spawn(move || {
        let (mut stream, _) = door.accept().unwrap();
        stream.read_exact(&mut [0; HELLO_BYTES]).unwrap();
        stream.write_all(b"PACELINE\x09\0").unwrap();
    });
    let refused = connect(&address, &worker(0), &Settings::default(), soon()).unwrap_err();
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert_eq!(cause, "the peer speaks version 9 of the protocol, not 4");
    newer.join().unwrap();
}

#[test]
fn a_recorded_handshake_opens_nothing() {
    let listener = listen(&Settings::default());
    let (address, recording) = meddler(listener.address(), Vec::new());
    let ours = connect(&address, &worker(0), &Settings::default(), soon()).unwrap();
    drop(listener.accept(soon()).unwrap());
    drop(ours);
    let recorded = recording.join().unwrap();

    let mut replay = stranger(listener.address());
    replay.write_all(&recorded).unwrap();
    let answer = read_to_end(&mut replay);
    assert_eq!(answer.len(), HELLO_BYTES + 33);
    assert_eq!(answer[HELLO_BYTES], 1, "the verdict is a refusal");
    assert_eq!(listener.refusals().count(Cause::WrongToken), 1);
}

#[test]
fn a_changed_identity_breaks_the_proof() {
    let listener = listen(&Settings::default());
    let (address, recording) = meddler(listener.address(), Vec::new());
    let _ours = connect(&address, &worker(3), &Settings::default(), soon()).unwrap();
    assert_eq!(listener.accept(soon()).unwrap().peer().rank, 3);
    let mut hello = recording.join().unwrap();
    // Rank 4 instead of 3, with the proof of rank 3.
    hello[12] = 4;
    let mut stream = stranger(listener.address());
    stream.write_all(&hello).unwrap();
    read_to_end(&mut stream);
    assert_eq!(listener.refusals().count(Cause::WrongToken), 1);
}

#[test]
fn dawdlers_give_way_when_the_door_is_crowded() {
    let settings = Settings {
        handshakes_at_once: 4,
        handshake_timeout: Duration::from_secs(3600),
        ..Settings::default()
    };
    let listener = listen(&settings);
    let dawdlers: Vec<_> = (0..20).map(|_| stranger(listener.address())).collect();
    let (mut ours, mut theirs) = meet(&listener, &worker(0));
    check_alive(&mut ours, &mut theirs);
    await_refusals(&listener.refusals(), Cause::Crowded, 17);
    drop(dawdlers);
}

#[test]
fn peers_whom_nobody_claims_are_bounded() {
    let settings = Settings {
        handshakes_at_once: 2,
        ..Settings::default()
    };
    let listener = listen(&settings);
    let connect = |rank| connect(listener.address(), &worker(rank), &settings, soon()).unwrap();
    let (mut readers, _writers): (Vec<_>, Vec<_>) =
        (0..3).map(|rank| connect(rank).split()).unzip();
    // One of the three is sent away. If the listener is slow to queue the first
    // two, the oldest goes, because three are inside; else the one that finds
    // the queue full.
    let mut closed = 0;
    while closed == 0 {
        let awaited: Vec<&ReadHalf> = readers.iter().collect();
        assert!(wait_any(&awaited, &[], soon()).unwrap());
        closed = readers
            .iter_mut()
            .map(|reader| usize::from(reader.try_receive().is_err()))
            .sum();
    }
    assert_eq!(closed, 1);
    let refusals = listener.refusals();
    let (unclaimed, crowded) = (
        refusals.count(Cause::Unclaimed),
        refusals.count(Cause::Crowded),
    );
    assert_eq!(unclaimed + crowded, 1);
    for _ in 0..2 {
        listener.accept(soon()).unwrap();
    }
}

fn with_tls(credentials: Credentials) -> Credentials {
    Credentials {
        security: Security::Tls,
        ..credentials
    }
}

#[test]
fn tls_carries_frames_of_every_size() {
    let listener = Listener::bind(
        &Address::loopback(),
        &with_tls(server()),
        &Settings::default(),
    )
    .unwrap();
    let (ours, mut theirs) = meet(&listener, &with_tls(worker(5)));
    assert_eq!(theirs.peer(), member(Role::Worker, 5));
    let (mut reader, mut writer) = ours.split();
    let values: Vec<f32> = (0..2_000_000).map(|i| i as f32).collect();
    let header = Header::new(PARAMETERS);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for length in [0, 1, 1000, values.len()] {
                writer
                    .send(&header, Payload::Dense(&values[..length]))
                    .unwrap();
            }
        });
        let mut received = vec![0.0; values.len()];
        for length in [0, 1, 1000] {
            let frame = theirs.receive(soon()).unwrap();
            assert_eq!(frame.payload().unwrap(), Payload::Dense(&values[..length]));
        }
        theirs
            .receive_into(PARAMETERS, &mut received, soon())
            .unwrap();
        assert_eq!(received, values);
        theirs.send(&Header::new(STOP), Payload::NONE).unwrap();
        assert_eq!(reader.receive(soon()).unwrap().header.kind, STOP);
    });
}

#[test]
fn tls_sends_what_was_posted_when_there_is_room() {
    let settings = Settings::default();
    let listener = Listener::bind(&Address::loopback(), &with_tls(server()), &settings).unwrap();
    let (mut ours, theirs) = meet(&listener, &with_tls(worker(0)));
    let (_reader, mut writer) = theirs.split();
    let values = vec![0.5; 4_000_000];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let header = Header::new(PARAMETERS);
            let mut sent = writer.post(&header, Payload::Dense(&values)).unwrap();
            while !sent {
                assert!(wait_any(&[], &[&writer], soon()).unwrap());
                sent = writer.drain().unwrap();
            }
        });
        let frame = ours.receive(soon()).unwrap();
        assert_eq!(frame.payload().unwrap(), Payload::Dense(&values));
    });
}

#[test]
fn tls_and_plain_members_refuse_each_other() {
    let settings = Settings::default();
    let tls = Listener::bind(&Address::loopback(), &with_tls(server()), &settings).unwrap();
    let refused = connect(tls.address(), &worker(0), &settings, soon());
    assert!(matches!(
        refused,
        Err(ConnectError::Handshake {
            source: HandshakeError::SpeaksTls,
            ..
        })
    ));
    await_refusals(&tls.refusals(), Cause::SpeaksPlain, 1);

    let plain = listen(&settings);
    let refused = connect(plain.address(), &with_tls(worker(0)), &settings, soon());
    assert!(matches!(
        refused,
        Err(ConnectError::Handshake {
            source: HandshakeError::SpeaksPlain,
            ..
        })
    ));
    await_refusals(&plain.refusals(), Cause::SpeaksTls, 1);
}

#[test]
fn tls_with_another_token_fails_before_anything_is_said() {
    let settings = Settings::default();
    let listener = Listener::bind(&Address::loopback(), &with_tls(server()), &settings).unwrap();
    let credentials = Credentials {
        token: token('b'),
        ..with_tls(worker(0))
    };
    let refused = connect(listener.address(), &credentials, &settings, soon());
    assert!(matches!(
        refused,
        Err(ConnectError::Handshake {
            source: HandshakeError::Tls(_),
            ..
        })
    ));
    await_refusals(&listener.refusals(), Cause::Tls, 1);
}

#[test]
fn tls_handshakes_have_the_same_deadline() {
    let settings = Settings {
        handshake_timeout: Duration::from_millis(100),
        ..Settings::default()
    };
    let listener = Listener::bind(&Address::loopback(), &with_tls(server()), &settings).unwrap();
    let mut stream = stranger(listener.address());
    // The beginning of a TLS record, and no more.
    stream.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00]).unwrap();
    read_to_end(&mut stream);
    assert_eq!(listener.refusals().count(Cause::TooSlow), 1);
}

#[test]
fn a_unix_socket_is_for_its_owner_alone() {
    let root = private_directory();
    let path = root.path().join("run/server-0");
    let address = Address::unix(&path).unwrap();
    let listener = Listener::bind(&address, &server(), &Settings::default()).unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let (mut ours, mut theirs) = meet(&listener, &worker(0));
    check_alive(&mut ours, &mut theirs);
    // Somebody listens there: a second server is refused.
    assert!(matches!(
        Listener::bind(&address, &server(), &Settings::default()),
        Err(BindError::InUse { .. })
    ));
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn a_directory_that_others_may_enter_is_refused() {
    let root = private_directory();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.path(), open).unwrap();
    let address = Address::unix(&root.path().join("s")).unwrap();
    assert!(matches!(
        Listener::bind(&address, &server(), &Settings::default()),
        Err(BindError::OpenDirectory { mode: 0o755, .. })
    ));
}

#[test]
fn the_socket_of_a_dead_server_is_taken_over_but_a_file_is_not() {
    let root = private_directory();
    let path = root.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let address = Address::unix(&path).unwrap();
    let listener = Listener::bind(&address, &server(), &Settings::default()).unwrap();
    drop(listener);
    std::fs::write(&path, "mine").unwrap();
    assert!(matches!(
        Listener::bind(&address, &server(), &Settings::default()),
        Err(BindError::InUse { .. })
    ));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_member_waits_for_a_server_that_starts_later() {
    let root = private_directory();
    let address = Address::unix(&root.path().join("s")).unwrap();
    std::thread::scope(|scope| {
        let early = scope.spawn(|| connect(&address, &worker(0), &Settings::default(), soon()));
        let listener = Listener::bind(&address, &server(), &Settings::default()).unwrap();
        let mut theirs = listener.accept(soon()).unwrap();
        check_alive(&mut early.join().unwrap().unwrap(), &mut theirs);
    });
}

#[test]
fn nobody_there_is_said_when_the_deadline_passes() {
    let root = private_directory();
    let address = Address::unix(&root.path().join("s")).unwrap();
    let deadline = paceline_wire::Deadline::after(Duration::from_millis(20));
    assert!(matches!(
        connect(&address, &worker(0), &Settings::default(), deadline),
        Err(ConnectError::Unreachable { .. })
    ));
}
