//! `paceline tune` as a user meets it: it finds what is there, and survives
//! anything.

mod support;

use paceline_model::{Outcome, RunId};
use paceline_records::study::{Plan, StudyDir};
use paceline_records::{Run, State};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use support::{Ran, paceline, run, signal};

/// A cost that is least at 0.9 and scatters by up to 0.03 with the run's seed.
const TRAIN: &str = r#"
awk -v x="$1" -v s="$2" 'BEGIN {
    srand(s)
    d = log(x / 0.9)
    printf "{\"cost\": %.6f}\n", 1 + d * d + 0.02 * (rand() + rand() + rand() - 1.5)
}'
"#;

const STUDY: &str = r#"
[job]
command = ["sh", "train.sh", "{x}", "{seed}"]
[factors]
x = [0.1, 1]
[responses]
cost = "cost"
size = "10 * x"
"#;

const CLIMB: &str = "tune s.toml --factor x --minimize cost";

fn workplace(train: &str, study: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("train.sh"), train).expect("the script is written");
    std::fs::write(dir.path().join("s.toml"), study).expect("the study is written");
    dir
}

fn tune(dir: &Path, args: &str) -> Ran {
    run(dir, args.split_whitespace())
}

#[track_caller]
fn json(dir: &Path, args: &str, code: i32) -> Value {
    let ran = tune(dir, &format!("{args} --format json --quiet"));
    assert_eq!(ran.code, Some(code), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("the output is JSON")
}

/// A result without what differs from one machine to the next.
fn timeless(mut result: Value) -> Value {
    let forget = |value: &mut Value| {
        if let Some(object) = value.as_object_mut() {
            object.remove("seconds");
        }
    };
    forget(&mut result);
    forget(&mut result["best"]);
    for level in result["levels"].as_array_mut().expect("a list") {
        forget(level);
    }
    result
}

/// Attempts whose record says that the command was done, by run.
fn finished(dir: &Path) -> BTreeMap<RunId, usize> {
    let dir = StudyDir::new(&dir.join("s.tune"));
    let plan = Plan::read(&dir.plan()).expect("the search has a plan");
    let done = |attempt: u32, id: &RunId| {
        Run::open(&dir.attempt(id, attempt)).is_ok_and(|run| {
            let end = run.manifest().end.as_ref();
            run.state() == State::Finished
                && end.is_some_and(|end| end.outcome == Outcome::Exited(0))
        })
    };
    let count = |id: &RunId| (1..=50).filter(|&attempt| done(attempt, id)).count();
    let ids = plan.runs.iter().map(|run| run.id.clone());
    ids.map(|id| (id.clone(), count(&id))).collect()
}

#[test]
fn the_climb_finds_the_region_of_the_optimum_and_says_why_it_stopped() {
    let dir = workplace(TRAIN, STUDY);
    let ran = tune(dir.path(), CLIMB);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("Best: x="), "{}", ran.out);
    assert!(ran.out.contains("It stopped because"), "{}", ran.out);
    assert!(ran.out.contains("95%"), "{}", ran.out);
    let result = json(dir.path(), CLIMB, 0);
    let best = result["best"]["factors"]["x"].as_f64().unwrap();
    assert!((0.75..1.1).contains(&best), "{result:#}");
    let levels = result["levels"].as_array().unwrap();
    for level in levels {
        assert!(level["runs"].as_u64().unwrap() >= 5, "{level}");
        assert!(level["half_width"].as_f64().unwrap() > 0.0, "{level}");
    }
    let reason = result["reason"].as_str().unwrap();
    assert!(
        ["undecided", "no_improvement"].contains(&reason),
        "{reason}"
    );
    // Looking at a search again runs nothing.
    let counts = finished(dir.path());
    assert_eq!(counts.len() as u64, result["runs"].as_u64().unwrap());
    assert!(counts.values().all(|&count| count == 1), "{counts:?}");
    // The search is a study that others can read.
    let status = run(dir.path(), ["study", "status", "s.tune"]);
    assert!(status.out.contains("runs done"), "{}", status.out);
}

/// A training that hangs in the run whose name is in the file `hang`.
fn hanging() -> tempfile::TempDir {
    let train = format!("[ \"$3\" = \"$(cat hang)\" ] && exec sleep 1000\n{TRAIN}");
    let study = STUDY.replace("\"{seed}\"]", "\"{seed}\", \"{run_id}\"]");
    let dir = workplace(&train, &study);
    hang_at(dir.path(), "nowhere");
    dir
}

fn hang_at(dir: &Path, run: &str) {
    std::fs::write(dir.join("hang"), run).expect("the file is written");
}

