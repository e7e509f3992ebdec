//! `paceline train --spawn hosts`: members that are started by hand, killed,
//! stopped and started again.

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use support::members::{BLOBS, Talking, Trainer, address, bits, process};
use support::{paceline, run, signal};

/// A training of 300 steps. Frames that travel for 3 ms make it last long
/// enough to be disturbed on the way.
const JOB: [&str; 8] = [
    "train",
    "mlp:16",
    BLOBS,
    "--batch-size=8",
    "--threads=1",
    "--epochs=12",
    "--eval-every=10",
    "--workers=2",
];
const SLOWLY: &str = "--delay=3ms";

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&JOB[..], more].concat()
}

/// The bits of the same training on threads, undisturbed.
fn calm(dir: &Path) -> Vec<u32> {
    let ran = run(dir, words(&["--out=calm"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    bits(&dir.join("calm"))
}

#[test]
fn members_that_are_killed_and_started_again_by_hand_end_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let at = format!("--at={}", address(7101));
    let hosts = [
        SLOWLY,
        "--spawn=hosts",
        &at,
        "--token-file=token",
        "--tls",
        "--wait=60s",
    ];
    let command = paceline(dir, words(&[&hosts[..], &["--out=r"]].concat()));
    let mut trainer = Trainer::start(command, 3);
    let mode = std::fs::metadata(dir.join("token")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);

    let mut server = trainer.member(dir, "server 0");
    // One with another token is told so, and the others are not disturbed.
    std::fs::write(dir.join("wrong"), "0".repeat(64)).unwrap();
    std::fs::set_permissions(dir.join("wrong"), PermissionsExt::from_mode(0o600)).unwrap();
    let stranger = trainer.command_for(dir, "worker 0", |line| {
        line.replace("--token-file=token", "--token-file=wrong")
    });
    let mut stranger = Talking::start(stranger);
    assert_eq!(stranger.end().0, Some(3));
    assert!(
        stranger.complaints().contains("TLS failed"),
        "{}",
        stranger.complaints()
    );

    let mut workers = ["worker 0", "worker 1"].map(|member| trainer.member(dir, member));
    trainer.talk.until("epoch");
    workers[1].signal("KILL");
    assert_eq!(workers[1].end().1, Some(9), "it was killed on the way");
    trainer.talk.until("worker1 is lost");
    trainer.talk.until("missing: worker 1");
    workers[1] = trainer.member(dir, "worker 1");
    trainer.talk.until("nobody is missing any more");

    trainer.talk.until("epoch");
    server.signal("KILL");
    assert_eq!(server.end().1, Some(9), "it was killed on the way");
    trainer.talk.until("server0 is lost");
    trainer.talk.until("missing: server 0");
    let mut server = trainer.member(dir, "server 0");
    trainer.talk.until("server0 goes on from step");

    let ended = trainer.talk.end();
    assert_eq!(ended.0, Some(0), "{}", trainer.talk.complaints());
    for member in workers.iter_mut().chain([&mut server]) {
        assert_eq!(member.end().0, Some(0), "{}", member.complaints());
        assert!(member.said.contains("the training has ended"));
    }
    assert!(bits(&dir.join("r")) == calm(dir));
}

#[test]
fn a_trainer_that_died_is_followed_by_another_and_the_members_stay() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // The members are where none of the trainer's files are but the token.
    let elsewhere = dir.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let at = format!("--at={}", address(7106));
    let hosts = [
        SLOWLY,
        "--spawn=hosts",
        &at,
        "--token-file=token",
        "--wait=60s",
        "--checkpoint-every=10",
    ];
    let command = paceline(dir, words(&[&hosts[..], &["--out=first"]].concat()));
    let mut trainer = Trainer::start(command, 3);
    std::fs::copy(dir.join("token"), elsewhere.join("token")).unwrap();
    let mut members =
        ["server 0", "worker 0", "worker 1"].map(|member| trainer.member(&elsewhere, member));
    // The checkpoint of one evaluation is written before the next begins.
    trainer.talk.until("epoch");
    trainer.talk.until("epoch");
    signal(process(dir, &["trainer"]), "KILL");
    assert_ne!(trainer.talk.end().0, Some(0), "it was killed on the way");

    let more = ["--resume=first", "--out=second"];
    let ran = run(dir, words(&[&hosts[..], &more].concat()));
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    for member in &mut members {
        assert_eq!(member.end().0, Some(0), "{}", member.complaints());
    }
    assert!(bits(&dir.join("second")) == calm(dir));
}

#[test]
fn a_server_listens_exactly_where_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let at = address(7107);
    let (host, port) = at.rsplit_once(':').unwrap();
    let reached = format!("--at=tcp://localhost:{port}");
    let hosts = ["--spawn=hosts", &reached, "--token-file=token", "--wait=1s"];
    let command = paceline(dir, words(&[&hosts[..], &["--out=r"]].concat()));
    let mut trainer = Trainer::start(command, 3);
    let bound = trainer.command_for(dir, "server 0", |line| format!("{line} --bind={at}"));
    let mut server = Talking::start(bound);
    server.until(&format!("listens at {host}:{port}"));
    // It listens exactly where it was told, and thus not at localhost.
    assert_eq!(trainer.talk.end().0, Some(3));
    let complaints = trainer.talk.complaints();
    assert!(
        complaints.contains("missing after 1 s: server 0 at tcp://localhost"),
        "{complaints}"
    );
    assert_eq!(server.end().0, Some(3), "no trainer came");
}

