//! `paceline train`, `eval`, `predict-batch` and studies of the trainer.

mod support;

use paceline_kernels::Isa;
use paceline_model::EventKind;
use paceline_records::Run;
use std::path::Path;
use support::run;

/// Rows that a test learns in a blink.
const BLOBS: &str = "--data=synthetic:blobs,rows=400,test=200,width=16,classes=3,seed=2";

fn last_metric(dir: &Path, name: &str) -> f64 {
    let run = Run::open(dir).expect("the record opens");
    let events = run.events().expect("events can be read");
    events
        .iter()
        .rfind(|event| event.kind == EventKind::Metric && event.name == name)
        .and_then(|event| event.value)
        .unwrap_or_else(|| panic!("no metric {name}"))
}

fn phases(dir: &Path) -> Vec<String> {
    let run = Run::open(dir).expect("the record opens");
    let events = run.events().expect("events can be read");
    let phases = events
        .into_iter()
        .filter(|event| event.kind == EventKind::Phase);
    phases.map(|event| event.name).collect()
}

#[test]
fn a_training_is_a_run_with_metrics_phases_and_a_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(
        dir.path(),
        ["train", "mlp:16", BLOBS, "--epochs=8", "--out=r"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("all epochs done"), "{}", ran.out);
    let record = dir.path().join("r");
    assert!(last_metric(&record, "test_accuracy") > 0.9);
    assert_eq!(last_metric(&record, "epochs_done"), 8.0);
    assert_eq!(phases(&record), ["read data", "train"]);
    assert!(record.join("checkpoint/model.safetensors").is_file());
}

#[test]
fn a_trained_model_is_judged_and_asked_again_from_its_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    run(
        dir.path(),
        [
            "train",
            "softmax",
            BLOBS,
            "--epochs=8",
            "--out=r",
            "--quiet",
        ],
    );
    let judged = run(dir.path(), ["eval", "r", "--format=json"]);
    assert_eq!(judged.code, Some(0), "{}", judged.err);
    let json: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    let accuracy = json["test_accuracy"].as_f64().unwrap();
    assert_eq!(
        accuracy,
        last_metric(&dir.path().join("r"), "test_accuracy")
    );
    let asked = run(dir.path(), ["predict-batch", "r", "--scores"]);
    let mut rows = csv::Reader::from_reader(asked.out.as_bytes());
    let records: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let right = records.iter().filter(|row| row[1] == row[2]).count();
    assert_eq!(records.len(), 200);
    assert!((right as f64 / 200.0 - accuracy).abs() < 1e-12);
}

#[test]
fn a_resumed_training_ends_where_an_unbroken_one_does() {
    let dir = tempfile::tempdir().unwrap();
    let train = |extra: &[&str]| {
        let mut words = vec![
            "train",
            "mlp:16",
            BLOBS,
            "--quiet",
            "--threads=2",
            "--batch-size=16",
            "--optimizer=adam",
        ];
        words.extend(extra);
        let ran = run(dir.path(), &words);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    };
    train(&["--epochs=6", "--out=whole"]);
    train(&["--steps=31", "--out=part"]);
    train(&["--epochs=6", "--resume=part", "--out=rest"]);
    let weights = |run: &str| {
        let path = dir.path().join(run).join("checkpoint/model.safetensors");
        paceline_train::TensorFile::read(&path).unwrap().tensors
    };
    assert_eq!(weights("whole"), weights("rest"));
}

#[test]
fn a_resume_under_other_options_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    run(
        dir.path(),
        [
            "train",
            "softmax",
            BLOBS,
            "--epochs=1",
            "--out=r",
            "--quiet",
        ],
    );
    let ran = run(
        dir.path(),
        [
            "train",
            "softmax",
            BLOBS,
            "--resume=r",
            "--seed=9",
            "--out=s",
            "--quiet",
        ],
    );
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("--seed 1"), "{}", ran.err);
}

#[test]
fn sizes_beyond_reason_are_cut_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let train = |more: &[&str]| {
        let words = ["train", "softmax", BLOBS, "--epochs=2", "--quiet"];
        run(dir.path(), words.iter().chain(more))
    };
    let whole = train(&["--batch-size=400", "--out=whole"]);
    let huge = train(&["--batch-size=99999999999", "--out=huge"]);
    assert_eq!((whole.code, huge.code), (Some(0), Some(0)), "{}", huge.err);
    let loss = |name: &str| last_metric(&dir.path().join(name), "test_loss");
    assert_eq!(loss("whole"), loss("huge"), "a batch is all rows at most");
    for more in [
        &["--threads=999999999"][..],
        &["--workers=2", "--servers=4000000000"],
    ] {
        let refused = train(more);
        assert_eq!(refused.code, Some(2), "{more:?}: {}", refused.err);
        assert!(refused.err.contains("at most 1024"), "{}", refused.err);
    }
}

