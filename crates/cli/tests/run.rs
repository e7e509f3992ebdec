//! `paceline run`, `show`, `ls`, `export` as a user meets them.

mod support;

use paceline_model::{EventKind, Outcome};
use paceline_records::{Run, State};
use std::path::Path;
use support::run;

const RUN: [&str; 4] = ["run", "--quiet", "--out", "r"];

fn sh<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let mut words = RUN.to_vec();
    words.extend(options);
    words.extend(["--", "sh", "-c", script]);
    words
}

fn open(dir: &Path) -> Run {
    Run::open(&dir.join("r")).expect("the record opens")
}

fn metrics(dir: &Path) -> Vec<(String, Option<u64>, f64)> {
    let events = open(dir).events().expect("events can be read");
    let metrics = events
        .into_iter()
        .filter(|event| event.kind == EventKind::Metric);
    metrics
        .map(|event| (event.name, event.step, event.value.unwrap_or(f64::NAN)))
        .collect()
}

#[test]
fn output_stdin_and_exit_code_pass_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = support::paceline(
        dir.path(),
        sh(&[], "read x; echo got $x; echo oops >&2; exit 7"),
    );
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"fish\n").unwrap();
    let ran = support::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(7), "got fish\n", "oops\n")
    );
    assert_eq!(
        open(dir.path()).manifest().end.as_ref().unwrap().outcome,
        Outcome::Exited(7)
    );
}

#[test]
fn the_verdict_comes_from_the_record_and_show_prints_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(
        dir.path(),
        ["run", "--out", "r", "--", "sh", "-c", "echo out"],
    );
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "out\n"));
    assert!(ran.err.lines().count() <= 17, "{}", ran.err);
    let shown = run(dir.path(), ["show", "r"]);
    let body = |text: &str| {
        text.trim()
            .lines()
            .map(str::to_owned)
            .filter(|line| !line.starts_with("record"))
            .collect::<Vec<_>>()
    };
    assert_eq!(body(&ran.err), body(&shown.out));
}

#[test]
fn metrics_come_from_what_frameworks_print_for_people() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
        echo 'Train Epoch: 1 [0/60000 (0%)] Loss: 2.25'
        echo 'Test set: Average loss: 0.5, Accuracy: 9000/10000 (90%)'
        printf 'Epoch 2: 100%%|###| 5/5 [00:01<00:00, 4.2it/s, loss=0.25]\r' >&2
    "#;
    let never = "never=no such line ([0-9]+)";
    let ran = run(dir.path(), sh(&["--metric", never], script));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut found = metrics(dir.path());
    found.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let expected = [
        ("loss", 2, 0.25),
        ("test_accuracy", 1, 0.9),
        ("test_loss", 1, 0.5),
        ("train_loss", 1, 2.25),
    ];
    let expected = expected.map(|(name, step, value)| (name.to_owned(), Some(step), value));
    assert_eq!(found, expected);
    // A pattern that found nothing is said, not passed over.
    let said = "the pattern of metric never matched no line of the output";
    let notices = run(dir.path(), ["show", "r", "--format", "json"]).out;
    assert!(notices.contains(said), "{notices}");
    let shown = run(dir.path(), ["show", "r"]).out;
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains(said), "{shown}");
}

#[test]
fn event_files_that_appear_are_metrics_and_a_damaged_one_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runner/oracle/tensorboard");
    let from = oracle.canonicalize().unwrap();
    // What the command reports itself under a name is not said twice.
    let script = format!(
        "echo '{{\"step\": 3, \"double\": 7}}'; mkdir -p logs/a logs/b; \
         cp {0}/tensorflow2.tfevents logs/a/events.out.tfevents.1.host; \
         cp {0}/tensorboardx.tfevents logs/b/events.out.tfevents.2.host; \
         printf damaged | dd of=logs/b/events.out.tfevents.2.host bs=1 seek=200 conv=notrunc",
        from.display()
    );
    let ran = run(dir.path(), sh(&[], &script));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let found = metrics(dir.path());
    for expected in [
        ("epoch_loss".to_owned(), Some(3), 0.5),
        ("int64".to_owned(), Some(7), 2_f64.powi(40)),
        ("double".to_owned(), Some(3), 7.0),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert_eq!(found.iter().filter(|it| it.0 == "double").count(), 1);
    let shown = run(dir.path(), ["show", "r"]);
    assert!(
        shown.out.contains("tfevents.2.host is damaged at byte"),
        "{}",
        shown.out
    );
}

