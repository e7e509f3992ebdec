//! `paceline design` as a user meets it.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use support::{Ran, run};

/// The design of the Spark study: 2^(6-1) with F = ABCDE, ten replicates.
const SPARK: &str = r#"
name = "what makes a Spark job expensive"

[job]
command = ["train", "{nodes}", "{executors}", "{cores}", "{epochs}", "{rate}", "{batch_size}"]

[factors]
nodes      = [1, 4]
executors  = [1, 4]
cores      = [1, 4]
epochs     = [1, 3]
rate       = { levels = [0.001, 0.1], scale = "log" }
batch_size = [64, 256]

[design]
kind = "fractional"
generators = ["F = A*B*C*D*E"]
replicates = 10
"#;

/// Five factors, of which one is a word, for any kind of design.
const FIVE: &str = r#"
[job]
command = ["job", "{a}", "{b}", "{c}", "{d}", "{e}"]

[factors]
a = [1, 3]
b = [10, 30]
c = [0.5, 1.5]
d = [2, 8]
e = ["x, y", "z"]

[design]
"#;

fn design(study: &str, args: &[&str]) -> Ran {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("s.toml"), study).expect("the study is written");
    in_dir(dir.path(), args)
}

fn in_dir(dir: &Path, args: &[&str]) -> Ran {
    run(dir, ["design", "s.toml"].iter().chain(args))
}

#[track_caller]
fn printed(study: &str, args: &[&str]) -> String {
    let ran = design(study, args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.err.contains("error"), "{}", ran.err);
    ran.out
}

#[track_caller]
fn json(study: &str, args: &[&str]) -> Value {
    let args = [args, &["--format", "json"]].concat();
    serde_json::from_str(&printed(study, &args)).expect("the output is JSON")
}

