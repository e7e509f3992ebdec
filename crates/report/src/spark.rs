//! A Spark application in Spark's own terms: what held it back, and how long it
//! would take with other executors.

use crate::number::{bytes, duration, percent, plural, significant};
use crate::text::{Column, Style, Table, paragraph, printable};
use paceline_spark::{Application, Cause, Held, Measure, Saving, Stage};
use serde_json::{Value, json};

/// So many stages are listed, the longest.
const MOST_STAGES: usize = 10;
/// So many executors are listed.
const MOST_EXECUTORS: usize = 20;
/// A cause is named if it would save this share of the time.
const LEAST_SHARE: f64 = 0.05;

/// An application and what held it back.
pub struct Told<'a> {
    /// The application.
    pub application: &'a Application,
    /// What its simulation says, if it ran tasks.
    pub held: Option<&'a Held>,
}

/// The application as text.
#[must_use]
pub fn text(told: &Told<'_>, width: usize, style: Style) -> String {
    let application = told.application;
    let mut text = String::new();
    let mut line = |label: &str, words: &str| {
        let head = format!("{label:<10} ");
        text.push_str(&paragraph(&head, &printable(words), width));
    };
    line("spark", &title(application));
    if let Some(held) = told.held {
        for (index, words) in findings(application, held).iter().enumerate() {
            line(if index == 0 { "held by" } else { "" }, words);
        }
        line("bounds", &bounds(held));
    }
    line("tasks", &tasks(application));
    line("shuffle", &shuffle(application));
    if let Some((stage, skew)) = application.most_skewed() {
        line("skew", &skewed(stage, skew));
    }
    for notice in &application.notices {
        line("log", &notice.to_string());
    }
    for table in [
        stages(application, width, style),
        executors(application, width, style),
        what_if(told.held, width, style),
    ] {
        if !table.is_empty() {
            text.push('\n');
            text.push_str(&table);
        }
    }
    text
}

fn title(application: &Application) -> String {
    let ran = application
        .stages
        .iter()
        .filter(|it| it.submitted.is_some());
    let id = application
        .id
        .as_deref()
        .map_or_else(String::new, |id| format!(" ({id})"));
    let mut words = format!(
        "{}{id}: {}, {}, {}, {}; {}, {}",
        application.name,
        seconds(application.wall_ms()),
        plural(application.jobs.len(), "job"),
        plural(ran.count(), "stage"),
        plural(whole(application.totals.tasks), "task"),
        plural(application.peak_executors() as usize, "executor"),
        plural(application.slots() as usize, "slot"),
    );
    if application.totals.failed > 0 {
        words.push_str(&format!(
            "; {} failed",
            plural(whole(application.totals.failed), "task")
        ));
    }
    words
}

/// What held the application back, the most first; every sentence is of this
/// application's own numbers.
fn findings(application: &Application, held: &Held) -> Vec<String> {
    let enough =
        |saving: &&Saving| saving.saved_ms as f64 >= LEAST_SHARE * held.simulated_ms as f64;
    let found: Vec<String> = held
        .savings
        .iter()
        .filter(enough)
        .take(3)
        .map(|saving| {
            let (what, without) = finding(application, held, saving.cause);
            format!("{what}; {without} {} less", about(saving.saved_ms))
        })
        .collect();
    if found.is_empty() {
        return vec!["nothing in particular: no single cause is worth 5% of the time".to_owned()];
    }
    found
}