/// Starts a search and waits until it has told of the run before the one that
/// hangs.
fn start_until(dir: &Path, told: &str) -> Child {
    let mut child = paceline(dir, CLIMB.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(
        lines.any(|line| line.starts_with(told)),
        "it ended before {told}"
    );
    child
}

#[test]
fn a_search_that_is_killed_again_and_again_ends_as_one_that_was_not() {
    let whole = hanging();
    let expected = timeless(json(whole.path(), CLIMB, 0));
    let total = expected["runs"].as_u64().unwrap();
    assert!(total >= 30, "the kills come before the end");
    let dir = hanging();
    // In the middle of a level, at its end, right after a resume.
    for at in [2, 3, 6, 11, 18, 29] {
        hang_at(dir.path(), &format!("r{at:04}"));
        let mut child = start_until(dir.path(), &format!("r{:04}", at - 1));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    hang_at(dir.path(), "nowhere");
    let found = timeless(json(dir.path(), CLIMB, 0));
    assert_eq!(found, expected);
    let counts = finished(dir.path());
    assert_eq!(counts.len() as u64, total);
    assert!(counts.values().all(|&count| count == 1), "{counts:?}");
}

#[test]
fn an_interrupt_ends_the_search_and_the_same_command_goes_on() {
    let dir = hanging();
    hang_at(dir.path(), "r0004");
    let child = start_until(dir.path(), "r0003");
    tune(dir.path(), CLIMB).fails(2, "another paceline is executing");
    signal(child.id(), "INT");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""));
    hang_at(dir.path(), "nowhere");
    let result = json(dir.path(), CLIMB, 0);
    assert!(result["best"]["mean"].is_number(), "{result:#}");
}

#[test]
fn levels_whose_runs_fail_count_as_worse_and_are_told() {
    // Beyond 0.5 the training diverges.
    let train = format!("awk -v x=\"$1\" 'BEGIN {{ exit x > 0.5 }}' || exit 7\n{TRAIN}");
    let dir = workplace(&train, STUDY);
    let ran = tune(dir.path(), CLIMB);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("failed and count against"), "{}", ran.out);
    let result = json(dir.path(), CLIMB, 0);
    let best = result["best"]["factors"]["x"].as_f64().unwrap();
    assert!((0.4..=0.5).contains(&best), "{result:#}");
    assert_eq!(result["reason"], "no_improvement");
    // Where nothing succeeds there is no winner.
    let dir = workplace("exit 7", STUDY);
    let result = json(dir.path(), CLIMB, 1);
    assert_eq!(
        (&result["best"], &result["failed"]),
        (&Value::Null, &result["runs"])
    );
    assert_eq!(result["reason"], "start_fails");
}

#[test]
fn a_limit_keeps_the_climb_below_it_and_more_runs_take_a_search_further() {
    let dir = workplace(TRAIN, STUDY);
    let limited = ["--limit", "size <= 5"];
    let limited = CLIMB.split_whitespace().chain(limited);
    let limited = run(dir.path(), limited.chain(["--format", "json", "--quiet"]));
    assert_eq!(limited.code, Some(0), "{}", limited.err);
    let result: Value = serde_json::from_str(&limited.out).unwrap();
    let best = result["best"]["factors"]["x"].as_f64().unwrap();
    assert!((0.4..=0.5).contains(&best), "{result:#}");
    // Another question needs another directory.
    tune(dir.path(), CLIMB).fails(2, "limits changed");
    let few = format!("{CLIMB} --out few.tune --max-runs 12");
    let result = json(dir.path(), &few, 0);
    assert_eq!(result["runs"], 12);
    assert_eq!(result["reason"], "runs_used_up");
    let more = format!("{CLIMB} --out few.tune --max-runs 22");
    assert_eq!(json(dir.path(), &more, 0)["runs"], 22);
}

#[test]
fn whole_levels_stay_whole_and_a_range_is_kept() {
    let study = STUDY.replace("x = [0.1, 1]", "x = { low = 3, high = 20 }")
        + "[design]\nkind = \"latin-hypercube\"\nruns = 2\n";
    let train = "awk -v x=\"$1\" 'BEGIN { printf \"{\\\"cost\\\": %.6f}\\n\", 1 / x }'";
    let dir = workplace(train, &study);
    let result = json(dir.path(), &format!("{CLIMB} --replicates 2"), 0);
    let levels = result["levels"].as_array().unwrap().iter();
    let levels: Vec<i64> = levels
        .map(|l| l["factors"]["x"].as_i64().unwrap())
        .collect();
    assert_eq!(levels, [3, 6, 12, 14, 16, 18, 20]);
    assert_eq!(result["reason"], "range_ends");
    // Without a range, numbers themselves end.
    let train = "awk -v x=\"$1\" 'BEGIN { printf \"{\\\"cost\\\": %.6f}\\n\", -log(x) }'";
    let dir = workplace(train, STUDY);
    let far = format!("{CLIMB} --replicates 2 --start 1e308");
    assert_eq!(json(dir.path(), &far, 0)["reason"], "range_ends");
}

