//! What held a run's nodes and workers back, who straggled, and what would help: the one
//! answer of `diagnose`, `show` and the page.

use crate::number::{duration, percent, plural, significant};
use crate::text::{Column, Style, Table};
use crate::verdict::evidence;
use paceline_diagnose::{
    Cell, Diagnosis, Gain, Means, Part, Phase, Straggler, WhatIf, WorkerCourses, find_straggler,
    gains,
};
use paceline_model::{NodeName, WorkerId};
use serde_json::{Value, json};

/// The version of the JSON that [`json()`] gives.
pub const VERSION: u32 = 1;

/// What is found about one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// What held each node back, and how many CPUs it has.
    pub nodes: Vec<(NodeName, usize, Diagnosis)>,
    /// All that each worker did.
    pub workers: Vec<(WorkerId, Cell)>,
    /// The straggler, if the test says that there is one.
    pub straggler: Option<Straggler>,
    /// What would help.
    pub gains: Vec<Gain>,
}

impl Findings {
    /// The findings about nodes and the iterations of workers.
    #[must_use]
    pub fn of(
        nodes: Vec<(NodeName, usize, Diagnosis)>,
        courses: &WorkerCourses,
        has_link: bool,
    ) -> Self {
        let straggler = find_straggler(courses);
        let cpus = nodes.iter().map(|(_, cpus, _)| *cpus).sum::<usize>().max(1);
        Self {
            workers: courses
                .workers()
                .map(|worker| (worker, courses.total(worker)))
                .collect(),
            gains: gains(courses, straggler.as_ref(), Means { cpus, has_link }),
            straggler,
            nodes,
        }
    }

