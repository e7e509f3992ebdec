//! The verdict on one run: at most fifteen lines, from its record alone.

use crate::gpus;
use crate::number::{bytes, duration, percent, rate, significant};
use crate::text::{Style, columns, printable, wrap_whole};
use paceline_diagnose::{Amount, Cause, Diagnosis, Held, Holder, Phase, Resource};
use paceline_model::{NodeName, Verdict};
use paceline_records::{Manifest, State};
use std::path::Path;

/// A verdict never says more than this many things; each is a line where it fits.
pub const MOST_LINES: usize = 15;

/// The labels' column.
const LABEL: usize = 10;

/// What a verdict is about.
pub struct Run<'a> {
    /// Where the record is.
    pub dir: &'a Path,
    /// Finished, live or interrupted.
    pub state: State,
    /// What the record says.
    pub manifest: &'a Manifest,
    /// What was found on each node.
    pub nodes: &'a [(NodeName, Diagnosis)],
    /// The logical CPUs of the first node.
    pub cpus: usize,
}

/// Writes the verdict.
#[must_use]
pub fn verdict(run: &Run<'_>, width: usize, style: Style) -> String {
    let mut lines = Lines {
        width,
        style,
        lines: Vec::new(),
    };
    lines.lines.push(headline(run, style));
    if let Some((_, first)) = run.nodes.first() {
        match ran_out_of_memory(run) {
            Some(why) => lines.add("held by", why),
            None => held(first, run.cpus, &mut lines),
        }
        usage(first, run.cpus, &mut lines);
        for line in first.gpus.iter().flat_map(gpus::lines) {
            lines.add("gpu", &line);
        }
        if let Some(energy) = gpus::energy(&first.energy) {
            lines.add("energy", &energy);
        }
        metrics(run.manifest, &mut lines);
        phases(&first.phases, &mut lines);
        for unusual in &first.unusual {
            lines.add("unusual", &unusual.to_string());
        }
    } else {
        metrics(run.manifest, &mut lines);
    }
    let end = run.manifest.end.as_ref();
    for notice in end.map_or(&[][..], |end| &end.notices) {
        let advice = notice
            .advice
            .as_deref()
            .map_or(String::new(), |advice| format!("; {advice}"));
        lines.add("notice", &format!("{}{advice}", notice.text));
    }
    // The two last lines are always there, whatever else had to give way.
    lines.lines.truncate(MOST_LINES - 2);
    own_cost(run, &mut lines);
    lines.add("record", &run.dir.display().to_string());
    lines.lines.join("\n") + "\n"
}

struct Lines {
    width: usize,
    style: Style,
    lines: Vec<String>,
}

impl Lines {
    /// A line with its label, or without if the line above has the same.
    fn add(&mut self, label: &str, text: &str) {
        let label = format!("{label:LABEL$}");
        let repeated = self
            .lines
            .iter()
            .any(|line| line.starts_with(&self.style.dim(&label)));
        let indent = " ".repeat(LABEL);
        let label = match repeated {
            true => indent.clone(),
            false => self.style.dim(&label),
        };
        // What does not fit goes on below: nothing is cut, whatever it is printed on.
        let text = printable(text);
        let room = self.width.saturating_sub(LABEL);
        let parts = match columns(&text) <= room {
            true => vec![text],
            false => wrap_whole(&text, room),
        };
        let parts = parts.join(&format!("\n{indent}"));
        self.lines.push(format!("{label}{parts}"));
    }
}

/// Whether the kernel ended the run for want of memory: then what held it while
/// it lived is not what ended it.
fn ran_out_of_memory<'a>(run: &'a Run<'_>) -> Option<&'a str> {
    let end = run.manifest.end.as_ref()?;
    let notice = end.notices.iter().find(|it| it.name == "out_of_memory")?;
    Some(&notice.text)
}

fn headline(run: &Run<'_>, style: Style) -> String {
    let start = &run.manifest.start;
    let name = start.name.as_deref().unwrap_or(start.id.as_str());
    let how = match (&run.manifest.end, run.state) {
        (Some(end), State::Live) => format!("runs, {} so far", duration(end.duration.as_secs())),
        (None, _) => "runs".to_owned(),
        (Some(end), _) => {
            let outcome = end.outcome.to_string();
            let (outcome, preposition) = match end.outcome.verdict() {
                Verdict::Done => (style.good(&outcome), "in"),
                Verdict::Failed => (style.bad(&outcome), "after"),
                Verdict::Unfinished => (style.careful(&outcome), "after"),
            };
            format!(
                "{outcome} {preposition} {}",
                duration(end.duration.as_secs())
            )
        }
    };
    format!("{}: {how}", style.strong(&printable(name)))
}

