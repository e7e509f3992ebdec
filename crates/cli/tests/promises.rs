//! `pick --run` and `promises`: what is promised is run, held against what came,
//! and neither lost nor made twice wherever Paceline is killed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use paceline_records::study::{Ledger, LedgerEntry, Outcome, Promise, PromisedValue};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use support::{Ran, paceline, run, signal};

/// Six configurations, each run twice. What a run reports follows from its levels,
/// its seed and the file `slower`; every run leaves a line in `count`.
const STUDY: &str = r#"
name = "a law with a little scatter"
[job]
command = ["sh", "train.sh", "{batch_size}", "{sync}", "{seed}", "{epochs}"]
[factors]
batch_size = [64, 128, 256]
sync = ["bsp", "async"]
[fixed]
epochs = 6
[design]
kind = "full"
replicates = 2
[responses]
time = "seconds"
accuracy = "accuracy"
"#;

const COMMAND: &str = r#"
echo "$1 $2 $4" >> count
while test -e hold; do sleep 0.05; done
test -e fail && exit 3
awk -v batch="$1" -v sync="$2" -v seed="$3" -v epochs="$4" -v slower="$(cat slower 2>/dev/null || echo 1)" 'BEGIN {
    srand(seed)
    each = slower * (sync == "async" ? 0.8 : 1) * (2 + 600 / batch) * (1 + 0.02 * (rand() - 0.5))
    for (epoch = 1; epoch <= epochs; epoch++) {
        accuracy = 0.97 - 0.0002 * batch - 0.1 / epoch + 0.002 * (rand() - 0.5)
        printf "{\"epoch\": %d, \"accuracy\": %.4f, \"seconds\": %.3f}\n", epoch, accuracy, each * epoch / 6
    }
}'
"#;

fn study(dir: &Path) {
    study_of(dir, STUDY);
}

