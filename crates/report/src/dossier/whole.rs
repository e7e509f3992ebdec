//! From answers and records to a page.

use super::{Dossier, Opened, Origin, standing};
use crate::iterations::Course;
use crate::trace::{Detail, curves};
use paceline_answers::report::{StudyReport, read, read_all};
use paceline_model::error_chain;
use paceline_records::{ReadTableError, Run};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The page about a study, with its records, read from the disk.
#[must_use]
pub fn study_page(report: &StudyReport, origin: Origin) -> String {
    let places = report.study.state.record_dirs();
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
    let hidden = places.iter().flatten().filter(|(_, traced)| !traced);
    let left_out = hidden.count();
    let opened = read_all(&places, |record, traced| {
        Opened::new(record, traced.then_some(detail))
    });
    let opened = opened
        .into_iter()
        .map(|opened| opened.map(|opened| opened.map_err(|error| error_chain(&error))));
    Dossier::of_study(report, opened.collect(), left_out, origin).html()
}

/// What the page affords, judged by the first record that can be read.
fn detail(places: &[Option<PathBuf>], recorded: usize) -> Detail {
    let opened = places.iter().flatten().find_map(|dir| Run::open(dir).ok());
    let (nodes, metrics) = opened.map_or((1, 1), |run| {
        let events = run.events().unwrap_or_default();
        (
            run.manifest().start.machines.len(),
            curves(&events, usize::MAX).len(),
        )
    });
    Detail::for_runs(recorded, nodes, metrics)
}

/// Into so many stretches the iterations of workers are summed up.
const STRETCHES: usize = 12;

/// The page about one run, and what it says, for programs.
///
/// # Errors
/// If what its workers wrote of their iterations cannot be read.
pub fn run_page(run: &Run, origin: Origin) -> Result<(String, Value), ReadTableError> {
    let manifest = run.manifest();
    let metrics = 4;
    let nodes = manifest.start.machines.len();
    let mut opened = Opened::new(read(run), Some(Detail::for_runs(1, nodes, metrics)));
    if let Ok(part) = &mut opened.part {
        let mut course = Course::new(STRETCHES);
        run.each_iteration(|worker, row| course.add(worker, &row))?;
        part.course = (!course.is_empty()).then_some(course);
    }
    let (_, outcome) = standing(manifest, run.state());
    let facts = json!({
        "kind": "run",
        "run": manifest.start.id.as_str(),
        "outcome": outcome,
    });
    Ok((Dossier::of_run(opened, run.state(), origin).html(), facts))
}
