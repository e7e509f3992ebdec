//! What held the runs back, and who waited for whom.

use super::{Dossier, RunPart};
use crate::chart::{BarRow, Chart, bars};
use crate::diagnose::straggler_line;
use crate::html::Html;
use crate::iterations::Course;
use crate::number::plural;
use crate::number::{ABSENT, count, duration, percent};
use crate::page::{Heading, HtmlTable, Section};
use crate::workers::Worker;
use paceline_diagnose::{Diagnosis, Holder, Straggler};
use paceline_model::WorkerId;
use std::collections::BTreeMap;

/// More trials than this are not listed one by one.
const MOST_TRIALS: usize = 40;
/// More runs than this are not listed one by one.
const MOST_RUNS: usize = 40;

/// The share of the observed time that each holder held, in [`Holder::ALL`]'s
/// order; nothing without samples.
pub(super) fn shares<'a>(
    diagnoses: impl IntoIterator<Item = &'a Diagnosis>,
) -> Option<Vec<(Holder, f64)>> {
    let mut seconds: Vec<(Holder, f64)> = Holder::ALL.into_iter().map(|by| (by, 0.0)).collect();
    for held in diagnoses.into_iter().flat_map(|found| &found.held) {
        if let Some((_, sum)) = seconds.iter_mut().find(|(by, _)| *by == held.by) {
            *sum += held.time.as_secs();
        }
    }
    let total: f64 = seconds.iter().map(|(_, sum)| sum).sum();
    (total > 0.0).then(|| seconds.into_iter().map(|(by, s)| (by, s / total)).collect())
}

/// Every finding about the nodes of a run.
pub(super) fn diagnoses(run: &RunPart) -> impl Iterator<Item = &Diagnosis> {
    run.shown()
        .into_iter()
        .flat_map(|record| record.nodes.iter().map(|(_, found)| found))
}

pub(super) fn section(dossier: &Dossier<'_>) -> Section {
    let section = Section::new("waiting", "Who waited for what");
    let Some(all) = shares(dossier.runs.iter().flat_map(diagnoses)) else {
        return section.paragraph("No samples were recorded, so that nothing can be said.");
    };
    let mut section = section.figure(
        &chart(&all),
        "Each second of a run is given to the resource that its tasks waited for or used to its \
         limit. Waiting means that it slept, or waited for what no counter shows.",
    );
    if let Some(study) = &dossier.study {
        section = section.push(by_trial(dossier, &study.factors));
    } else if let Some(run) = dossier.runs.first() {
        section = section.push(by_node(run));
    }
    stragglers(dossier, section.subheading("Stragglers"))
}

fn chart(shares: &[(Holder, f64)]) -> Chart {
    let mut sorted: Vec<_> = shares.iter().filter(|(_, share)| *share > 0.0).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rows: Vec<BarRow> = sorted
        .iter()
        .map(|(by, share)| BarRow {
            label: by.to_string(),
            value: share * 100.0,
            interval: None,
            note: percent(*share),
            prominent: *by != Holder::Nothing,
        })
        .collect();
    let most = sorted.first().map_or(String::new(), |(by, share)| {
        format!("The largest share, {}, is {by}.", percent(*share))
    });
    bars(
        "What held the runs back",
        &format!("The share of the observed time that each resource held. {most}"),
        "percent of the observed time",
        &rows,
    )
}

fn headings(first: Vec<Heading>) -> Vec<Heading> {
    let holders = Holder::ALL
        .into_iter()
        .map(|by| Heading::numbers(&by.to_string()));
    first.into_iter().chain(holders).collect()
}

fn cells(shares: &[(Holder, f64)]) -> impl Iterator<Item = String> {
    shares.iter().map(|(_, share)| match *share > 0.0 {
        true => percent(*share),
        false => ABSENT.to_owned(),
    })
}

fn by_trial(dossier: &Dossier<'_>, factors: &[(String, Vec<String>)]) -> Html {
    let mut trials: Vec<(&[String], Vec<&RunPart>)> = Vec::new();
    for run in dossier.runs.iter().filter(|run| run.shown().is_some()) {
        match trials.iter_mut().find(|(levels, _)| *levels == run.levels) {
            Some((_, runs)) => runs.push(run),
            None => trials.push((&run.levels, vec![run])),
        }
    }
    let all = trials.len();
    trials.truncate(MOST_TRIALS);
    trials.sort_by_key(|(levels, _)| order(levels, factors));
    let caption = match all > MOST_TRIALS {
        true => format!(
            "What held each configuration back: the first {MOST_TRIALS} of {}",
            count(all as u64)
        ),
        false => "What held each configuration back".to_owned(),
    };
    let mut first: Vec<Heading> = factors
        .iter()
        .map(|(name, _)| Heading::words(name))
        .collect();
    first.push(Heading::numbers("runs"));
    let mut table = HtmlTable::new(&caption, headings(first));
    for (levels, runs) in trials {
        if let Some(shares) = shares(runs.iter().flat_map(|run| diagnoses(run))) {
            let own = levels.iter().cloned().chain([runs.len().to_string()]);
            table.row(own.chain(cells(&shares)));
        }
    }
    table.into()
}

