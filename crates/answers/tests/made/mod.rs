//! Studies that were never run: plan, journal and records are written as the
//! runner writes them.

use paceline_model::{Level, Measure, Micros, NodeName, Outcome, Readings, Sample};
use paceline_records::journal::Journal;
use paceline_records::study::{Entry, Plan, PlannedRun, RunResult, StudyDir};
use paceline_records::{End, Limits, LogLimit, Machine, RunWriter, Start, WallTime};
use paceline_runner::study::plan;
use paceline_study::{Capabilities, RawStudy};
use std::path::{Path, PathBuf};

/// Twenty-four runs, two of each of twelve configurations.
const STUDY: &str = r#"
[job]
command = ["true"]
reads_env = true
[factors]
batch_size = [32, 64, 128]
workers = [1, 2]
sync = ["bsp", "async"]
[design]
kind = "full"
replicates = 2
[responses]
time = "duration_s"
accuracy = "test_accuracy"
"#;

/// The same with a factor that the law of queues knows.
const QUEUED: &str = r#"
[job]
command = ["true"]
reads_env = true
[factors]
batch_size = [16, 32, 64, 128]
jobs = [1, 2, 4]
[design]
kind = "full"
replicates = 2
[responses]
time = "duration_s"
accuracy = "test_accuracy"
"#;

/// What became of a study's runs.
#[derive(Default)]
pub(crate) struct Made {
    /// Jobs share processors.
    pub(crate) queued: bool,
    /// These runs, in the order of execution, fail.
    pub(crate) failing: &'static [usize],
    /// These runs are done and report no accuracy.
    pub(crate) lacking: &'static [usize],
    /// The last so many runs have not begun.
    pub(crate) pending: usize,
}

/// Writes a study into `dir`.
pub(crate) fn study(dir: &Path, made: &Made) {
    let dir = StudyDir::new(dir);
    let text = if made.queued { QUEUED } else { STUDY };
    std::fs::create_dir_all(dir.runs()).expect("a directory can be made");
    std::fs::write(dir.study(), text).expect("the study can be written");
    let raw = RawStudy::parse("study.toml", text).expect("the study is TOML");
    let checked = raw.check(&Capabilities::ALL).expect("the study is sound");
    let (_, plan) = plan(&checked).expect("the study can be planned");
    plan.write(&dir.plan()).expect("the plan can be written");
    let (mut journal, _) = Journal::<Entry>::open(&dir.journal()).expect("a journal");
    let begun = plan.runs.len() - made.pending;
    for (position, run) in plan.runs.iter().take(begun).enumerate() {
        let entries = [
            Entry::Leased {
                run: run.id.to_string(),
                attempt: 1,
                time: "2026-11-15T22:00:00.000000Z".to_owned(),
            },
            Entry::Ended {
                run: run.id.to_string(),
                attempt: 1,
                result: Box::new(result(&dir, &plan, run, position, made)),
            },
        ];
        for entry in entries {
            journal.append(&entry).expect("the journal can be written");
        }
    }
}

/// A small number that differs from run to run and follows no factor.
fn wobble(position: usize) -> f64 {
    f64::from(u32::try_from(position * 7 % 11).expect("small")) / 11.0 - 0.5
}

fn result(
    dir: &StudyDir,
    plan: &Plan,
    run: &PlannedRun,
    position: usize,
    made: &Made,
) -> RunResult {
    let levels = plan.levels(run);
    let number = |at: usize| levels[at].as_number().expect("a number");
    let (batch, second) = (number(0), number(1));
    let is_async = levels.get(2) == Some(&Level::Word("async".to_owned()));
    let shared = if made.queued {
        // Jobs on one processor wait for each other.
        2.0 + 640.0 / batch * second
    } else {
        let cost = if is_async { 0.8 } else { 1.0 };
        cost * (4.0 + 640.0 / batch / second)
    };
    let seconds = shared * (1.0 + 0.01 * wobble(position));
    let accuracy = 0.95 - 0.02 * (batch / 32.0).log2() + 0.002 * wobble(position + 3);
    let failed = made.failing.contains(&position);
    let outcome = Outcome::Exited(i32::from(failed));
    record(dir, plan, run, seconds, outcome.clone());
    let mut result = RunResult {
        done: !failed,
        outcome: outcome.to_string(),
        duration_s: seconds,
        ..RunResult::default()
    };
    result.resources.insert("duration_s".to_owned(), seconds);
    if !failed {
        result.responses.insert("time".to_owned(), seconds);
        match made.lacking.contains(&position) {
            false => drop(result.responses.insert("accuracy".to_owned(), accuracy)),
            true => drop(
                result
                    .absent
                    .insert("accuracy".to_owned(), "not reported".to_owned()),
            ),
        }
    }
    result
}

fn record(dir: &StudyDir, plan: &Plan, run: &PlannedRun, seconds: f64, outcome: Outcome) {
    let node = NodeName::from_host("maker");
    let start = Start {
        id: run.id.clone(),
        name: None,
        argv: vec!["true".to_owned()],
        cwd: PathBuf::from("/nowhere"),
        env: Default::default(),
        keep_env: Vec::new(),
        git: None,
        machines: vec![Machine {
            node: node.clone(),
            os: "Linux".to_owned(),
            kernel: "6.12.0".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu_model: None,
            cpus_count: 4,
            memory_bytes: None,
        }],
        started: WallTime(1_763_245_439_000_000),
        sample_interval: Micros(1_000_000),
        limits: Limits::default(),
        factors: plan
            .factors
            .iter()
            .cloned()
            .zip(plan.levels(run).iter().cloned())
            .collect(),
        log_limit: LogLimit::default(),
        cluster: None,
    };
    let mut writer = RunWriter::create(&dir.attempt(&run.id, 1), start).expect("a record");
    for i in 1..=4_u32 {
        let part = seconds / 4.0;
        let mut readings = Readings::default();
        readings.set(Measure::RunCpuUser, 0.9 * part);
        readings.set(Measure::RunCpuSystem, 0.05 * part);
        readings.set(Measure::NodeDiskBusy, 0.02 * part);
        let sample = Sample {
            at: Micros((part * f64::from(i) * 1e6) as u64),
            interval: Micros((part * 1e6) as u64),
            gap: None,
            readings,
            parts: Vec::new(),
        };
        writer.sample(&node, &sample).expect("a sample");
    }
    let end = End::new(outcome, Micros((seconds * 1e6) as u64));
    writer.finish(end).expect("the record can be closed");
}