#[test]
fn metrics_come_from_json_lines_the_file_and_patterns() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
        echo '{"step": 1, "loss": 0.5}'
        echo '{"step": 1, "accuracy": 0.75}' >> "$PACELINE_EVENTS"
        echo 'epoch 1: val_loss=0.625' >&2
        printf '{"step": 2, "loss": NaN}'
    "#;
    let ran = run(
        dir.path(),
        sh(&["--metric", "val=val_loss=([0-9.]+)"], script),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut found = metrics(dir.path());
    found.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    assert_eq!(found[0], ("accuracy".into(), Some(1), 0.75));
    assert_eq!(found[1], ("loss".into(), Some(1), 0.5));
    assert!(found[2].0 == "loss" && found[2].2.is_nan());
    assert_eq!(found[3], ("val".into(), Some(1), 0.625));
    let responses = &open(dir.path()).manifest().end.clone().unwrap().responses;
    assert_eq!(responses["accuracy"], 0.75);
}

#[test]
fn binary_output_and_endless_lines_are_kept_and_do_not_confuse_it() {
    let dir = tempfile::tempdir().unwrap();
    let script = "head -c 300000 /dev/urandom; head -c 300000 /dev/zero | tr '\\0' x; echo; echo '{\"ok\": 1}'";
    let ran = run(dir.path(), sh(&[], script));
    assert_eq!(ran.code, Some(0));
    assert!(
        metrics(dir.path())
            .iter()
            .any(|(name, _, value)| name == "ok" && *value == 1.0)
    );
    let out = open(dir.path())
        .logs()
        .unwrap()
        .iter()
        .map(|log| log.summary.written_bytes)
        .max();
    assert!(out.unwrap() >= 600_000);
}

#[test]
fn a_flood_of_output_is_bounded_on_disk_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = support::paceline(dir.path(), sh(&[], "head -c 300000000 /dev/zero"));
    let status = command
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let logs = open(dir.path()).logs().unwrap();
    let flood = logs
        .iter()
        .find(|log| log.summary.written_bytes == 300_000_000)
        .unwrap();
    assert!(flood.summary.dropped_bytes >= 300_000_000 - (64 << 20) - (1 << 20));
}

#[test]
fn a_daemon_does_not_hold_the_run_and_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(
        dir.path(),
        sh(
            &[],
            "setsid sleep 20 >/dev/null 2>&1 & echo $! > pid; exit 0",
        ),
    );
    assert_eq!(ran.code, Some(0));
    let manifest = open(dir.path()).manifest().clone();
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    let alive = Path::new("/proc").join(pid.trim()).exists();
    assert!(alive, "a daemon of the user's is left alone");
    let told = manifest
        .end
        .unwrap()
        .notices
        .iter()
        .any(|notice| notice.name == "leftover_processes");
    // Without a cgroup nobody can tell whose a process is that left its session.
    let has_groups = run(dir.path(), ["doctor"])
        .out
        .contains("yes  cgroup of its own");
    assert_eq!(told, has_groups);
    support::kill_noted(pid.trim());
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(
        dir.path(),
        sh(&["--timeout", "300ms"], "echo begun; exec sleep 600"),
    );
    assert_eq!((ran.code, ran.out.as_str()), (Some(124), "begun\n"));
    assert_eq!(
        open(dir.path()).manifest().end.as_ref().unwrap().outcome,
        Outcome::TimedOut
    );
}

#[test]
fn an_interrupt_closes_the_record_and_exits_130() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = support::paceline(dir.path(), sh(&[], "echo ready; exec sleep 600"));
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    support::await_line(child.stdout.as_mut().unwrap());
    support::signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = open(dir.path());
    assert_eq!(run.state(), State::Finished);
    assert_eq!(
        run.manifest().end.as_ref().unwrap().outcome,
        Outcome::Cancelled
    );
}

#[test]
fn cpus_and_threads_are_what_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let script = "nproc; echo $OMP_NUM_THREADS; echo $NAME";
    let ran = run(
        dir.path(),
        sh(&["--cpus", "1", "--env", "NAME=value"], script),
    );
    assert_eq!(ran.out, "1\n1\nvalue\n", "{}", ran.err);
}

