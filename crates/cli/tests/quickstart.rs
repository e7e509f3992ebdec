//! The whole story, told twice, and on a machine that is busy with something else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::{Ran, run};

/// Whether what the story tells is what its study's results say.
fn check(dir: &Path, told: &Ran) {
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let text = &told.out;
    for words in [
        "1. Where does the time of a training go?",
        "2. Which knobs matter?",
        "3. What matters",
        "4. Which configuration meets a deadline?",
        "\n5. ",
        "6. Everything on one page",
        "paceline run -- python train.py",
    ] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    // One confidence throughout.
    for other in ["80.0%", "90.0%", "probability 0.8", "probability 0.9\n"] {
        let claims = text.matches(&format!("{other} interval")).count()
            + text.matches(&format!("within {other}")).count();
        assert_eq!(claims, 0, "{other}: {text}");
    }
    let found = run(dir, ["promises", "quickstart/study", "--format=json"]);
    let found: Value = serde_json::from_str(&found.out).unwrap();
    let promises = found["promises"].as_array().unwrap();
    let story = &text[text.find("\n4. ").unwrap()..text.find("\n6. ").unwrap()];
    if text.contains("5. Nothing is promised") {
        assert!(promises.is_empty(), "{found:#}");
        assert!(story.contains("Nothing meets the limits"), "{story}");
        assert!(!story.contains("p0001"), "{story}");
        return;
    }
    // What was promised is what was run, and kept exactly if the run was in time.
    assert_eq!(promises.len(), 1, "{found:#}");
    let held = &promises[0];
    let limit = &held["limits"][0];
    assert!(limit["probability"].as_f64().unwrap() >= 0.95, "{held:#}");
    let predictions = held["predictions"].as_array().unwrap();
    let time = predictions.iter().find(|one| one["response"] == "time");
    let came = time.and_then(|time| time["came"].as_f64());
    let came = came.expect("the run reported its time");
    let kept = came <= limit["limit"].as_f64().unwrap();
    let word = if kept { "kept" } else { "broken" };
    assert_eq!(held["verdict"], word, "{held:#}");
    assert!(story.contains(&format!("p0001 {word}: ")), "{story}");
    let judged = format!("({} of 1 promise kept, ", u8::from(kept));
    let one_line: Vec<&str> = story.split_whitespace().collect();
    assert!(one_line.join(" ").contains(&judged), "{story}");
    // The run is in the table, and the page says the same.
    let table = std::fs::read_to_string(dir.join("quickstart/study/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 26);
    let page = std::fs::read_to_string(dir.join("quickstart/report.html")).unwrap();
    assert!(page.contains(&judged), "the page says otherwise");
}

#[test]
fn the_story_ends_with_a_report_and_told_again_it_goes_on_from_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let first = run(dir.path(), ["quickstart", "--quick"]);
    check(dir.path(), &first);
    let page = dir.path().join("quickstart/report.html");
    assert!(std::fs::metadata(&page).unwrap().len() > 10_000);
    let table = dir.path().join("quickstart/study/table.csv");
    let before = std::fs::read_to_string(&table).unwrap();
    let again = run(dir.path(), ["quickstart", "--quick"]);
    check(dir.path(), &again);
    let after = std::fs::read_to_string(&table).unwrap();
    assert_eq!(before, after, "no run is made twice");
}

/// A process that does nothing as fast as it can, until it is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        #[expect(clippy::disallowed_methods, reason = "tests load their machine")]
        let mut command = Command::new("sh");
        let child = command
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn();
        Self(child.expect("sh can be started"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // It may have been ended by whoever ended the test.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn on_a_busy_machine_the_story_is_true_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let _busy = [Busy::start(), Busy::start(), Busy::start()];
    let told = run(dir.path(), ["quickstart", "--quick"]);
    check(dir.path(), &told);
    // Whoever is disturbed says so.
    assert!(told.err.contains("disturbed"), "{}", told.err);
}
