//! Flags that name the runs to learn from, and how they are read.

use crate::commands::study::place;
use crate::failure::Failure;
use crate::{output, study_file};
use paceline_advise::predict::{Choice, Kind, Role};
use paceline_answers::disturbed::Disturbed;
use paceline_answers::results::Results;
use paceline_answers::study_file::file_of;
use paceline_model::Level;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// The table: a CSV file, or a study: its directory or its file
    table: PathBuf,
    /// The columns that were set; a study's own factors by default
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    factors: Vec<String>,
    /// Which factor is the batch, cpus, jobs, machines, epochs or samples, as in
    /// machines=hosts; found by name where it is not said
    #[arg(long, value_name = "ROLE=FACTOR,…", value_parser = role, value_delimiter = ',')]
    role: Vec<(Role, String)>,
}

impl TableArgs {
    /// Where the table is, as the user named it.
    pub(crate) fn path(&self) -> &Path {
        &self.table
    }

    /// Opens the results; what the study's file leaves open is said on stderr.
    pub(crate) fn open(&self) -> Result<Results, Failure> {
        let results = open(&self.table)?;
        Ok(results
            .with_factors(self.factors.clone())
            .with_roles(self.role.clone()))
    }
}

/// Opens results; what the study's file leaves open is said on stderr.
pub(crate) fn open(path: &Path) -> Result<Results, Failure> {
    let results = Results::open(&place::results(path)?)?;
    if let Some(study) = results.study() {
        study_file::tell_notices(&file_of(path).display().to_string(), &study.study);
    }
    Ok(results)
}

/// Reads `machines=hosts`.
fn role(text: &str) -> Result<(Role, String), String> {
    let Some((role, factor)) = text.split_once('=') else {
        return Err(format!("`{text}` is not ROLE=FACTOR"));
    };
    let role = Role::parse(role).ok_or_else(|| {
        let names: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
        format!(
            "there is no role `{role}`; the roles are {}",
            names.join(", ")
        )
    })?;
    Ok((role, factor.trim().to_owned()))
}

/// Reads `batch_size=64,workers=2`.
pub(crate) fn settings(text: &str) -> Result<Vec<(String, Level)>, String> {
    text.split(',')
        .map(|part| match part.split_once('=') {
            Some((name, level)) if !name.trim().is_empty() && !level.trim().is_empty() => {
                Ok((name.trim().to_owned(), Level::parse(level.trim())))
            }
            _ => Err(format!("`{part}` is not FACTOR=LEVEL")),
        })
        .collect()
}

/// Reads the name of a predictor.
pub(crate) fn predictor(text: &str) -> Result<Choice, String> {
    if text == "auto" {
        return Ok(Choice::Auto);
    }
    Kind::parse(text).map(Choice::Only).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("there are auto, {}", names.join(", "))
    })
}

/// Says how many of a study's runs other work disturbed, and what to do. `flag` is
/// how the command names a response.
pub(crate) fn tell_disturbed(results: &Results, response: Option<&str>, flag: &str) {
    if let Some(disturbed) = Disturbed::among(results, response) {
        output::tell(&format!("notice: {}", disturbed.sentence(flag)));
    }
}

/// The study's response that is a time, if it has one by that name.
pub(crate) fn time_of(results: &Results) -> &'static str {
    let has = results.responses().iter().any(|name| name == "time");
    if has { "time" } else { "duration_s" }
}