/// A cause in this application's numbers, and the change that takes it away.
fn finding(application: &Application, held: &Held, cause: Cause) -> (String, String) {
    let totals = &application.totals;
    let slots = plural(application.slots() as usize, "slot");
    let (what, without) = match cause {
        Cause::Driver => (
            format!(
                "the driver: no stage ran for {} of {}",
                seconds(held.driver_ms),
                seconds(held.wall_ms)
            ),
            "without its work between jobs",
        ),
        Cause::Waits => (
            "stages that waited for executors or the scheduler while slots were free".to_owned(),
            "without that",
        ),
        Cause::Skew => (
            "unequal tasks: slots waited for the longest".to_owned(),
            "with equal tasks",
        ),
        Cause::FewTasks => (
            format!("stages with too few tasks for {slots}, or a number that leaves slots over"),
            "with work for every slot, beyond equal tasks,",
        ),
        Cause::Gc => (
            format!(
                "garbage collection: {} of {} of task time",
                seconds(totals.gc_ms),
                seconds(totals.run_ms)
            ),
            "without it",
        ),
        Cause::FetchWait => (
            format!(
                "waiting for shuffle data: {} of {} of task time",
                seconds(totals.fetch_wait_ms),
                seconds(totals.run_ms)
            ),
            "without it",
        ),
        Cause::TaskOverhead => (
            format!(
                "launching and unpacking {}: {} beside {} of running",
                plural(whole(totals.tasks), "task"),
                seconds(totals.scheduler_delay_ms + totals.deserialize_ms),
                seconds(totals.run_ms)
            ),
            "without it",
        ),
        Cause::Slots => ("too few slots".to_owned(), ""),
    };
    match cause {
        Cause::Slots => (what, format!("with twice {slots}")),
        _ => (what, without.to_owned()),
    }
}

fn bounds(held: &Held) -> String {
    format!(
        "driver {}, endless slots {}, these slots never idle {}, one slot {}",
        seconds(held.driver_ms),
        about(held.critical_ms),
        about(held.ideal_ms),
        about(held.one_slot_ms),
    )
}

fn tasks(application: &Application) -> String {
    let totals = &application.totals;
    format!(
        "ran {}: cpu {}, gc {}, waiting for shuffle {}; launching {}, unpacking {}; slots idle {}",
        seconds(totals.run_ms),
        duration(totals.cpu_ns as f64 / 1e9),
        seconds(totals.gc_ms),
        seconds(totals.fetch_wait_ms),
        seconds(totals.scheduler_delay_ms),
        seconds(totals.deserialize_ms),
        percent(application.idle_share()),
    )
}

fn shuffle(application: &Application) -> String {
    let totals = &application.totals;
    let spill = match totals.spilled_disk_bytes {
        0 => "nothing spilled".to_owned(),
        amount => format!("spilled {} to disks", bytes(amount as f64)),
    };
    format!(
        "read {} ({} from other machines), wrote {}; {spill}",
        bytes((totals.shuffle_local_bytes + totals.shuffle_remote_bytes) as f64),
        bytes(totals.shuffle_remote_bytes as f64),
        bytes(totals.shuffle_write_bytes as f64),
    )
}

fn skewed(stage: &Stage, skew: f64) -> String {
    format!(
        "stage {}, {}: longest task {}, median {}, ratio {}",
        stage.id,
        place(&stage.name),
        seconds(u64::from(stage.longest_ms().unwrap_or(0))),
        duration(stage.median_ms().unwrap_or(0.0) / 1e3),
        significant(skew, 2),
    )
}

fn stages(application: &Application, width: usize, style: Style) -> String {
    let mut longest: Vec<&Stage> = application
        .stages
        .iter()
        .filter(|stage| stage.submitted.is_some())
        .collect();
    longest.sort_by_key(|stage| std::cmp::Reverse(stage.wall_ms().unwrap_or(u64::MAX)));
    let more = longest.len().saturating_sub(MOST_STAGES);
    longest.truncate(MOST_STAGES);
    longest.sort_by_key(|stage| stage.submitted);
    let mut table = Table::new(vec![
        Column::amounts("stage"),
        Column::words("what"),
        Column::amounts("time"),
        Column::amounts("tasks"),
        Column::amounts("median"),
        Column::amounts("longest"),
        Column::amounts("gc"),
        Column::amounts("read"),
        Column::amounts("wrote"),
    ]);
    for stage in longest {
        let name = match (stage.attempt, stage.failure.is_some()) {
            (0, false) => stage.id.to_string(),
            (attempt, false) => format!("{}.{attempt}", stage.id),
            (attempt, true) => format!("{}.{attempt}!", stage.id),
        };
        let totals = &stage.totals;
        table.row(vec![
            name,
            place(&stage.name),
            stage.wall_ms().map_or_else(|| "runs".to_owned(), seconds),
            match totals.failed {
                0 => totals.tasks.to_string(),
                failed => format!("{} ({failed} failed)", totals.tasks),
            },
            stage
                .median_ms()
                .map_or_else(String::new, |ms| duration(ms / 1e3)),
            stage
                .longest_ms()
                .map_or_else(String::new, |ms| seconds(u64::from(ms))),
            seconds(totals.gc_ms),
            bytes((totals.shuffle_local_bytes + totals.shuffle_remote_bytes) as f64),
            bytes(totals.shuffle_write_bytes as f64),
        ]);
    }
    let mut text = table.render(width, style);
    if more > 0 {
        text.push_str(&format!("and {} that took less\n", plural(more, "stage")));
    }
    text
}

