//! `paceline run -- spark-submit …`: the application's event log goes into the
//! record, unless the user's own settings send it elsewhere.

use paceline_records::event_log_dir;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The key that users set who want the log elsewhere, or none.
const KEYS: &str = "spark.eventLog.";
/// The most that is read of a file of settings.
const MOST_BYTES: u64 = 1 << 20;

/// What is done about the event log of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EventLog {
    /// The command is not Spark's.
    NotSpark,
    /// The user's own settings are kept; where they stand.
    Users(String),
    /// It goes into the record; these arguments were added.
    Recorded(Vec<String>),
}

/// Adds what makes `spark-submit` write its log into the record at `dir`.
/// `conf_dir` is where Spark's settings lie, as far as the environment says.
pub(super) fn listen(command: &mut Vec<OsString>, dir: &Path, conf_dir: Option<&Path>) -> EventLog {
    let name = Path::new(&command[0]).file_name().unwrap_or_default();
    if name != "spark-submit" {
        return EventLog::NotSpark;
    }
    let words: Vec<String> = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if words
        .iter()
        .any(|word| word.trim_start_matches("--conf=").starts_with(KEYS))
    {
        return EventLog::Users("the command".to_owned());
    }
    let named = words.iter().enumerate().find_map(|(i, word)| {
        let after = word.strip_prefix("--properties-file=").map(PathBuf::from);
        after.or_else(|| {
            (word == "--properties-file").then(|| words.get(i + 1).map(PathBuf::from))?
        })
    });
    // A file that the command names stands for the usual one.
    let file = named.or_else(|| conf_dir.map(|dir| dir.join("spark-defaults.conf")));
    if let Some(file) = file
        && sets_the_log(&file)
    {
        return EventLog::Users(file.display().to_string());
    }
    let folder = event_log_dir(dir);
    let added: Vec<String> = paceline_study::event_log(&folder.to_string_lossy())
        .into_iter()
        .flat_map(|(key, value)| ["--conf".to_owned(), format!("{key}={value}")])
        .collect();
    command.splice(1..1, added.iter().map(OsString::from));
    EventLog::Recorded(added)
}

fn sets_the_log(file: &Path) -> bool {
    let text = match std::fs::metadata(file) {
        Ok(about) if about.len() <= MOST_BYTES => std::fs::read_to_string(file),
        _ => return false,
    };
    text.is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with(KEYS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &[&str], conf: Option<&str>, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(text) = conf {
            std::fs::write(folder.path().join("spark-defaults.conf"), text).unwrap();
        }
        let mut words: Vec<OsString> = command.iter().map(OsString::from).collect();
        let told = match listen(&mut words, Path::new("/r"), Some(folder.path())) {
            EventLog::NotSpark => "not Spark".to_owned(),
            EventLog::Users(place) if place == "the command" => place,
            EventLog::Users(_) => "a file".to_owned(),
            EventLog::Recorded(_) => words
                .iter()
                .map(|word| word.to_string_lossy())
                .collect::<Vec<_>>()
                .join(" "),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn the_log_is_asked_for_only_where_nobody_has() {
        check(&["python", "train.py"], None, "not Spark");
        let added = "/opt/bin/spark-submit --conf spark.eventLog.enabled=true --conf \
                     spark.eventLog.dir=file:///r/spark --conf spark.eventLog.compress=false a.py";
        check(&["/opt/bin/spark-submit", "a.py"], None, added);
        check(
            &["/opt/bin/spark-submit", "a.py"],
            Some("# spark.eventLog.dir x\n"),
            added,
        );
        check(
            &[
                "spark-submit",
                "--conf",
                "spark.eventLog.enabled=false",
                "a.py",
            ],
            None,
            "the command",
        );
        check(
            &["spark-submit", "--conf=spark.eventLog.dir=x", "a.py"],
            None,
            "the command",
        );
        check(
            &["spark-submit", "a.py"],
            Some("a b\n  spark.eventLog.dir hdfs:///x\n"),
            "a file",
        );
        // A file of one's own stands for the usual one.
        let own = [
            "spark-submit",
            "--properties-file",
            "/nowhere/x.conf",
            "a.py",
        ];
        check(
            &own,
            Some("spark.eventLog.dir x\n"),
            "spark-submit --conf spark.eventLog.enabled=true --conf \
             spark.eventLog.dir=file:///r/spark --conf spark.eventLog.compress=false \
             --properties-file /nowhere/x.conf a.py",
        );
    }
}
