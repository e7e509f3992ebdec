//! `paceline study` as a user meets it: it survives anything.

mod support;

use paceline_model::{Outcome, RunId};
use paceline_records::study::{Plan, StudyDir};
use paceline_records::{Run, State};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use support::{Random, paceline, run};

fn write(dir: &Path, text: &str) {
    std::fs::write(dir.join("s.toml"), text).expect("a temporary directory");
}

/// A study of one shell command over `x` and `kind`.
fn study(script: &str, rest: &str) -> String {
    format!(
        r#"
[job]
command = ["sh", "-c", '''{script}''', "sh", "{{x}}", "{{kind}}"]
[factors]
x = [1, 2]
kind = ["a", "b"]
{rest}
"#
    )
}

/// Attempts whose record says that the command was done, by run.
fn finished(dir: &StudyDir, plan: &Plan) -> BTreeMap<RunId, usize> {
    let count = |id: &RunId| {
        let attempts = std::fs::read_dir(dir.runs())
            .expect("the study has runs")
            .flatten();
        let own = attempts.filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.split('.').next() == Some(id.as_str())
        });
        own.filter(|entry| {
            Run::open(&entry.path()).is_ok_and(|run| {
                run.state() == State::Finished
                    && run
                        .manifest()
                        .end
                        .as_ref()
                        .is_some_and(|end| end.outcome == Outcome::Exited(0))
            })
        })
        .count()
    };
    plan.runs
        .iter()
        .map(|run| (run.id.clone(), count(&run.id)))
        .collect()
}

fn table(dir: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(dir.join("s.study/table.csv")).expect("the table is there");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(str::to_owned);
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(cells)
            .collect()
    };
    lines.map(row).collect()
}

