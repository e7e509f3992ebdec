//! What-ifs made real: the training again, as it was and with a change.

use crate::context::program;
use crate::failure::Failure;
use crate::output;
use crate::records::open;
use anyhow::{Context, anyhow};
use paceline_answers::report::courses;
use paceline_diagnose::{realised, without};
use paceline_records::Run;
use paceline_report::diagnose::{Checked, Findings, what_if_words};
use std::path::{Path, PathBuf};

/// Trains again for every what-if that an option of the trainer makes real.
pub(super) fn check(run: &Run, found: &Findings) -> Result<Vec<Checked>, Failure> {
    let start = &run.manifest().start;
    let words = match &start.argv[..] {
        [_, command, words @ ..] if command == "trainer" => words,
        _ => {
            return Err(Failure::user(anyhow!(
                "{} is no training by `paceline train`",
                run.dir().display()
            ))
            .hint("only its options are known well enough to make a what-if real"));
        }
    };
    let changes: Vec<_> = found
        .gains
        .iter()
        .filter_map(|gain| Some((*gain, realised(words, gain.what_if)?)))
        .collect();
    if changes.is_empty() {
        output::tell(
            "notice: no what-if of this run can be made real by an option; --slow and --bandwidth can be",
        );
        return Ok(Vec::new());
    }
    let before = pace(run, words, "as-it-was")?;
    let mut checked = Vec::new();
    for (gain, words) in changes {
        output::tell(&format!("checking: {}", what_if_words(gain.what_if)));
        let after = pace(run, &words, gain.what_if.name())?;
        checked.push(Checked {
            gain,
            measured: after / before - 1.0,
        });
    }
    Ok(checked)
}

/// Trains with these words beside the record, and says how long an iteration takes.
fn pace(run: &Run, words: &[String], name: &str) -> Result<f64, Failure> {
    let dir = std::path::absolute(run.dir()).map_err(Failure::world)?;
    let out = beside(&dir, name);
    #[expect(clippy::disallowed_methods, reason = "the training is another process")]
    let mut command = std::process::Command::new(program()?);
    command.arg("train").args(without(words, "--out"));
    command
        .arg("--out")
        .arg(&out)
        .current_dir(&run.manifest().start.cwd);
    let ended = command
        .output()
        .context("cannot start the training")
        .map_err(Failure::world)?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        let last = said
            .lines()
            .find(|line| line.starts_with("error"))
            .unwrap_or_default();
        return Err(
            Failure::world(anyhow!("the training to check against failed: {last}")).hint(format!(
                "remove {} if it is there from before",
                out.display()
            )),
        );
    }
    let found = courses(&open(&out)?).map_err(Failure::record)?;
    found
        .pace()
        .ok_or_else(|| Failure::world(anyhow!("{} has no iterations", out.display())))
}

/// A place for a record beside another.
fn beside(dir: &Path, name: &str) -> PathBuf {
    let own = dir.file_name().unwrap_or_default().to_string_lossy();
    dir.with_file_name(format!("{own}.check-{name}"))
}
