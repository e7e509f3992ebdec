//! What a person may leave out or call by a shorter name.

mod support;

use std::path::Path;
use support::run;

/// Records a run of `true` called `name`.
fn record(dir: &Path, name: &str) {
    let ran = run(dir, ["run", "-q", "--name", name, "true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// The id of the run that `show` shows.
fn shown(dir: &Path, words: &[&str]) -> String {
    let words = [&["show"], words, &["--format", "json"]].concat();
    let shown = run(dir, &words);
    assert_eq!(shown.code, Some(0), "{words:?}: {}", shown.err);
    let json: serde_json::Value = serde_json::from_str(&shown.out).expect("JSON");
    json["id"].as_str().expect("a run has an id").to_owned()
}

fn ids(dir: &Path) -> Vec<String> {
    let listed = run(dir, ["ls", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&listed.out).expect("JSON");
    let runs = json["runs"].as_array().expect("a list");
    let id = |run: &serde_json::Value| run["id"].as_str().expect("an id").to_owned();
    runs.iter().map(id).collect()
}

#[test]
fn a_run_is_called_by_name_beginning_or_place_in_the_list() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for name in ["mnist", "tweets", "mnist"] {
        record(dir, name);
    }
    let ids = ids(dir);
    assert_eq!(ids.len(), 3);
    assert_eq!(shown(dir, &[]), ids[2]);
    assert_eq!(shown(dir, &["last"]), ids[2]);
    assert_eq!(shown(dir, &["-1"]), ids[2]);
    assert_eq!(shown(dir, &["-3"]), ids[0]);
    assert_eq!(shown(dir, &["tweets"]), ids[1]);
    assert_eq!(shown(dir, &["tw"]), ids[1]);
    assert_eq!(shown(dir, &[&ids[0]]), ids[0]);

    let newest = run(dir, ["show", "mnist"]);
    let notice = format!(
        "notice: 2 runs are called mnist; this is the newest, {}",
        ids[2]
    );
    assert!(newest.err.contains(&notice), "{}", newest.err);

    for (word, says) in [
        ("-4", "there is no run `-4`"),
        ("mn", "2 runs in ./runs begin with `mn`"),
        ("tweet5", "did you mean `tweets`?"),
        ("nothing-like-it", "`paceline ls` lists the runs"),
    ] {
        let refused = run(dir, ["show", word]);
        assert_eq!(refused.code, Some(2), "{word}: {}", refused.err);
        assert!(refused.err.contains(says), "{word}: {}", refused.err);
    }
    let exported = run(dir, ["export", "-2", "--to", "csv", "--out", "csv"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
}

#[test]
fn where_nothing_was_run_the_last_run_is_not_invented() {
    let dir = tempfile::tempdir().unwrap();
    let refused = run(dir.path(), ["show"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("there is no run `last`"),
        "{}",
        refused.err
    );
}

#[test]
fn two_dashes_before_a_command_are_needed_only_if_it_begins_with_one() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // What follows the command is the command's, flags of ours or not.
    let said = run(dir, ["run", "-q", "echo", "--name", "x", "-q", "--", "y"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out, "--name x -q -- y\n");
    let with = run(dir, ["run", "-q", "--", "echo", "--name", "x"]);
    assert_eq!(with.out, "--name x\n", "{}", with.err);
    // A flag that does not exist is not taken for a command.
    let typo = run(dir, ["run", "--nmae", "x", "echo"]);
    assert_eq!(typo.code, Some(2), "{}", typo.err);
    assert!(typo.err.contains("--name"), "{}", typo.err);
    assert_eq!(ids(dir).len(), 2);
}

#[test]
fn a_studys_file_stands_for_its_results() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let study = "[job]\ncommand = [\"sh\", \"-c\", \"echo score={x}\"]\n[factors]\nx = [1, 2]\n\
                 [design]\nreplicates = 2\n[responses]\n\
                 score = { regex = 'score=(\\d+)' }\n";
    std::fs::create_dir(dir.join("studies")).unwrap();
    std::fs::write(dir.join("studies/s.toml"), study).unwrap();
    let before = run(dir, ["analyze", "studies/s.toml", "--response=score"]);
    assert_eq!(before.code, Some(2), "{}", before.err);
    assert!(
        before.err.contains("has no results yet")
            && before.err.contains("study run studies/s.toml"),
        "{}",
        before.err
    );
    let ran = run(dir, ["study", "run", "studies/s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let by_file = run(dir, ["analyze", "studies/s.toml", "--response=score"]);
    let by_directory = run(dir, ["analyze", "s.study", "--response=score"]);
    assert_eq!(by_file.code, Some(0), "{}", by_file.err);
    let below_its_path = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        below_its_path(&by_file.out),
        below_its_path(&by_directory.out)
    );
    // Beside the file is as good as here.
    std::fs::rename(dir.join("s.study"), dir.join("studies/s.study")).unwrap();
    let page = run(dir, ["report", "studies/s.toml"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    assert!(dir.join("studies/s.study/report.html").is_file());
}

#[test]
fn shells_and_manuals_know_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(dir, ["completions", shell]);
        assert_eq!(script.code, Some(0), "{}", script.err);
        for word in ["quickstart", "study", "failure-timeout"] {
            assert!(script.out.contains(word), "{shell} lacks {word}");
        }
    }
    let missing = run(dir, ["man", "--out", "man1"]);
    assert_eq!(missing.code, Some(2), "{}", missing.err);
    std::fs::create_dir(dir.join("man1")).unwrap();
    let written = run(dir, ["man", "--out", "man1"]);
    assert_eq!(written.code, Some(0), "{}", written.err);
    let page = std::fs::read_to_string(dir.join("man1/paceline-study-run.1")).unwrap();
    assert!(page.contains(".TH paceline-study-run 1"), "{page}");
    // What only programs start has no page.
    assert!(!dir.join("man1/paceline-warden.1").exists());
    let version = run(dir, ["version"]);
    let name = format!("paceline {}\n", env!("CARGO_PKG_VERSION"));
    assert!(version.out.starts_with(&name), "{}", version.out);
}
