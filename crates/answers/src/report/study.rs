//! What a study's results say, gathered once for the page.

use super::advice::{self, Chosen};
use super::{Forecast, ReportQuestion, learned};
use crate::failure::Failure;
use crate::runs_table::settings_json;
use crate::study_file;
use crate::units;
use anyhow::anyhow;
use paceline_advise::pick::Objective;
use paceline_advise::runs::{FactorColumn, Runs};
use paceline_design::Design;
use paceline_records::journal::{ReadJournalError, is_live, replay};
use paceline_records::study::{Cell, Plan, StudyDir, StudyTable};
use paceline_runner::study::{Progress, RunState, plan as planned, table};
use paceline_stats::analysis::{Analysis, AnalysisOptions, Unit, analyze};
use paceline_stats::table::{ColumnData, Table};
use paceline_study::{Capabilities, Study};
use serde_json::{Value, json};
use std::path::PathBuf;

/// How a run ended that counts, as the study's table says it.
const DONE: &str = "done";

/// Everything that a study's results say together.
pub struct StudyReport {
    /// Where the study is.
    pub dir: StudyDir,
    /// The study.
    pub study: Study,
    /// Its runs.
    pub plan: Plan,
    /// Where each of them stands.
    pub progress: Progress,
    /// Whether the study is being executed now.
    pub live: bool,
    /// One row per planned run.
    pub rows: StudyTable,
    /// The rows that count; nothing if there are none.
    pub done: Option<Table>,
    /// The responses, those that were asked for first.
    pub responses: Vec<String>,
    /// What explains each response, or why nothing can be said.
    pub analyses: Vec<(String, Result<Analysis, String>)>,
    /// The runs as predictors learn from them, or why they cannot.
    pub runs: Result<Runs, String>,
    /// How well each response is predicted, or why it is not.
    pub forecasts: Vec<(String, Result<Forecast, String>)>,
    /// Which configuration to run, or why none is recommended.
    pub chosen: Result<Chosen, String>,
    /// The design that the runs are of; nothing if they grew while they were made.
    pub design: Option<Design>,
    /// The probability with which a deadline must be kept, and the coverage of
    /// intervals.
    pub confidence: f64,
    /// Whether the deadline can be kept; nothing without one, or where nothing can
    /// be said.
    pub met: Option<bool>,
}

/// Gathers what a page on the study in `dir` shows.
///
/// # Errors
/// If the study cannot be read, or has no response that is asked for. Runs that
/// failed or are not done are left out; a study too small for statistics is not an
/// error, its parts say why they are empty.
pub fn study(dir: &StudyDir, question: &ReportQuestion) -> Result<StudyReport, Failure> {
    let plan = Plan::read(&dir.plan()).map_err(Failure::record)?;
    let journal = replay(&dir.journal()).map_err(unreadable)?;
    let live = is_live(&dir.journal()).map_err(unreadable)?;
    // How often a failed run may be tried again is the policy's; for a viewer, a
    // run that failed last has failed.
    let progress = Progress::replay(&plan, 0, &journal.entries);
    let study = study_file::load(dir.path(), &[], &Capabilities::ALL)?;
    let responses = responses(&plan, question)?;
    let rows = table(&plan, &progress);
    let done = done(&rows);
    let units = units::of(&study);

    let analyses: Vec<(String, Result<Analysis, String>)> = responses
        .iter()
        .map(|response| {
            let analysis = explain(done.as_ref(), response, &plan, &units);
            (response.clone(), analysis)
        })
        .collect();
    let runs = done
        .as_ref()
        .ok_or_else(nothing_done)
        .and_then(|done| learnable(done, &plan, &responses).map_err(|error| error.to_string()));
    let learned = match &runs {
        Ok(runs) => learned::fit(runs, &responses, question.confidence),
        Err(_) => Vec::new(),
    };
    let forecasts: Vec<(String, Result<Forecast, String>)> = match &runs {
        Ok(runs) => learned
            .iter()
            .map(|one| {
                (
                    one.response.clone(),
                    one.forecast(runs, question.confidence),
                )
            })
            .collect(),
        Err(_) => Vec::new(),
    };
    let chosen = match &runs {
        Ok(runs) => advice::choose(runs, &learned, question),
        Err(why) => Err(why.clone()),
    };
    let met = match (&chosen, question.slo) {
        (Ok(chosen), Some(_)) => Some(chosen.is_met()),
        _ => None,
    };
    // A search adds runs as it goes: its plan is not the design's.
    let again = planned(&study).ok();
    let design = again.filter(|(_, made)| made.trials == plan.trials);
    Ok(StudyReport {
        dir: dir.clone(),
        design: design.map(|(design, _)| design),
        study,
        plan,
        progress,
        live,
        rows,
        done,
        responses,
        analyses,
        runs,
        forecasts,
        chosen,
        confidence: question.confidence,
        met,
    })
}

impl StudyReport {
    /// What the study is called: by its file, or by its directory.
    #[must_use]
    pub fn title(&self) -> String {
        let directory = self.dir.path().file_name().unwrap_or_default();
        let name = self.study.name().map(ToOwned::to_owned);
        name.unwrap_or_else(|| directory.to_string_lossy().into_owned())
    }