#[test]
fn a_bayesian_search_finds_the_optimum_of_a_range_and_maximizes_as_well() {
    let range = "x = { low = 0.1, high = 10, scale = \"log\" }";
    let study = STUDY.replace("x = [0.1, 1]", range)
        + "gain = \"10 - cost\"\n[design]\nkind = \"latin-hypercube\"\nruns = 2\n";
    let dir = workplace(TRAIN, &study);
    let args = "tune s.toml --factor x --maximize gain --strategy bayes --replicates 2";
    let result = json(dir.path(), args, 0);
    let best = result["best"]["factors"]["x"].as_f64().unwrap();
    assert!((0.65..1.25).contains(&best), "{result:#}");
    assert!(
        result["levels"].as_array().unwrap().len() < 20,
        "{result:#}"
    );
}

/// The cost falls with epochs, and is least at 4 on any budget.
#[test]
fn successive_halving_gives_the_whole_budget_to_few() {
    let train = r#"awk -v x="$1" -v e="$2" -v s="$3" 'BEGIN {
        srand(s)
        printf "{\"cost\": %.6f}\n", log(x / 4) ^ 2 + 3 / e + 0.001 * rand()
    }'"#;
    let study = r#"
[job]
command = ["sh", "train.sh", "{x}", "{epochs}", "{seed}"]
[factors]
x = [0.5, 1, 2, 4, 8, 16, 32, 64]
epochs = [1, 2, 4, 8]
[responses]
cost = "cost"
"#;
    let dir = workplace(train, study);
    let args = "tune s.toml --factor x --budget epochs --strategy halving --minimize cost";
    let result = json(dir.path(), &format!("{args} --replicates 2"), 0);
    assert_eq!(result["best"]["factors"]["x"], 4, "{result:#}");
    assert_eq!(result["best"]["factors"]["epochs"], 8, "{result:#}");
    let mut tried: BTreeMap<i64, usize> = BTreeMap::new();
    for level in result["levels"].as_array().unwrap() {
        assert_eq!(level["runs"], 2);
        *tried
            .entry(level["factors"]["epochs"].as_i64().unwrap())
            .or_default() += 1;
    }
    assert_eq!(tried, BTreeMap::from([(1, 8), (2, 4), (4, 2), (8, 1)]));
    let without = args.replace("--budget epochs", "--given epochs=1 --out b.tune");
    tune(dir.path(), &without).fails(2, "needs a budget");
    let few = format!("{args} --max-runs 5 --out few.tune");
    tune(dir.path(), &few).fails(2, "more than --max-runs 5 allows");
}

#[test]
fn what_cannot_be_tuned_is_refused_before_anything_is_run() {
    let two = STUDY
        .replace("x = [0.1, 1]", "x = [0.1, 1]\nkind = [\"a\", \"b\"]")
        .replace("\"{seed}\"]", "\"{seed}\", \"{kind}\"]");
    let dir = workplace(TRAIN, &two);
    for (args, what) in [
        ("--factor y --minimize cost", "the study has no factor `y`"),
        (
            "--factor x --minimize coast",
            "the study has no response `coast`",
        ),
        ("--factor x --minimize cost", "at which `kind` to tune"),
        (
            "--factor x --minimize cost --given kind=c",
            "`kind` has no level c",
        ),
        (
            "--factor x --minimize cost --given x=1",
            "is the factor that varies",
        ),
        (
            "--factor kind --minimize cost --given x=1",
            "has no order to climb",
        ),
        ("--factor x --factor x --minimize cost", "named twice"),
        (
            "--factor x --factor kind --minimize cost",
            "a climb varies one factor",
        ),
        (
            "--factor x --minimize cost --maximize cost",
            "cannot be used with",
        ),
        ("--factor x", "--minimize"),
        (
            "--factor x --minimize cost --given kind=a --start 0",
            "not above zero",
        ),
        (
            "--factor x --minimize cost --given kind=a --start -1",
            "not above zero",
        ),
        (
            "--factor x --minimize cost --given kind=a --start nan",
            "not above zero",
        ),
        (
            "--factor x --minimize cost --given kind=a --replicates 1",
            "at least 2",
        ),
        (
            "--factor x --minimize cost --given kind=a --limit cost",
            "is not a limit",
        ),
        (
            "--factor x --minimize cost --given kind=a --limit cost<=x",
            "is not a limit",
        ),
        (
            "--factor x --minimize cost --given kind=a --limit time<=3",
            "no response `time`",
        ),
        (
            "--factor x --minimize cost --given kind=a --strategy bayes --start 1",
            "--start belongs to a climb",
        ),
    ] {
        tune(dir.path(), &format!("tune s.toml {args}")).fails(2, what);
    }
    assert!(!dir.path().join("s.tune").exists(), "nothing was begun");
    // A study that was run is no search, and is left alone.
    let dir = workplace(TRAIN, STUDY);
    assert_eq!(tune(dir.path(), "study run s.toml").code, Some(0));
    tune(dir.path(), &format!("{CLIMB} --out s.study")).fails(2, "a study that is no search");
}