fn held(diagnosis: &Diagnosis, cpus: usize, lines: &mut Lines) {
    for held in diagnosis
        .held
        .iter()
        .filter(|held| held.share >= 0.005)
        .take(4)
    {
        let evidence = evidence(held, cpus);
        let share = percent(held.share);
        lines.add(
            "held by",
            &format!(
                "{:8} {share:>5} of the time: {evidence}",
                held.by.to_string()
            ),
        );
    }
}

/// How it is known that something held a run back.
pub(crate) fn evidence(held: &Held, cpus: usize) -> String {
    match (held.by, held.cause) {
        (Holder::Nothing, _) => "no resource was short: it slept or waited for others".to_owned(),
        (_, Cause::Pressure) => {
            format!(
                "tasks waited for it {} of that time (PSI)",
                percent(held.strength)
            )
        }
        (_, Cause::Throttled) => {
            format!(
                "its CPU limit held it back {} of that time",
                percent(held.strength)
            )
        }
        (by, _) => saturation(by, held, cpus),
    }
}

fn saturation(by: Holder, held: &Held, cpus: usize) -> String {
    match by {
        Holder::Resource(Resource::Cpu) => {
            format!(
                "it kept {} of {cpus} cpus busy",
                significant(held.strength, 2)
            )
        }
        Holder::Resource(Resource::Network) => {
            format!(
                "{} moved while it did not compute",
                rate(held.strength, "B")
            )
        }
        _ => format!("busy {} of that time", percent(held.strength)),
    }
}

