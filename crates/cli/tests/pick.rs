//! `paceline predict`, `pick` and `size` as a user types them.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{Ran, run};

/// Forty-eight runs whose time halves with the batch size and falls with the
/// workers, and whose accuracy falls with the batch size.
fn table(dir: &Path) {
    let mut text = "batch_size,workers,sync,time,accuracy\n".to_owned();
    let mut wobble = 0_u32;
    for batch in [64.0, 128.0, 256.0, 512.0_f64] {
        for workers in [1.0, 2.0, 4.0_f64] {
            for (sync, cost) in [("bsp", 1.0), ("async", 0.8)] {
                for _ in 0..2 {
                    wobble = (wobble * 7 + 3) % 11;
                    let scatter = 1.0 + 0.002 * (f64::from(wobble) - 5.0);
                    let time = cost * (20.0 + 38_400.0 / batch / workers) * scatter;
                    let accuracy = 0.95 - 0.02 * (batch / 64.0).log2() * scatter;
                    text += &format!("{batch},{workers},{sync},{time},{accuracy}\n");
                }
            }
        }
    }
    std::fs::write(dir.join("runs.csv"), text).expect("the table is written");
}

/// Runs the command on the table.
fn check(words: &[&str]) -> Ran {
    let dir = tempfile::tempdir().expect("a temporary directory");
    table(dir.path());
    std::fs::write(
        dir.path().join("prices.csv"),
        "machine,cores,price_per_hour\nsmall,1,0.2\nlarge,4,1.0\n",
    )
    .expect("the prices are written");
    run(dir.path(), words)
}

fn json(words: &[&str], code: i32) -> Value {
    let mut words = words.to_vec();
    words.extend(["--format", "json"]);
    let ran = check(&words);
    assert_eq!(ran.code, Some(code), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("the output is JSON")
}

const TABLE: [&str; 3] = ["runs.csv", "--factors", "batch_size,workers,sync"];

fn with<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], &TABLE[..], more].concat()
}

#[test]
fn a_pick_keeps_the_deadline_at_the_best_accuracy() {
    let words = with(
        "pick",
        &[
            "--slo",
            "200s",
            "--maximize",
            "accuracy",
            "--given",
            "workers=2,sync=bsp",
        ],
    );
    let found = json(&words, 0);
    let pick = &found["verdict"]["pick"];
    // At two workers 64 takes 320 s and 128 takes 170 s.
    assert_eq!(pick["configuration"]["batch_size"], 128, "{pick:#}");
    assert_eq!(pick["configuration"]["sync"], "bsp");
    assert!(pick["limits"][0]["probability"].as_f64().unwrap() >= 0.95);
    assert_eq!(found["verdict"]["binding"]["limit"], "time <= 200");
    assert_eq!(found["considered"], 4);
    let text = check(&words);
    assert_eq!(text.code, Some(0));
    assert!(
        text.out
            .contains("Pick   batch_size=128, workers=2, sync=bsp"),
        "{}",
        text.out
    );
}

#[test]
fn a_grid_and_suggestions_go_beyond_what_was_run() {
    let words = with(
        "pick",
        &[
            "--limit",
            "time <= 200s",
            "--maximize",
            "accuracy",
            "--given",
            "workers=2,sync=bsp",
            "--grid",
            "200",
            "--suggest",
            "2",
            "--predictor",
            "gp",
        ],
    );
    let found = json(&words, 0);
    let batch = found["verdict"]["pick"]["configuration"]["batch_size"]
        .as_f64()
        .unwrap();
    assert!(batch > 64.0 && batch < 128.0, "{batch}");
    assert_eq!(found["suggestions"].as_array().unwrap().len(), 2);
}

#[test]
fn a_deadline_that_nothing_meets_ends_with_one_and_the_nearest() {
    let words = with(
        "pick",
        &[
            "--slo",
            "1s",
            "--maximize",
            "accuracy",
            "--predictor",
            "linear",
        ],
    );
    let found = json(&words, 1);
    assert_eq!(found["verdict"]["met"], false);
    assert_eq!(
        found["verdict"]["nearest"]["configuration"]["batch_size"],
        512
    );
    assert!(check(&words).out.contains("Nothing meets the limits"));
}

#[test]
fn predictions_come_with_the_comparison_and_an_interval() {
    let words = with(
        "predict",
        &[
            "--responses",
            "time",
            "--at",
            "batch_size=128,workers=2,sync=bsp",
        ],
    );
    let found = json(&words, 0);
    let time = &found["predictions"][0]["responses"]["time"];
    let value = |key: &str| time[key].as_f64().unwrap();
    assert!((value("value") / 170.0 - 1.0).abs() < 0.02, "{time}");
    assert!(value("low") < 170.0 && 170.0 < value("high"));
    assert_eq!(time["extrapolated"], false);
    assert_eq!(
        found["responses"][0]["compared"].as_array().unwrap().len(),
        10
    );
    assert_eq!(time["interval"], "known");
    let importance = &found["responses"][0]["importance"];
    assert_eq!(importance.as_array().unwrap().len(), 3, "{importance}");
    assert_eq!(importance[0]["factor"], "batch_size");
    assert!(importance[0]["low"].as_f64() < importance[0]["high"].as_f64());
    let text = check(&words).out;
    assert!(
        text.contains("forest") && text.contains("What it rests on"),
        "{text}"
    );
}