    /// What took most of the workers' time apart from computing, with its share; none if
    /// computing took nearly all.
    #[must_use]
    pub fn most(&self) -> Option<(Part, f64)> {
        let mut all = Cell::default();
        for (_, cell) in &self.workers {
            for (sum, part) in all.parts.iter_mut().zip(cell.parts) {
                *sum += part;
            }
        }
        let total = all.total();
        Part::ALL
            .into_iter()
            .filter(|part| *part != Part::Compute)
            .map(|part| (part, all.part(part) / total))
            .filter(|(_, share)| *share >= LEAST_SHARE)
            .max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// A smaller share is not told.
const LEAST_SHARE: f64 = 0.005;

/// Who straggles, by how much, and why, in a line; or that nobody does.
#[must_use]
pub fn straggler_line(found: Option<&Straggler>, workers: usize) -> String {
    let Some(Straggler {
        worker,
        side,
        test,
        excess,
    }) = found
    else {
        return format!("none of {} (test at 1% a run)", plural(workers, "worker"));
    };
    let more = percent(test.slower_by);
    let sure = match test.p < 1e-4 {
        true => "p < 0.0001".to_owned(),
        false => format!("p = {}", significant(test.p, 2)),
    };
    let why = excess.first().map_or(String::new(), |first| {
        let (words, share) = (first.reason.words(), percent(first.share));
        format!(
            ": {words} ({share} of what it takes longer, {} an iteration)",
            duration(first.seconds)
        )
    });
    let side = side.name();
    format!("{worker}, whose {side} takes {more} longer than the others' ({sure}){why}")
}

/// A what-if in words.
#[must_use]
pub fn what_if_words(what_if: WhatIf) -> String {
    match what_if {
        WhatIf::Network(times) => format!("network {} times as fast", significant(times, 2)),
        WhatIf::OneMoreCpu { cpus } => format!("{} CPUs instead of {cpus}", cpus + 1),
        WhatIf::Compute(times) => {
            format!("workers compute {} times as fast", significant(times, 2))
        }
        WhatIf::NoQueue => "a server that answers at once".to_owned(),
        WhatIf::NoStraggler(worker) => format!("{worker} as fast as the others"),
    }
}

/// A relative change with its margin, such as "-11.0% ± 2.0%".
#[must_use]
pub fn change_words(change: f64, margin: f64) -> String {
    let sign = if change < 0.0 { "-" } else { "+" };
    format!("{sign}{} ± {}", percent(change.abs()), percent(margin))
}

/// All of it for people.
#[must_use]
pub fn text(findings: &Findings, width: usize, style: Style) -> String {
    let mut text = String::new();
    for (name, cpus, node) in &findings.nodes {
        for held in node.held.iter().filter(|held| held.share >= LEAST_SHARE) {
            text += &format!(
                "{name}: {} held it {} ({}): {}\n",
                held.by,
                duration(held.time.as_secs()),
                percent(held.share),
                evidence(held, *cpus)
            );
        }
        for phase in node.phases.iter().filter(|_| node.phases.len() > 1) {
            let Phase {
                name: what,
                from,
                to,
                ..
            } = phase;
            text += &format!(
                "{name}: {what} from {} to {}\n",
                duration(from.as_secs()),
                duration(to.as_secs())
            );
        }
    }
    if findings.nodes.is_empty() {
        text += "no samples were recorded\n";
    }
    if findings.workers.is_empty() {
        return text;
    }
    text.push('\n');
    let used: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| {
            let share = |(_, cell): &(WorkerId, Cell)| cell.part(*part) / cell.total();
            findings.workers.iter().any(|it| share(it) >= LEAST_SHARE)
        })
        .collect();
    let mut columns = vec![
        Column::words("worker"),
        Column::amounts("iterations"),
        Column::amounts("each"),
    ];
    columns.extend(used.iter().map(|part| Column::amounts(part.words())));
    columns.push(Column::amounts("no CPU").optional());
    let mut table = Table::new(columns);
    for (worker, cell) in &findings.workers {
        let total = cell.total();
        let mut cells = vec![
            worker.to_string(),
            cell.iterations.to_string(),
            duration(total / cell.iterations.max(1) as f64),
        ];
        cells.extend(used.iter().map(|part| percent(cell.part(*part) / total)));
        cells.push(match cell.on_cpu_s > 0.0 {
            true => percent(cell.runnable_s / total),
            false => String::new(),
        });
        table.row(cells);
    }
    text += &table.render(width, style);
    text.push('\n');
    if findings.workers.len() > 1 {
        let line = straggler_line(findings.straggler.as_ref(), findings.workers.len());
        text += &format!("straggler: {line}\n");
    }
    for gain in &findings.gains {
        text += &format!(
            "what if {}: {} of the time{}\n",
            what_if_words(gain.what_if),
            change_words(gain.change, gain.margin),
            // Checked trainings came out far from what was predicted of them.
            match gain.what_if {
                WhatIf::NoStraggler(_) => ", if nothing else changes: a guess until `--check`",
                _ => "",
            }
        );
    }
    text
}

/// A what-if that was made real.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// What was predicted.
    pub gain: Gain,
    /// The relative change of the time between two trainings, with the change and without.
    pub measured: f64,
}

impl Checked {
    /// By how much the predicted time is wrong, relative to the measured one.
    #[must_use]
    pub fn error(&self) -> f64 {
        ((1.0 + self.gain.change) / (1.0 + self.measured) - 1.0).abs()
    }
}

/// What was checked, for people.
#[must_use]
pub fn checked_text(checked: &[Checked]) -> String {
    let line = |one: &Checked| {
        let sign = if one.measured < 0.0 { "-" } else { "+" };
        format!(
            "checked: {}: predicted {}, measured {sign}{}; the time is wrong by {}\n",
            what_if_words(one.gain.what_if),
            change_words(one.gain.change, one.gain.margin),
            percent(one.measured.abs()),
            percent(one.error())
        )
    };
    checked.iter().map(line).collect()
}

/// What was checked, for programs.
#[must_use]
pub fn checked_json(checked: &[Checked]) -> Value {
    let one = |one: &Checked| {
        json!({
            "what": one.gain.what_if.name(),
            "predicted": one.gain.change,
            "margin": one.gain.margin,
            "measured": one.measured,
            "error": one.error(),
        })
    };
    checked.iter().map(one).collect()
}

/// The straggler for programs; null if there is none.
#[must_use]
pub fn straggler_json(found: Option<&Straggler>) -> Value {
    let Some(found) = found else {
        return Value::Null;
    };
    let excess = found.excess.iter().map(|excess| {
        json!({
            "reason": excess.reason.name(),
            "seconds_per_iteration": excess.seconds,
            "share": excess.share,
        })
    });
    json!({
        "worker": found.worker.0,
        "side": found.side.name(),
        "slower_by": found.test.slower_by,
        "p": found.test.p,
        "effective_blocks": found.test.effective_blocks,
        "excess": excess.collect::<Vec<_>>(),
    })
}

