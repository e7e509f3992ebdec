//! The page about a comparison.

use crate::commands::report::origin;
use crate::failure::Failure;
use crate::records::open;
use paceline_answers::compare::CompareAnswer;
use paceline_report::compare::{Traced, page};
use paceline_report::trace::{Detail, NodeTrace};
use std::path::{Path, PathBuf};

pub(super) fn html(
    answer: &CompareAnswer,
    places: &[Vec<PathBuf>],
    source: &str,
) -> Result<String, Failure> {
    let all: usize = places.iter().map(Vec::len).sum();
    let detail = Detail::for_runs(all, 1, 1);
    let mut traced = Vec::new();
    for (group, places) in places.iter().enumerate() {
        for place in places
            .iter()
            .take(detail.runs.div_ceil(answer.groups.len()))
        {
            traced.push(one(group, place, detail)?);
        }
    }
    Ok(page(answer, &traced, &origin(Path::new(source))))
}

fn one(group: usize, place: &Path, detail: Detail) -> Result<Traced, Failure> {
    let run = open(place)?;
    let start = &run.manifest().start;
    let end = run.manifest().end.as_ref();
    let samples = run.samples().map_err(Failure::record)?;
    let traces = samples.iter().map(|(node, samples)| {
        let machine = start.machines.iter().find(|machine| machine.node == *node);
        let cpus = machine.map_or(1, |machine| machine.cpus_count as usize);
        NodeTrace::of(node.as_str(), cpus, samples, detail.trace_points)
    });
    Ok(Traced {
        group,
        name: start.id.to_string(),
        outcome: end.map_or_else(String::new, |end| end.outcome.to_string()),
        duration_s: end.map(|end| end.duration.as_secs()),
        traces: traces.collect(),
    })
}