#[test]
fn trials_set_aside_judge_a_predictor() {
    let more = ["--responses", "time", "--predictor", "gp", "--holdout"];
    let words = |share: &'static str| with("predict", &[&more[..], &[share]].concat());
    let found = json(&words("0.25"), 0);
    let holdout = &found["responses"][0]["holdout"];
    assert_eq!(holdout["learned_from_trials"], 18);
    assert_eq!(holdout["set_aside_trials"], 6);
    let score = &holdout["predictors"][0]["score"];
    assert!(score["r2"].as_f64().unwrap() > 0.9, "{holdout}");
    for share in ["0", "1", "0.9", "-0.2", "nan"] {
        check(&words(share)).fails(2, "cannot be held out");
    }
}

#[test]
fn the_order_of_rows_changes_no_answer() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    table(dir.path());
    let text = std::fs::read_to_string(dir.path().join("runs.csv")).expect("the table");
    let (head, rows) = text.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().collect();
    let mixed: Vec<&str> = (0..rows.len())
        .map(|row| rows[row * 31 % rows.len()])
        .collect();
    std::fs::write(
        dir.path().join("mixed.csv"),
        format!("{head}\n{}\n", mixed.join("\n")),
    )
    .expect("the table is written");
    let answer = |file: &str| {
        let words = ["pick", file, "--factors", "batch_size,workers,sync"];
        let more = [
            "--maximize=accuracy",
            "--slo=150s",
            "--suggest=1",
            "--grid=60",
        ];
        let ran = run(dir.path(), [&words[..], &more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out.replace("mixed.csv", "runs.csv")
    };
    assert_eq!(answer("runs.csv"), answer("mixed.csv"));
}

#[test]
fn what_the_runs_do_not_support_is_not_known() {
    let words = with(
        "predict",
        &[
            "--responses",
            "time,accuracy",
            "--predictor",
            "gp",
            "--at",
            "batch_size=1e12,workers=1e9,sync=bsp",
        ],
    );
    let found = json(&words, 0);
    let time = &found["predictions"][0]["responses"]["time"];
    assert_eq!(time["interval"], "far_outside", "{time}");
    assert!(time["low"].is_null() && time["high"].is_null());
    let text = check(&words).out;
    assert!(
        text.contains("not known, too far outside what was run"),
        "{text}"
    );
    assert!(
        !text.contains("widened"),
        "no interval, none widened: {text}"
    );
}

#[test]
fn senseless_probabilities_levels_and_sizes_are_refused() {
    for coverage in ["1e-12", "0", "1", "0.99999999", "nan", "-1"] {
        check(&with(
            "predict",
            &["--responses", "time", "--coverage", coverage],
        ))
        .fails(2, "is not between 0.01 and 0.9999");
        check(&with(
            "pick",
            &["--maximize=accuracy", "--confidence", coverage],
        ))
        .fails(2, "is not between 0.01 and 0.9999");
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let rows =
        [1e308_f64, -1e308, 1.0, 2.0, 3.0, 4.0].map(|x| format!("{x},{}\n", x.signum() + 5.0));
    std::fs::write(
        dir.path().join("t.csv"),
        format!("x,time\n{}", rows.concat()),
    )
    .expect("the table is written");
    let words = ["pick", "t.csv", "--factors=x", "--minimize=time", "--grid"];
    run(dir.path(), words).fails(2, "column `x` is");
    check(&with(
        "pick",
        &["--maximize=accuracy", "--grid", "18446744073709551615"],
    ))
    .fails(2, "is too fine");
    for workers in ["18446744073709551615", "100000000"] {
        let ran = check(&[
            "size",
            "runs.csv",
            "--factors=workers",
            "--deadline=10m",
            "--prices=prices.csv",
            "--workers",
            workers,
        ]);
        assert!(ran.err.contains("hint: lower --workers"), "{}", ran.err);
        ran.fails(2, "more than 1000000 clusters");
    }
}

#[test]
fn a_cluster_is_sized_for_a_deadline() {
    let words = [
        "size",
        "runs.csv",
        "--factors",
        "workers",
        "--deadline",
        "10m",
        "--prices",
        "prices.csv",
    ];
    let found = json(&words, 0);
    assert!(
        found["best"]["probability"].as_f64().unwrap() >= 0.95,
        "{}",
        found["best"]
    );
    assert_eq!(found["shapes"].as_array().unwrap().len(), 2);
    let late = json(
        &[
            "size",
            "runs.csv",
            "--factors",
            "workers",
            "--deadline",
            "1s",
            "--prices",
            "prices.csv",
        ],
        1,
    );
    assert!(late["best"].is_null());
}

#[test]
fn mistakes_are_told_with_what_is_known() {
    let pick = |more: &[&str]| check(&with("pick", more));
    pick(&["--slo", "9s"]).fails(2, "nothing is said to be best");
    pick(&["--maximize", "acuracy"]).fails(2, "did you mean `accuracy`?");
    pick(&["--maximize", "accuracy", "--given", "sync=ssp"]).fails(2, "its levels are");
    pick(&["--maximize", "accuracy", "--given", "nodes=2"]).fails(2, "there is no factor `nodes`");
    pick(&["--maximize", "accuracy", "--limit", "time < 3"]).fails(2, "is not a limit");
    pick(&[
        "--maximize",
        "accuracy",
        "--predictor",
        "linear",
        "--limit",
        "time <= 3",
        "--limit",
        "time >= 5",
    ])
    .fails(2, "exclude each other");
    check(&["pick", "runs.csv", "--maximize", "accuracy"])
        .fails(2, "name the columns that were set");
    pick(&["--maximize", "accuracy", "--confidence", "1.5"]).fails(2, "--confidence 1.5 is not");
    pick(&["--maximize", "accuracy", "--confidence", "nan"]).fails(2, "--confidence NaN is not");
    pick(&["--maximize", "accuracy", "--limit", "time <= inf"]).fails(2, "is not a limit");
    pick(&["--weigh", "accuracy=nan", "--predictor", "linear"]).fails(2, "is not finite");
    pick(&["--maximize", "accuracy", "--given", "workers=2,workers=4"]).fails(2, "is set twice");
    pick(&["--maximize", "accuracy", "--grid", "1"]).fails(2, "at most 1 are considered");
    pick(&["--maximize", "accuracy", "--predictor", "oracle"]).fails(2, "there are auto, linear");
    pick(&["--maximize", "workers"]).fails(2, "column `workers` is named twice");
}

#[test]
fn a_pick_by_a_predictor_that_explains_little_says_so() {
    let dir = tempfile::tempdir().unwrap();
    // The response has nothing to do with the factor: a fixed sequence of noise.
    let mut random = support::Random(7);
    let rows: String = (0..40)
        .map(|i| {
            format!(
                "{},{}\n",
                1 << (i % 5),
                1.0 + random.below(1000) as f64 / 1000.0
            )
        })
        .collect();
    std::fs::write(dir.path().join("t.csv"), format!("x,time\n{rows}")).unwrap();
    let words = [
        "pick",
        "t.csv",
        "--factors",
        "x",
        "--minimize",
        "time",
        "--suggest",
        "1",
    ];
    let ran = support::run(dir.path(), words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("caution: "), "{}", ran.out);
    assert!(
        ran.out.contains("No run is worth suggesting"),
        "{}",
        ran.out
    );
}

#[test]
fn a_factor_plays_the_role_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path());
    let path = dir.path().join("runs.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("workers", "hosts")).unwrap();
    std::fs::write(
        dir.path().join("prices.csv"),
        "machine,cores,price_per_hour\nsmall,1,0.2\n",
    )
    .unwrap();
    let size = |role: &[&str]| {
        let words = [
            "size",
            "runs.csv",
            "--factors",
            "hosts",
            "--deadline",
            "10m",
            "--prices",
            "prices.csv",
        ];
        run(dir.path(), words.iter().chain(role))
    };
    size(&[]).fails(2, "no factor is known to be the machines or the cpus");
    assert_eq!(size(&["--role", "machines=hosts"]).code, Some(0));
    size(&["--role", "hosts"]).fails(2, "is not ROLE=FACTOR");
    size(&["--role", "towers=hosts"]).fails(2, "the roles are batch, cpus, jobs, machines");
    size(&["--role", "machines=workers"]).fails(2, "there is no such factor");
    let words = [
        "predict",
        "runs.csv",
        "--factors",
        "batch_size,hosts,sync",
        "--responses",
        "time",
        "--predictor",
        "scaling",
    ];
    run(dir.path(), words).fails(2, "no factor is known to be");
    let said = words.iter().chain(&["--role", "machines=hosts"]);
    assert_eq!(run(dir.path(), said).code, Some(0));
    let said = words.iter().chain(&["--role", "machines=sync"]);
    run(dir.path(), said).fails(2, "a law of performance needs numbers above zero");
}

#[test]
fn a_table_that_is_too_small_says_how_much_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let predict = |rows: &str, more: &[&str]| {
        std::fs::write(dir.path().join("t.csv"), format!("batch,cpus,time\n{rows}")).unwrap();
        let words = [
            "predict",
            "t.csv",
            "--factors",
            "batch,cpus",
            "--responses",
            "time",
        ];
        run(dir.path(), words.iter().chain(more))
    };
    let three = "64,1,9\n128,1,5\n256,1,3\n";
    predict(three, &[]).fails(
        2,
        "3 trials are too few to judge a prediction; it needs at least 5",
    );
    let five = format!("{three}64,2,6\n128,2,4\n");
    let queue = ["--predictor", "queue"];
    predict(&five, &queue).fails(2, "it needs at least 7");
    predict(&five, &["--predictor", "scaling"]).fails(2, "it needs at least 3");
    predict("64,1,9\n128,1,nan\n", &[]).fails(2, "time");
}
