//! Frames over real sockets: what is sent arrives, and what is broken is a
//! typed error that leaves other connections alone.
//!
//! More than 600 lines: one property of frames after another.

use crate::support::{
    HELLO_BYTES, PROOF_BYTES, listen, meddler, meet, member, private_directory, soon, stranger,
    worker,
};
use paceline_wire::{
    Address, Connection, Deadline, Header, Held, Impairment, Kind, Payload, ReceiveError, Role,
    SendError, Settings, connect, wait_any,
};
use proptest::prelude::*;
use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

const PUSH: Kind = Kind(6);
const PARAMETERS: Kind = Kind(8);
const CLOCK: Kind = Kind(9);
const HEARTBEAT: Kind = Kind(4);
const FAULT: Kind = Kind(5);
const STOP: Kind = Kind(12);

fn pair(settings: &Settings) -> (Connection, Connection) {
    Connection::pair(member(Role::Worker, 0), member(Role::Server, 0), settings)
        .expect("the system has socket pairs")
}

/// What a member with good credentials would send: a frame as raw bytes.
fn raw_frame(kind: u16, encoding: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short");
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes.extend_from_slice(&[encoding, 0]);
    bytes.extend_from_slice(&[0; 24]);
    bytes.extend_from_slice(payload);
    bytes
}

/// Sends `bytes` over an authenticated connection and hands the receiving end
/// to `check`, while another member's connection must stay well.
fn check_raw(bytes: Vec<u8>, check: impl FnOnce(&mut Connection)) {
    let listener = listen(&Settings {
        frame_limit: 1000,
        ..Settings::default()
    });
    let (mut other, mut other_end) = meet(&listener, &worker(9));
    let (address, meddling) = meddler(listener.address(), bytes);
    let ours =
        connect(&address, &worker(0), &Settings::default(), soon()).expect("the others are well");
    let mut theirs = listener.accept(soon()).expect("the others are well");
    check(&mut theirs);
    drop(theirs);
    drop(ours);
    meddling.join().expect("the others are well");
    other
        .send(&Header::new(HEARTBEAT), Payload::NONE)
        .expect("the others are well");
    assert_eq!(
        other_end
            .receive(soon())
            .expect("the others are well")
            .header
            .kind,
        HEARTBEAT
    );
}

#[test]
fn a_frame_cut_at_any_byte_is_truncated_and_never_a_frame() {
    let frame = raw_frame(6, 1, &[0; 12]);
    for cut in 0..frame.len() {
        check_raw(frame[..cut].to_vec(), |theirs| {
            let error = theirs.receive(soon()).unwrap_err();
            let expected = match cut {
                0 => return assert!(matches!(error, ReceiveError::Closed), "{error:?}"),
                1..32 => 32 - cut,
                _ => frame.len() - cut,
            };
            assert!(
                matches!(error, ReceiveError::Truncated { missing } if missing == expected),
                "cut at {cut}: {error:?}"
            );
            assert!(matches!(theirs.receive(soon()), Err(ReceiveError::Closed)));
        });
    }
}

#[test]
fn an_oversized_length_is_refused_before_its_payload() {
    let mut bytes = raw_frame(6, 1, &[]);
    bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    check_raw(bytes, |theirs| {
        assert!(matches!(
            theirs.receive(soon()),
            Err(ReceiveError::TooLong {
                length: u32::MAX,
                limit: 1000
            })
        ));
    });
}

#[test]
fn an_unknown_encoding_ends_the_connection() {
    check_raw(raw_frame(9, 99, &[]), |theirs| {
        assert!(matches!(
            theirs.receive(soon()),
            Err(ReceiveError::Header(_))
        ));
        assert!(matches!(theirs.receive(soon()), Err(ReceiveError::Closed)));
    });
}