#[test]
fn divergence_is_an_outcome_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(
        dir.path(),
        [
            "train",
            "mlp:16",
            BLOBS,
            "--learning-rate=1e30",
            "--out=r",
            "--quiet",
        ],
    );
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("hint: the learning rate"), "{}", ran.out);
    assert_eq!(last_metric(&dir.path().join("r"), "diverged"), 1.0);
}

#[test]
fn what_cannot_be_trained_is_refused_before_a_record_is_made() {
    let dir = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (&["train", "resnet"][..], "--list"),
        (&["train", "softmax", "--data=synthetic:round"], "dense"),
        (&["train", "softmax", "--optimizer=adamw"], "known are"),
        (&["train", "softmax", "--until=loss<0.3"], "write it as"),
        (&["train", "softmax", "--learning-rate=-1"], "above zero"),
        (&["train", "softmax", "--schedule=linear"], "cosine"),
        (&["train", "softmax", "--batch-size=0"], "batch-size"),
        (&["train"], "MODEL"),
    ] {
        let ran = run(dir.path(), words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{words:?}: {}", ran.err);
        assert!(!dir.path().join("runs").exists(), "{words:?}");
    }
}

#[test]
fn damaged_checkpoints_are_not_trusted() {
    let dir = tempfile::tempdir().unwrap();
    run(
        dir.path(),
        [
            "train",
            "softmax",
            BLOBS,
            "--epochs=1",
            "--out=r",
            "--quiet",
        ],
    );
    let path = dir.path().join("r/checkpoint/model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 4;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(run(dir.path(), ["eval", "r"]).code, Some(4));
    std::fs::write(&path, &bytes[..last]).unwrap();
    assert_eq!(run(dir.path(), ["eval", "r"]).code, Some(4));
}

#[test]
fn models_that_are_solved_as_a_whole_are_runs_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    for (model, size) in [
        ("svm-rbf:C=2", "support_vectors"),
        ("svm-linear", "weights"),
        ("svm-linear-primal", "weights"),
        ("logistic-exact", "weights"),
        ("forest:20", "nodes"),
        ("forest-exact:20", "nodes"),
    ] {
        let name = model.replace([':', '='], "-");
        let out = format!("--out={name}");
        let ran = run(dir.path(), ["train", model, BLOBS, &out, "--threads=2"]);
        assert_eq!(ran.code, Some(0), "{model}: {}", ran.err);
        assert!(ran.out.contains("fitted in"), "{}", ran.out);
        let record = dir.path().join(name);
        let accuracy = last_metric(&record, "test_accuracy");
        assert!(accuracy > 0.8, "{model}: {accuracy}");
        assert_eq!(last_metric(&record, "converged"), 1.0);
        assert!(last_metric(&record, size) > 0.0);
        assert_eq!(phases(&record), ["read data", "train", "evaluate"]);
        let judged = run(&record, ["eval", ".", "--format=json"]);
        assert_eq!(judged.code, Some(0), "{model}: {}", judged.err);
        let json: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
        assert_eq!(json["test_accuracy"].as_f64(), Some(accuracy), "{model}");
        assert!(json["steps"].is_null());
        let asked = run(&record, ["predict-batch", ".", "--scores"]);
        let mut rows = csv::Reader::from_reader(asked.out.as_bytes());
        let records: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
        let right = records.iter().filter(|row| row[1] == row[2]).count();
        assert!((right as f64 / 200.0 - accuracy).abs() < 1e-12, "{model}");
    }
}

