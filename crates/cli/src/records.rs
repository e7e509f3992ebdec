//! Finding records by what a person calls them.

use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use paceline_model::spelling;
use paceline_records::{Listed, Run, list};
use std::path::{Path, PathBuf};

/// Where runs go unless the user says otherwise.
pub(crate) const RUNS: &str = "runs";

/// The word for the newest run.
const LAST: &str = "last";

/// So many are named where a word means more than one.
const NAMED: usize = 5;

/// The directory that `name` means: itself; or, in `runs`, the run of that id or
/// name, the only one that begins so, the newest (`last`, `-1`) or one before it
/// (`-2`). Without a name it is the newest.
pub(crate) fn find(name: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(name) = name else {
        return back(1, LAST);
    };
    if name.exists() || name.components().count() != 1 {
        return Ok(name.to_owned());
    }
    let below = Path::new(RUNS).join(name);
    if below.exists() {
        return Ok(below);
    }
    let Some(word) = name.to_str() else {
        return Ok(name.to_owned());
    };
    if word == LAST {
        return back(1, word);
    }
    match word.strip_prefix('-').map(str::parse::<usize>) {
        Some(Ok(steps @ 1..)) => back(steps, word),
        _ => called(word),
    }
}

/// Opens a record.
pub(crate) fn open(dir: &Path) -> Result<Run, Failure> {
    Ok(Run::open(dir)?)
}

/// The run `steps` from the end of the list, the newest being 1.
fn back(steps: usize, word: &str) -> Result<PathBuf, Failure> {
    let runs = listed()?;
    let at = runs.len().checked_sub(steps);
    let found = at.and_then(|at| runs.into_iter().nth(at));
    let run = found.ok_or_else(|| {
        Failure::user(anyhow!("there is no run `{word}` in ./{RUNS}"))
            .hint("`paceline ls` lists the runs; `paceline run COMMAND` makes one")
    })?;
    Ok(run.dir)
}

/// The newest run of that name, or the only one whose name or id begins so.
fn called(word: &str) -> Result<PathBuf, Failure> {
    let runs = listed()?;
    let named: Vec<&Listed> = runs.iter().filter(|run| name_of(run) == word).collect();
    if let [.., newest] = named[..] {
        if named.len() > 1 {
            output::tell(&format!(
                "notice: {} runs are called {word}; this is the newest, {}",
                named.len(),
                id_of(newest)
            ));
        }
        return Ok(newest.dir.clone());
    }
    let begins = |run: &&Listed| name_of(run).starts_with(word) || id_of(run).starts_with(word);
    let begun: Vec<&Listed> = runs.iter().filter(begins).collect();
    match begun[..] {
        [one] => Ok(one.dir.clone()),
        [] => Err(unknown(word, &runs)),
        _ => {
            let newest = begun.iter().rev().take(NAMED).map(|run| id_of(run));
            let more = match begun.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(Failure::user(anyhow!(
                "{} runs in ./{RUNS} begin with `{word}`",
                begun.len()
            ))
            .hint(format!(
                "name one of them: {}{more}",
                newest.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}

fn unknown(word: &str, runs: &[Listed]) -> Failure {
    let failure = Failure::user(anyhow!(
        "there is no run `{word}`, neither at that path nor in ./{RUNS}"
    ));
    let known = runs.iter().map(name_of).chain(runs.iter().map(id_of));
    let known: Vec<String> = known.filter(|name| !name.is_empty()).collect();
    failure.hint(
        match spelling::nearest(word, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`paceline ls` lists the runs; a name, an id, a unique beginning of either, \
                     `last` and -1 name one"
                .to_owned(),
        },
    )
}

/// The runs here, the oldest first, without those that cannot be read.
fn listed() -> Result<Vec<Listed>, Failure> {
    if !Path::new(RUNS).is_dir() {
        return Ok(Vec::new());
    }
    let mut runs = list(Path::new(RUNS)).map_err(Failure::world)?;
    runs.retain(|run| run.summary.is_ok());
    Ok(runs)
}

fn name_of(run: &Listed) -> String {
    let summary = run.summary.as_ref().ok();
    summary
        .and_then(|summary| summary.name.clone())
        .unwrap_or_default()
}

fn id_of(run: &Listed) -> String {
    let dir = run.dir.file_name().unwrap_or_default();
    dir.to_string_lossy().into_owned()
}
