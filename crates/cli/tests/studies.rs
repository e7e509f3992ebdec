//! The studies that ship with Paceline, and `--quick`.

mod support;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use support::run;

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// Every study file below `studies/`.
fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(folder).expect("the folder can be read");
        for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
            if path.is_dir() {
                walk(&path, found);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&studies(), &mut found);
    found.sort();
    found
}

#[test]
fn there_is_a_study_for_each_paper_and_a_quick_variant_of_each() {
    let files = files();
    for name in [
        "tweets-sweep/lstm",
        "tweets-sweep/svm",
        "tweets-sweep/forest",
        "platforms/logistic",
        "platforms/mnist",
        "spark-fractional",
        "spark-fractional/spark",
        "spark-climb",
        "courier",
        "sync-async",
        "lenet-workers",
    ] {
        for file in ["study.toml", "quick.toml"] {
            let path = studies().join(name).join(file);
            assert!(files.contains(&path), "no {}", path.display());
        }
    }
}

/// `--dry-run` asks the trainer about every trial, so that an option or a model
/// that it does not know is found here.
#[test]
fn every_study_can_be_planned_and_its_trainer_knows_every_option() {
    let dir = tempfile::tempdir().unwrap();
    for file in files() {
        let planned = run(dir.path(), [OsStr::new("design"), file.as_os_str()]);
        assert_eq!(planned.code, Some(0), "{}", planned.err);
        assert_eq!(planned.err, "", "{}", file.display());
        let words = ["study", "run", "--dry-run", "--out", "s"].map(OsStr::new);
        let checked = run(dir.path(), words.into_iter().chain([file.as_os_str()]));
        // Whether there are processors enough, or Spark, is the machine's affair.
        let lacks = ["a trial wants", "`spark-submit`"];
        if !lacks.iter().any(|text| checked.err.contains(text)) {
            assert_eq!(checked.code, Some(0), "{}", checked.err);
        }
    }
}

fn write(folder: &Path, name: &str, levels: &str) {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let text = format!(
        "[job]\ncommand = [\"sh\", \"-c\", \"test -e here && test {{x}} -gt 0\"]\n\
         [factors]\nx = [{levels}]\n[responses]\ntime = \"duration_s\"\n"
    );
    std::fs::write(folder.join(name), text).expect("a file can be written");
    std::fs::write(folder.join("here"), "").expect("a file can be written");
}

#[test]
fn quick_runs_the_variant_beside_the_study_in_a_directory_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("studies/speed");
    write(&folder, "study.toml", "1, 2, 3");
    write(&folder, "quick.toml", "1, 2");
    let ran = run(
        dir.path(),
        ["study", "run", "studies/speed", "--quick", "-q"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let table = std::fs::read_to_string(dir.path().join("speed-quick.study/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
    let file = ["study", "run", "studies/speed/study.toml", "--quick", "-q"];
    let ran = run(dir.path(), file);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(dir.path().join("study-quick.study/table.csv").is_file());
    assert!(!dir.path().join("study.study").exists());
}

#[test]
fn a_study_without_a_quick_variant_says_so() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "study.toml", "1, 2");
    let ran = run(dir.path(), ["study", "run", "study.toml", "--quick"]);
    ran.fails(2, "there is no quick variant of study.toml");
    ran.fails(2, "hint: a quick variant is a study of its own, quick.toml");
}
