//! What the command writes, prints and refuses.

use crate::support::{Ran, run};
use crate::synthetic::{self, Recipe, SMALL};
use serde_json::Value;
use std::path::Path;

fn report(dir: &Path, args: &[&str]) -> (Ran, String) {
    let all = ["report", "made.study"].iter().chain(args);
    let ran = run(dir, all);
    let page = std::fs::read_to_string(dir.join("made.study/report.html"));
    (ran, page.unwrap_or_default())
}

/// A study by recipe, reported: what was printed and the page.
fn check(recipe: &Recipe, args: &[&str], code: i32, said: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a directory can be made");
    synthetic::study(dir.path(), recipe);
    let (ran, page) = report(dir.path(), args);
    assert_eq!(ran.code, Some(code), "{}", ran.err);
    for text in said {
        assert!(page.contains(text), "`{text}` is not on the page");
    }
    let left: Vec<_> = std::fs::read_dir(dir.path().join("made.study"))
        .expect("the study is there")
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| name.to_string_lossy().ends_with(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    page
}

#[test]
fn a_study_becomes_one_page_with_every_part() {
    let page = check(
        &SMALL,
        &[],
        0,
        &[
            "24 runs of 24 are done",
            "<h2 id=\"summary\">",
            "<h2 id=\"pick\">",
            "Best means the most accuracy",
            "<h2 id=\"matters\">What matters for time",
            "What matters for accuracy",
            "Whether to believe it",
            "<h2 id=\"forecast\">",
            "Predicted and actual time",
            "<h2 id=\"curves\">",
            "<h2 id=\"waiting\">",
            "No run reported how several workers spent their time",
            "<h2 id=\"design\">",
            "<h2 id=\"origin\">",
            "own cost",
            "Prediction errors so far",
            "&lt;i&gt;nothing&lt;/i&gt; of this happened (24 runs)",
            "Made &lt;b&gt;up&lt;/b&gt;",
        ],
    );
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(!page.contains("<b>up"), "a name became markup");
}

#[test]
fn the_order_of_responses_and_the_objective_can_be_asked_for() {
    check(
        &SMALL,
        &["--response", "accuracy", "--minimize", "time"],
        0,
        &[
            "What matters for accuracy</h2>",
            "Best means the least time: as was asked",
        ],
    );
}

/// What both commands recommend, for programs.
fn recommended(recipe: &Recipe, args: &[&str]) -> [Value; 2] {
    let dir = tempfile::tempdir().expect("a directory can be made");
    synthetic::study(dir.path(), recipe);
    let asked = |command: &str| {
        let words = [command, "made.study", "--format", "json"];
        let ran = run(dir.path(), words.iter().chain(args));
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
        serde_json::from_str::<Value>(&ran.out).expect("the output is JSON")
    };
    let verdict = asked("pick")["verdict"].clone();
    let pick = verdict.get("pick").unwrap_or(&verdict["nearest"]);
    [
        pick["configuration"].clone(),
        asked("report")["recommended"].clone(),
    ]
}

#[test]
fn the_page_and_the_pick_recommend_the_same() {
    let several = Recipe {
        design: "[factors]\nbatch_size = [32, 64, 128, 256]\njobs = [1, 2, 3]\n[design]\n\
                 kind = \"full\"\nreplicates = 2\n",
        pending: 3,
        fails_every: 7,
        ..SMALL
    };
    for recipe in [&SMALL, &several] {
        for args in [
            &[][..],
            &["--slo", "14s"],
            &["--slo", "1ms"],
            &["--minimize", "time", "--confidence", "0.8"],
        ] {
            let [pick, page] = recommended(recipe, args);
            assert!(pick.is_object(), "{pick}");
            assert_eq!(pick, page, "{args:?}");
        }
    }
}

#[test]
fn a_deadline_that_nothing_meets_is_said_and_is_exit_1() {
    check(
        &SMALL,
        &["--slo", "1ms"],
        1,
        &[
            "Nothing meets the limits",
            "No configuration meets the limits",
        ],
    );
}

#[test]
fn a_deadline_that_is_met_comes_with_its_probability() {
    check(
        &SMALL,
        &["--slo", "1h"],
        0,
        &["is kept with a probability of"],
    );
}

#[test]
fn failed_and_pending_runs_are_said_and_left_out() {
    let recipe = Recipe {
        pending: 5,
        fails_every: 6,
        ..SMALL
    };
    check(
        &recipe,
        &[],
        0,
        &[
            "15 runs of 24 are done, 4 failed, 5 still to do",
            "rests on the runs that are done",
            "9 runs that are not done were left out",
        ],
    );
}

#[test]
fn a_study_that_has_not_begun_has_a_page_that_says_so() {
    let recipe = Recipe {
        pending: 24,
        ..SMALL
    };
    check(
        &recipe,
        &[],
        0,
        &[
            "0 runs of 24 are done",
            "no run is done yet",
            "No samples were recorded",
        ],
    );
}

#[test]
fn a_study_too_small_for_statistics_says_so() {
    let recipe = Recipe {
        design: "[factors]\na = [1, 2]\n[design]\nkind = \"full\"\n",
        ..SMALL
    };
    check(
        &recipe,
        &[],
        0,
        &["Nothing can be said about", "too few to judge a prediction"],
    );
}

#[test]
fn a_two_level_fraction_shows_its_aliases_and_its_half_normal_plot() {
    let recipe = Recipe {
        design: "[factors]\na = [1, 2]\nb = [1, 2]\nc = [1, 2]\nd = [1, 2]\n[design]\n\
                 kind = \"fractional\"\nresolution = 4\nreplicates = 2\n",
        ..SMALL
    };
    check(
        &recipe,
        &[],
        0,
        &["Resolution 4", "a:b + c:d", "Half-normal plot"],
    );
}

#[test]
fn where_workers_report_only_sums_nobody_is_called_a_straggler() {
    let recipe = Recipe {
        workers: 3,
        ..SMALL
    };
    check(
        &recipe,
        &[],
        0,
        &[
            "Runs whose workers waited most",
            "a straggler is named if a test against the other",
        ],
    );
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    synthetic::study(dir.path(), &SMALL);
    let events = dir.path().join("made.study/runs/r03.1/events.parquet");
    std::fs::write(events, "rubbish").unwrap();
    let (ran, page) = report(dir.path(), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(page.contains("The record of <code>r03</code> cannot be shown"));
    assert!(page.contains("24 runs of 24 are done"));
}

#[test]
fn what_cannot_be_is_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    synthetic::study(dir.path(), &SMALL);
    let refused = |args: &[&str], code: i32, what: &str| {
        run(dir.path(), args).fails(code, what);
    };
    refused(&["report", "absent"], 2, "there is no run `absent`");
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    refused(&["report", "empty"], 2, "neither a study nor a run");
    refused(
        &["report", "made.study", "--response", "acuracy"],
        2,
        "hint: its responses are time, accuracy",
    );
    refused(
        &["report", "made.study", "--confidence", "2"],
        2,
        "not a probability",
    );
    refused(
        &["report", "made.study", "--out", "no/such/place.html"],
        3,
        "cannot write no/such/place.html",
    );
    refused(
        &["report", "made.study/runs/r01.1", "--slo", "3s"],
        2,
        "is one run",
    );
    std::fs::write(dir.path().join("made.study/plan.json"), "{").unwrap();
    refused(&["report", "made.study"], 4, "is damaged");
    assert!(!dir.path().join("made.study/report.html").exists());
}

#[test]
fn a_run_with_a_hostile_name_becomes_a_harmless_page() {
    let dir = tempfile::tempdir().unwrap();
    let hostile = "</script><script>alert(1)</script>";
    let args = ["run", "-q", "--out", "one", "--name", hostile, "--", "echo"];
    let made = run(
        dir.path(),
        args.iter().chain(&["<img src=x onerror=alert(2)>"]),
    );
    assert_eq!(made.code, Some(0), "{}", made.err);
    let ran = run(dir.path(), ["report", "one", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let said: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&said["kind"], &said["path"]),
        (&"run".into(), &"one.html".into())
    );
    let page = std::fs::read_to_string(dir.path().join("one.html")).unwrap();
    assert_eq!(
        page.matches("<script").count(),
        2,
        "the data and the program"
    );
    assert!(!page.contains("<img"));
    assert!(page.contains("The run is done"));
}

#[test]
fn the_path_is_all_that_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    synthetic::study(dir.path(), &SMALL);
    let ran = run(dir.path(), ["report", "made.study", "--out", "page.html"]);
    assert_eq!(ran.out, "page.html\n");
    assert!(dir.path().join("page.html").exists());
}
