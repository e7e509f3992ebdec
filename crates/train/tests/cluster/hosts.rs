//! Members that are started elsewhere: here, on threads that the controller
//! knows nothing of and that reach each other by TCP alone.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paceline_train::{
    ClusterOutcome, ClusterSession, Ending, Evaluation, External, Notice, ProgressReport,
    Rendezvous, ServeError, TrainError, Watch, WorkError, serve, work,
};
use paceline_wire::{Address, Credentials, Deadline, Member, Role, Security, Token, connect};

use crate::processes::{PLAN, Plan, run};
use crate::support::bits;

/// An address of this process alone: every address of 127.0.0.0/8 is this
/// host's, and the process's number is in it, so that no test takes a port that
/// another has just found free.
fn address(port: u16) -> Address {
    let pid = std::process::id();
    let [low, middle, high] = [pid & 127, pid >> 7 & 127, pid >> 14];
    Address::Tcp {
        host: format!("127.{}.{middle}.{}", 1 + high, 1 + low),
        port,
    }
}

fn meeting(ports: &[u16], security: Security) -> Rendezvous {
    Rendezvous {
        servers: ports.iter().map(|port| address(*port)).collect(),
        token: Token::random().expect("a token"),
        security,
        wire: Default::default(),
        patience: Duration::from_secs(60),
    }
}

/// Remembers what was told, and does something at the first evaluation.
struct Listening<'a> {
    notices: Vec<String>,
    began: bool,
    at_first: Option<Box<dyn FnOnce() + 'a>>,
}

impl<'a> Listening<'a> {
    fn new(at_first: impl FnOnce() + 'a) -> Self {
        Self {
            notices: Vec::new(),
            began: false,
            at_first: Some(Box::new(at_first)),
        }
    }
}

impl Watch for Listening<'_> {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, _: &Evaluation) {
        if let Some(act) = self.at_first.take() {
            act();
        }
    }

    fn began(&mut self) {
        self.began = true;
    }

    fn noticed(&mut self, notice: &Notice) {
        self.notices.push(notice.to_string());
    }
}

fn train(
    session: &mut ClusterSession,
    meeting: &Rendezvous,
    watch: &mut dyn Watch,
) -> Result<ClusterOutcome, TrainError> {
    session.run_on_processes(meeting, &mut External, &[], watch, &AtomicBool::new(false))
}

/// The bits that a training ends with whose members meet at `meeting`.
fn over_tcp(plan: &Plan, meeting: &Rendezvous) -> Vec<u32> {
    let dir = tempfile::tempdir().expect("a directory");
    // External nobody knows the trainer's files.
    let member = |_: u32| plan.session(Path::new("/nowhere/model.safetensors"));
    std::thread::scope(|scope| {
        // In any order: workers come before their servers.
        for rank in 0..plan.workers {
            scope.spawn(move || work(&member(rank), rank, 0, meeting).expect("it is let in"));
        }
        for rank in 0..plan.servers {
            scope.spawn(move || serve(&member(rank), rank, meeting).expect("it is let in"));
        }
        let mut session = plan.session(&dir.path().join("model.safetensors"));
        let mut watch = Listening::new(|| {});
        let found = train(&mut session, meeting, &mut watch).expect("everybody comes");
        assert_eq!(found.outcome.ending, Ending::Steps);
        assert!(watch.began);
        assert!(found.workers.iter().all(|worker| worker.iterations > 0));
        bits(session.parameters())
    })
}

#[test]
fn tcp_and_tls_carry_the_bits_of_unix_sockets() {
    for (data, optimizer, ports) in [
        ("blobs", "adam", &[7001][..]),
        ("sparse", "adagrad", &[7002, 7003]),
    ] {
        let plan = Plan {
            data,
            optimizer,
            servers: u32::try_from(ports.len()).unwrap(),
            ..PLAN
        };
        let unix = run(&plan, &[]);
        assert!(unix.outcome.is_ok());
        for security in [Security::Plain, Security::Tls] {
            let found = over_tcp(&plan, &meeting(ports, security));
            assert!(found == unix.parameters, "{data}, {security:?}");
        }
    }
}

