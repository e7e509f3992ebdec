//! The rules we care about and no compiler checks.

mod architecture;
mod callers;
mod files;
mod metadata;
mod unused;

use anyhow::{Result, bail};
use metadata::Metadata;

/// Reports every broken rule at once.
pub(crate) fn tidy() -> Result<()> {
    let metadata = Metadata::load()?;
    let mut problems = architecture::problems(&metadata)?;
    problems.extend(files::problems()?);
    problems.extend(unused::problems(&metadata)?);
    for note in callers::without_callers()? {
        println!("tidy: note: {note}");
    }
    for problem in &problems {
        println!("tidy: {problem}");
    }
    match problems.len() {
        0 => {
            println!("tidy: the crate map, file sizes, words and dependencies are in order");
            Ok(())
        }
        n => bail!("{n} rules are broken"),
    }
}