#[test]
fn workers_without_a_server_that_are_killed_and_started_again_end_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let at = format!("--at={}", address(7108));
    let hosts = [
        SLOWLY,
        "--sync=allreduce",
        "--spawn=hosts",
        &at,
        "--token-file=token",
        "--tls",
        "--wait=60s",
        "--out=r",
    ];
    let mut trainer = Trainer::start(paceline(dir, words(&hosts)), 2);
    let mut workers = ["worker 0", "worker 1"].map(|member| trainer.member(dir, member));
    for rank in [1, 0] {
        trainer.talk.until("epoch");
        workers[rank].signal("KILL");
        assert_eq!(workers[rank].end().1, Some(9), "it was killed on the way");
        let member = format!("worker {rank}");
        trainer.talk.until(&format!("{member} is lost"));
        trainer.talk.until(&format!("missing: {member}"));
        workers[rank] = trainer.member(dir, &member);
        trainer.talk.until("go on together from step");
    }
    let ended = trainer.talk.end();
    assert_eq!(ended.0, Some(0), "{}", trainer.talk.complaints());
    for member in &mut workers {
        assert_eq!(member.end().0, Some(0), "{}", member.complaints());
        assert!(member.said.contains("the training has ended"));
    }
    // Two workers' sums have the bits of a server's.
    assert!(bits(&dir.join("r")) == calm(dir));
}

#[test]
fn a_trainer_that_gives_up_on_a_lost_worker_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let at = format!("--at={}", address(7102));
    let hosts = [
        SLOWLY,
        "--spawn=hosts",
        &at,
        "--token-file=token",
        "--on-worker-loss=fail",
        "--wait=60s",
        "--out=r",
    ];
    let mut trainer = Trainer::start(paceline(dir, words(&hosts)), 3);
    let mut server = trainer.member(dir, "server 0");
    let mut workers = ["worker 0", "worker 1"].map(|member| trainer.member(dir, member));
    trainer.talk.until("epoch");
    workers[1].signal("KILL");
    assert_eq!(workers[1].end().1, Some(9), "it was killed on the way");
    assert_eq!(trainer.talk.end().0, Some(3));
    let complaints = trainer.talk.complaints();
    assert!(
        complaints.contains("worker 1 is lost: its connection broke"),
        "{complaints}"
    );
    // The others are sent home.
    assert_eq!(workers[0].end().0, Some(0));
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn processes_over_tcp_and_tls_end_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (
        format!("--at={}", address(7103)),
        format!("--at={}", address(7104)),
    );
    let more = [
        "--spawn=processes",
        "--servers=2",
        &first,
        &second,
        "--tls",
        "--out=tcp",
    ];
    let ran = run(dir.path(), words(&more));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(bits(&dir.path().join("tcp")) == calm(dir.path()));
}

#[test]
fn whoever_listens_to_the_world_without_tls_is_told() {
    let dir = tempfile::tempdir().unwrap();
    // Every address of the host is taken, so the port must be the test's alone.
    let port = 20_000 + std::process::id() % 10_000;
    let open = format!("--at=tcp://0.0.0.0:{port}");
    let here = format!("--at={}", address(7108));
    let cases = [
        (vec![&*open, "--out=a"], true),
        (vec![&*open, "--tls", "--out=b"], false),
        (vec![&*here, "--out=c"], false),
    ];
    for (more, is_told) in cases {
        let ran = run(
            dir.path(),
            words(&[&["--spawn=processes"], &more[..]].concat()),
        );
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let notice = "notice: without --tls, who can read this network";
        assert_eq!(ran.out.contains(notice), is_told, "{more:?}: {}", ran.out);
    }
}

