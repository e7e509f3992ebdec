//! What a sound study means: commands, responses, designs, fingerprints.

use paceline_design::{Kind, Scale};
use paceline_model::{Level, WorkerId};
use paceline_study::{
    Absent, Capabilities, CheckpointUse, CommandError, CommandLine, FactorType, Noise, RawStudy,
    ResponseCollector, RunFacts, Study,
};
use std::time::Duration;

fn study_with(text: &str, arguments: &[&str]) -> Study {
    RawStudy::parse("study.toml", text)
        .and_then(|raw| raw.with_arguments(arguments.iter().copied()))
        .and_then(|raw| raw.check(&Capabilities::ALL))
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn study(text: &str) -> Study {
    study_with(text, &[])
}

fn facts() -> RunFacts {
    RunFacts {
        constants: Vec::new(),
        checkpoint_dir: "/tmp/checkpoint".to_owned(),
        checkpoint: CheckpointUse::None,
        event_log_dir: "/tmp/spark".to_owned(),
        seed: 7,
        run_id: "t1-r0".into(),
        run_dir: "/tmp/s/runs/t1-r0".into(),
        replicate: 0,
        program: "/usr/bin/paceline".into(),
    }
}

fn command(study: &Study, levels: &[Level]) -> CommandLine {
    study
        .command_for(levels, &facts())
        .expect("the levels fit the factors")
}

const TRAIN: &str = r#"
name = "batch-size for the deadline"
[job]
kind = "train"
model = "lenet5"
data = "mnist"
epochs = 3
[factors]
batch_size  = [64, 128, 256, 512]
workers     = [1, 2]
sync        = ["bsp", "ssp:3", "async"]
concurrency = [1, 2]
[design]
kind = "full"
replicates = 3
seed = 1
[responses]
time = "duration_s"
accuracy = "test_accuracy"
cost = "time / (100 * accuracy)^2"
[engine]
kind = "local"
"#;

#[test]
fn the_design_documents_own_example_is_a_study() {
    let study = study(TRAIN);
    assert_eq!(study.name(), Some("batch-size for the deadline"));
    assert_eq!(study.factors()[2].kind, FactorType::Categorical);
    assert_eq!(study.design().replicates, 3);
    assert_eq!(study.notices(), []);
    let levels: Vec<Level> = study
        .factors()
        .iter()
        .map(|factor| factor.levels[1].clone())
        .collect();
    assert_eq!(
        command(&study, &levels).argv,
        [
            "/usr/bin/paceline",
            "trainer",
            "lenet5",
            "--seed",
            "7",
            "--no-checkpoint",
            "--data=mnist",
            "--epochs=3",
            "--batch-size=128",
            "--workers=2",
            "--sync=ssp:3",
        ]
    );
    let plan = study.design_request().unwrap().plan(1).unwrap();
    assert_eq!(plan.runs().len(), 4 * 2 * 3 * 2 * 3);
}

#[test]
fn a_list_becomes_arguments_and_every_name_a_variable() {
    let study = study(
        r#"
[job]
command = ["train", "--batch={batch_size}", "{{literal}}", "{seed}", "{data}", 3]
cwd = "work/{batch_size}"
env = { RATE = "{rate}", N = 1 }
[fixed]
data = "mnist"
[factors]
batch_size = [64, 128]
rate = [0.1, 1]
"#,
    );
    let line = command(&study, &[Level::Integer(64), Level::Number(0.1)]);
    assert_eq!(
        line.argv,
        ["train", "--batch=64", "{literal}", "7", "mnist", "3"]
    );
    assert_eq!(line.cwd.as_deref(), Some("work/64"));
    let env: Vec<_> = line.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(
        env,
        [
            "RATE=0.1",
            "N=1",
            "PACELINE_BATCH_SIZE=64",
            "PACELINE_RATE=0.1",
            "PACELINE_DATA=mnist",
            "PACELINE_SEED=7",
            "PACELINE_RUN_ID=t1-r0",
            "PACELINE_RUN_DIR=/tmp/s/runs/t1-r0",
            "PACELINE_REPLICATE=0",
            "PACELINE_CHECKPOINT_DIR=/tmp/checkpoint",
        ]
    );
    assert_eq!(
        study.command_for(&[Level::Integer(64)], &facts()),
        Err(CommandError::LevelCount {
            expected: 2,
            found: 1
        })
    );
}

#[test]
fn one_text_is_run_by_the_shell() {
    let study = study("job.command = \"train {n} | tee log\"\nfactors.n = [1, 2]\n");
    let line = command(&study, &[Level::Integer(2)]);
    assert_eq!(line.argv, ["sh", "-c", "train 2 | tee log"]);
}

#[test]
fn a_factor_named_seed_takes_the_place_of_the_runs_own() {
    let study = study("job.command = [\"train\", \"{seed}\"]\nfactors.seed = [1, 2]\n");
    let line = command(&study, &[Level::Integer(2)]);
    assert_eq!(line.argv, ["train", "2"]);
    let seeds: Vec<_> = line
        .env
        .iter()
        .filter(|(name, _)| name == "PACELINE_SEED")
        .collect();
    assert_eq!(seeds, [&("PACELINE_SEED".to_owned(), "2".to_owned())]);
}

fn levels_of(factor: &str) -> String {
    let text = format!("job.command = [\"x\", \"{{n}}\"]\nfactors.n = {factor}\n");
    let study = study(&text);
    let levels: Vec<_> = study.factors()[0]
        .levels
        .iter()
        .map(Level::to_string)
        .collect();
    levels.join(" ")
}

#[test]
fn ranges_with_steps_become_levels() {
    assert_eq!(
        levels_of("{ low = 1, high = 16, steps = 5, scale = \"log\" }"),
        "1 2 4 8 16"
    );
    assert_eq!(levels_of("{ low = 0, high = 10, steps = 3 }"), "0 5 10");
    assert_eq!(levels_of("{ low = 0.0, high = 1.0, steps = 3 }"), "0 0.5 1");
}

#[test]
fn arguments_win_over_the_file_and_keep_the_scale() {
    let text = r#"
job.command = ["x", "{rate}", "{n}"]
fixed.n = 3
factors.rate = { low = 0.1, high = 1.0, steps = 4, scale = "log" }
"#;
    let changed = study_with(
        text,
        &[
            "rate=0.5,0.7",
            "n=1,2",
            "policy.timeout=2m",
            "policy.noise=repeat",
            "design.seed=9",
        ],
    );
    assert_eq!(changed.factors()[0].levels.len(), 2);
    assert_eq!(changed.factors()[0].scale, Scale::Log);
    assert_eq!(changed.factors()[1].name, "n");
    assert!(changed.fixed().is_empty());
    assert_eq!(changed.policy().timeout, Some(Duration::from_secs(120)));
    assert_eq!(changed.policy().noise, Noise::Repeat);
    assert_eq!(changed.policy().noise_repeats, 3);
    assert_eq!(changed.design().seed, 9);
    assert_eq!(
        study(text).changed_sections(&changed),
        ["[fixed]", "[factors]", "[design]", "[policy]"]
    );
}

const RESPONSES: &str = r#"
[job]
command = ["x", "{batch_size}"]
[factors]
batch_size = [64, 128]
[responses]
cost = "time / (100 * accuracy)^2"
time = "duration_s"
accuracy = { regex = 'accuracy: ([0-9.]+)', take = "max" }
loss = { metric = "loss", take = "first" }
loss_mean = { metric = "loss", take = "mean" }
per_example = "time / batch_size"
f1 = "f1"
whole = { regex = '\d+ steps' }
"#;

/// Evaluates the responses of [`RESPONSES`] for a run.
fn responses(log: &[&str], metrics: &[(&str, f64)], duration: Option<f64>) -> Vec<String> {
    let study = study(RESPONSES);
    let mut collector = ResponseCollector::new(&study);
    for line in log {
        collector.log_line(line);
    }
    for (name, value) in metrics {
        collector.metric(None, name, *value);
    }
    let values = collector.finish(&[Level::Integer(64)], |name| {
        duration.filter(|_| name == "duration_s")
    });
    study
        .responses()
        .iter()
        .zip(values)
        .map(|(response, value)| match value {
            Ok(value) => format!("{} = {value}", response.name),
            Err(absent) => format!("{}: {absent}", response.name),
        })
        .collect()
}

#[test]
fn responses_come_from_the_log_from_metrics_and_from_each_other() {
    assert_eq!(
        responses(
            &["accuracy: 0.25", "accuracy: 0.5", "accuracy: 0.4", "noise"],
            &[
                ("loss", 4.0),
                ("loss", 1.0),
                ("f1", 0.1),
                ("f1", 0.75),
                ("other", 9.0)
            ],
            Some(32.0),
        ),
        [
            "cost = 0.0128",
            "time = 32",
            "accuracy = 0.5",
            "loss = 4",
            "loss_mean = 2.5",
            "per_example = 0.5",
            "f1 = 0.75",
            "whole: `whole` was not reported",
        ]
    );
}

#[test]
fn what_was_not_reported_is_an_outcome_with_its_cause() {
    assert_eq!(
        responses(
            &["accuracy: 0", "3 steps"],
            &[("loss", f64::NAN), ("loss", 1.0)],
            Some(1.0)
        ),
        [
            "cost: `time / (100 * accuracy) ^ 2` is not a finite number",
            "time = 1",
            "accuracy = 0",
            "loss: `loss` is not a finite number",
            "loss_mean: `loss` is not a finite number",
            "per_example = 0.015625",
            "f1: `f1` was not reported",
            "whole: `whole` was not reported",
        ]
    );
    let nothing = responses(&[], &[], None);
    assert_eq!(nothing[0], "cost: `duration_s` was not reported");
    assert_eq!(nothing[2], "accuracy: `accuracy` was not reported");
}

#[test]
fn a_value_that_is_not_a_number_stays_visible_in_every_summary() {
    for take in ["min", "max", "mean"] {
        let study = study(&format!(
            "job.command = \"x {{n}}\"\nfactors.n = [1, 2]\nresponses.loss = {{ metric = \"loss\", take = \"{take}\" }}\n"
        ));
        for reported in [[f64::NAN, 1.0], [1.0, f64::NAN]] {
            let mut collector = ResponseCollector::new(&study);
            reported
                .iter()
                .for_each(|value| collector.metric(None, "loss", *value));
            assert_eq!(
                collector.finish(&[Level::Integer(1)], |_| None),
                [Err(Absent::NotFinite("loss".into()))],
                "{take} of {reported:?}"
            );
        }
    }
}

#[test]
fn an_absent_value_is_typed() {
    let study = study(RESPONSES);
    let values = ResponseCollector::new(&study).finish(&[Level::Integer(64)], |_| None);
    assert_eq!(values[1], Err(Absent::Missing("duration_s".into())));
}

#[test]
fn the_fingerprint_sees_meaning_and_not_spelling() {
    let plain = study(
        "job.command = [\"x\", \"{n}\"]\nfactors.n = [1, 2]\nresponses.t = \"duration_s*2\"\n",
    );
    let spelled = study(
        r#"
# the same study
[design]
order = "random"      # a default
kind = "full"
[responses]
t = "(duration_s  *  2)"
[factors]
n = { levels = [1, 2], type = "numeric" }
[job]
kind = "command"
command = [ "x", '{n}' ]
"#,
    );
    assert_eq!(plain.fingerprint(), spelled.fingerprint());
    assert_eq!(plain, spelled);
    let other = study(
        "job.command = [\"x\", \"{n}\"]\nfactors.n = [1, 2.0]\nresponses.t = \"duration_s*2\"\n",
    );
    assert_ne!(plain.fingerprint(), other.fingerprint());
    assert_eq!(plain.changed_sections(&other), ["[factors]"]);
}

#[test]
fn canonical_form_and_fingerprint_are_the_same_in_every_version() {
    // A change makes every frozen study look changed, so the canonical form
    // would need a new prefix and a migration. The fingerprint is that of
    // `(printf 'paceline study 1\n'; cat train.canonical.toml) | sha256sum`.
    let study = study(TRAIN);
    assert_eq!(study.to_toml(), include_str!("train.canonical.toml"));
    assert_eq!(
        study.fingerprint().as_str(),
        include_str!("train.fingerprint").trim()
    );
}

/// The trials that a study with these forbidden combinations plans.
fn planned(design: &str) -> Vec<String> {
    let study = study(&format!(
        r#"
[job]
command = ["x", "{{size}}", "{{workers}}", "{{sync}}"]
[fixed]
limit = 300
[factors]
size = [64, 128, 512]
workers = [1, 2]
sync = ["bsp", "async"]
[design]
order = "standard"
{design}
"#
    ));
    let request = study.design_request().expect("the check has tried it");
    let plan = request.plan(1).expect("the design exists");
    plan.runs()
        .iter()
        .map(|run| {
            let levels: Vec<_> = plan
                .levels(run.trial)
                .map(|level| level.to_string())
                .collect();
            levels.join(" ")
        })
        .collect()
}

#[test]
fn forbidden_combinations_are_not_planned() {
    assert_eq!(planned("").len(), 12);
    let without = planned("forbid = [\"size == 512 and workers == 1\"]");
    assert_eq!(without.len(), 10);
    assert!(!without.iter().any(|trial| trial.starts_with("512 1")));
    assert_eq!(planned("forbid = [\"not (size < 128)\"]").len(), 4);
    assert_eq!(planned("forbid = [\"size != 128\"]").len(), 4);
    assert_eq!(
        planned("forbid = [\"sync != 'bsp' or size > 64\"]").len(),
        2
    );
    assert_eq!(planned("forbid = [\"300 < size\"]").len(), 8);
    assert_eq!(planned("forbid = [\"128 >= size\"]").len(), 4);
    // Arithmetic is decided level by level; constants take part.
    assert_eq!(planned("forbid = [\"size / workers > 250\"]").len(), 8);
    assert_eq!(planned("forbid = [\"size > limit\"]").len(), 8);
    assert_eq!(
        planned("forbid = [\"limit == 300 and size == 64\"]").len(),
        8
    );
    assert_eq!(
        planned("forbid = [\"limit == 301 and size == 64\"]").len(),
        12
    );
}

#[test]
fn what_cannot_be_planned_is_a_problem() {
    let text = r#"
[job]
command = ["x", "{a}", "{b}"]
[factors]
a = { low = 1.0, high = 2.0 }
b = { low = 1.0, high = 2.0 }
[design]
kind = "latin-hypercube"
runs = 8
forbid = ["a * b > 3"]
"#;
    let check = |text: &str| {
        let raw = RawStudy::parse("study.toml", text).unwrap();
        raw.check(&Capabilities::ALL).unwrap_err().to_string()
    };
    assert_eq!(
        check(text),
        "study.toml:7: `forbid` is too intricate for this design: a * b > 3\n\
         hint: compare one factor with one number or word at a time"
    );
    assert_eq!(
        check(&text.replace("a * b > 3", "true or a > 1")),
        "study.toml:7: `forbid` forbids every run: true or a > 1"
    );
}

#[test]
fn every_kind_of_design_reaches_the_design_crate() {
    let check = |design: &str, expected: usize| {
        let study = study(&format!(
            "job.command = \"x {{a}} {{b}} {{c}} {{d}}\"\n[factors]\na = [1, 2]\nb = [1, 2]\nc = [1.0, 2.0]\nd = [1, 2]\n[design]\n{design}\n"
        ));
        let plan = study.design_request().unwrap().plan(1);
        let plan = plan.unwrap_or_else(|error| panic!("{design}: {error}"));
        assert_eq!(plan.runs().len(), expected, "{design}");
    };
    check("", 16);
    check("replicates = 2", 32);
    check("kind = \"two-level\"", 16);
    check("kind = \"fractional\"\ngenerators = [\"D = A*B*C\"]", 8);
    check("kind = \"fractional\"\nresolution = 4", 8);
    check("kind = \"fractional\"\nruns = 8", 8);
    check("kind = \"one-at-a-time\"\ncontrol = { a = 2 }", 5);
    check("kind = \"plackett-burman\"", 8);
    check("kind = \"latin-hypercube\"\nruns = 10", 10);
    check("kind = \"optimal\"\nruns = 12\nmodel = \"a*b + c + d\"", 12);
    check(
        "kind = \"optimal\"\nruns = 6\nmodel = \"main\"\ncost_per_run = \"a * b\"\nbudget = 1000",
        6,
    );
}

#[test]
fn a_control_is_given_for_every_factor() {
    let study = study(
        "job.command = \"x {a} {b}\"\nfactors = { a = [1, 2], b = [3, 4] }\ndesign = { kind = \"one-at-a-time\", control = { b = 4.0 } }\n",
    );
    assert_eq!(
        study.design().kind,
        Kind::OneAtATime {
            control: vec![
                ("a".to_owned(), Level::Integer(1)),
                ("b".to_owned(), Level::Integer(4))
            ]
        }
    );
}

#[test]
fn a_model_is_named_or_a_formula_and_a_wrong_one_is_pointed_at() {
    use paceline_design::{ModelTerms, Term};
    let study = study(TRAIN);
    assert_eq!(study.model_terms("quadratic"), Ok(ModelTerms::Quadratic));
    let (batch_size, workers) = (0, 1);
    assert_eq!(
        study.model_terms("batch_size*workers + batch_size^2"),
        Ok(ModelTerms::Explicit(vec![
            Term::main(batch_size),
            Term::main(workers),
            Term::interaction(&[batch_size, workers]),
            Term::powers([(batch_size, 2)]),
        ]))
    );
    let problem = study.model_terms("workers + batchsize").unwrap_err();
    assert_eq!(
        problem.render(""),
        "argument `workers + batchsize`: `batchsize` is not a factor\n\
         \x20   workers + batchsize\n\
         \x20             ^^^^^^^^^\n\
         hint: did you mean `batch_size`?"
    );
}

#[test]
fn of_several_ranks_a_response_is_the_mean_of_what_each_gives() {
    let study = study(
        "job.command = \"x {n}\"\nfactors.n = [1, 2]\n[responses]\nlast = { metric = \"loss\" }\n\
         first = { metric = \"loss\", take = \"first\" }\nleast = { metric = \"loss\", take = \
         \"min\" }\ntwice = \"2 * loss\"\n",
    );
    let mut collector = ResponseCollector::new(&study);
    for (rank, value) in [(0, 5.0), (1, 3.0), (0, 1.0), (1, 2.0)] {
        collector.metric(Some(WorkerId(rank)), "loss", value);
    }
    let values = collector.finish(&[Level::Integer(1)], |_| None);
    let values: Vec<f64> = values.into_iter().map(Result::unwrap).collect();
    assert_eq!(values, [1.5, 4.0, 1.5, 3.0]);
}