fn usage(diagnosis: &Diagnosis, cpus: usize, lines: &mut Lines) {
    let usage = &diagnosis.usage;
    if let Some(Amount { mean, peak, .. }) = usage.cpus {
        let (mean, peak) = (significant(mean, 2), significant(peak, 2));
        lines.add("cpu", &format!("mean {mean}, peak {peak} of {cpus} cpus"));
    }
    if let Some(Amount { mean, peak, .. }) = usage.memory_bytes {
        lines.add(
            "memory",
            &format!("mean {}, peak {}", bytes(mean), bytes(peak)),
        );
    }
    let moved = |verb: &str, amount: Option<Amount>| {
        let Amount { total, peak, .. } = amount?;
        let peak = if total > 0.0 {
            format!(" (peak {})", rate(peak, "B"))
        } else {
            String::new()
        };
        Some(format!("{verb} {}{peak}", bytes(total)))
    };
    let both = |a: Option<String>, b: Option<String>| {
        let parts: Vec<String> = [a, b].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    let disk = both(
        moved("read", usage.disk_read_bytes_per_s),
        moved("wrote", usage.disk_write_bytes_per_s),
    );
    if let Some(disk) = disk {
        lines.add("disk", &disk);
    }
    let net = both(
        moved("received", usage.net_rx_bytes_per_s),
        moved("sent", usage.net_tx_bytes_per_s),
    );
    if let Some(mut net) = net {
        if let Some(loopback) = usage
            .loopback_bytes_per_s
            .filter(|amount| amount.total > 0.0)
        {
            net.push_str(&format!(", {} over loopback", bytes(loopback.total)));
        }
        let whose = match usage.net_is_own {
            true => "its own connections",
            false => "whole machine",
        };
        lines.add("network", &format!("{net} ({whose})"));
    }
}

fn metrics(manifest: &Manifest, lines: &mut Lines) {
    let Some(end) = &manifest.end else { return };
    let shown: Vec<String> = end
        .responses
        .iter()
        .map(|(name, value)| format!("{name} {}", short(*value)))
        .collect();
    if !shown.is_empty() {
        lines.add("metrics", &shown.join(", "));
    }
}

fn phases(phases: &[Phase], lines: &mut Lines) {
    if phases.len() < 2 && !phases.iter().any(|phase| phase.named) {
        return;
    }
    let shown: Vec<String> = phases
        .iter()
        .map(|phase| {
            format!(
                "{} {}",
                phase.name,
                duration(phase.to.since(phase.from).as_secs())
            )
        })
        .collect();
    lines.add("phases", &shown.join(" → "));
}

fn own_cost(run: &Run<'_>, lines: &mut Lines) {
    let end = run.manifest.end.as_ref();
    let Some((end, overhead)) = end.and_then(|end| Some((end, end.overhead?))) else {
        return;
    };
    let interval = run.manifest.start.sample_interval.as_secs();
    let spent = duration(overhead.cpu_s);
    let mut text = format!(
        "{spent} of cpu time for a sample every {}",
        duration(interval)
    );
    // The baseline and the last sample would be nearly all of a shorter run's cost.
    if end.duration.as_secs() >= 3.0 * interval {
        let share = percent(overhead.cpu_s / end.duration.as_secs());
        text.push_str(&format!(" ({share} of one cpu)"));
    }
    lines.add("own cost", &text);
}

/// A metric without the zeros that say nothing.
fn short(value: f64) -> String {
    let text = significant(value, 5);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The verdict for programs. Keys are a promise; what is unknown is `null`.
#[must_use]
pub fn json(run: &Run<'_>) -> serde_json::Value {
    use serde_json::json;
    let start = &run.manifest.start;
    let end = run.manifest.end.as_ref();
    let amount = |amount: Option<Amount>| {
        amount.map(
            |Amount { mean, peak, total }| json!({ "mean": mean, "peak": peak, "total": total }),
        )
    };
    let nodes = run.nodes.iter().map(|(name, diagnosis)| {
        let usage = &diagnosis.usage;
        json!({
            "node": name.as_str(),
            "observed_s": diagnosis.observed.as_secs(),
            "held": diagnosis.held.iter().map(|held| json!({
                "by": held.by.to_string(),
                "time_s": held.time.as_secs(),
                "share": held.share,
                "evidence": match held.cause {
                    Cause::Pressure => "pressure",
                    Cause::Throttled => "throttled",
                    Cause::Saturated => "saturated",
                    Cause::Unknown => "none",
                },
                "strength": held.strength,
            })).collect::<Vec<_>>(),
            "usage": {
                "cpus": amount(usage.cpus),
                "foreign_cpus": amount(usage.foreign_cpus),
                "memory_bytes": amount(usage.memory_bytes),
                "disk_read_bytes_per_s": amount(usage.disk_read_bytes_per_s),
                "disk_write_bytes_per_s": amount(usage.disk_write_bytes_per_s),
                "network_of": if usage.net_is_own { "run" } else { "machine" },
                "net_rx_bytes_per_s": amount(usage.net_rx_bytes_per_s),
                "net_tx_bytes_per_s": amount(usage.net_tx_bytes_per_s),
                "loopback_bytes_per_s": amount(usage.loopback_bytes_per_s),
                "steal_cpus": amount(usage.steal_cpus),
                "iowait_cpus": amount(usage.iowait_cpus),
            },
            "gpus": gpus::json(diagnosis.gpus.as_ref()),
            "energy_j": {
                "cpu": diagnosis.energy.cpu,
                "dram": diagnosis.energy.dram,
                "gpu": diagnosis.energy.gpu,
            },
            "phases": diagnosis.phases.iter().map(|phase| json!({
                "name": phase.name,
                "named_by_job": phase.named,
                "from_s": phase.from.as_secs(),
                "to_s": phase.to.as_secs(),
            })).collect::<Vec<_>>(),
            "unusual": diagnosis.unusual.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    });
    json!({
        "id": start.id.as_str(),
        "name": start.name,
        "dir": run.dir.to_string_lossy(),
        "state": match run.state {
            State::Finished => "finished",
            State::Live => "live",
            State::Interrupted => "interrupted",
        },
        "argv": start.argv,
        "started": start.started.to_string(),
        "outcome": end.map(|end| end.outcome.to_string()),
        "duration_s": end.map(|end| end.duration.as_secs()),
        "responses": end.map(|end| end.responses.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>()),
        "notices": end.map(|end| end.notices.iter().map(|notice| json!({
            "name": notice.name, "text": notice.text, "advice": notice.advice,
        })).collect::<Vec<_>>()),
        "overhead_cpu_s": end.and_then(|end| end.overhead).map(|overhead| overhead.cpu_s),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}