fn study_of(dir: &Path, text: &str) {
    fs::write(dir.join("s.toml"), text).unwrap();
    fs::write(dir.join("train.sh"), COMMAND).unwrap();
    let ran = run(dir, ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// How many runs were made.
fn count(dir: &Path) -> usize {
    fs::read_to_string(dir.join("count"))
        .unwrap()
        .lines()
        .count()
}

const PICK: [&str; 4] = ["pick", "s.study", "--slo=6s", "--maximize=accuracy"];

fn pick(dir: &Path, more: &[&str]) -> Ran {
    run(dir, [&PICK[..], &["--run", "--quiet"], more].concat())
}

/// The same with another deadline.
fn pick_within(dir: &Path, slo: &str, more: &[&str]) -> Ran {
    let words = [
        "pick",
        "s.study",
        "--slo",
        slo,
        "--maximize=accuracy",
        "--run",
        "--quiet",
    ];
    run(dir, [&words[..], more].concat())
}

fn promises(dir: &Path) -> Value {
    let ran = run(dir, ["promises", "s.study", "--format=json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

fn ledger(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("s.study/promises.jsonl")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn without_last_line(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    fs::write(path, &text[..text.len() - last.len() - 1]).unwrap();
    last
}

#[test]
fn a_pick_is_promised_run_and_held_against_what_came() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    // Without --run nothing is written, and the command is there to be pasted.
    let asked = run(dir.path(), PICK);
    assert_eq!(asked.code, Some(0), "{}", asked.err);
    let command = "\n  paceline pick s.study --slo=6s --maximize=accuracy --run\n";
    assert!(asked.out.contains(command), "{}", asked.out);
    assert!(!dir.path().join("s.study/promises.jsonl").exists());
    assert_eq!(
        promises(dir.path())["sentences"][0],
        "Nothing has been promised yet."
    );

    let ran = pick(dir.path(), &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(count(dir.path()), 13);
    assert!(
        ran.out
            .contains("p0001 kept: batch_size=128, sync=async (run r13, learned from 12 runs"),
        "{}",
        ran.out
    );
    let found = promises(dir.path());
    assert_eq!((&found["kept"], &found["open"]), (&1.into(), &0.into()));
    let held = &found["promises"][0];
    assert_eq!(held["limits"][0]["kept"], true, "{held:#}");
    assert_eq!(held["configuration"]["batch_size"], "128");
    let came = held["predictions"][1]["came"].as_f64().unwrap();
    assert!((5.2..5.6).contains(&came), "{held:#}");

    // The run is one of the study's: counted, shown and learned from.
    let status = run(dir.path(), ["study", "status", "s.study"]);
    assert!(status.out.contains("13 of 13 runs done"), "{}", status.out);
    let predicted = run(dir.path(), ["predict", "s.study", "--responses=time"]);
    assert!(predicted.out.starts_with("13 runs of"), "{}", predicted.out);
    let analyzed = run(dir.path(), ["analyze", "s.study", "--response=time"]);
    assert_eq!(analyzed.code, Some(0), "{}", analyzed.err);
    let again = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(count(dir.path()), 13, "study run has nothing left to do");

    // The same question of the same runs is the same promise.
    let same = pick(dir.path(), &[]);
    assert_eq!(same.code, Some(0), "{}", same.err);
    assert!(same.err.contains("this was asked before"), "{}", same.err);
    assert_eq!((count(dir.path()), ledger(dir.path()).len()), (13, 2));
    // The study's file stands for its directory.
    let by_file = ["pick", "s.toml", "--slo=6s", "--maximize=accuracy", "--run"];
    let same = run(dir.path(), by_file);
    assert!(same.err.contains("this was asked before"), "{}", same.err);
    assert_eq!(run(dir.path(), ["promises", "s.toml"]).code, Some(0));
    assert_eq!(count(dir.path()), 13);
    // Another question, or the same on purpose, is another.
    let other = pick(dir.path(), &["--confidence=0.9"]);
    assert_eq!(other.code, Some(0), "{}{}", other.out, other.err);
    let again = pick(dir.path(), &["--again"]);
    assert!(again.out.contains("p0003 "), "{}", again.out);
    assert_eq!((count(dir.path()), ledger(dir.path()).len()), (15, 6));

    // The page shows the same from the same answer.
    let page = run(dir.path(), ["report", "s.study", "--format=json"]);
    let page: Value = serde_json::from_str(&page.out).unwrap();
    assert_eq!(page["promises"], {
        let mut found = promises(dir.path());
        found["source"] = page["promises"]["source"].clone();
        // The page's answer has one version for all its parts.
        found.as_object_mut().unwrap().remove("version");
        found
    });
    let html = fs::read_to_string(dir.path().join("s.study/report.html")).unwrap();
    for sentence in promises(dir.path())["sentences"].as_array().unwrap() {
        assert!(html.contains(sentence.as_str().unwrap()), "{sentence}");
    }
}

/// Takes back, one by one, what the last part of a `pick --run` has written, as a kill
/// between any two of its writes leaves it: the same command ends as if nothing had
/// happened.
#[test]
fn wherever_it_is_killed_the_same_command_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    let at = |name: &str| dir.path().join("s.study").join(name);
    let plan_before = fs::read(at("plan.json")).unwrap();
    let first = pick(dir.path(), &[]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let whole = ledger(dir.path());
    let ends = |what: &str, runs: usize| {
        let ran = pick(dir.path(), &[]);
        assert_eq!(ran.code, Some(0), "{what}: {}", ran.err);
        assert!(ran.out.contains("p0001 kept"), "{what}: {}", ran.out);
        let now = ledger(dir.path());
        assert_eq!(now.len(), 2, "{what}: {now:?}");
        assert_eq!(now[0], whole[0], "{what}");
        assert_eq!(count(dir.path()), runs, "{what}");
        let status = run(dir.path(), ["study", "status", "s.study"]);
        assert!(
            status.out.contains("13 of 13 runs done"),
            "{what}: {}",
            status.out
        );
    };
    ends("nothing was taken back", 13);
    // The end is not in the ledger. A viewer sees it and writes nothing.
    without_last_line(&at("promises.jsonl"));
    assert_eq!(promises(dir.path())["kept"], 1);
    assert_eq!(ledger(dir.path()).len(), 1);
    ends("the outcome", 13);
    // Nor in the journal: the record has it.
    without_last_line(&at("promises.jsonl"));
    let last = without_last_line(&at("journal.jsonl"));
    assert!(last.contains("\"ended\""), "{last}");
    ends("the end of the run", 13);
    // `study run` settles a promise as well.
    without_last_line(&at("promises.jsonl"));
    without_last_line(&at("journal.jsonl"));
    let ran = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ledger(dir.path()).len(), 2);
    // Nothing but the plan: the run has not begun.
    without_last_line(&at("promises.jsonl"));
    without_last_line(&at("journal.jsonl"));
    let last = without_last_line(&at("journal.jsonl"));
    assert!(last.contains("\"leased\""), "{last}");
    fs::remove_dir_all(at("runs/r13.1")).unwrap();
    let open = promises(dir.path());
    assert_eq!(
        (&open["open"], &open["promises"][0]["verdict"]),
        (&1.into(), &"open".into())
    );
    ends("the run", 14);
    // Nothing but the promise.
    without_last_line(&at("promises.jsonl"));
    without_last_line(&at("journal.jsonl"));
    without_last_line(&at("journal.jsonl"));
    fs::remove_dir_all(at("runs/r13.1")).unwrap();
    fs::write(at("plan.json"), plan_before).unwrap();
    ends("the plan", 15);
    // Half of a line is no promise.
    let text = fs::read_to_string(at("promises.jsonl")).unwrap();
    fs::write(at("promises.jsonl"), &text[..text.len() - 20]).unwrap();
    ends("half of the last line", 15);
}

/// Waits until `done` holds; a minute is for ever.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} did not come within a minute");
}

#[test]
fn a_kill_during_the_run_costs_the_attempt_and_not_the_promise() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    fs::write(dir.path().join("hold"), "").unwrap();
    let mut child = paceline(dir.path(), [&PICK[..], &["--run", "--quiet"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the promised run", || count(dir.path()) == 13);
    // Whoever asks meanwhile is told, and nothing is promised.
    let busy = pick(dir.path(), &["--confidence=0.9"]);
    busy.fails(2, "another paceline is executing the study");
    assert_eq!(promises(dir.path())["open"], 1);
    signal(child.id(), "KILL");
    child.wait().unwrap();
    fs::remove_file(dir.path().join("hold")).unwrap();
    let ran = pick(dir.path(), &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("going on with promise p0001"),
        "{}",
        ran.err
    );
    let lines = ledger(dir.path());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[1].contains("\"run\":\"r13\",\"attempt\":2"),
        "{}",
        lines[1]
    );
}

#[test]
fn a_broken_promise_and_a_failed_run_end_with_one_and_are_said() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    fs::write(dir.path().join("slower"), "1.6").unwrap();
    let broken = pick(dir.path(), &[]);
    assert_eq!(broken.code, Some(1), "{}{}", broken.out, broken.err);
    assert!(broken.out.contains("p0001 broken"), "{}", broken.out);
    fs::remove_file(dir.path().join("slower")).unwrap();
    fs::write(dir.path().join("fail"), "").unwrap();
    let failed = pick_within(dir.path(), "20s", &[]);
    assert_eq!(failed.code, Some(1), "{}{}", failed.out, failed.err);
    assert!(failed.out.contains("p0002 failed"), "{}", failed.out);
    let found = promises(dir.path());
    assert_eq!((&found["broken"], &found["failed"]), (&1.into(), &1.into()));
    assert_eq!(found["limits"]["kept"], 0);
    assert_eq!(found["limits"]["judgement"], "too_confident");
    // A failed run says nothing about a value.
    assert_eq!(found["intervals"]["time"]["of"], 1);
    // What failed once stays so in the ledger, whatever a retry brings.
    fs::remove_file(dir.path().join("fail")).unwrap();
    let retried = run(dir.path(), ["study", "retry", "s.toml", "--quiet"]);
    assert_eq!(retried.code, Some(0), "{}", retried.err);
    assert_eq!(promises(dir.path())["failed"], 1);
    let text = run(dir.path(), ["promises", "s.study"]).out;
    assert!(
        text.contains("Limits: too confident (0 of 2 promises kept"),
        "{text}"
    );
}

#[test]
fn what_keeps_no_limit_or_is_no_study_is_neither_promised_nor_run() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    let unmet = pick_within(dir.path(), "10ms", &[]);
    assert_eq!(unmet.code, Some(1), "{}", unmet.err);
    assert!(unmet.err.contains("nothing is promised"), "{}", unmet.err);
    assert!(!unmet.out.contains("To run it"), "{}", unmet.out);
    fs::copy(
        dir.path().join("s.study/table.csv"),
        dir.path().join("t.csv"),
    )
    .unwrap();
    let words = [
        "pick",
        "t.csv",
        "--factors=batch_size,sync",
        "--minimize=time",
        "--run",
    ];
    run(dir.path(), words).fails(2, "is a plain table");
    run(dir.path(), ["promises", "t.csv"]).fails(2, "is a plain table");
    run(dir.path(), ["promises", "nowhere"]).fails(2, "there is no study in");
    run(dir.path(), ["pick", "nowhere", "--run"]).fails(2, "there is no file or directory");
    run(dir.path(), ["pick", "s.study", "--again"]).fails(2, "--run");
    assert_eq!((count(dir.path()), ledger(dir.path()).len()), (12, 0));
    // A changed line is damage, for whoever reads it.
    assert_eq!(pick(dir.path(), &[]).code, Some(0));
    let path = dir.path().join("s.study/promises.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"value\":6.0", "\"value\":9.0")).unwrap();
    for words in [
        &["promises", "s.study"][..],
        &["predict", "s.study"],
        &PICK[..],
    ] {
        run(dir.path(), words).fails(4, "promises.jsonl is damaged at line 1");
    }
    pick(dir.path(), &[]).fails(4, "promises.jsonl is damaged at line 1");
    run(dir.path(), ["study", "run", "s.toml"]).fails(4, "promises.jsonl is damaged at line 1");
    assert_eq!(count(dir.path()), 13);
}

#[test]
fn a_level_between_and_another_number_of_epochs_are_run_as_well() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    let between = pick(dir.path(), &["--grid=200", "--given=sync=async"]);
    assert_eq!(between.code, Some(0), "{}{}", between.out, between.err);
    let last = fs::read_to_string(dir.path().join("count")).unwrap();
    let last = last.lines().last().unwrap().to_owned();
    let batch: f64 = last.split(' ').next().unwrap().parse().unwrap();
    assert!(batch > 64.0 && batch < 128.0, "{last}");
    let predicted = run(dir.path(), ["predict", "s.study", "--responses=time"]);
    assert!(predicted.out.starts_with("13 runs of"), "{}", predicted.out);

    let epochs = pick(dir.path(), &["--epochs-free", "--given=sync=bsp"]);
    assert_eq!(epochs.code, Some(0), "{}{}", epochs.out, epochs.err);
    let made = fs::read_to_string(dir.path().join("count")).unwrap();
    let last = made.lines().last().unwrap();
    let number: u32 = last.split(' ').nth(2).unwrap().parse().unwrap();
    assert!(number < 6, "{last}");
    // It is no replicate of its trial: only who asks over the epochs learns from it.
    let predicted = run(dir.path(), ["predict", "s.study", "--responses=time"]);
    assert!(predicted.out.starts_with("13 runs of"), "{}", predicted.out);
    let curve = run(dir.path(), ["predict", "s.study", "--curve"]);
    assert!(curve.out.starts_with("14 runs of"), "{}", curve.out);
    let table = fs::read_to_string(dir.path().join("s.study/table.csv")).unwrap();
    assert!(
        table.contains(&format!("done with epochs={number}")),
        "{table}"
    );
    let status = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(status.code, Some(0), "{}", status.err);
    assert_eq!(count(dir.path()), 14);
}

#[test]
fn epochs_that_the_command_does_not_take_are_said_and_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let text = STUDY.replace("\"{epochs}\"", "\"6\"");
    study_of(dir.path(), &text.replace("[fixed]\nepochs = 6\n", ""));
    let asked = run(dir.path(), [&PICK[..], &["--epochs-free"]].concat());
    assert_eq!(asked.code, Some(0), "{}", asked.err);
    let said = "It cannot be run in the study: the pick has epochs=";
    assert!(asked.out.contains(said), "{}", asked.out);
    let refused = pick(dir.path(), &["--epochs-free"]);
    refused.fails(2, "the study's command takes no `epochs`");
    assert!(
        refused.err.contains("put it under [fixed] or [factors]"),
        "{}",
        refused.err
    );
    assert_eq!((count(dir.path()), ledger(dir.path()).len()), (12, 0));
}