#[test]
fn with_and_without_tls_is_said_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for (number, (trainer_says, worker_says)) in
        [("", "--tls"), ("--tls", "")].into_iter().enumerate()
    {
        let at = format!("--at={}", address(7109 + number as u16));
        let out = format!("--out=r{number}");
        let hosts = [
            "--spawn=hosts",
            &at,
            "--token-file=token",
            "--wait=60s",
            &out,
        ];
        let given: Vec<&str> = [&hosts[..], &[trainer_says]]
            .concat()
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        let command = paceline(dir, words(&given));
        let mut trainer = Trainer::start(command, 3);
        let mut server = trainer.member(dir, "server 0");
        let stranger = trainer.command_for(dir, "worker 0", |line| match trainer_says {
            "" => format!("{line} {worker_says}"),
            _ => line.replace("--tls", ""),
        });
        // Had it tried until its patience ended, the trainer's would have, too.
        let mut stranger = Talking::start(stranger);
        assert_eq!(stranger.end().0, Some(3));
        let told = stranger.complaints();
        assert!(
            told.contains("--tls is for all members or for none"),
            "{told}"
        );
        trainer.talk.until("TLS, which this training does");
        trainer.talk.signal("INT");
        trainer.talk.end();
        server.end();
    }
}

/// Stops worker 1 of a training on processes; gives the training.
fn stopped(dir: &Path, policy: &str) -> (Talking, u32) {
    let policy = format!("--on-worker-loss={policy}");
    let more = [
        SLOWLY,
        "--spawn=processes",
        "--failure-timeout=500ms",
        &policy,
        "--out=r",
    ];
    let mut trainer = Talking::start(paceline(dir, words(&more)));
    trainer.until("epoch");
    let pid = process(dir, &["worker", "--rank", "1"]);
    signal(pid, "STOP");
    (trainer, pid)
}

#[test]
fn a_worker_that_hangs_is_named_and_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (mut trainer, pid) = stopped(dir.path(), "wait");
    let lost = trainer.until("worker1 is lost");
    assert!(lost.contains("silent"), "{lost}");
    let hang = trainer.until("worker0 waits to start iteration");
    assert!(hang.contains("for worker1, last seen at clock"), "{hang}");
    signal(pid, "CONT");
    assert_eq!(trainer.end().0, Some(0), "{}", trainer.complaints());
    assert!(bits(&dir.path().join("r")) == calm(dir.path()));
}

#[test]
fn a_worker_that_hangs_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (mut trainer, _) = stopped(dir.path(), "replace");
    trainer.until("worker1 is lost");
    trainer.until("is started again");
    assert_eq!(trainer.end().0, Some(0), "{}", trainer.complaints());
    assert!(bits(&dir.path().join("r")) == calm(dir.path()));
}

#[test]
fn a_worker_that_hangs_ends_a_training_that_must_not_lose_it() {
    let dir = tempfile::tempdir().unwrap();
    let (mut trainer, pid) = stopped(dir.path(), "fail");
    assert_eq!(trainer.end().0, Some(3));
    let complaints = trainer.complaints();
    // Whoever stopped is killed; its silence or its end may be noticed first.
    assert!(complaints.contains("worker 1 is lost: "), "{complaints}");
    assert!(
        complaints.contains("it was silent") || complaints.contains("worker 1 has been stopped"),
        "{complaints}"
    );
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "it is gone");
}

#[test]
fn members_that_could_not_meet_are_refused_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("open"), "0".repeat(64)).unwrap();
    std::fs::set_permissions(dir.join("open"), PermissionsExt::from_mode(0o644)).unwrap();
    let at = "--at=tcp://127.0.0.1:7105";
    for (more, what) in [
        (&["--spawn=hosts"][..], "need 1 addresses, not 0"),
        (&["--spawn=hosts", at], "needs --token-file"),
        (&["--spawn=hosts", at, at], "need 1 addresses, not 2"),
        (
            &["--spawn=hosts", "--servers=2", at, at],
            "one server listens there",
        ),
        (
            &["--spawn=hosts", "--at=tcp://127.0.0.1:0"],
            "nobody would know the port",
        ),
        (&["--spawn=hosts", "--at=7105"], "starts with neither"),
        (
            &["--spawn=hosts", at, "--on-worker-loss=replace"],
            "members that the trainer starts",
        ),
        (
            &["--spawn=hosts", at, "--kill=worker0@1s"],
            "needs --spawn processes",
        ),
        (&["--spawn=processes", "--tls"], "--tls needs --at"),
        (
            &["--spawn=processes", "--token-file=t"],
            "needs --spawn hosts",
        ),
        (&["--tls"], "needs workers that are processes"),
    ] {
        let ran = run(dir, words(more));
        ran.fails(2, what);
        assert!(!dir.join("runs").exists(), "{more:?}");
    }
    let more = ["--spawn=hosts", at, "--token-file=open", "--out=r"];
    let ran = run(dir, words(&more));
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(
        ran.err.contains("others may read the token file"),
        "{}",
        ran.err
    );
}
