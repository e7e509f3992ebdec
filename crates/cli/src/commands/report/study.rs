//! The page about a study.

use super::advice::{self, Chosen};
use super::{Options, design, learned, record};
use crate::commands::runs_table::settings_json;
use crate::failure::Failure;
use crate::study_file;
use anyhow::anyhow;
use paceline_advise::runs::{FactorColumn, Runs};
use paceline_records::journal::{ReadJournalError, is_live, replay};
use paceline_records::study::{Cell, Plan, StudyDir, StudyTable};
use paceline_report::analyze::AnalysisReport;
use paceline_report::dossier::{
    Advice, Dossier, Forecast, Origin, Recommendation, RunPart, Standing, StudyPart,
};
use paceline_report::number::count;
use paceline_report::trace::{Detail, curves};
use paceline_runner::study::{Progress, RunState, plan as planned, table};
use paceline_stats::analysis::{Analysis, AnalysisOptions, analyze};
use paceline_stats::table::{ColumnData, Table};
use paceline_study::Study;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A page and what it says, for programs.
pub(super) struct Page {
    pub(super) html: String,
    pub(super) met: Option<bool>,
    pub(super) facts: Value,
}

/// How a run ended that counts, as the study's table says it.
const DONE: &str = "done";

pub(super) fn page(dir: &StudyDir, options: &Options, origin: Origin) -> Result<Page, Failure> {
    let plan = Plan::read(&dir.plan()).map_err(Failure::record)?;
    let journal = replay(&dir.journal()).map_err(unreadable)?;
    let live = is_live(&dir.journal()).map_err(unreadable)?;
    // How often a failed run may be tried again is the policy's; for a viewer, a
    // run that failed last has failed.
    let progress = Progress::replay(&plan, 0, &journal.entries);
    let study = study_file::load(dir.path(), &[])?;
    let responses = responses(&plan, options)?;
    let rows = table(&plan, &progress);
    let done = done(&rows);

    let analyses: Vec<(String, Result<Analysis, String>)> = responses
        .iter()
        .map(|response| (response.clone(), explain(done.as_ref(), response, &plan)))
        .collect();
    let runs = done
        .as_ref()
        .ok_or_else(nothing_done)
        .and_then(|done| learnable(done, &plan, &responses).map_err(|error| error.to_string()));
    let learned = match &runs {
        Ok(runs) => learned::fit(runs, &responses, options.confidence),
        Err(_) => Vec::new(),
    };
    let forecasts: Vec<(String, Result<Forecast, String>)> = match &runs {
        Ok(runs) => learned
            .iter()
            .map(|one| (one.response.clone(), one.forecast(runs, options.confidence)))
            .collect(),
        Err(_) => Vec::new(),
    };
    let chosen = match &runs {
        Ok(runs) => advice::choose(runs, &learned, options),
        Err(why) => Err(why.clone()),
    };
    let advice = match (&chosen, &runs) {
        (Ok(chosen), Ok(runs)) => Advice::Pick(Recommendation {
            pick: &chosen.pick,
            request: &chosen.request,
            factors: runs.factors(),
            because: chosen.because.clone(),
            tradeoff: chosen.tradeoff.clone(),
            cautions: chosen.cautions.clone(),
        }),
        (Err(why), _) | (_, Err(why)) => Advice::Nothing(why.clone()),
    };
    let (parts, left_out, origin) = records(dir, &plan, &progress, &rows, &responses, origin);
    let left = plan.runs.len() - done.as_ref().map_or(0, Table::rows);
    let title = study.name().map_or_else(
        || {
            dir.path()
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        },
        ToOwned::to_owned,
    );
    let dossier = Dossier {
        title,
        lead: format!(
            "{} runs of {} configurations, {}",
            count(plan.runs.len() as u64),
            count(plan.trials.len() as u64),
            dir.path().display()
        ),
        study: Some(StudyPart {
            factors: factors(&plan),
            responses: responses.clone(),
            planned: plan.runs.len(),
            live,
            analyses: analyses
                .iter()
                .map(|(response, analysis)| {
                    let report = analysis.as_ref().map_err(Clone::clone);
                    let report = report.map(|analysis| AnalysisReport {
                        analysis,
                        table: done.as_ref().expect("what was analysed is there"),
                        confidence: options.confidence,
                        source: dir.path().display().to_string(),
                        remarks: remarks(left),
                    });
                    (response.clone(), report)
                })
                .collect(),
            forecasts,
            advice,
            design: design_part(&study, &plan),
        }),
        runs: parts,
        left_out,
        origin,
    };
    let met = match (&chosen, options.slo) {
        (Ok(chosen), Some(_)) => Some(chosen.is_met()),
        _ => None,
    };
    let counts = progress.counts();
    let facts = json!({
        "kind": "study",
        "runs": counts.total(),
        "done": counts.done,
        "failed": counts.failed,
        "responses": responses,
        "recommended": recommended(&chosen, &runs),
        "why_not": chosen.as_ref().err(),
        "meets_the_deadline": met,
    });
    Ok(Page {
        html: dossier.html(),
        met,
        facts,
    })
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

fn remarks(left_out: usize) -> Vec<String> {
    match left_out {
        0 => Vec::new(),
        1 => vec!["1 run that is not done was left out".to_owned()],
        n => vec![format!(
            "{} runs that are not done were left out",
            count(n as u64)
        )],
    }
}

/// The study's responses, those that were asked for first.
fn responses(plan: &Plan, options: &Options) -> Result<Vec<String>, Failure> {
    let Options {
        objective, time, ..
    } = options;
    let wished = objective.iter().map(|wish| match wish {
        super::Wish::Most(name) | super::Wish::Least(name) => name,
    });
    for name in options.responses.iter().chain(wished).chain(time) {
        if !plan.responses.contains(name) {
            let text = format!("the study has no response `{name}`");
            let known = plan.responses.join(", ");
            return Err(Failure::user(anyhow!(text)).hint(format!("its responses are {known}")));
        }
    }
    let mut shown: Vec<String> = Vec::new();
    for name in options.responses.iter().chain(&plan.responses) {
        if !shown.contains(name) {
            shown.push(name.clone());
        }
    }
    Ok(shown)
}

/// The factors with their levels, in the order of the plan's trials; numbers in
/// the order of their size.
fn factors(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let names = plan.factors.iter().enumerate();
    names
        .map(|(at, name)| {
            let mut levels: Vec<_> = Vec::new();
            for trial in &plan.trials {
                if !levels.contains(&&trial.levels[at]) {
                    levels.push(&trial.levels[at]);
                }
            }
            if levels.iter().all(|level| level.as_number().is_some()) {
                let number = |level: &&paceline_model::Level| level.as_number().unwrap_or(0.0);
                levels.sort_by(|a, b| number(a).total_cmp(&number(b)));
            }
            (
                name.clone(),
                levels.iter().map(ToString::to_string).collect(),
            )
        })
        .collect()
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

fn explain(done: Option<&Table>, response: &str, plan: &Plan) -> Result<Analysis, String> {
    let done = done.ok_or_else(nothing_done)?;
    let options = AnalysisOptions {
        factors: Some(&plan.factors),
        run_order: Some("order"),
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

fn design_part(study: &Study, plan: &Plan) -> paceline_report::dossier::DesignPart {
    // A search adds runs as it goes: its plan is not the design's.
    let again = planned(study).ok();
    let same = again.filter(|(_, made)| made.trials == plan.trials);
    design::part(study, same.as_ref().map(|(design, _)| design), plan)
}

/// Every planned run with what its record shows, how many records are left out
/// for want of room, and what all of them say about their origin.
fn records(
    dir: &StudyDir,
    plan: &Plan,
    progress: &Progress,
    rows: &StudyTable,
    responses: &[String],
    mut origin: Origin,
) -> (Vec<RunPart>, usize, Origin) {
    let places: Vec<Option<PathBuf>> = plan
        .runs
        .iter()
        .enumerate()
        .map(|(position, run)| match progress.state(position) {
            RunState::Pending => None,
            RunState::Leased { attempt }
            | RunState::Done { attempt, .. }
            | RunState::Failed { attempt, .. } => Some(dir.attempt(&run.id, *attempt)),
        })
        .collect();
    let recorded = places.iter().flatten().count();
    let detail = detail(&places, recorded);
    let mut seen = 0;
    let places: Vec<Option<(PathBuf, bool)>> = places
        .into_iter()
        .map(|place| {
            let place = place?;
            // Evenly spaced over the study, so that every stretch of it is seen.
            let traced = (seen + 1) * detail.runs / recorded > seen * detail.runs / recorded;
            seen += 1;
            Some((place, traced))
        })
        .collect();
    let left_out = places
        .iter()
        .flatten()
        .filter(|(_, traced)| !traced)
        .count();
    let opened = record::open_all(&places, detail);
    origin
        .facts
        .push(("seed of the design".to_owned(), plan.seed.to_string()));
    origin.facts.push((
        "fingerprint of the study".to_owned(),
        plan.fingerprint.clone(),
    ));
    let manifests = opened
        .iter()
        .flatten()
        .flatten()
        .map(|opened| &opened.manifest);
    let origin = record::origin(origin, manifests);
    let column = |name: &str| rows.columns().iter().position(|(own, _)| own == name);
    let outcome = column("outcome");
    let noise = column("noise");
    let values: Vec<Option<usize>> = responses.iter().map(|name| column(name)).collect();
    let text = |row: &[Cell], at: Option<usize>| match at.map(|at| &row[at]) {
        Some(Cell::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let runs = plan.runs.iter().zip(rows.rows()).zip(opened).enumerate();
    let parts = runs
        .map(|(position, ((run, row), opened))| {
            let (standing, duration_s) = match progress.state(position) {
                RunState::Pending => (Standing::Pending, None),
                RunState::Leased { .. } => (Standing::Unfinished, None),
                RunState::Done { result, .. } => (Standing::Done, Some(result.duration_s)),
                RunState::Failed { result, .. } => (Standing::Failed, Some(result.duration_s)),
            };
            RunPart {
                name: run.id.to_string(),
                levels: plan.levels(run).iter().map(ToString::to_string).collect(),
                responses: values
                    .iter()
                    .map(|at| match at.map(|at| &row[at]) {
                        Some(Cell::Number(x)) => Some(*x),
                        Some(Cell::Integer(n)) => Some(*n as f64),
                        _ => None,
                    })
                    .collect(),
                results: Vec::new(),
                standing,
                outcome: text(row, outcome).unwrap_or_default(),
                duration_s,
                noise: text(row, noise),
                record: opened.map(|opened| opened.and_then(|opened| opened.part)),
            }
        })
        .collect();
    (parts, left_out, origin)
}

/// What the page affords, judged by the first record that can be read.
fn detail(places: &[Option<PathBuf>], recorded: usize) -> Detail {
    let opened = places
        .iter()
        .flatten()
        .find_map(|dir| paceline_records::Run::open(dir).ok());
    let (nodes, metrics) = opened.map_or((1, 1), |run| {
        let events = run.events().unwrap_or_default();
        (
            run.manifest().start.machines.len(),
            curves(&events, usize::MAX).len(),
        )
    });
    Detail::for_runs(recorded, nodes, metrics)
}
