//! Strangers at the doors of a training's members.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paceline_train::{Ending, Evaluation, ProgressReport, Watch};
use paceline_wire::{Address, Member, Role, Security, Token};

use crate::processes::{Children, PLAN, Plan, Told, meeting, on_threads_instead};
use crate::support::bits;

/// Disturbs the first server as soon as the training evaluates.
struct Disturbing<'a> {
    told: Told,
    server: &'a Path,
    strangers: Vec<std::os::unix::net::UnixStream>,
}

impl Watch for Disturbing<'_> {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, evaluation: &Evaluation) {
        for bytes in [&b""[..], b"GET / HTTP/1.0\r\n\r\n", &[0xff; 4096]] {
            let mut stranger =
                std::os::unix::net::UnixStream::connect(self.server).expect("a server listens");
            // It may be shown the door before it has said everything.
            let _ = stranger.write_all(bytes);
            self.strangers.push(stranger);
        }
        let wrong = paceline_wire::Credentials {
            me: Member {
                role: Role::Worker,
                rank: 0,
                incarnation: 7,
            },
            token: Token::random().expect("a token"),
            security: Security::Plain,
        };
        let refused = paceline_wire::connect(
            &Address::Unix(self.server.to_owned()),
            &wrong,
            &Default::default(),
            paceline_wire::Deadline::after(Duration::from_secs(10)),
        );
        assert!(refused.is_err(), "a wrong token must not be let in");
        self.told.evaluated(evaluation);
    }
}

fn disturbed_by_strangers(plan: &Plan) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("model.safetensors");
    let token = Token::random().expect("a token");
    let mut session = plan.session(&path);
    let mut crew = Children::new(plan, dir.path(), &token);
    let mut watch = Disturbing {
        told: Told::default(),
        server: &dir.path().join("sockets/server0"),
        strangers: Vec::new(),
    };
    let meeting = meeting(dir.path(), plan.servers, token);
    let found = session
        .run_on_processes(
            &meeting,
            &mut crew,
            &[],
            &mut watch,
            &AtomicBool::new(false),
        )
        .expect("nobody is lost");
    assert_eq!(found.outcome.ending, Ending::Steps);
    assert_eq!(watch.told.evaluations.len(), 3);
    assert!(bits(session.parameters()) == on_threads_instead(plan));
}

#[test]
fn strangers_do_not_disturb_a_training() {
    disturbed_by_strangers(&PLAN);
}

#[test]
fn strangers_do_not_disturb_workers_that_meet_at_the_trainer() {
    disturbed_by_strangers(&Plan {
        sync: "allreduce",
        ..PLAN
    });
}