#[test]
fn a_study_runs_once_and_its_table_has_a_row_per_run() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"echo "{{\"accuracy\": 0.$1}}"; echo "loss is 3.$1" >&2"#;
    let rest = r#"
[design]
kind = "full"
replicates = 2
[responses]
time = "duration_s"
accuracy = "accuracy"
twice = "2 * accuracy + x"
loss = { regex = 'loss is ([0-9.]+)' }
"#;
    write(dir.path(), &study(script, rest));
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows = table(dir.path());
    assert_eq!(rows.len(), 8);
    for row in &rows {
        let x: f64 = row["x"].parse().unwrap();
        assert_eq!(row["outcome"], "done");
        assert_eq!(row["accuracy"].parse::<f64>().unwrap(), x / 10.0);
        assert_eq!(row["twice"].parse::<f64>().unwrap(), 2.0 * x / 10.0 + x);
        assert_eq!(row["loss"].parse::<f64>().unwrap(), 3.0 + x / 10.0);
        assert_eq!(
            row["x_coded"].parse::<f64>().unwrap(),
            if x == 1.0 { -1.0 } else { 1.0 }
        );
    }
    let journal = std::fs::read(dir.path().join("s.study/journal.jsonl")).unwrap();
    let again = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(
        std::fs::read(dir.path().join("s.study/journal.jsonl")).unwrap(),
        journal
    );
}

#[test]
fn a_study_is_analysed_by_its_plan() {
    let dir = tempfile::tempdir().unwrap();
    // The response depends on `x` and on the seed, and not at all on `kind`.
    let script = "awk -v x=$1 -v s=$PACELINE_SEED 'BEGIN {{ print \"n=\" 10 * x + s % 7 / 10 }}'";
    let rest =
        "[design]\nkind = \"full\"\nreplicates = 4\n[responses]\nn = {{ regex = 'n=([0-9.]+)' }}\n";
    write(
        dir.path(),
        &study(script, &rest.replace("{{", "{").replace("}}", "}")),
    );
    assert_eq!(
        run(dir.path(), ["study", "run", "s.toml", "--quiet"]).code,
        Some(0)
    );
    let ran = run(
        dir.path(),
        ["analyze", "s.study", "--response", "n", "--format", "json"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let formula = json["formula"].to_string();
    assert!(
        formula.contains('x') && formula.contains("kind"),
        "{formula}"
    );
    assert!(
        !formula.contains("coded") && !formula.contains("duration"),
        "{formula}"
    );
    let text = run(dir.path(), ["analyze", "s.study", "--response", "n"]).out;
    assert!(
        text.contains("Durbin"),
        "the order of runs is known: {text}"
    );
}

#[test]
fn after_300_kills_there_is_exactly_one_finished_record_per_run() {
    let dir = tempfile::tempdir().unwrap();
    let rest = "[design]\nkind = \"full\"\nreplicates = 15\n";
    write(dir.path(), &study("sleep 0.02; echo '{{\"n\": 1}}'", rest));
    let seed = 3_001;
    let mut random = Random(seed);
    for _ in 0..300 {
        let mut command = paceline(dir.path(), ["study", "run", "s.toml", "--quiet"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        // Not a wait but the fault itself: when it strikes is drawn from the seed.
        std::thread::sleep(Duration::from_micros(random.below(250_000)));
        // It may have ended by itself, when all runs are done.
        let _ = child.kill();
        child.wait().unwrap();
    }
    let last = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(last.code, Some(0), "seed {seed}: {}", last.err);
    let study = StudyDir::new(&dir.path().join("s.study"));
    let plan = Plan::read(&study.plan()).unwrap();
    assert_eq!(plan.runs.len(), 60);
    let wrong: Vec<_> = finished(&study, &plan)
        .into_iter()
        .filter(|(_, n)| *n != 1)
        .collect();
    assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
    assert!(table(dir.path()).iter().all(|row| row["outcome"] == "done"));
}

#[test]
fn a_journal_cut_at_any_byte_of_its_last_two_entries_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &study("echo '{{\"n\": 1}}'", "[responses]\nn = \"n\"\n"),
    );
    assert_eq!(
        run(dir.path(), ["study", "run", "s.toml", "--quiet"]).code,
        Some(0)
    );
    let study = StudyDir::new(&dir.path().join("s.study"));
    let plan = Plan::read(&study.plan()).unwrap();
    let whole = std::fs::read(study.journal()).unwrap();
    let ends: Vec<usize> = (0..whole.len())
        .filter(|&i| whole[i] == b'\n')
        .map(|i| i + 1)
        .collect();
    let first_cut = ends[ends.len() - 3];
    // Every byte would take long where a byte in the middle of an entry is like
    // the next: every eleventh, and all around the ends of entries.
    let cuts = (first_cut..whole.len())
        .filter(|cut| cut % 11 == 0 || ends.iter().any(|end| cut.abs_diff(*end) <= 2));
    for cut in cuts {
        std::fs::write(study.journal(), &whole[..cut]).unwrap();
        let ran = run(dir.path(), ["study", "run", "s.toml", "--quiet"]);
        assert_eq!(ran.code, Some(0), "cut at {cut}: {}", ran.err);
        assert!(
            finished(&study, &plan).values().all(|&n| n == 1),
            "cut at {cut}: run twice"
        );
        assert!(
            table(dir.path()).iter().all(|row| row["n"] == "1"),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_damaged_journal_is_refused_with_code_4() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &study("true", ""));
    assert_eq!(
        run(dir.path(), ["study", "run", "s.toml", "--quiet"]).code,
        Some(0)
    );
    let journal = dir.path().join("s.study/journal.jsonl");
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&journal, &bytes).unwrap();
    run(dir.path(), ["study", "run", "s.toml"]).fails(4, "damaged at line 1");
    run(dir.path(), ["study", "status", "s.toml"]).fails(4, "damaged at line 1");
    assert_eq!(
        std::fs::read(&journal).unwrap(),
        bytes,
        "a damaged file is left as it is"
    );
}

#[test]
fn commands_that_misbehave_are_outcomes_and_the_study_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
case $1$2 in
1a) exit 3 ;;
1b) sleep 600 ;;
2a) head -c 3000000 /dev/zero; echo; echo '{{"n": "nonsense"}}'; echo '{{"n": NaN}}' ;;
2b) setsid sleep 600 & echo '{{"n": 7}}' ;;
esac"#;
    let rest = "[policy]\ntimeout = \"500ms\"\n[responses]\nn = \"n\"\n";
    write(dir.path(), &study(script, rest));
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let rows = table(dir.path());
    let row = |x: &str, kind: &str| {
        rows.iter()
            .find(|row| row["x"] == x && row["kind"] == kind)
            .expect("every trial has a row")
    };
    assert_eq!(row("1", "a")["outcome"], "failed with exit code 3");
    assert_eq!(row("1", "b")["outcome"], "timed out");
    assert!(
        row("2", "a")["outcome"].starts_with("incomplete (n:"),
        "{:?}",
        row("2", "a")
    );
    assert_eq!(
        (row("2", "a")["n"].as_str(), row("2", "b")["n"].as_str()),
        ("", "7")
    );
}

