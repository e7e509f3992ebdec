//! What the records of runs say, thin enough for a page.

use super::to_the_second;
use paceline_diagnose::{Diagnosis, Node, diagnose};
use paceline_model::{Event, EventKind, NodeName, Sample};
use paceline_records::{Manifest, ReadTableError, Run};
use paceline_report::dossier::{Origin, OwnCost, RecordPart};
use paceline_report::trace::{Detail, NodeTrace, curves};
use paceline_report::workers::workers;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A record with what the page shows of it.
pub(super) struct Opened {
    pub(super) manifest: Manifest,
    /// What the samples and events show, or why they cannot be read.
    pub(super) part: Result<RecordPart, String>,
}

/// Reads a record. Without `detail` the time lines and curves are left out.
pub(super) fn open(run: &Run, detail: Option<Detail>) -> Opened {
    Opened {
        manifest: run.manifest().clone(),
        part: part(run, detail).map_err(|error| chain(&error)),
    }
}

fn part(run: &Run, detail: Option<Detail>) -> Result<RecordPart, ReadTableError> {
    let events = run.events()?;
    let samples = run.samples()?;
    let manifest = run.manifest();
    let cpus = |name: &NodeName| {
        let mut machines = manifest.start.machines.iter();
        let machine = machines.find(|machine| machine.node == *name);
        machine.map_or(1, |machine| machine.cpus_count as usize)
    };
    let diagnosed = |(name, samples): &(NodeName, Vec<Sample>)| -> (NodeName, Diagnosis) {
        let node = Node {
            cpus: cpus(name),
            memory_max_bytes: manifest.start.limits.memory_bytes,
        };
        (name.clone(), diagnose(samples, &events, node))
    };
    Ok(RecordPart {
        nodes: samples.iter().map(diagnosed).collect(),
        traces: detail.map_or_else(Vec::new, |detail| {
            let nodes = samples.iter();
            nodes
                .map(|(name, samples)| {
                    NodeTrace::of(name.as_str(), cpus(name), samples, detail.trace_points)
                })
                .collect()
        }),
        curves: detail.map_or_else(Vec::new, |detail| curves(&events, detail.curve_points)),
        workers: workers(&events),
        course: None,
        marks: marks(&events),
    })
}

/// What happened to the run as a whole: starts, exits, notices.
fn marks(events: &[Event]) -> Vec<(f64, String)> {
    let told = |event: &&Event| matches!(event.kind, EventKind::Lifecycle | EventKind::Notice);
    let text = |event: &Event| match (&event.text, event.worker) {
        (Some(text), Some(worker)) => format!("{worker} {}: {text}", event.name),
        (Some(text), None) => format!("{}: {text}", event.name),
        (None, Some(worker)) => format!("{worker} {}", event.name),
        (None, None) => event.name.clone(),
    };
    let told = events.iter().filter(told);
    told.map(|event| (event.at.as_secs(), text(event)))
        .collect()
}

/// An error with its causes.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Reads many records with as many threads as there are CPUs, in their order.
/// A place is nothing where a run has no record.
pub(super) fn open_all(
    places: &[Option<(PathBuf, bool)>],
    detail: Detail,
) -> Vec<Option<Result<Opened, String>>> {
    let found: Vec<Mutex<Option<Result<Opened, String>>>> =
        places.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = places.get(at) else { break };
                    let Some((dir, traced)) = place else { continue };
                    let opened = match Run::open(dir) {
                        Ok(run) => Ok(open(&run, traced.then_some(detail))),
                        Err(error) => Err(chain(&error)),
                    };
                    *found[at].lock().expect("no thread panics with the lock") = Some(opened);
                }
            });
        }
    });
    let taken = found.into_iter();
    taken
        .map(|cell| cell.into_inner().expect("no thread panicked with the lock"))
        .collect()
}

/// The most notices that are listed.
const NOTICES: usize = 12;

/// What the manifests say about where everything comes from.
pub(super) fn origin<'a>(
    mut origin: Origin,
    manifests: impl Iterator<Item = &'a Manifest> + Clone,
) -> Origin {
    let mut writers: Vec<&str> = Vec::new();
    let mut commits: Vec<String> = Vec::new();
    let mut notices: BTreeMap<String, usize> = BTreeMap::new();
    let (mut cpu_s, mut of_s, mut peak) = (0.0, 0.0, None);
    for manifest in manifests.clone() {
        if !writers.contains(&manifest.written_by.as_str()) {
            writers.push(&manifest.written_by);
        }
        for machine in &manifest.start.machines {
            if !origin.machines.contains(machine) {
                origin.machines.push(machine.clone());
            }
        }
        if let Some(git) = &manifest.start.git {
            let dirty = match git.dirty {
                Some(true) => " with uncommitted changes",
                _ => "",
            };
            let commit = format!("{}{dirty}", git.commit);
            if !commits.contains(&commit) {
                commits.push(commit);
            }
        }
        let Some(end) = &manifest.end else { continue };
        if let Some(overhead) = end.overhead {
            cpu_s += overhead.cpu_s;
            of_s += end.duration.as_secs();
            peak = peak.max(overhead.mem_peak_bytes);
        }
        for notice in &end.notices {
            let advice = notice.advice.as_deref();
            let advice = advice.map_or(String::new(), |advice| format!("; {advice}"));
            *notices
                .entry(format!("{}{advice}", notice.text))
                .or_default() += 1;
        }
    }
    origin.overhead = (of_s > 0.0).then_some(OwnCost {
        cpu_s,
        of_s,
        mem_peak_bytes: peak,
    });
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            origin.facts.push((name.to_owned(), value));
        }
    };
    fact("recorded by", writers.join(", "));
    if let Some(first) = manifests.clone().next() {
        fact("command", first.start.argv.join(" "));
        fact("in", first.start.cwd.display().to_string());
        let interval = first.start.sample_interval.as_secs();
        fact(
            "a sample every",
            paceline_report::number::duration(interval),
        );
    }
    let mut starts: Vec<String> = manifests.map(|m| m.start.started.to_string()).collect();
    starts.sort_unstable();
    if let (Some(first), Some(last)) = (starts.first(), starts.last()) {
        fact("first start", to_the_second(first));
        if first != last {
            fact("last start", to_the_second(last));
        }
    }
    fact("commit", commits.join(", "));
    let mut notices: Vec<(String, usize)> = notices.into_iter().collect();
    notices.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = notices.into_iter().take(NOTICES);
    origin.notices = told
        .map(|(text, count)| match count {
            1 => text,
            n => format!("{text} ({n} runs)"),
        })
        .collect();
    origin
}
