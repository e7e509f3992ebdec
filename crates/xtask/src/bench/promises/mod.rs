//! Intervals, deadlines and picks from small tables, against scikit-learn on the
//! same divisions.

mod judged;
mod section;

use super::machine::Machine;
use super::{Options, book, peers};
use crate::shell;
use anyhow::{Context, Result};
use judged::Judged;
use serde_json::Value;
use std::fs;
use std::time::{Duration, Instant};

const TABLES: &str = "crates/advise/examples/promises/data";
/// Tables per set and number of runs; 15 sets with a pick make more than 400.
const EACH: usize = 30;
/// Tables that the peers are judged by too.
const WITH_PEERS: usize = 25;
const QUICK: usize = 2;
/// No side takes longer.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Prints the targets with what was reached, and writes its section.
pub(crate) fn run(options: Options) -> Result<()> {
    options.build(&["paceline-advise", "--example", "promises"])?;
    let ours = peers::target().join("release/examples/promises");
    let each = if options.quick { QUICK } else { EACH };
    let machine = Machine::look()?;
    let begun = now();
    let printed = shell::output(&ours.to_string_lossy(), &[TABLES, &each.to_string()])?;
    let took = begun.elapsed();
    let folder = peers::target().join("bench");
    fs::create_dir_all(&folder)?;
    let file = folder.join("promises.jsonl");
    fs::write(&file, &printed)?;
    let mut judged = Judged::default();
    judged.take(&lines(&printed)?)?;
    let mut who = "no peers".to_owned();
    if !options.alone {
        match peers::scikit_learn() {
            Ok(python) => {
                let with = each.min(WITH_PEERS).to_string();
                let words = [TABLES, &file.to_string_lossy(), &with];
                let script = peers::script(&python, "promises.py", &words);
                let said = peers::together(vec![script], PATIENCE)?;
                if let Some(trouble) = said.trouble {
                    println!("scikit-learn ended early: {trouble:#}");
                }
                let said = lines(&said.text)?;
                let name = said.iter().find_map(|line| line["peer"].as_str());
                who = name.unwrap_or("scikit-learn").to_owned();
                judged.take(&said)?;
            }
            Err(error) => println!("scikit-learn is absent: {error:#}"),
        }
    }
    let section = section::written(&judged, &machine, each, &who, took)?;
    println!("{section}");
    if !options.quick && !options.alone {
        book::write("promises", &section)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

fn lines(printed: &str) -> Result<Vec<Value>> {
    let lines = printed.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}")))
        .collect()
}