fn executors(application: &Application, width: usize, style: Style) -> String {
    if application.executors.len() < 2 {
        return String::new();
    }
    let mut columns = vec![
        Column::words("executor"),
        Column::words("host"),
        Column::amounts("cores"),
        Column::amounts("tasks"),
        Column::amounts("ran"),
        Column::amounts("cpu"),
        Column::amounts("gc"),
        Column::amounts("idle"),
        Column::words("removed"),
    ];
    let any_removed = application.executors.iter().any(|it| it.reason.is_some());
    if !any_removed {
        columns.pop();
    }
    let mut table = Table::new(columns);
    for executor in application.executors.iter().take(MOST_EXECUTORS) {
        let totals = &executor.totals;
        let slot_ms = application.slot_ms_of(executor);
        let idle = match slot_ms {
            0 => String::new(),
            _ => percent((1.0 - totals.duration_ms as f64 / slot_ms as f64).max(0.0)),
        };
        let mut row = vec![
            printable(&executor.id),
            printable(&executor.host),
            executor.cores.to_string(),
            totals.tasks.to_string(),
            seconds(totals.run_ms),
            duration(totals.cpu_ns as f64 / 1e9),
            seconds(totals.gc_ms),
            idle,
            executor
                .reason
                .as_deref()
                .map_or_else(String::new, printable),
        ];
        if !any_removed {
            row.pop();
        }
        table.row(row);
    }
    let mut text = table.render(width, style);
    let more = application.executors.len().saturating_sub(MOST_EXECUTORS);
    if more > 0 {
        text.push_str(&format!("and {}\n", plural(more, "executor")));
    }
    text
}

fn what_if(held: Option<&Held>, width: usize, style: Style) -> String {
    let Some(held) = held else {
        return String::new();
    };
    let mut table = Table::new(vec![
        Column::amounts("executors"),
        Column::amounts("slots"),
        Column::amounts("estimate"),
    ]);
    for row in &held.what_if {
        table.row(vec![
            row.executors.to_string(),
            row.slots.to_string(),
            row.wall_ms.map_or_else(|| "does not fit".to_owned(), about),
        ]);
    }
    let note = format!(
        "Estimates: this run's own tasks, scheduled again. The same for the slots that ran gives {}; \
         measured {}.\nThat tasks themselves would be faster or slower is not in them.\n",
        seconds(held.simulated_ms),
        seconds(held.wall_ms),
    );
    format!("{}{}", table.render(width, style), style.dim(&note))
}

