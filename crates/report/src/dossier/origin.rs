//! Where everything comes from: machines, versions, seeds, own cost.

use super::{Dossier, StudyPart};
use crate::number::{ABSENT, bytes, duration, percent, significant};
use crate::page::{Heading, HtmlTable, Section};
use paceline_records::Machine;

/// Where the records come from.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The directory.
    pub source: String,
    /// The program that made the page, with its version.
    pub made_by: String,
    /// When the page was made.
    pub made_at: String,
    /// The machines that took part.
    pub machines: Vec<Machine>,
    /// Facts by name: version of the recorder, seed, commit, command, times.
    pub facts: Vec<(String, String)>,
    /// What Paceline itself took, summed over the runs that say so.
    pub overhead: Option<OwnCost>,
    /// What the user should know of the records.
    pub notices: Vec<String>,
}

/// What Paceline itself took.
#[derive(Debug, Clone, Copy)]
pub struct OwnCost {
    /// CPU time.
    pub cpu_s: f64,
    /// The time over which it was taken.
    pub of_s: f64,
    /// The highest resident memory of any run.
    pub mem_peak_bytes: Option<u64>,
}

pub(super) fn section(dossier: &Dossier<'_>) -> Section {
    let origin = &dossier.origin;
    let mut section = Section::new("origin", "Where this comes from");
    let mut machines = HtmlTable::new(
        "Machines",
        [
            Heading::words("machine"),
            Heading::words("processor"),
            Heading::numbers("logical CPUs"),
            Heading::numbers("memory"),
            Heading::words("system"),
        ],
    );
    for machine in &origin.machines {
        machines.row([
            machine.node.to_string(),
            machine
                .cpu_model
                .clone()
                .unwrap_or_else(|| ABSENT.to_owned()),
            machine.cpus_count.to_string(),
            machine
                .memory_bytes
                .map_or(ABSENT.to_owned(), |b| bytes(b as f64)),
            format!("{} {} {}", machine.os, machine.kernel, machine.architecture),
        ]);
    }
    if !origin.machines.is_empty() {
        section = section.push(machines);
    }
    let mut facts = HtmlTable::new("Facts", [Heading::words("what"), Heading::words("value")]);
    for (name, value) in &origin.facts {
        facts.row([name, value]);
    }
    if let Some(own) = &origin.overhead {
        let memory = own.mem_peak_bytes.map_or(String::new(), |peak| {
            format!(", {} of memory at most", bytes(peak as f64))
        });
        facts.row([
            "own cost",
            &format!(
                "{} of CPU time over {} of runs ({} of one CPU){memory}",
                duration(own.cpu_s),
                duration(own.of_s),
                percent(own.cpu_s / own.of_s)
            ),
        ]);
    }
    section = section.push(facts);
    if let Some(study) = &dossier.study {
        section = errors(study, section);
    }
    if !origin.notices.is_empty() {
        section = section.subheading("Notices").list(false, &origin.notices);
    }
    section
}

fn errors(study: &StudyPart<'_>, section: Section) -> Section {
    let mut table = HtmlTable::new(
        "Prediction errors so far, on configurations that were not learned from",
        [
            Heading::words("response"),
            Heading::words("predictor"),
            Heading::numbers("mean error"),
            Heading::numbers("R²"),
            Heading::numbers("inside the interval"),
            Heading::numbers("promised"),
        ],
    );
    let mut any = false;
    for (response, forecast) in &study.forecasts {
        let Some((forecast, score)) = forecast.as_ref().ok().and_then(|f| Some((f, f.score()?)))
        else {
            continue;
        };
        any = true;
        table.row([
            response.clone(),
            forecast.comparison.chosen.name().to_owned(),
            score.mape.map_or(ABSENT.to_owned(), percent),
            significant(score.r2, 3),
            percent(score.coverage),
            percent(forecast.coverage),
        ]);
    }
    if any { section.push(table) } else { section }
}