#[test]
fn a_payload_that_contradicts_itself_leaves_the_connection_usable() {
    let mut bytes = raw_frame(6, 1, &[0; 5]);
    bytes.extend(raw_frame(9, 0, &[]));
    check_raw(bytes, |theirs| {
        assert!(theirs.receive(soon()).unwrap().payload().is_err());
        assert_eq!(theirs.receive(soon()).unwrap().header.kind, CLOCK);
    });
}

#[test]
fn another_frame_than_the_one_due_is_named() {
    let (mut a, mut b) = pair(&Settings::default());
    a.send(&Header::new(FAULT), Payload::Bytes(b"out of memory"))
        .unwrap();
    let error = b
        .receive_into(PARAMETERS, &mut [0.0; 8], soon())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a frame Kind(5) of 13 bytes came where Kind(8) of 32 was due"
    );
}

#[test]
fn a_late_frame_is_not_lost_by_a_time_out() {
    let (mut a, mut b) = pair(&Settings::default());
    assert!(matches!(
        b.receive(Deadline::PASSED),
        Err(ReceiveError::TimedOut)
    ));
    a.send(&Header::new(CLOCK).with_fields([3, 0, 0]), Payload::NONE)
        .unwrap();
    assert_eq!(b.receive(soon()).unwrap().header.fields[0], 3);
}

#[test]
fn a_peer_that_does_not_read_times_out() {
    let settings = Settings {
        send_timeout: Duration::from_millis(50),
        ..Settings::default()
    };
    let (mut a, _b) = pair(&settings);
    let values = vec![0.0; 1 << 22];
    let send = |a: &mut Connection| a.send(&Header::new(PUSH), Payload::Dense(&values));
    assert!(matches!(send(&mut a), Err(SendError::TimedOut)));
    assert!(matches!(send(&mut a), Err(SendError::Closed)));
}

#[test]
fn a_peer_that_is_gone_is_closed() {
    let (mut a, b) = pair(&Settings::default());
    drop(b);
    let header = Header::new(HEARTBEAT);
    assert!(matches!(
        a.send(&header, Payload::NONE),
        Err(SendError::Closed)
    ));
    assert!(matches!(a.receive(soon()), Err(ReceiveError::Closed)));
}

#[test]
fn a_frame_that_is_held_stays_while_others_arrive() {
    for count in [10, LARGE / 8] {
        let (a, b) = pair(&Settings::default());
        let (_kept, mut writer) = a.split();
        let (mut reader, _keeps) = b.split();
        let sent: Vec<Vec<f32>> = (0..6).map(|seed| numbers(count, seed)).collect();
        let mut held = [Held::default(), Held::default()];
        assert!(!reader.hold(&mut held[0]), "nothing has arrived");
        for (number, values) in sent.iter().enumerate() {
            let header = Header::new(PUSH).with_fields([number as u64, 0, 0]);
            let (first, second) = values.split_at(count / 3);
            writer
                .post(&header, Payload::Joined(first, second))
                .unwrap();
            while reader.try_receive().unwrap().is_none() {
                writer.drain().unwrap();
            }
            assert!(reader.hold(&mut held[number % 2]));
            assert!(!reader.hold(&mut Held::default()), "it was taken out");
            if number > 0 {
                let before = held[(number - 1) % 2].frame().unwrap();
                assert_eq!(before.header.fields[0], number as u64 - 1);
                assert_eq!(before.payload().unwrap(), Payload::Dense(&sent[number - 1]));
            }
        }
        held[0].release();
        assert!(held[0].frame().is_none());
    }
}

