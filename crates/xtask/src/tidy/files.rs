//! Rules about the files of the repository: their size and their names.

use crate::shell;
use anyhow::Result;
use std::path::Path;

/// A longer source file holds more than one idea, unless its first comment says why not.
const MOST_LINES: usize = 600;
const REASON: &str = "More than 600 lines: ";

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 7] = ["utils", "util", "common", "helpers", "types", "misc", "imp"];

/// Source files that are too long or badly named.
pub(super) fn problems() -> Result<Vec<String>> {
    let listed = shell::output(
        "git",
        &["ls-files", "--cached", "--others", "--exclude-standard"],
    )?;
    let mut problems = Vec::new();
    for file in listed.lines().filter(|file| Path::new(file).exists()) {
        let path = Path::new(file);
        let named_badly = path.components().any(|component| {
            let name = Path::new(component.as_os_str())
                .file_stem()
                .unwrap_or_default();
            EMPTY_NAMES
                .iter()
                .any(|empty| name.eq_ignore_ascii_case(empty))
        });
        if named_badly {
            problems.push(format!("{file}: the name does not say what is inside"));
        }
        if path.extension().is_some_and(|extension| extension == "rs") {
            let folder = path.with_extension("");
            if folder.is_dir() {
                problems.push(format!(
                    "{file}: a module with parts is {}/mod.rs",
                    folder.display()
                ));
            }
            let text = std::fs::read_to_string(path)?;
            let lines = text.lines().count();
            let mut comment = text.lines().take_while(|line| line.starts_with("//!"));
            if lines > MOST_LINES && !comment.any(|line| line.contains(REASON)) {
                problems.push(format!(
                    "{file}: {lines} lines; split it (at most {MOST_LINES}), or give the reason in \
                     its first comment: `{REASON}…`"
                ));
            }
        }
    }
    Ok(problems)
}