/// A ledger of so many promises of the time, of which what came lies so many times as
/// far from the prediction as the interval reaches.
fn write_ledger(dir: &Path, distances: &[f64]) {
    let path = dir.join("s.study/promises.jsonl");
    let _ = fs::remove_file(&path);
    let (mut ledger, _) = Ledger::open(&path).unwrap();
    for (at, distance) in distances.iter().enumerate() {
        let id = Promise::name_after(at);
        let promise = Promise {
            id: id.clone(),
            time: "2026-11-16T17:00:00.000000Z".to_owned(),
            question: format!("question {at}"),
            configuration: [("batch_size", "64"), ("sync", "bsp")]
                .map(|(name, level)| (name.to_owned(), level.to_owned()))
                .into_iter()
                .collect(),
            objective: "the least time".to_owned(),
            confidence: 0.95,
            learned_from: 12,
            counted: 12,
            limits: Vec::new(),
            predictions: vec![PromisedValue {
                response: "time".to_owned(),
                value: 11.0,
                low: 10.0,
                high: 12.0,
                coverage: 0.95,
                by: "gp".to_owned(),
                widened: 1.0,
            }],
        };
        let came = Outcome {
            promise: id,
            run: "r01".to_owned(),
            attempt: 1,
            outcome: "done".to_owned(),
            done: true,
            values: [("time".to_owned(), 11.0 + distance)].into_iter().collect(),
            disturbed: Vec::new(),
        };
        ledger
            .append(&LedgerEntry::Promised(Box::new(promise)))
            .unwrap();
        ledger.append(&LedgerEntry::Came(Box::new(came))).unwrap();
    }
}