#[test]
fn a_frame_that_was_looked_at_is_still_the_next() {
    let (mut a, mut b) = pair(&Settings::default());
    assert!(matches!(
        b.peek(Deadline::PASSED),
        Err(ReceiveError::TimedOut)
    ));
    let values: Vec<f32> = (0..5000).map(|i| i as f32).collect();
    a.send(&Header::new(PARAMETERS), Payload::Dense(&values))
        .unwrap();
    a.send(&Header::new(STOP), Payload::Bytes(b"done")).unwrap();
    for _ in 0..2 {
        assert_eq!(b.peek(soon()).unwrap().kind, PARAMETERS);
    }
    let mut received = vec![0.0; 5000];
    b.receive_into(PARAMETERS, &mut received, soon()).unwrap();
    assert_eq!(received, values);
    assert_eq!(b.peek(soon()).unwrap().kind, STOP);
    let frame = b.receive(soon()).unwrap();
    assert_eq!(frame.payload().unwrap(), Payload::Bytes(b"done"));
}

#[test]
fn a_worker_that_does_not_read_holds_nobody_up() {
    let (hung, hung_end) = pair(&Settings::default());
    let (_, mut to_hung) = hung.split();
    let values: Vec<f32> = (0..2_000_000).map(|i| i as f32).collect();
    let header = Header::new(PARAMETERS);
    assert!(
        !to_hung
            .post(&header.with_fields([1, 0, 0]), Payload::Dense(&values))
            .unwrap()
    );
    assert!(
        !to_hung
            .post(&header.with_fields([2, 0, 0]), Payload::NONE)
            .unwrap()
    );
    assert!(to_hung.backlog() > 0);
    // It comes back, and gets everything in order.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !to_hung.drain().unwrap() {
                assert!(wait_any(&[], &[&to_hung], soon()).unwrap());
            }
            to_hung
                .send(&header.with_fields([3, 0, 0]), Payload::NONE)
                .unwrap();
        });
        let (mut reader, _writer) = hung_end.split();
        let frame = reader.receive(soon()).unwrap();
        assert_eq!(frame.payload().unwrap(), Payload::Dense(&values));
        for clock in [2, 3] {
            assert_eq!(reader.receive(soon()).unwrap().header.fields[0], clock);
        }
    });
}

#[test]
fn a_worker_too_far_behind_is_given_up() {
    let settings = Settings {
        backlog_limit: 1_000_000,
        ..Settings::default()
    };
    let (hung, _hung_end) = pair(&settings);
    let (_, mut to_hung) = hung.split();
    let values = vec![0.0; 1_000_000];
    let mut post = || to_hung.post(&Header::new(PARAMETERS), Payload::Dense(&values));
    assert!(matches!(
        post(),
        Err(SendError::Backlog { limit: 1_000_000 })
    ));
    assert!(matches!(post(), Err(SendError::Closed)));
}

#[test]
fn one_thread_serves_many_connections() {
    const WORKERS: u32 = 5;
    const ROUNDS: u64 = 20;
    let listener = listen(&Settings::default());
    std::thread::scope(|scope| {
        for rank in 0..WORKERS {
            let address = listener.address().clone();
            scope.spawn(move || {
                let mut link =
                    connect(&address, &worker(rank), &Settings::default(), soon()).unwrap();
                for clock in 0..ROUNDS {
                    let values = vec![rank as f32; 5000 + rank as usize];
                    let header = Header::new(PUSH)
                        .with_fields([clock, u64::from(rank), 0])
                        .with_flags(1);
                    link.send(&header, Payload::Dense(&values)).unwrap();
                    assert_eq!(link.receive(soon()).unwrap().header.fields[0], clock + 1);
                }
            });
        }
        let mut links: Vec<_> = (0..WORKERS)
            .map(|_| listener.accept(soon()).unwrap().split())
            .collect();
        let mut carried = Vec::new();
        while !links.is_empty() {
            let readers: Vec<_> = links.iter().map(|(reader, _)| reader).collect();
            assert!(wait_any(&readers, &[], soon()).unwrap());
            links.retain_mut(|(reader, writer)| {
                let rank = reader.peer().rank;
                let clock = match reader.try_receive() {
                    Ok(None) => return true,
                    Ok(Some(frame)) => {
                        let values = vec![rank as f32; 5000 + rank as usize];
                        assert_eq!(frame.payload().unwrap(), Payload::Dense(&values));
                        frame.header.fields[0]
                    }
                    Err(error) => {
                        assert!(matches!(error, ReceiveError::Closed), "{error:?}");
                        carried.push((rank, reader.traffic()));
                        return false;
                    }
                };
                let answer = Header::new(CLOCK).with_fields([clock + 1, 0, 0]);
                writer.send(&answer, Payload::NONE).unwrap();
                true
            });
        }
        for (rank, traffic) in carried {
            let size = 4 * (5000 + u64::from(rank));
            assert_eq!(traffic.frames_received, ROUNDS);
            assert_eq!(traffic.bytes_received, ROUNDS * (32 + size));
            assert_eq!(traffic.frames_sent, ROUNDS);
            assert_eq!(traffic.bytes_sent, ROUNDS * 32);
        }
    });
}