#[test]
fn options_that_mean_nothing_to_a_model_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (
            &["train", "forest", "--epochs=3"][..],
            "--epochs does not apply",
        ),
        (
            &[
                "train",
                "svm-rbf",
                "--optimizer=adam",
                "--schedule=constant",
            ],
            "--optimizer, --schedule do not apply",
        ),
        (&["train", "svm-rbf:gama=1"], "it has C and gamma"),
        (&["train", "forest:0"], "from 1 to 100000"),
    ] {
        let ran = run(dir.path(), words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{words:?}: {}", ran.err);
        assert!(!dir.path().join("runs").exists(), "{words:?}");
    }
    // What the data is made of shows only when it is read.
    let ran = run(dir.path(), ["trainer", "forest:2", "--data=tweets"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("encoding=bag"), "{}", ran.err);
}

#[test]
fn a_study_varies_the_model_over_both_families() {
    let dir = tempfile::tempdir().unwrap();
    let study = format!(
        "[job]\nkind = \"train\"\ndata = \"{}\"\nthreads = 1\n\
         [factors]\nmodel = [\"softmax\", \"forest:5\", \"svm-linear\"]\nseed = [1, 2]\n\
         [responses]\naccuracy = \"test_accuracy\"\n",
        BLOBS.trim_start_matches("--data=")
    );
    std::fs::write(dir.path().join("s.toml"), study).unwrap();
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let table = std::fs::read_to_string(dir.path().join("s.study/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 7, "{table}");
}

#[test]
fn parsed_files_are_kept_and_a_cache_that_fails_costs_no_training() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..40)
        .map(|row| format!("{} 1:{} 2:{}\n", row % 2, row % 2, row % 7))
        .collect();
    std::fs::write(dir.path().join("rows.libsvm"), rows).unwrap();
    let train = |cache: &str| {
        let words = ["trainer", "svm-linear", "--data=rows.libsvm"];
        let output = support::paceline(dir.path(), words)
            .env("PACELINE_CACHE", cache)
            .output()
            .unwrap();
        support::Ran::from(output)
    };
    let kept = || std::fs::read_dir(dir.path().join("kept")).map_or(0, Iterator::count);
    assert_eq!(train("").code, Some(0));
    assert_eq!(kept(), 0);
    let ran = train("kept");
    assert_eq!((ran.code, kept()), (Some(0), 1), "{}", ran.err);
    assert!(!ran.err.contains("notice"), "{}", ran.err);
    let ran = train("rows.libsvm/below");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("notice: cannot"), "{}", ran.err);
}

#[test]
fn a_study_varies_the_trainers_options() {
    let dir = tempfile::tempdir().unwrap();
    let study = format!(
        "[job]\nkind = \"train\"\nmodel = \"softmax\"\ndata = \"{}\"\nepochs = 2\nthreads = 1\n\
         [factors]\nbatch_size = [16, 64]\nlearning_rate = [0.05, 0.2]\n\
         [responses]\ntime = \"train_s\"\naccuracy = \"test_accuracy\"\n",
        BLOBS.trim_start_matches("--data=")
    );
    std::fs::write(dir.path().join("s.toml"), study).unwrap();
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let table = std::fs::read_to_string(dir.path().join("s.study/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(
        table.lines().next().unwrap().contains("accuracy"),
        "{table}"
    );
}

#[test]
fn a_study_with_an_option_the_trainer_lacks_is_refused_before_the_first_run() {
    let dir = tempfile::tempdir().unwrap();
    let study = "[job]\nkind = \"train\"\nmodel = \"softmax\"\nmomentun = 0.9\n\
                 [factors]\noptimizer = [\"sgd\", \"adamw\"]\n[responses]\ntime = \"duration_s\"\n";
    std::fs::write(dir.path().join("s.toml"), study).unwrap();
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("no option `momentun`"), "{}", ran.err);
    let study = study.replace("momentun = 0.9\n", "");
    std::fs::write(dir.path().join("s.toml"), study).unwrap();
    let ran = run(dir.path(), ["study", "run", "s.toml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("adamw"), "{}", ran.err);
}

#[test]
fn every_path_that_the_machine_has_can_be_chosen_and_trains_alike() {
    let dir = tempfile::tempdir().unwrap();
    let train = |simd: &str, out: &str| {
        let out = format!("--out={out}");
        let words = ["train", "mlp:16", BLOBS, "--epochs=3", "--quiet", &out];
        let mut command = support::paceline(dir.path(), words);
        support::Ran::from(command.env("PACELINE_SIMD", simd).output().unwrap())
    };
    let available = Isa::available();
    let mut losses = Vec::new();
    for isa in Isa::ALL {
        let ran = train(isa.name(), isa.name());
        if available.contains(&isa) {
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            losses.push(last_metric(&dir.path().join(isa.name()), "test_loss"));
        } else {
            assert_eq!(ran.code, Some(2), "{}", ran.err);
            assert!(ran.err.contains("this machine has"), "{}", ran.err);
        }
    }
    // The paths round differently, and no more.
    for loss in &losses {
        assert!((loss / losses[0] - 1.0).abs() < 1e-3, "{losses:?}");
    }
    let ran = train("sse9", "r");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(
        ran.err.contains("PACELINE_SIMD=sse9 names no instructions"),
        "{}",
        ran.err
    );
    assert!(!dir.path().join("r").exists());
}