#[test]
fn bad_input_is_told_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let check = |args: &[&str], code: i32, what: &str| run(dir.path(), args).fails(code, what);
    check(
        &["run", "--", "no-such-program"],
        2,
        "there is no program `no-such-program`",
    );
    check(
        &["run", "--", "/etc/passwd"],
        2,
        "`/etc/passwd` cannot be executed",
    );
    check(&["run", "--interval", "0", "--", "true"], 2, "interval");
    check(&["run", "--interval", "50ms", "--", "true"], 2, "interval");
    check(
        &["run", "--interval", "soon", "--", "true"],
        2,
        "is not a time",
    );
    check(
        &["run", "--memory", "much", "--", "true"],
        2,
        "is not a size",
    );
    check(&["run", "--cpus", "9999", "--", "true"], 2, "9999 cpus");
    check(
        &["run", "--metric", "acc=(", "--", "true"],
        2,
        "cannot be read",
    );
    check(
        &["run", "--env", "=x", "--", "true"],
        2,
        "is not NAME=VALUE",
    );
    check(
        &["run", "--out", "a b", "--", "true"],
        2,
        "cannot be in a run id",
    );
    check(&["run"], 2, "CMD");
    check(
        &["show", "nothing-here"],
        2,
        "there is no run `nothing-here`",
    );
    check(&["ls", "nothing-here"], 2, "does not exist");
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 0, "a mistake leaves no record");
}

#[test]
fn a_record_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), sh(&[], "true")).code, Some(0));
    let before = std::fs::read(dir.path().join("r/manifest.json")).unwrap();
    run(dir.path(), sh(&[], "true")).fails(2, "is not empty");
    assert_eq!(
        std::fs::read(dir.path().join("r/manifest.json")).unwrap(),
        before
    );
}

#[test]
fn two_runs_into_one_directory_the_second_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = support::paceline(dir.path(), sh(&[], "echo ready; exec sleep 600"));
    let mut first = first.stdout(std::process::Stdio::piped()).spawn().unwrap();
    support::await_line(first.stdout.as_mut().unwrap());
    run(dir.path(), sh(&[], "true")).fails(2, "another run is being recorded");
    let shown = run(dir.path(), ["show", "r"]);
    assert!(
        shown.out.contains("runs"),
        "a live run can be looked at: {}",
        shown.out
    );
    support::signal(first.id(), "TERM");
    assert_eq!(first.wait().unwrap().code(), Some(130));
}

#[test]
fn records_that_cannot_be_trusted_are_refused_with_code_4() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), sh(&[], "echo x")).code, Some(0));
    let manifest = dir.path().join("r/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();

    let node = open(dir.path()).nodes().unwrap()[0].to_string();
    let table = dir.path().join(format!("r/samples/{node}.parquet"));
    let whole = std::fs::read(&table).unwrap();
    for damaged in [
        &whole[..whole.len() / 2],
        b"PAR1 is not enough PAR1".as_slice(),
        b"",
    ] {
        std::fs::write(&table, damaged).unwrap();
        let ran = run(dir.path(), ["show", "r"]);
        ran.fails(4, &format!("{node}.parquet"));
    }
    std::fs::write(&table, &whole).unwrap();

    let newer = text.replacen("\"format_version\": 2", "\"format_version\": 99", 1);
    assert_ne!(newer, text, "the manifest states its version");
    std::fs::write(&manifest, newer).unwrap();
    run(dir.path(), ["show", "r"]).fails(4, "manifest.json is damaged");
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    run(dir.path(), ["show", "r"]).fails(4, "manifest.json");
    std::fs::write(&manifest, &text).unwrap();
    assert_eq!(run(dir.path(), ["show", "r"]).code, Some(0));
}

#[test]
fn an_export_has_the_columns_of_the_record() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        run(dir.path(), sh(&[], "echo '{\"loss\": 1}'; sleep 0.2")).code,
        Some(0)
    );
    let ran = run(
        dir.path(),
        ["export", "r", "--to", "csv", "--out", "tables"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let events = std::fs::read_to_string(dir.path().join("tables/events.csv")).unwrap();
    assert!(
        events.starts_with("time,elapsed_s,worker,kind,step,name,value,text"),
        "{events}"
    );
    assert!(events.contains("loss"));
    assert_eq!(ran.out.lines().count(), 3, "{}", ran.out);
}

#[test]
fn ls_lists_runs_and_says_which_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        let out = format!("runs/{name}");
        let ran = run(dir.path(), ["run", "--quiet", "--out", &out, "--", "true"]);
        assert_eq!(ran.code, Some(0));
    }
    std::fs::write(dir.path().join("runs/two/manifest.json"), "{").unwrap();
    let listed = run(dir.path(), ["ls"]);
    assert_eq!(listed.code, Some(0));
    assert!(
        listed.out.contains("one") && listed.out.contains("done"),
        "{}",
        listed.out
    );
    assert!(listed.out.contains("unreadable"), "{}", listed.out);
}