#[track_caller]
fn check_says(text: &str, expected: &[&str]) {
    // Lines are wrapped wherever the width ends them.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat = words(text);
    for part in expected {
        assert!(flat.contains(&words(part)), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn the_spark_study_is_of_resolution_six_in_320_runs() {
    let text = printed(SPARK, &[]);
    check_says(
        &text,
        &[
            "fractional design: 32 trials, 10 replicates, 320 runs, in random order from seed 1",
            "resolution VI:",
            "defining relation I = ABCDEF",
            "words 1 of length 6",
            "every effect of up to 2 factors has an estimate of its own",
            "estimable all 21 terms",
            "298 degrees of freedom",
            "D-efficiency 1.00",
            "the first 20 of 320 runs",
        ],
    );
    let all = json(SPARK, &[]);
    assert_eq!(all["resolution"], 6);
    assert_eq!(all["defining_relation"], "I = ABCDEF");
    assert_eq!(
        all["word_length_pattern"],
        serde_json::json!([0, 0, 0, 0, 0, 0, 1])
    );
    assert_eq!(
        all["generators"],
        serde_json::json!(["nodes:executors:cores:epochs:rate:batch_size"])
    );
    assert_eq!(
        (&all["runs_count"], &all["trials_count"]),
        (&320.into(), &32.into())
    );
    let sets = all["aliases"]["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 21);
    let runs = all["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 320);
    for run in runs {
        let product: f64 = run["coded"]
            .as_object()
            .unwrap()
            .values()
            .map(|x| x.as_f64().unwrap())
            .product();
        assert!((product - 1.0).abs() < 1e-9, "{run}");
    }
}

#[test]
fn every_line_of_text_fits_a_hundred_columns() {
    let many: String = (0..15)
        .map(|i| format!("a_rather_long_factor_name_{i} = [{i}, {}]\n", i + 100_000))
        .collect();
    let wide = format!(
        "[job]\ncommand = \"job\"\nreads_env = true\n[factors]\n{many}\
         [design]\nkind = \"plackett-burman\"\n"
    );
    let with_power: &[&str] = &["--effect", "1", "--noise", "2", "--estimate", "90s"];
    for (study, args) in [
        (SPARK, &["--aliases", "6"][..]),
        (SPARK, with_power),
        (&wide, with_power),
        (
            &wide,
            &["design.kind=fractional", "design.runs=16", "--aliases", "3"],
        ),
        (FIVE, &["design.kind=latin-hypercube", "design.runs=7"]),
        (
            FIVE,
            &["design.kind=one-at-a-time", "--model", "interactions"],
        ),
    ] {
        let ran = design(study, args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for line in ran.out.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn a_fraction_of_resolution_three_names_what_each_estimate_mixes() {
    let text = printed(FIVE, &["design.kind=fractional", "design.runs=8"]);
    check_says(
        &text,
        &[
            "resolution III: main effects are aliased with interactions of two factors",
            "defining relation I = ABD = ACE = BCDE",
            "A + BD + CE",
            "BC + DE",
            "terms main effects",
        ],
    );
    let asked = printed(
        FIVE,
        &[
            "design.kind=fractional",
            "design.runs=8",
            "--model",
            "y ~ a*b + d",
        ],
    );
    check_says(
        &asked,
        &[
            "terms a + b + a:b + d",
            "estimable 2 of 4 terms",
            "a:b is not estimable: confounded with d",
            "d is not estimable: confounded with a:b",
        ],
    );
}

#[test]
fn a_design_without_an_alias_table_says_what_left_out_interactions_do() {
    let eleven: String = ('a'..='k').map(|c| format!("{c} = [1, 2]\n")).collect();
    let study = format!(
        "[job]\ncommand = \"job\"\nreads_env = true\n[factors]\n{eleven}\
         [design]\nkind = \"plackett-burman\"\n"
    );
    let text = printed(&study, &[]);
    check_says(
        &text,
        &[
            "12 trials, 12 runs",
            // Each main effect of the 12-run design meets every interaction
            // of two other factors by a third (Plackett and Burman 1946).
            "a: up to 0.33 from 45 interactions",
            "k: up to 0.33 from 45 interactions",
            "no degrees of freedom are left to estimate it",
        ],
    );
    let biases = json(&study, &[])["biases"].as_array().unwrap().len();
    assert_eq!(biases, 11 * 45);
}

#[test]
fn blocks_and_what_they_cost_are_shown() {
    let text = printed(FIVE, &["design.kind=two-level", "design.blocks=8"]);
    check_says(
        &text,
        &[
            "32 runs in 8 blocks",
            "blocks differ by",
            "+ blocks",
            "replicate block",
        ],
    );
    let all = json(FIVE, &["design.kind=two-level", "design.blocks=8"]);
    assert_eq!(all["block_generators"].as_array().unwrap().len(), 3);
    let blocks: BTreeSet<u64> = all["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["block"].as_u64().unwrap())
        .collect();
    assert_eq!(blocks, (1..=8).collect());
}

#[test]
fn power_needs_an_effect_and_its_noise() {
    let kind = "design.kind=two-level";
    let text = printed(FIVE, &[kind, "--effect", "1", "--noise", "1"]);
    check_says(
        &text,
        &[
            "to find a change of 1 where runs of one trial vary by 1",
            "each of 5 main effects 1 0.75",
            "each of 10 interactions of 2 factors 1 0.75",
        ],
    );
    let power = |args: &[&str]| {
        let all = json(
            FIVE,
            &[&[kind, "--effect", "1", "--noise", "1"], args].concat(),
        );
        all["model"]["terms"][0]["power"].as_f64().unwrap()
    };
    assert!(power(&["--alpha", "0.01"]) < power(&[]));
    assert!(power(&["design.replicates=4"]) > power(&[]));

    design(FIVE, &[kind, "--effect", "1"]).fails(2, "--noise");
    design(FIVE, &[kind, "--effect", "1", "--noise", "0"]).fails(2, "positive");
    design(
        FIVE,
        &[kind, "--effect", "1", "--noise", "1", "--alpha", "2"],
    )
    .fails(2, "between 0 and 1");
}

#[test]
fn time_and_cost_are_those_of_all_runs() {
    let args = [
        "design.kind=two-level",
        "design.replicates=3",
        "design.warmup=4",
        "design.cost_per_run=a * b",
        "--estimate",
        "1m30s",
    ];
    let text = printed(FIVE, &args);
    // (1 + 3) × (10 + 30) × 8 combinations of the others × 3 replicates.
    check_says(
        &text,
        &[
            "after 4 runs to warm up",
            "2 h 30 m: 100 runs, 1 m 30 s each",
            "cost 3840.0 in all",
        ],
    );
    let all = json(FIVE, &args);
    assert_eq!(all["expected"]["duration_s"], 9000.0);
    assert_eq!(all["expected"]["cost"], 3840.0);
}

#[test]
fn a_pilot_run_stands_for_the_time_of_every_run() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("s.toml"),
        format!("{FIVE}kind = \"two-level\"\n"),
    )
    .unwrap();
    let pilot = |script: &str, out: &str| {
        run(
            dir.path(),
            ["run", "--quiet", "--out", out, "--", "sh", "-c", script],
        )
    };
    assert_eq!(pilot("true", "pilot").code, Some(0));
    let ran = in_dir(dir.path(), &["--pilot", "pilot", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let all: Value = serde_json::from_str(&ran.out).unwrap();
    let each = all["expected"]["run_duration_s"].as_f64().unwrap();
    assert!(each > 0.0);
    assert_eq!(all["expected"]["duration_s"].as_f64(), Some(32.0 * each));

    assert_eq!(pilot("exit 3", "failed").code, Some(3));
    in_dir(dir.path(), &["--pilot", "failed"]).fails(2, "failed is not a run that is done");
    in_dir(dir.path(), &["--pilot", "nowhere"]).fails(2, "nowhere");
}

#[test]
fn csv_has_a_heading_and_one_line_per_run() {
    let text = printed(
        FIVE,
        &["design.kind=full", "design.replicates=2", "--format", "csv"],
    );
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heading: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        heading.join(" "),
        "run trial replicate block order a b c d e a_coded b_coded c_coded d_coded e_coded"
    );
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 64);
    let mut seen = BTreeSet::new();
    for (position, row) in rows.iter().enumerate() {
        assert_eq!(row[4].parse::<usize>().unwrap(), position + 1);
        assert!(["x, y", "z"].contains(&&row[9]), "{row:?}");
        let expected = if &row[5] == "1" { "-1" } else { "1" };
        assert_eq!(&row[10], expected);
        assert!(
            seen.insert((row[1].to_owned(), row[2].to_owned())),
            "{row:?}"
        );
    }
}

#[test]
fn a_hundred_thousand_runs_are_planned_and_printed() {
    let study = "[job]\ncommand = \"job\"\nreads_env = true\n\
        [factors]\na = { low = 1, high = 100, steps = 100 }\nb = { low = 1, high = 100, steps = 100 }\n\
        [design]\nreplicates = 10\n";
    let text = printed(study, &["--format", "csv"]);
    assert_eq!(text.lines().count(), 100_001);
    let runs: BTreeSet<&str> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(runs.len(), 100_000);
    check_says(
        &printed(study, &[]),
        &[
            "10,000 trials, 10 replicates, 100,000 runs",
            "the first 20 of 100,000 runs",
        ],
    );
}

#[test]
fn the_same_study_gives_the_same_plan_and_another_seed_another_order() {
    let csv = |seed: &str| printed(SPARK, &[&format!("design.seed={seed}"), "--format", "csv"]);
    assert_eq!(csv("7"), csv("7"));
    assert_ne!(csv("7"), csv("8"));
}

#[test]
fn every_kind_of_design_is_described() {
    for (kind, more) in [
        ("full", &[][..]),
        ("two-level", &[]),
        ("fractional", &["design.resolution=5"]),
        ("one-at-a-time", &[]),
        ("plackett-burman", &[]),
        ("central-composite", &["e=1,3", "design.shape=inscribed"]),
        ("box-behnken", &["e=1,3"]),
        ("latin-hypercube", &["design.runs=12"]),
        ("optimal", &["design.runs=14", "design.model=main"]),
    ] {
        let kind_argument = format!("design.kind={kind}");
        let args = [
            &[kind_argument.as_str(), "--effect", "1", "--noise", "1"],
            more,
        ]
        .concat();
        let text = printed(FIVE, &args);
        check_says(&text, &[&format!("{kind} design:"), "estimable", "Runs"]);
        let all = json(FIVE, &args);
        assert_eq!(all["kind"], kind);
        assert_eq!(
            all["runs"].as_array().unwrap().len() as u64,
            all["runs_count"].as_u64().unwrap()
        );
    }
}

#[test]
fn all_problems_of_a_file_are_said_at_once_with_their_lines() {
    let ran = design(
        "[job]\ncommand = [\"job\", \"{batchsize}\"]\n[factors]\nbatch_size = [64]\n[design]\nkidn = \"full\"\n",
        &[],
    );
    ran.fails(2, "error: s.toml:2: ");
    ran.fails(2, "error: s.toml:4: factor `batch_size` has one level");
    ran.fails(2, "error: s.toml:6: unknown key `kidn` in [design]");
    ran.fails(2, "hint: did you mean `kind`?");
    assert_eq!(ran.out, "");
}

#[test]
fn what_cannot_be_planned_is_the_users_error_with_advice() {
    let ran = design(SPARK, &["design.blocks=3"]);
    ran.fails(2, "error: 10 replicate(s) cannot be divided into 3 blocks");
    ran.fails(
        2,
        "hint: with these replicates the blocks can be 1, 2, 5, 10",
    );
    design(SPARK, &["--model", "nodes*epoch"]).fails(2, "hint: did you mean `epochs`?");
    design(SPARK, &["--model", "nodes +"]).fails(2, "hint: write main, interactions, quadratic");
}

#[test]
fn a_file_that_is_no_study_is_refused_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    in_dir(dir.path(), &[]).fails(2, "cannot read s.toml");
    std::fs::write(dir.path().join("s.toml"), b"name = \"x\"\n\xff").unwrap();
    in_dir(dir.path(), &[]).fails(2, "s.toml:2: this is not UTF-8 text");
    std::fs::write(dir.path().join("s.toml"), vec![b'#'; 5 << 20]).unwrap();
    in_dir(dir.path(), &[]).fails(2, "more than 4 MiB");
    run(dir.path(), ["design", "."]).fails(2, "study.toml");
}

#[test]
fn the_directory_of_a_study_means_its_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("study.toml"), SPARK).unwrap();
    let ran = run(dir.path(), ["design", "."]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    check_says(&ran.out, &["320 runs"]);
}

#[test]
fn what_the_user_should_know_goes_to_stderr_and_stops_nothing() {
    let study = "[job]\ncommand = [\"job\", \"{a}\"]\n[fixed]\nb = 1\n[factors]\na = [1, 2]\n";
    let ran = design(study, &["--format", "csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        ran.err,
        "notice: s.toml:4: constant `b` has no use in the command; it is only recorded\n"
    );
    assert_eq!(ran.out.lines().count(), 3);
}