#[test]
fn an_impaired_link_delivers_in_order_and_before_it_closes() {
    let settings = Settings {
        impairment: Impairment {
            delay: Duration::from_millis(5),
            bandwidth: Some(10e6),
        },
        ..Settings::default()
    };
    let (mut a, mut b) = pair(&settings);
    for clock in 0..20 {
        let values = vec![clock as f32; 100];
        a.send(
            &Header::new(PUSH).with_fields([clock, 0, 0]),
            Payload::Dense(&values),
        )
        .unwrap();
    }
    drop(a);
    for clock in 0..20 {
        let mut values = [0.0; 100];
        let header = b.receive_into(PUSH, &mut values, soon()).unwrap();
        assert_eq!((header.fields[0], values[99]), (clock, clock as f32));
    }
    assert!(matches!(b.receive(soon()), Err(ReceiveError::Closed)));
}

#[test]
fn an_impaired_link_is_no_faster_than_it_says() {
    let delay = Duration::from_millis(30);
    let settings = Settings {
        impairment: Impairment {
            delay,
            bandwidth: None,
        },
        ..Settings::default()
    };
    let (mut a, mut b) = pair(&settings);
    a.send(&Header::new(CLOCK), Payload::NONE).unwrap();
    b.receive(soon()).unwrap();
    // Waiting took no less than the delay, whatever the machine did; how much
    // longer is not asserted.
    let sent_and_received = a.traffic().sending + b.traffic().receiving;
    assert!(
        sent_and_received >= delay - Duration::from_millis(5),
        "{sent_and_received:?}"
    );
}

#[test]
fn a_member_that_dies_within_a_frame_harms_nobody_else() {
    let listener = listen(&Settings::default());
    let (address, meddling) = meddler(
        listener.address(),
        raw_frame(6, 1, &[1; 100])[..70].to_vec(),
    );
    let dying = connect(&address, &worker(0), &Settings::default(), soon()).unwrap();
    let mut dying_end = listener.accept(soon()).unwrap();
    let (mut well, mut well_end) = meet(&listener, &worker(1));
    assert!(matches!(
        dying_end.receive(soon()),
        Err(ReceiveError::Truncated { missing: 62 })
    ));
    drop((dying, dying_end));
    meddling.join().unwrap();
    well.send(&Header::new(CLOCK), Payload::NONE).unwrap();
    assert_eq!(well_end.receive(soon()).unwrap().header.kind, CLOCK);
}

#[test]
fn bytes_after_a_tcp_handshake_are_not_lost() {
    // The first frame may arrive together with the end of the handshake.
    let listener = listen(&Settings::default());
    let (address, meddling) = meddler(listener.address(), raw_frame(9, 0, &[]));
    let ours = connect(&address, &worker(0), &Settings::default(), soon()).unwrap();
    let mut theirs = listener.accept(soon()).unwrap();
    assert_eq!(theirs.receive(soon()).unwrap().header.kind, CLOCK);
    drop((ours, theirs));
    meddling.join().unwrap();
}