#[test]
fn a_member_with_other_options_is_refused_and_told_which() {
    let meeting = &meeting(&[7011], Security::Plain);
    let nowhere = Path::new("/nowhere/model.safetensors");
    let other = Plan {
        sync: "async",
        ..PLAN
    };
    std::thread::scope(|scope| {
        let strange = scope.spawn(|| work(&other.session(nowhere), 1, 0, meeting));
        let server = scope.spawn(|| {
            // A server of another training first, then the right one.
            let refused = serve(&other.session(nowhere), 0, meeting);
            (refused, serve(&PLAN.session(nowhere), 0, meeting))
        });
        let workers = scope.spawn(move || {
            // The right workers come when the wrong one has been refused.
            let refused = strange.join().expect("it ends in words");
            std::thread::scope(|scope| {
                for rank in 0..PLAN.workers {
                    let session = PLAN.session(nowhere);
                    scope.spawn(move || work(&session, rank, 0, meeting).expect("it is let in"));
                }
            });
            refused
        });
        let dir = tempfile::tempdir().unwrap();
        let mut session = PLAN.session(&dir.path().join("model.safetensors"));
        let mut watch = Listening::new(|| {});
        let found = train(&mut session, meeting, &mut watch).unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps);
        let (first, second) = server.join().unwrap();
        assert!(
            matches!(&first, Err(ServeError::OtherTraining { difference })
                if difference == "its sync is bsp, not async"),
            "{first:?}"
        );
        assert!(second.is_ok(), "{second:?}");
        let refused = workers.join().unwrap();
        assert!(
            matches!(&refused, Err(WorkError::OtherTraining { worker: 1, difference, .. })
                if difference == "its sync is async, not bsp"),
            "{refused:?}"
        );
        let told = watch.notices.join("; ");
        for who in ["server 0", "worker 1"] {
            let words = format!("{who} trains something else: its sync is async, not bsp");
            assert!(told.contains(&words), "{told}");
        }
    });
}

/// How a worker of `other` is refused by a training of `plan`, which then goes
/// on with its own.
fn refusal(port: u16, plan: &Plan, other: &Plan) -> String {
    let meeting = &meeting(&[port], Security::Plain);
    let nowhere = Path::new("/nowhere/model.safetensors");
    std::thread::scope(|scope| {
        let strange = scope.spawn(|| work(&other.session(nowhere), 1, 0, meeting));
        scope.spawn(|| serve(&plan.session(nowhere), 0, meeting).expect("it is let in"));
        let workers = scope.spawn(move || {
            let refused = strange.join().expect("it ends in words");
            std::thread::scope(|scope| {
                for rank in 0..plan.workers {
                    let session = plan.session(nowhere);
                    scope.spawn(move || work(&session, rank, 0, meeting).expect("it is let in"));
                }
            });
            refused
        });
        let dir = tempfile::tempdir().expect("a directory");
        let mut session = plan.session(&dir.path().join("model.safetensors"));
        let mut watch = Listening::new(|| {});
        let found = train(&mut session, meeting, &mut watch).expect("everybody comes");
        assert_eq!(found.outcome.ending, Ending::Steps);
        let told = watch.notices.join("; ");
        assert!(told.contains("worker 1 trains something else"), "{told}");
        let refused = workers.join().expect("it ends in words");
        refused.expect_err("it must not be let in").to_string()
    })
}

#[test]
fn a_worker_of_another_model_with_the_same_layout_is_refused() {
    let plan = Plan {
        model: "logistic",
        data: "pairs3",
        optimizer: "sgd",
        ..PLAN
    };
    let other = Plan {
        model: "linear-svm",
        ..plan.clone()
    };
    let refused = refusal(7041, &plan, &other);
    let words = "its model is linear-svm, not logistic";
    assert!(refused.ends_with(words), "{refused}");
}

#[test]
fn a_worker_with_other_data_of_the_same_shape_is_refused() {
    let plan = Plan {
        model: "logistic",
        data: "pairs3",
        optimizer: "sgd",
        ..PLAN
    };
    let other = Plan {
        data: "pairs4",
        ..plan.clone()
    };
    let refused = refusal(7042, &plan, &other);
    assert!(refused.contains("its data are "), "{refused}");
    let (theirs, own) = refused.split_once(", not ").expect("both are told");
    let shape = |words: &str| words.split(" with checksum ").next().map(str::to_owned);
    assert!(theirs.ends_with(&*shape(own).expect("a shape")) || own.contains("rows"));
    assert_ne!(theirs, own);
}

