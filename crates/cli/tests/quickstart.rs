//! The whole story, told twice.

mod support;

use support::run;

#[test]
fn the_story_ends_with_a_report_and_told_again_it_goes_on_from_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let first = run(dir.path(), ["quickstart", "--quick"]);
    assert_eq!(first.code, Some(0), "{}{}", first.out, first.err);
    for words in [
        "1. Where does the time of a training go?",
        "2. Which knobs matter?",
        "3. What matters",
        "4. Which configuration meets a deadline?",
        "5. Does the promise hold?",
        "6. Everything on one page",
        "paceline run -- python train.py",
    ] {
        assert!(
            first.out.contains(words),
            "`{words}` is not in {}",
            first.out
        );
    }
    let page = dir.path().join("quickstart/report.html");
    assert!(std::fs::metadata(&page).unwrap().len() > 10_000);
    let table = dir.path().join("quickstart/study/table.csv");
    let before = std::fs::read_to_string(&table).unwrap();
    let again = run(dir.path(), ["quickstart", "--quick"]);
    assert_eq!(again.code, Some(0), "{}{}", again.out, again.err);
    let after = std::fs::read_to_string(&table).unwrap();
    assert_eq!(before, after, "no run is made twice");
}