/// The places of levels among their factor's levels.
fn order(levels: &[String], factors: &[(String, Vec<String>)]) -> Vec<usize> {
    let pairs = levels.iter().zip(factors);
    pairs
        .map(|(level, (_, known))| known.iter().position(|k| k == level).unwrap_or(usize::MAX))
        .collect()
}

fn by_node(run: &RunPart) -> Html {
    let mut table = HtmlTable::new(
        "What held each node back",
        headings(vec![Heading::words("node"), Heading::numbers("observed")]),
    );
    let nodes = run.shown().into_iter().flat_map(|record| &record.nodes);
    for (node, found) in nodes {
        if let Some(shares) = shares([found]) {
            let own = [node.to_string(), duration(found.observed.as_secs())];
            table.row(own.into_iter().chain(cells(&shares)));
        }
    }
    table.into()
}

fn stragglers(dossier: &Dossier<'_>, section: Section) -> Section {
    let reporting = |run: &&RunPart| run.shown().is_some_and(|r| r.workers.len() > 1);
    let runs: Vec<&RunPart> = dossier.runs.iter().filter(reporting).collect();
    if runs.is_empty() {
        return section.paragraph(
            "No run reported how several workers spent their time, so that stragglers cannot be named. \
             The built-in trainer reports it; another program can, with the metrics `iterations`, \
             `computing_s` and `waiting_s` of each worker.",
        );
    }
    if dossier.study.is_none() {
        let record = runs[0].shown();
        let tested = record.filter(|record| record.course.is_some());
        let section = match tested {
            Some(record) => section.paragraph(&format!(
                "Straggler: {}.",
                straggler_line(record.straggler.as_ref(), record.workers.len())
            )),
            None => section,
        };
        let section = section.push(workers(runs[0]));
        return match runs[0].shown().and_then(|record| record.course.as_ref()) {
            Some(course) => section.push(paces(course)).push(stretches(course)),
            None => section,
        };
    }
    let mut worst: Vec<(&RunPart, Straggling)> = runs
        .iter()
        .filter_map(|run| {
            let record = run.shown()?;
            let found = Straggling::of(&record.workers, record.straggler.as_ref())?;
            Some((*run, found))
        })
        .collect();
    worst.sort_by(|a, b| b.1.lost.total_cmp(&a.1.lost));
    let caption = format!(
        "Runs whose workers waited most, {} of {}; a straggler is named if a test against the other \
         workers says so, wrongly in 1 of 100 runs at most",
        worst.len().min(MOST_RUNS),
        plural(runs.len(), "run")
    );
    let mut table = HtmlTable::new(
        &caption,
        [
            Heading::words("run"),
            Heading::words("configuration"),
            Heading::numbers("workers"),
            Heading::numbers("mean wait"),
            Heading::words("straggler"),
            Heading::numbers("slower by"),
            Heading::words("because"),
            Heading::numbers("longest wait"),
        ],
    );
    for (run, found) in worst.iter().take(MOST_RUNS) {
        table.row([
            run.name.clone(),
            run.levels.join(", "),
            found.workers.to_string(),
            percent(found.lost),
            found.straggler.clone(),
            found.slower_by.clone(),
            found.reason.clone(),
            percent(found.most),
        ]);
    }
    section.push(table)
}

/// How unevenly the workers of a run waited.
struct Straggling {
    workers: usize,
    /// The mean share of their time that workers waited.
    lost: f64,
    /// Its name, or nobody's.
    straggler: String,
    slower_by: String,
    reason: String,
    most: f64,
}

impl Straggling {
    fn of(workers: &[Worker], straggler: Option<&Straggler>) -> Option<Self> {
        let waits: Vec<f64> = workers.iter().filter_map(Worker::wait_share).collect();
        let most = waits.iter().copied().reduce(f64::max)?;
        let absent = || ABSENT.to_owned();
        let first = straggler.and_then(|found| found.excess.first());
        Some(Self {
            workers: workers.len(),
            lost: waits.iter().sum::<f64>() / waits.len() as f64,
            straggler: straggler.map_or_else(absent, |found| found.worker.to_string()),
            slower_by: straggler.map_or_else(absent, |found| percent(found.test.slower_by)),
            reason: first.map_or_else(absent, |excess| excess.reason.words().to_owned()),
            most,
        })
    }
}