#[test]
fn what_is_no_message_closes_its_connection_and_is_named() {
    use paceline_wire::{Header, Kind, Payload};
    let meeting = &meeting(&[7051], Security::Plain);
    let nowhere = Path::new("/nowhere/model.safetensors");
    let dir = tempfile::tempdir().unwrap();
    let mut session = PLAN.session(&dir.path().join("model.safetensors"));
    let soon = || Deadline::after(Duration::from_secs(10));
    let mut watch = Listening::new(|| {
        for (kind, fields, payload) in [
            // Nobody sends this.
            (0x0777, [0; 3], Payload::NONE),
            // A worker reads with one field, not with three.
            (0x0102, [1, 2, 3], Payload::NONE),
            // An update of another model.
            (0x0103, [0; 3], Payload::Dense(&[0.5; 7])),
        ] {
            let me = visitor(Role::Worker, &meeting.token, Security::Plain);
            let mut stranger = connect(&address(7051), &me, &meeting.wire, soon()).unwrap();
            let header = Header::new(Kind(kind)).with_flags(1).with_fields(fields);
            stranger.send(&header, payload).unwrap();
            while stranger.receive(soon()).is_ok() {}
        }
    });
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&PLAN.session(nowhere), 0, meeting).unwrap());
        for rank in 0..PLAN.workers {
            // In a later incarnation than the strangers'.
            scope.spawn(move || work(&PLAN.session(nowhere), rank, 5, meeting).unwrap());
        }
        let found = train(&mut session, meeting, &mut watch).unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps);
    });
    let told = watch.notices.join("; ");
    for words in [
        "server 0 closed the connection of worker 0, which sent message 0x0777",
        "a malformed message `read`",
        "a malformed message `push`: it is of another size",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(bits(session.parameters()) == run(&PLAN, &[]).parameters);
}

/// Somebody who claims to be `me` and has this token.
fn visitor(me: Role, token: &Token, security: Security) -> Credentials {
    Credentials {
        me: Member {
            role: me,
            rank: 0,
            incarnation: 0,
        },
        token: token.clone(),
        security,
    }
}

#[test]
fn strangers_and_second_trainers_are_refused_counted_and_disturb_nobody() {
    for (port, security, cause) in [
        (7021, Security::Plain, "does not know the run's token"),
        (7022, Security::Tls, "failed in TLS"),
    ] {
        let meeting = &meeting(&[port], security);
        let nowhere = Path::new("/nowhere/model.safetensors");
        let dir = tempfile::tempdir().unwrap();
        let mut session = PLAN.session(&dir.path().join("model.safetensors"));
        let soon = || Deadline::after(Duration::from_secs(10));
        let mut watch = Listening::new(|| {
            let call = |who: &Credentials| connect(&address(port), who, &meeting.wire, soon());
            let wrong = Token::random().unwrap();
            for _ in 0..3 {
                let refused = call(&visitor(Role::Worker, &wrong, security));
                assert!(refused.is_err(), "a wrong token must not be let in");
            }
            // One who knows the token is heard, and shown the door.
            let mut second = call(&visitor(Role::Controller, &meeting.token, security)).unwrap();
            assert!(second.receive(soon()).is_err());
        });
        std::thread::scope(|scope| {
            scope.spawn(|| serve(&PLAN.session(nowhere), 0, meeting).unwrap());
            for rank in 0..PLAN.workers {
                scope.spawn(move || work(&PLAN.session(nowhere), rank, 0, meeting).unwrap());
            }
            let found = train(&mut session, meeting, &mut watch).unwrap();
            assert_eq!(found.outcome.ending, Ending::Steps);
        });
        let told = watch.notices.join("; ");
        assert!(told.contains(cause), "{told}");
        assert!(told.contains("server 0 refused 3 connections"), "{told}");
        assert!(bits(session.parameters()) == run(&PLAN, &[]).parameters);
    }
}

#[test]
fn who_does_not_come_in_time_is_named() {
    let hurried = |ports| Rendezvous {
        patience: Duration::from_millis(200),
        ..meeting(ports, Security::Plain)
    };
    let nowhere = Path::new("/nowhere/model.safetensors");

    let alone = hurried(&[7031]);
    let mut session = PLAN.session(nowhere);
    let error = train(&mut session, &alone, &mut Listening::new(|| {})).unwrap_err();
    let named = format!("server 0 at {}; worker 0; worker 1", address(7031));
    assert!(
        matches!(&error, TrainError::Missing { who, .. } if *who == named),
        "{error}"
    );

    let untrained = hurried(&[7032]);
    let error = serve(&PLAN.session(nowhere), 0, &untrained).unwrap_err();
    assert!(
        matches!(error, ServeError::Abandoned { rank: 0, .. }),
        "{error}"
    );
    let error = work(&PLAN.session(nowhere), 0, 0, &untrained).unwrap_err();
    assert!(
        matches!(error, WorkError::Unreached { server: 0, .. }),
        "{error}"
    );

    // Long enough for the server to come.
    let meeting = &Rendezvous {
        patience: Duration::from_secs(2),
        ..meeting(&[7033], Security::Plain)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&PLAN.session(nowhere), 0, meeting));
        let mut session = PLAN.session(nowhere);
        let error = train(&mut session, meeting, &mut Listening::new(|| {})).unwrap_err();
        assert!(
            matches!(&error, TrainError::Missing { who, .. } if who == "worker 0; worker 1"),
            "{error}"
        );
    });
}