#[test]
fn promises_that_were_not_kept_as_stated_make_the_next_ones_more_careful() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    let asked = || {
        let words = ["predict", "s.study", "--responses=time", "--predictor=gp"];
        let at = ["--at=batch_size=128,sync=async", "--format=json"];
        let ran = run(dir.path(), [&words[..], &at].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        let time = &found["predictions"][0]["responses"]["time"];
        let end = |name: &str| time[name].as_f64().unwrap();
        let widened = found["responses"][0]["widened"].as_f64().unwrap();
        (end("high") - end("low"), widened)
    };
    let chance = || {
        let ran = run(dir.path(), [&PICK[..], &["--format=json"]].concat());
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        let verdict = &found["verdict"];
        let best = verdict.get("pick").unwrap_or(&verdict["nearest"]);
        best["limits"][0]["probability"].as_f64().unwrap()
    };
    let (width, widened) = asked();
    let sure = chance();
    assert_eq!(widened, 1.0);
    // Kept, or too few to tell: nothing changes.
    for distances in [&[0.5; 30][..], &[3.0; 9]] {
        write_ledger(dir.path(), distances);
        assert_eq!(asked(), (width, 1.0), "{distances:?}");
        assert_eq!(chance(), sure);
    }
    // Six of twelve lie outside, the farthest two and a half times as far as stated.
    let distances = [
        0.2, -0.4, 0.1, 0.7, -0.9, 0.3, 1.5, -2.0, 2.5, -1.2, 1.8, 2.2,
    ];
    write_ledger(dir.path(), &distances);
    let (wider, widened) = asked();
    assert!((widened - 2.5).abs() < 1e-9, "{widened}");
    assert!((wider / width - 2.5).abs() < 0.05, "{wider} {width}");
    assert!(chance() < sure);
    let said = "Intervals of time are 2.50 times as wide as the runs alone would have them: of the \
                last 12 outcomes 6 came within those, and 11.4 should have.";
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [&PICK[..], &["predict", "s.study"], &["promises", "s.study"]] {
        let ran = run(dir.path(), words);
        assert!(one_line(&ran.out).contains(said), "{}", ran.out);
    }
    let ran = run(dir.path(), ["report", "s.study"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = fs::read_to_string(dir.path().join("s.study/report.html")).unwrap();
    assert!(page.contains(said));
}
