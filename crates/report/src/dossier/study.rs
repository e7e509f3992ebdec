//! From a study's answers to its page.

use super::record::{self, Opened};
use super::{Advice, Dossier, Origin, RunPart, Standing, StudyPart, layout};
use crate::analyze::AnalysisReport;
use crate::number::count;
use paceline_answers::report::{Forecast, StudyReport};
use paceline_model::{Level, error_chain};
use paceline_records::study::{Cell, Plan};
use paceline_runner::study::RunState;

impl<'a> Dossier<'a> {
    /// The report on a study. `opened` has what each planned run's record shows;
    /// `left_out` counts those whose time lines a page has no room for.
    #[must_use]
    pub fn of_study(
        report: &'a StudyReport,
        opened: Vec<Option<Result<Opened, String>>>,
        left_out: usize,
        origin: Origin,
    ) -> Self {
        let state = &report.study.state;
        let plan = &state.plan;
        let (runs, origin) = records(report, opened, origin);
        Self {
            title: report.study.title(),
            lead: format!(
                "{} runs of {} configurations, {}",
                count(plan.runs.len() as u64),
                count(plan.trials.len() as u64),
                state.dir.path().display()
            ),
            study: Some(StudyPart {
                factors: factors(plan),
                responses: report.responses.clone(),
                planned: plan.runs.len(),
                live: state.live,
                analyses: analyses(report),
                forecasts: forecasts(report),
                advice: advice(report),
                promises: &report.promises,
                design: layout::part(&report.study.study, report.design.as_ref(), plan),
            }),
            runs,
            left_out,
            origin,
        }
    }
}

fn advice(report: &StudyReport) -> Advice<'_> {
    match &report.advice {
        Some(Ok(advice)) => Advice::Pick(advice),
        _ => Advice::Nothing(report.why_not().unwrap_or_default()),
    }
}

type Each<T> = Vec<(String, Result<T, String>)>;

fn analyses(report: &StudyReport) -> Each<AnalysisReport<'_>> {
    let Ok(results) = &report.results else {
        let why = report.why_not().unwrap_or_default();
        let responses = report.responses.iter();
        return responses
            .map(|response| (response.clone(), Err(why.clone())))
            .collect();
    };
    let all = report.responses.iter().zip(&report.analyses);
    all.map(|(response, answer)| {
        let shown = answer.as_ref().map_err(|error| error_chain(error));
        let shown = shown.map(|answer| AnalysisReport::new(results, answer));
        (response.clone(), shown)
    })
    .collect()
}

fn forecasts(report: &StudyReport) -> Each<&Forecast> {
    let all = report.responses.iter().zip(&report.forecasts);
    all.map(|(response, forecast)| {
        let forecast = forecast.as_ref().map_err(|error| error_chain(error));
        (response.clone(), forecast)
    })
    .collect()
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
                let number = |level: &&Level| level.as_number().unwrap_or(0.0);
                levels.sort_by(|a, b| number(a).total_cmp(&number(b)));
            }
            (
                name.clone(),
                levels.iter().map(ToString::to_string).collect(),
            )
        })
        .collect()
}

/// Every planned run with what its record shows, and what all records say about
/// their origin.
fn records(
    report: &StudyReport,
    opened: Vec<Option<Result<Opened, String>>>,
    mut origin: Origin,
) -> (Vec<RunPart>, Origin) {
    let StudyReport {
        study, responses, ..
    } = report;
    let (state, rows) = (&study.state, &study.rows);
    let (plan, progress) = (&state.plan, &state.progress);
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
    (parts, origin)
}