    /// What the page says, for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let counts = self.progress.counts();
        json!({
            "kind": "study",
            "runs": counts.total(),
            "done": counts.done,
            "failed": counts.failed,
            "responses": self.responses,
            "recommended": recommended(&self.chosen, &self.runs),
            "why_not": self.chosen.as_ref().err(),
            "meets_the_deadline": self.met,
        })
    }

    /// Where the record of each run's last attempt is, in the order of the plan.
    #[must_use]
    pub fn record_dirs(&self) -> Vec<Option<PathBuf>> {
        let runs = self.plan.runs.iter().enumerate();
        runs.map(|(position, run)| match self.progress.state(position) {
            RunState::Pending => None,
            RunState::Leased { attempt }
            | RunState::Done { attempt, .. }
            | RunState::Failed { attempt, .. } => Some(self.dir.attempt(&run.id, *attempt)),
        })
        .collect()
    }
}

fn unreadable(error: ReadJournalError) -> Failure {
    match error {
        ReadJournalError::Io { .. } => Failure::world(error),
        ReadJournalError::Damaged { .. } | ReadJournalError::Entry { .. } => Failure::record(error),
    }
}

fn recommended(chosen: &Result<Chosen, String>, runs: &Result<Runs, String>) -> Value {
    match (chosen, runs) {
        (Ok(chosen), Ok(runs)) => {
            settings_json(&runs.factors().settings(&chosen.best().configuration))
        }
        _ => Value::Null,
    }
}

fn nothing_done() -> String {
    "no run is done yet".to_owned()
}

/// The study's responses, those that were asked for first.
fn responses(plan: &Plan, question: &ReportQuestion) -> Result<Vec<String>, Failure> {
    let ReportQuestion {
        objective, time, ..
    } = question;
    let wished: Vec<String> = objective.iter().flat_map(named).collect();
    for name in question.responses.iter().chain(&wished).chain(time) {
        if !plan.responses.contains(name) {
            let text = format!("the study has no response `{name}`");
            let known = plan.responses.join(", ");
            return Err(Failure::user(anyhow!(text)).hint(format!("its responses are {known}")));
        }
    }
    let mut shown: Vec<String> = Vec::new();
    for name in question.responses.iter().chain(&plan.responses) {
        if !shown.contains(name) {
            shown.push(name.clone());
        }
    }
    Ok(shown)
}

/// The rows that count, as a table for statistics; nothing if there are none.
fn done(rows: &StudyTable) -> Option<Table> {
    let names = rows.columns().iter().map(|(name, _)| name.as_str());
    let outcome = names.clone().position(|name| name == "outcome")?;
    let mut builder = Table::builder(names);
    for row in rows.rows() {
        if !matches!(&row[outcome], Cell::Text(text) if text == DONE) {
            continue;
        }
        let cells: Vec<String> = row
            .iter()
            .map(|cell| match cell {
                Cell::Missing => String::new(),
                Cell::Integer(n) => n.to_string(),
                Cell::Number(x) => x.to_string(),
                Cell::Text(text) => text.clone(),
            })
            .collect();
        builder
            .push_row(cells.iter().map(String::as_str))
            .expect("a row of a study's table has a cell for each column");
    }
    builder.finish().ok()
}

fn explain(
    done: Option<&Table>,
    response: &str,
    plan: &Plan,
    units: &[(String, Unit)],
) -> Result<Analysis, String> {
    let done = done.ok_or_else(nothing_done)?;
    let options = AnalysisOptions {
        factors: Some(&plan.factors),
        run_order: Some("order"),
        units,
        ..AnalysisOptions::default()
    };
    analyze(done, response, &options).map_err(|error| error.to_string())
}

/// The runs as predictors learn from them.
fn learnable(done: &Table, plan: &Plan, responses: &[String]) -> Result<Runs, anyhow::Error> {
    let column = |name: &String| {
        let column = done.column(name);
        column.ok_or_else(|| anyhow!("the table has no column `{name}`"))
    };
    let factors = plan
        .factors
        .iter()
        .map(|name| {
            let values = match column(name)?.data() {
                ColumnData::Numeric(values) => FactorColumn::Numeric(values.clone()),
                ColumnData::Categorical { levels, codes, .. } => {
                    let words = codes.iter().map(|&code| levels.get(code as usize).cloned());
                    let words: Option<Vec<String>> = words.collect();
                    FactorColumn::Words(
                        words.ok_or_else(|| anyhow!("factor `{name}` is missing in a run"))?,
                    )
                }
            };
            Ok((name.clone(), values))
        })
        .collect::<Result<_, anyhow::Error>>()?;
    let responses = responses
        .iter()
        .map(|name| {
            let values = column(name)?.as_numeric();
            let values = values.ok_or_else(|| anyhow!("`{name}` is not a number in every run"))?;
            Ok((name.clone(), values.to_vec()))
        })
        .collect::<Result<_, anyhow::Error>>()?;
    Ok(Runs::new(factors, responses, None)?)
}

/// The responses that an objective is made of.
fn named(objective: &Objective) -> Vec<String> {
    let weights = objective.weights();
    weights.iter().map(|(name, _)| (*name).to_owned()).collect()
}