/// The application for programs.
#[must_use]
pub fn json(told: &Told<'_>) -> Value {
    let application = told.application;
    let measures: serde_json::Map<String, Value> = Measure::ALL
        .iter()
        .filter_map(|measure| {
            let value = measure.of(application, told.held)?;
            Some((measure.name().to_owned(), json!(value)))
        })
        .collect();
    let stages: Vec<Value> = application
        .stages
        .iter()
        .filter(|stage| stage.submitted.is_some())
        .map(|stage| {
            json!({
                "id": stage.id,
                "attempt": stage.attempt,
                "name": stage.name,
                "wall_s": stage.wall_ms().map(|ms| ms as f64 / 1e3),
                "tasks": stage.totals.tasks,
                "failed": stage.totals.failed,
                "median_s": stage.median_ms().map(|ms| ms / 1e3),
                "longest_s": stage.longest_ms().map(|ms| f64::from(ms) / 1e3),
                "run_s": stage.totals.run_ms as f64 / 1e3,
                "cpu_s": stage.totals.cpu_ns as f64 / 1e9,
                "gc_s": stage.totals.gc_ms as f64 / 1e3,
                "fetch_wait_s": stage.totals.fetch_wait_ms as f64 / 1e3,
                "scheduler_delay_s": stage.totals.scheduler_delay_ms as f64 / 1e3,
                "shuffle_read_bytes": stage.totals.shuffle_local_bytes + stage.totals.shuffle_remote_bytes,
                "shuffle_write_bytes": stage.totals.shuffle_write_bytes,
                "spill_bytes": stage.totals.spilled_disk_bytes,
                "failure": stage.failure,
            })
        })
        .collect();
    let executors: Vec<Value> = application
        .executors
        .iter()
        .map(|executor| {
            json!({
                "id": executor.id,
                "host": executor.host,
                "cores": executor.cores,
                "tasks": executor.totals.tasks,
                "failed": executor.totals.failed,
                "run_s": executor.totals.run_ms as f64 / 1e3,
                "cpu_s": executor.totals.cpu_ns as f64 / 1e9,
                "gc_s": executor.totals.gc_ms as f64 / 1e3,
                "slot_s": application.slot_ms_of(executor) as f64 / 1e3,
                "removed": executor.reason,
            })
        })
        .collect();
    let savings = told.held.map(|held| {
        let one =
            |it: &Saving| json!({"cause": it.cause.name(), "saved_s": it.saved_ms as f64 / 1e3});
        held.savings.iter().map(one).collect::<Vec<_>>()
    });
    let what_if = told.held.map(|held| {
        let one = |row: &paceline_spark::WhatIf| {
            json!({
                "executors": row.executors,
                "slots": row.slots,
                "estimate_s": row.wall_ms.map(|ms| ms as f64 / 1e3),
            })
        };
        held.what_if.iter().map(one).collect::<Vec<_>>()
    });
    json!({
        "id": application.id,
        "name": application.name,
        "measures": measures,
        "held_by": told.held.and_then(Held::verdict).map(|saving| saving.cause.name()),
        "savings": savings,
        "what_if": what_if,
        "stages": stages,
        "executors": executors,
        "notices": application.notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// A stage's name with the file's name instead of its path.
fn place(name: &str) -> String {
    let words: Vec<&str> = name
        .split(' ')
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    printable(&words.join(" "))
}

fn seconds(ms: u64) -> String {
    duration(ms as f64 / 1e3)
}

/// An estimate: no more digits than it deserves.
fn about(ms: u64) -> String {
    format!("about {}", duration(ms as f64 / 1e3))
}

fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn told(name: &str) -> String {
        let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spark/oracle");
        let application = paceline_spark::read(&oracle.join(name)).unwrap();
        let held = Held::of(&application);
        let told = Told {
            application: &application,
            held: held.as_ref(),
        };
        assert!(json(&told)["what_if"].as_array().unwrap().len() > 1);
        text(&told, 100, Style::Plain)
    }

    #[test]
    fn a_skewed_application_is_told() {
        insta::assert_snapshot!(told("skew.jsonl"));
    }

    #[test]
    fn a_lost_executor_is_told() {
        insta::assert_snapshot!(told("lost.jsonl"));
    }

    #[test]
    fn an_application_that_ran_nothing_has_no_findings() {
        let application = Application {
            name: "empty".to_owned(),
            task_cpus: 1,
            ..Application::default()
        };
        let text = text(
            &Told {
                application: &application,
                held: None,
            },
            80,
            Style::Plain,
        );
        assert!(
            !text.contains("held by") && !text.contains("estimate"),
            "{text}"
        );
    }
}