/// For whom the workers waited longest, if they say.
fn waited_for(workers: &[Worker]) -> Option<WorkerId> {
    let mut seconds: BTreeMap<WorkerId, f64> = BTreeMap::new();
    for (whom, waited) in workers.iter().flat_map(|worker| &worker.waited_for_s) {
        *seconds.entry(*whom).or_default() += waited;
    }
    let most = seconds.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most.1 > 0.0).then_some(most.0)
}

fn workers(run: &RunPart) -> HtmlTable {
    let mut table = HtmlTable::new(
        "Who computed and who waited",
        [
            Heading::words("worker"),
            Heading::numbers("iterations"),
            Heading::numbers("computed"),
            Heading::numbers("waited"),
            Heading::numbers("sent and received"),
            Heading::numbers("share waited"),
            Heading::words("waited longest for"),
        ],
    );
    let shown = run.shown().into_iter().flat_map(|record| &record.workers);
    let text =
        |value: Option<f64>, write: fn(f64) -> String| value.map_or(ABSENT.to_owned(), write);
    for worker in shown {
        table.row([
            worker.worker.to_string(),
            text(worker.iterations, |n| count(n as u64)),
            text(worker.computing_s, duration),
            text(worker.waiting_s, duration),
            text(worker.moving_s(), duration),
            text(worker.wait_share(), percent),
            waited_for(std::slice::from_ref(worker))
                .map_or(ABSENT.to_owned(), |whom| whom.to_string()),
        ]);
    }
    table
}

fn paces(course: &Course) -> HtmlTable {
    let mut table = HtmlTable::new(
        "How long an iteration took",
        [
            Heading::words("worker"),
            Heading::numbers("iterations"),
            Heading::numbers("median"),
            Heading::numbers("99th percentile"),
            Heading::numbers("slowest"),
            Heading::numbers("which began at"),
        ],
    );
    for pace in course.paces() {
        table.row([
            pace.worker.to_string(),
            count(pace.iterations),
            duration(pace.median_s),
            duration(pace.p99_s),
            duration(pace.slowest_s),
            duration(pace.slowest_at_s),
        ]);
    }
    table
}

/// More workers than this would make a table that nobody reads.
const MOST_WORKERS: usize = 16;

fn stretches(course: &Course) -> HtmlTable {
    let caption = format!(
        "On what the workers spent their time, in stretches of {}",
        duration(course.length_s())
    );
    let mut table = HtmlTable::new(
        &caption,
        [
            Heading::numbers("from"),
            Heading::words("worker"),
            Heading::numbers("iterations"),
            Heading::numbers("computing"),
            Heading::numbers("waiting"),
            Heading::words("mostly for"),
            Heading::numbers("sending"),
            Heading::numbers("on the wire"),
            Heading::numbers("queued"),
            Heading::numbers("receiving"),
        ],
    );
    let longest = course.stretches().map(|(_, found)| found.len()).max();
    for place in 0..longest.unwrap_or(0) {
        let from = course.from_s() + place as f64 * course.length_s();
        for (worker, found) in course.stretches().take(MOST_WORKERS) {
            let Some(stretch) = found.get(place).filter(|stretch| stretch.iterations > 0) else {
                continue;
            };
            let [computing, waiting, sending, on_wire, queued, receiving] =
                stretch.shares().map(percent);
            let straggler = stretch.straggler();
            table.row([
                duration(from),
                worker.to_string(),
                count(stretch.iterations),
                computing,
                waiting,
                straggler.map_or(ABSENT.to_owned(), |other| other.to_string()),
                sending,
                on_wire,
                queued,
                receiving,
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_diagnose::{Side, StragglerTest};

    #[test]
    fn whoever_waits_least_is_no_straggler_unless_the_test_says_so() {
        let worker = |n: u32, compute: f64, wait: f64| Worker {
            worker: WorkerId(n),
            computing_s: Some(compute),
            waiting_s: Some(wait),
            waited_for_s: [(WorkerId(1), wait)].into(),
            ..Worker::default()
        };
        let three = [
            worker(0, 6.0, 4.0),
            worker(1, 10.0, 0.0),
            worker(2, 7.0, 3.0),
        ];
        let found = Straggling::of(&three, None).unwrap();
        assert_eq!(found.straggler, ABSENT);
        assert_eq!(found.most, 0.4);
        let named = Straggler {
            worker: WorkerId(1),
            side: Side::Computing,
            test: StragglerTest {
                slower_by: 0.5,
                effective_blocks: 20.0,
                p: 1e-6,
            },
            excess: Vec::new(),
        };
        let found = Straggling::of(&three, Some(&named)).unwrap();
        assert_eq!(
            (found.straggler.as_str(), found.slower_by.as_str()),
            ("worker1", "50.0%")
        );
    }
}