/// All of it for programs; the keys are a promise.
#[must_use]
pub fn json(findings: &Findings) -> Value {
    let node = |(name, cpus, node): &(NodeName, usize, Diagnosis)| {
        let held = node.held.iter().map(|held| {
            json!({
                "by": held.by.to_string(),
                "seconds": held.time.as_secs(),
                "share": held.share,
                "evidence": evidence(held, *cpus),
            })
        });
        let phases = node.phases.iter().map(|phase| {
            json!({
                "name": phase.name,
                "from_s": phase.from.as_secs(),
                "to_s": phase.to.as_secs(),
            })
        });
        json!({
            "node": name.to_string(),
            "observed_s": node.observed.as_secs(),
            "held": held.collect::<Vec<_>>(),
            "phases": phases.collect::<Vec<_>>(),
        })
    };
    let worker = |(worker, cell): &(WorkerId, Cell)| {
        let parts: serde_json::Map<String, Value> = Part::ALL
            .iter()
            .map(|part| (format!("{}_s", part.name()), cell.part(*part).into()))
            .collect();
        json!({
            "worker": worker.0,
            "iterations": cell.iterations,
            "seconds": cell.total(),
            "parts": parts,
            "on_cpu_s": cell.on_cpu_s,
            "runnable_s": cell.runnable_s,
        })
    };
    let gain = |gain: &Gain| {
        json!({
            "what": gain.what_if.name(),
            "words": what_if_words(gain.what_if),
            "change": gain.change,
            "margin": gain.margin,
        })
    };
    json!({
        "version": VERSION,
        "nodes": findings.nodes.iter().map(node).collect::<Vec<_>>(),
        "workers": findings.workers.iter().map(worker).collect::<Vec<_>>(),
        "straggler": straggler_json(findings.straggler.as_ref()),
        "what_if": findings.gains.iter().map(gain).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::Iteration;
    use std::time::Duration;

    fn findings(slow_ms: u64) -> Findings {
        let mut courses = WorkerCourses::default();
        let ms = Duration::from_millis;
        for clock in 0..200 {
            for worker in 0..2 {
                let own = if worker == 1 { slow_ms } else { 10 };
                let row = Iteration {
                    clock,
                    iterations: 1,
                    began: ms(clock * (slow_ms + 5)),
                    computing: ms(own),
                    waiting: ms(slow_ms - own),
                    on_wire: ms(5),
                    ..Iteration::default()
                };
                courses.add(WorkerId(worker), &row);
            }
        }
        Findings::of(Vec::new(), &courses, true)
    }

    #[test]
    fn a_straggler_and_what_would_help_are_told_with_how_much() {
        let found = findings(30);
        let told = text(&found, 120, Style::default());
        // 30 ms an iteration against 10; of 35 ms, the wire's five are 2.5 less.
        assert!(
            told.contains(
                "straggler: worker1, whose computing takes 200.0% longer than the others'"
            ),
            "{told}"
        );
        assert!(
            told.contains(
                "worker1 as fast as the others: -57.1% ± 0.0% of the time, if nothing else \
                 changes: a guess until `--check`"
            ),
            "{told}"
        );
        assert!(
            told.contains("network 2.0 times as fast: -7.1% ± 0.0%"),
            "{told}"
        );
        assert!(!told.contains("CPUs instead"), "{told}");
        let json = json(&found);
        assert_eq!(json["straggler"]["worker"], 1);
        assert_eq!(json["straggler"]["excess"][0]["reason"], "computing");
        let waited = json["workers"][0]["parts"]["wait_s"].as_f64().unwrap();
        assert!((waited - 4.0).abs() < 1e-9);
    }

    #[test]
    fn equal_workers_are_told_as_such() {
        let told = text(&findings(10), 120, Style::default());
        assert!(told.contains("straggler: none of 2 workers"), "{told}");
        assert_eq!(json(&findings(10))["straggler"], Value::Null);
    }
}
