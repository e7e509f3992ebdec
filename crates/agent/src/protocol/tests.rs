use super::*;
use paceline_engine::Usage;
use paceline_model::{ExitStatus, Machine, NodeName, Stream};

fn to_agent() -> Vec<ToAgent> {
    let command = StartCommand {
        worker: 3,
        argv: vec![b"python".to_vec(), b"\xff.py".to_vec()],
        env: vec![(b"RANK".to_vec(), b"3".to_vec())],
        cwd: Some("/home".to_owned()),
        cpus: Some(2),
    };
    let start = StartRun {
        run: 7,
        id: "r1.1.42".to_owned(),
        program: "/usr/bin/paceline".to_owned(),
        record: Some("/runs/r1".to_owned()),
        interval_us: 1_000_000,
        memory_max: None,
        ends_leftovers: true,
        commands: vec![command.clone(), command],
    };
    vec![
        ToAgent::Welcome { received: 9 },
        ToAgent::Unwanted {
            why: "too late".to_owned(),
        },
        ToAgent::Ping {
            sent_us: 1,
            received: 2,
        },
        ToAgent::Ack { received: 3 },
        ToAgent::Reserve {
            request: 1,
            ports: 2,
        },
        ToAgent::Start(Box::new(start)),
        ToAgent::Signal { signal: 15 },
        ToAgent::Kill,
        ToAgent::Leave,
    ]
}

fn from_agent() -> Vec<FromAgent> {
    let hello = Hello {
        version: VERSION,
        group: "ssh".to_owned(),
        life: 77,
        machine: Machine {
            node: NodeName::from_host("a"),
            os: "Linux".to_owned(),
            kernel: "6.1".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu_model: None,
            cpus_count: 4,
            memory_bytes: Some(1 << 30),
        },
        address: "10.0.0.1".to_owned(),
        pid: 4711,
        dictionary: b"samples".to_vec(),
    };
    let node = |number, message| FromAgent::Node { number, message };
    vec![
        FromAgent::Hello(Box::new(hello)),
        FromAgent::Pong {
            sent_us: 1,
            received_us: 2,
            replied_us: 3,
            wall_us: 4,
        },
        FromAgent::Ports {
            request: 1,
            ports: vec![1, 65535],
        },
        node(1, NodeMessage::Begun { run: 7, zero_us: 8 }),
        node(
            2,
            NodeMessage::Refused {
                run: 7,
                why: Refusal::Command,
                what: "there is no program `x`".to_owned(),
            },
        ),
        node(
            3,
            NodeMessage::Started {
                worker: 1,
                at: 2,
                pid: 3,
            },
        ),
        node(
            4,
            NodeMessage::Output {
                worker: 1,
                stream: Stream::Err,
                at: 5,
                bytes: vec![0, 255],
            },
        ),
        node(5, NodeMessage::Sample { bytes: vec![1, 2] }),
        node(
            6,
            NodeMessage::Suspended {
                worker: 0,
                stopped: true,
                at: 9,
            },
        ),
        node(
            7,
            NodeMessage::Reports {
                at: 1,
                bytes: b"{}\n".to_vec(),
            },
        ),
        node(
            8,
            NodeMessage::Exited {
                worker: 1,
                at: 2,
                status: ExitStatus::Signalled(9),
                usage: Usage {
                    cpu_user_s: 1.5,
                    cpu_system_s: 0.5,
                    max_rss_bytes: 4096,
                },
            },
        ),
        node(
            9,
            NodeMessage::Ended {
                run: 7,
                leftovers: 1,
                memory_kills: 2,
                probe: Some((0.25, 10)),
            },
        ),
    ]
}

#[test]
fn whatever_is_said_to_an_agent_is_understood() {
    let mut room = Vec::new();
    for message in to_agent() {
        let header = message.encode(&mut room);
        assert_eq!(ToAgent::from_parts(header.kind.0, &room), Ok(message));
    }
}

#[test]
fn whatever_an_agent_says_is_understood() {
    let mut room = Vec::new();
    for message in from_agent() {
        let header = message.encode(&mut room);
        let decoded = FromAgent::from_parts(header.kind.0, header.fields[0], &room);
        assert_eq!(decoded, Ok(message));
    }
}

#[test]
fn what_is_cut_off_is_refused_and_never_panics() {
    let mut room = Vec::new();
    for message in to_agent() {
        let header = message.encode(&mut room);
        for length in 0..room.len() {
            let cut = ToAgent::from_parts(header.kind.0, &room[..length]);
            assert!(cut.is_err(), "{message:?} cut to {length}");
        }
    }
    for message in from_agent() {
        let header = message.encode(&mut room);
        for length in 0..room.len() {
            // The last field of some messages is whatever is left: no panic.
            let _ = FromAgent::from_parts(header.kind.0, 1, &room[..length]);
        }
    }
}

#[test]
fn a_count_that_cannot_be_is_not_allocated_for() {
    let mut room = Vec::new();
    bytes::Writer(&mut room).long(1).long(u64::MAX);
    assert!(FromAgent::from_parts(0x0203, 0, &room).is_err());
}

#[test]
fn an_unknown_message_is_named() {
    let error = ToAgent::from_parts(0x0999, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "message 0x0999, which nobody sends to an agent"
    );
}