#[derive(Clone, Debug)]
enum Owned {
    Bytes(Vec<u8>),
    Dense(Vec<f32>),
    Half(Vec<u16>),
    Rows(u32, Vec<u32>, Vec<f32>),
    Sparse(Vec<u32>, Vec<f32>),
}

impl Owned {
    fn payload(&self) -> Payload<'_> {
        match self {
            Self::Bytes(bytes) => Payload::Bytes(bytes),
            Self::Dense(values) => Payload::Dense(values),
            Self::Half(values) => Payload::Half(values),
            Self::Rows(width, rows, values) => Payload::Rows {
                width: *width,
                rows,
                values,
            },
            Self::Sparse(indices, values) => Payload::Sparse { indices, values },
        }
    }
}

/// `count` words spread over all bit patterns by Knuth's multiplicative hash:
/// long payloads without the cost of drawing each number.
fn words(count: usize, seed: u32) -> Vec<u32> {
    (0..count as u32)
        .map(|i| seed.wrapping_add(i).wrapping_mul(2_654_435_761))
        .collect()
}

/// The same as numbers; those that are not equal to themselves would compare
/// as lost.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let number = |bits| Some(f32::from_bits(bits)).filter(|x| !x.is_nan());
    words(count, seed)
        .into_iter()
        .map(|bits| number(bits).unwrap_or(f32::INFINITY))
        .collect()
}

fn payloads() -> impl Strategy<Value = Owned> {
    let lengths = prop_oneof![0usize..20, 1000usize..1100, 5000usize..6000];
    let shapes = (lengths, 0u32..40, any::<u32>());
    (0..5, shapes).prop_map(|(encoding, (count, width, seed))| match encoding {
        0 => Owned::Bytes(
            words(count, seed)
                .into_iter()
                .map(|w| (w >> 24) as u8)
                .collect(),
        ),
        1 => Owned::Dense(numbers(count, seed)),
        2 => Owned::Half(
            words(count, seed)
                .into_iter()
                .map(|w| (w >> 16) as u16)
                .collect(),
        ),
        3 => Owned::Rows(
            width,
            words(count, seed),
            numbers(count * width as usize, seed),
        ),
        _ => Owned::Sparse(words(count, seed), numbers(count, seed)),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_sequence_of_frames_arrives_as_it_was_sent(
        frames in prop::collection::vec((any::<u16>(), any::<[u64; 3]>(), payloads()), 1..8)
    ) {
        let (mut a, mut b) = pair(&Settings::default());
        std::thread::scope(|scope| {
            let header = |kind: u16, fields| Header::new(Kind(kind)).with_fields(fields);
            let sent = frames.clone();
            scope.spawn(move || {
                for (kind, numbers, payload) in &sent {
                    a.send(&header(*kind, *numbers), payload.payload()).unwrap();
                }
            });
            for (kind, numbers, payload) in &frames {
                let frame = b.receive(soon()).unwrap();
                prop_assert_eq!(frame.header, header(*kind, *numbers));
                prop_assert_eq!(frame.payload().unwrap(), payload.payload());
            }
            prop_assert!(matches!(b.receive(soon()), Err(ReceiveError::Closed)));
            Ok(())
        })?;
    }
}

/// More than any socket's buffer holds.
const LARGE: usize = 2_000_000;

#[test]
fn a_large_payload_on_one_host_needs_no_reader_to_be_sent() {
    let (mut a, mut b) = pair(&Settings::default());
    let values = numbers(LARGE, 1);
    std::thread::scope(|scope| {
        // The first goes through the socket and tells where the next will lie.
        scope.spawn(|| a.send(&Header::new(PUSH), Payload::Dense(&values)));
        let frame = b.receive(soon()).unwrap();
        assert_eq!(frame.payload().unwrap(), Payload::Dense(&values));
    });
    for round in 2..20 {
        // On this thread alone: through the socket this would never end.
        let values = numbers(LARGE, round);
        a.send(
            &Header::new(PUSH).with_fields([1, 0, 0]),
            Payload::Dense(&values),
        )
        .unwrap();
        if round % 2 == 0 {
            let frame = b.receive(soon()).unwrap();
            assert_eq!(frame.header.fields[0], 1);
            assert_eq!(frame.payload().unwrap(), Payload::Dense(&values));
        } else {
            let mut arrived = vec![0.0; LARGE];
            b.receive_into(PUSH, &mut arrived, soon()).unwrap();
            assert_eq!(arrived, values);
        }
    }
}

#[test]
fn a_reader_that_lags_gets_the_rest_through_the_socket() {
    let (a, b) = pair(&Settings::default());
    let (_keeps, mut writer) = a.split();
    let (mut reader, _kept) = b.split();
    let sent: Vec<Vec<f32>> = (0..12).map(|seed| numbers(LARGE / 8, seed)).collect();
    let post = |writer: &mut paceline_wire::WriteHalf, number: usize| {
        let header = Header::new(PUSH).with_fields([number as u64, 0, 0]);
        writer.post(&header, Payload::Dense(&sent[number])).unwrap();
    };
    post(&mut writer, 0);
    let mut received = 0;
    while received < sent.len() {
        if received == 1 {
            // All the others at once, far more than the memory has room for.
            (1..sent.len()).for_each(|number| post(&mut writer, number));
            assert!(writer.backlog() > 0);
        }
        writer.drain().unwrap();
        while let Some(frame) = reader.try_receive().unwrap() {
            assert_eq!(frame.header.fields[0], received as u64);
            assert_eq!(frame.payload().unwrap(), Payload::Dense(&sent[received]));
            received += 1;
        }
    }
}

#[test]
fn unix_and_tcp_carry_the_same_frames() {
    let root = private_directory();
    for address in [
        Address::loopback(),
        Address::unix(&root.path().join("s")).unwrap(),
    ] {
        let listener = paceline_wire::Listener::bind(
            &address,
            &crate::support::server(),
            &Settings::default(),
        )
        .unwrap();
        let (mut ours, mut theirs) = meet(&listener, &worker(0));
        let values: Vec<f32> = (0..3_000_000).map(|i| (i as f32).sin()).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                ours.send(&Header::new(PUSH), Payload::Dense(&values))
                    .unwrap()
            });
            let frame = theirs.receive(soon()).unwrap();
            assert_eq!(frame.payload().unwrap(), Payload::Dense(&values));
        });
    }
}