#[test]
fn a_failed_run_is_kept_and_run_again_only_by_retry() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &study("echo tried; test -e fixed", ""));
    assert_eq!(run(dir.path(), ["study", "run", "s.toml"]).code, Some(1));
    std::fs::write(dir.path().join("fixed"), "").unwrap();
    let again = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(again.code, Some(1), "run does not repeat what failed");
    let one = run(dir.path(), ["study", "retry", "s.toml", "--run", "r2"]);
    assert_eq!(one.code, Some(1), "three are still failed: {}", one.err);
    assert_eq!(run(dir.path(), ["study", "retry", "s.toml"]).code, Some(0));
    let log =
        std::fs::read_to_string(dir.path().join("s.study/runs/r1.1/log/worker0.out")).unwrap();
    assert_eq!(log, "tried\n", "the log of the failed attempt is kept");
}

#[test]
fn retries_and_fail_fast_do_what_the_policy_says() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &study("exit 1", "[policy]\nretries = 2\n"));
    let ran = run(dir.path(), ["study", "run", "s.toml", "--fail-fast"]);
    assert_eq!(ran.code, Some(1));
    let runs = std::fs::read_dir(dir.path().join("s.study/runs"))
        .unwrap()
        .count();
    assert_eq!(runs, 3, "one run, tried three times");
}

#[test]
fn an_interrupt_ends_the_study_and_the_same_command_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &study("test -e go && exit; echo begun > mark; sleep 600", ""),
    );
    let mut child = paceline(dir.path(), ["study", "run", "s.toml"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    paceline_testkit::wait_until("the first run begins", || {
        let ended = child.try_wait().unwrap();
        assert_eq!(ended, None, "it ended before its first run");
        dir.path().join("mark").exists()
    });
    run(dir.path(), ["study", "run", "s.toml"]).fails(2, "another paceline is executing the study");
    let status = run(dir.path(), ["study", "status", "s.toml"]);
    assert!(
        status.out.contains("(running)") && status.out.contains("1 begun"),
        "{}",
        status.out
    );
    support::signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    std::fs::write(dir.path().join("go"), "").unwrap();
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn copies_run_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    // Each copy waits for the other: one after the other they would never end.
    let script = r#"
touch "$PACELINE_RUN_DIR/copy$PACELINE_COPY"
while [ $(ls "$PACELINE_RUN_DIR" | grep -c ^copy) -lt $3 ]; do sleep 0.01; done"#;
    let text = format!(
        "[job]\ncommand = [\"sh\", \"-c\", '''{script}''', \"sh\", \"{{x}}\", \"y\", \"{{concurrency}}\"]\n\
         [factors]\nx = [1, 2]\nconcurrency = [1, 3]\n[policy]\ntimeout = \"20s\"\n"
    );
    write(dir.path(), &text);
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn a_changed_study_is_not_mixed_into_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &study("true", ""));
    assert_eq!(run(dir.path(), ["study", "run", "s.toml"]).code, Some(0));
    let changed = run(dir.path(), ["study", "run", "s.toml", "x=1,2,3"]);
    changed.fails(2, "holds another study");
    let other = run(
        dir.path(),
        ["study", "run", "s.toml", "x=1,2,3", "--out", "other"],
    );
    assert_eq!(other.code, Some(0), "{}", other.err);
}

#[test]
fn what_can_be_known_before_the_first_run_is_told_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let check = |text: &str, code: i32, what: &str| {
        write(dir.path(), text);
        run(dir.path(), ["study", "run", "s.toml"]).fails(code, what);
        assert!(!dir.path().join("s.study").exists(), "nothing is begun");
    };
    let command = |program: &str| {
        format!("[job]\ncommand = [\"{program}\", \"{{x}}\"]\n[factors]\nx = [1, 2]\n")
    };
    check(
        &command("no-such-program"),
        2,
        "there is no program `no-such-program`",
    );
    check(
        &command("{nothing}"),
        2,
        "placeholder `{nothing}` has no factor",
    );
    let cpus = command("true") + "cpus = [1, 4096]\n";
    check(&cpus, 2, "wants 4096 cpus");
    let two = "[job]\ncommand = [\"true\", \"{x}\"]\nkindd = 1\n[factors]\nx = [1]\n";
    write(dir.path(), two);
    let both = run(dir.path(), ["study", "run", "s.toml"]);
    both.fails(2, "s.toml:3");
    both.fails(2, "has one level");
    let dry = command("true");
    write(dir.path(), &dry);
    let ran = run(dir.path(), ["study", "run", "s.toml", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!dir.path().join("s.study").exists());
}
