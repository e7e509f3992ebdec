//! What the records of runs say, thin enough for a page.

use super::{Origin, OwnCost, RecordPart};
use crate::number::duration;
use crate::processes;
use crate::trace::{Detail, NodeTrace, curves};
use crate::workers::workers;
use paceline_answers::report::{Content, Recorded};
use paceline_diagnose::{Diagnosis, Node, diagnose};
use paceline_model::{Event, EventKind, NodeName, Sample, error_chain};
use paceline_records::Manifest;
use std::collections::BTreeMap;

/// A record with what the page shows of it.
pub struct Opened {
    /// Who ran what, where, and how it ended.
    pub manifest: Manifest,
    /// What the samples and events show, or why they cannot be read.
    pub part: Result<RecordPart, String>,
}

impl Opened {
    /// What a page shows of a record. Without `detail` the time lines and curves
    /// are left out.
    #[must_use]
    pub fn new(record: Recorded, detail: Option<Detail>) -> Self {
        let Recorded { manifest, content } = record;
        let part = match content {
            Ok(content) => Ok(part(&manifest, content, detail)),
            Err(error) => Err(error_chain(&error)),
        };
        Self { manifest, part }
    }
}

fn part(manifest: &Manifest, content: Content, detail: Option<Detail>) -> RecordPart {
    let Content {
        events,
        samples,
        straggler,
    } = content;
    let (events, samples) = (&events[..], &samples[..]);
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
        (name.clone(), diagnose(samples, events, node))
    };
    let nodes: Vec<(NodeName, Diagnosis)> = samples.iter().map(diagnosed).collect();
    let each = processes::of(samples, |node| {
        let (_, found) = nodes.iter().find(|(name, _)| name == node)?;
        found.gpus.as_ref()?.busy.map(|busy| busy.mean)
    });
    RecordPart {
        processes: each,
        nodes,
        traces: detail.map_or_else(Vec::new, |detail| {
            let nodes = samples.iter();
            nodes
                .map(|(name, samples)| {
                    NodeTrace::of(name.as_str(), cpus(name), samples, detail.trace_points)
                })
                .collect()
        }),
        curves: detail.map_or_else(Vec::new, |detail| curves(events, detail.curve_points)),
        workers: workers(events),
        course: None,
        straggler,
        marks: marks(events),
    }
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
        fact("a sample every", duration(interval));
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

/// A time without the fraction that nobody reads.
#[must_use]
pub fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{} UTC", seconds.replace('T', " ")),
        None => time.to_owned(),
    }
}