#[test]
fn a_dribbled_handshake_and_frame_are_assembled() {
    // Each byte is a segment of its own unless the system joins them; either
    // way the frame is one.
    let listener = listen(&Settings::default());
    let bytes = raw_frame(6, 1, &[7; 400]);
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let meeting = Address::Tcp {
        host: "127.0.0.1".to_owned(),
        port: door.local_addr().unwrap().port(),
    };
    let mut server = stranger(listener.address());
    let dribble = std::thread::spawn(move || {
        let (mut member, _) = door.accept().unwrap();
        let mut back = (server.try_clone().unwrap(), member.try_clone().unwrap());
        let answers = std::thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
        server.set_nodelay(true).unwrap();
        let mut handshake = [0; HELLO_BYTES + PROOF_BYTES];
        for byte in &mut handshake {
            member.read_exact(std::slice::from_mut(byte)).unwrap();
            server.write_all(std::slice::from_ref(byte)).unwrap();
        }
        for byte in bytes {
            server.write_all(&[byte]).unwrap();
        }
        server.shutdown(std::net::Shutdown::Write).unwrap();
        // The answers end when the server closes; a reset is an end, too.
        let _ = answers.join();
    });
    let ours = connect(&meeting, &worker(0), &Settings::default(), soon()).unwrap();
    let mut theirs = listener.accept(soon()).unwrap();
    assert_eq!(theirs.receive(soon()).unwrap().length(), 400);
    drop((ours, theirs));
    dribble.join().unwrap();
}
