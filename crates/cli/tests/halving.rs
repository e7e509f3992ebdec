//! Successive halving that goes on from checkpoints and stops runs early.

mod support;

use paceline_records::Run;
use paceline_records::study::{Plan, StudyDir};
use serde_json::Value;
use std::path::Path;
use support::run;

/// A training as a command: it goes on from the epoch in its checkpoint directory,
/// writes down every epoch that it makes, and reports it.
const WORK: &str = r#"
from=0; [ -e "$PACELINE_CHECKPOINT_DIR/epoch" ] && from=$(cat "$PACELINE_CHECKPOINT_DIR/epoch")
epoch=$from
while [ $epoch -lt $2 ]; do
  epoch=$((epoch + 1))
  echo "$1 $epoch" >> work.log
  awk -v x=$1 -v e=$epoch 'BEGIN { printf "{\"epoch\": %d, \"loss\": %.4f}\n", e, x + 1 / e }'
  echo $epoch > "$PACELINE_CHECKPOINT_DIR/epoch"
  PAUSE
done
"#;

fn write(dir: &Path, pause: &str, xs: &str, epochs: &str) {
    let work = WORK.replace("PAUSE", pause);
    std::fs::write(dir.join("work.sh"), work).expect("a temporary directory");
    let text = format!(
        "[job]\ncommand = [\"sh\", \"work.sh\", \"{{x}}\", \"{{epochs}}\"]\n\
         [factors]\nx = [{xs}]\nepochs = [{epochs}]\n[responses]\nloss = \"loss\"\n"
    );
    std::fs::write(dir.join("s.toml"), text).expect("a temporary directory");
}

fn tune(dir: &Path) -> Value {
    let words = "tune s.toml --factor x --budget epochs --strategy halving --minimize loss \
                 --replicates 1 --format json --quiet";
    let ran = run(dir, words.split_whitespace());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("the answer is JSON")
}

/// The epochs that were made, with what they were made of.
fn work(dir: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(dir.join("work.log")).expect("epochs were made");
    log.lines().map(str::to_owned).collect()
}

#[test]
fn a_command_goes_on_from_its_checkpoint_on_the_next_budget() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "", "0.1, 0.2, 0.3, 0.4", "1, 2, 4");
    let found = tune(dir.path());
    assert_eq!(found["best"]["factors"]["x"], 0.1);
    let mut work = work(dir.path());
    // Four candidates make the first epoch, two the second, one the third and
    // fourth: none is made twice.
    work.sort();
    assert_eq!(
        work,
        [
            "0.1 1", "0.1 2", "0.1 3", "0.1 4", "0.2 1", "0.2 2", "0.3 1", "0.4 1"
        ]
    );
    let study = StudyDir::new(&dir.path().join("s.tune"));
    let plan = Plan::read(&study.plan()).unwrap();
    let continued = plan
        .runs
        .iter()
        .filter(|run| run.continues.is_some())
        .count();
    assert_eq!((plan.runs.len(), continued), (7, 3));
    // A finished record does not change: what the first run left is as it was.
    let left = study.attempt(&plan.runs[0].id, 1).join("checkpoint/epoch");
    assert_eq!(std::fs::read_to_string(left).unwrap().trim(), "1");
}

#[test]
fn a_run_that_is_behind_after_an_epoch_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    // The last two candidates cannot be among the two that go on, and the first
    // epoch shows it.
    write(dir.path(), "sleep 0.4", "0.1, 0.2, 7, 8", "6, 7");
    let found = tune(dir.path());
    assert_eq!(found["best"]["factors"]["x"], 0.1);
    let work = work(dir.path());
    let made = |x: &str| work.iter().filter(|line| line.starts_with(x)).count();
    assert_eq!((made("0.1 "), made("0.2 ")), (7, 7));
    assert!(made("7 ") < 6 && made("8 ") < 6, "{work:?}");
    let table = std::fs::read_to_string(dir.path().join("s.tune/table.csv")).unwrap();
    let stopped = table
        .lines()
        .filter(|line| line.contains("stopped early: after epoch"));
    assert_eq!(stopped.count(), 2, "{table}");
    // What was stopped is not run again, and counts as a finding, not as a failure.
    assert_eq!(found["failed"], 0);
    assert_eq!(tune(dir.path()), found);
    // What they had reported by then is no result of theirs.
    let words = "analyze s.tune --response loss --formula loss~x --format json";
    let analyzed = run(dir.path(), words.split_whitespace());
    assert_eq!(analyzed.code, Some(0), "{}", analyzed.err);
    let answer: Value = serde_json::from_str(&analyzed.out).expect("the answer is JSON");
    // Four candidates on the first budget, of which two were stopped, two on the last.
    assert_eq!(answer["observations"], 4, "{}", analyzed.out);
}

#[test]
fn the_trainer_goes_on_from_its_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[job]\nkind = \"train\"\nmodel = \"softmax\"\ndata = \"mnist:500\"\nthreads = 1\n\
                schedule = \"constant\"\n[factors]\nx = [1]\nlearning_rate = [0.01, 0.1]\n\
                epochs = [1, 3]\n[responses]\nloss = { metric = \"test_loss\" }\n"
        .replace("x = [1]\n", "");
    std::fs::write(dir.path().join("s.toml"), text).unwrap();
    let words = "tune s.toml --factor learning_rate --budget epochs --strategy halving \
                 --minimize loss --replicates 1 --quiet";
    let ran = run(dir.path(), words.split_whitespace());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let study = StudyDir::new(&dir.path().join("s.tune"));
    let plan = Plan::read(&study.plan()).unwrap();
    let last = plan.runs.last().unwrap();
    assert!(last.continues.is_some(), "{plan:?}");
    let record = Run::open(&study.attempt(&last.id, 1)).unwrap();
    let events = record.events().unwrap();
    let epochs = events.iter().filter(|event| event.name == "epoch");
    let epochs: Vec<f64> = epochs.filter_map(|event| event.value).collect();
    assert_eq!(epochs, [2.0, 3.0], "the first epoch is the other run's");
    // The same training in one go ends with the same loss.
    let argv = &record.manifest().start.argv;
    let fresh = argv
        .iter()
        .skip(1)
        .filter(|word| !word.starts_with("--resume") && !word.starts_with("--checkpoint"));
    let whole = run(dir.path(), fresh.map(String::as_str));
    assert_eq!(whole.code, Some(0), "{}", whole.err);
    let loss = |text: &str| {
        let line = text
            .lines()
            .rfind(|line| line.starts_with("epoch 3"))
            .map(str::to_owned);
        let line = line.expect("the third epoch is printed");
        line.split("test loss")
            .nth(1)
            .expect("a loss")
            .split_whitespace()
            .next()
            .map(str::to_owned)
    };
    let log = std::fs::read_to_string(study.attempt(&last.id, 1).join("log/worker0.out")).unwrap();
    assert_eq!(loss(&log), loss(&whole.out));
}
