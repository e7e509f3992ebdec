//! Studies that were never run: plan, journal and records are written as the
//! runner writes them, with numbers made up by a seeded generator.

use crate::support::Random;
use paceline_model::{
    Event, EventKind, Level, Measure, Micros, NodeName, Outcome, Readings, Sample, WorkerId,
};
use paceline_records::journal::Journal;
use paceline_records::study::{Entry, Plan, PlannedRun, RunResult, StudyDir};
use paceline_records::{
    End, Limits, LogLimit, Machine, Notice, Overhead, RunWriter, Start, WallTime,
};
use paceline_runner::study::plan;
use paceline_study::{Capabilities, RawStudy};
use std::path::{Path, PathBuf};

/// What a study is made of.
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    /// The `[factors]` and `[design]` of the study file.
    pub(crate) design: &'static str,
    pub(crate) samples: u64,
    /// Of the runs in the order of execution, the last so many are not done.
    pub(crate) pending: usize,
    /// Every so-many-th run fails; never if zero.
    pub(crate) fails_every: usize,
    /// How many workers report how they spend their time.
    pub(crate) workers: u32,
}

/// Twenty-four runs of eight configurations.
pub(crate) const SMALL: Recipe = Recipe {
    name: "small",
    design: "[factors]\nbatch_size = [32, 64, 128, 256]\nworkers = [1, 2]\n[design]\n\
             kind = \"full\"\nreplicates = 3\n",
    samples: 40,
    pending: 0,
    fails_every: 0,
    workers: 1,
};

/// Writes a study below `parent` and gives its directory.
pub(crate) fn study(parent: &Path, recipe: &Recipe) -> PathBuf {
    let dir = StudyDir::new(&parent.join("made.study"));
    std::fs::create_dir_all(dir.runs()).expect("a directory can be made");
    let text = format!(
        "name = {:?}\n[job]\ncommand = [\"true\"]\nreads_env = true\n{}[responses]\n\
         time = \"duration_s\"\naccuracy = \"test_accuracy\"\n",
        recipe.name, recipe.design
    );
    std::fs::write(dir.study(), &text).expect("the study can be written");
    let raw = RawStudy::parse("study.toml", &text).expect("the study is TOML");
    let checked = raw
        .check(&Capabilities::LOCAL_COMMANDS)
        .expect("the study is sound");
    let (_, plan) = plan(&checked).expect("the study can be planned");
    plan.write(&dir.plan()).expect("the plan can be written");
    let (mut journal, _) =
        Journal::<Entry>::open(&dir.journal()).expect("the journal can be opened");
    let mut random = Random(7);
    let made = plan.runs.len() - recipe.pending;
    for (position, run) in plan.runs.iter().take(made).enumerate() {
        let failed = recipe.fails_every > 0 && position % recipe.fails_every == 0;
        let id = run.id.to_string();
        let result = record(&dir, &plan, run, recipe, failed, &mut random);
        let leased = Entry::Leased {
            run: id.clone(),
            attempt: 1,
            time: "2026-11-15T22:00:00.000000Z".to_owned(),
        };
        let ended = Entry::Ended {
            run: id,
            attempt: 1,
            result: Box::new(result),
        };
        for entry in [leased, ended] {
            journal.append(&entry).expect("the journal can be written");
        }
    }
    dir.path().to_owned()
}

/// A number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    random.below(1 << 30) as f64 / f64::from(1 << 30)
}

fn number(level: &Level) -> f64 {
    level.as_number().expect("the recipe's levels are numbers")
}

fn record(
    dir: &StudyDir,
    plan: &Plan,
    run: &PlannedRun,
    recipe: &Recipe,
    failed: bool,
    random: &mut Random,
) -> RunResult {
    let levels = plan.levels(run);
    let load: f64 = levels.iter().map(|level| number(level).ln_1p()).sum();
    let seconds = (4.0 + 60.0 / load) * (1.0 + 0.02 * unit(random));
    let accuracy = 0.99 - 0.004 * load - 0.002 * unit(random);
    let node = NodeName::from_host("maker");
    let mut writer = RunWriter::create(&dir.attempt(&run.id, 1), start(plan, run, &node))
        .expect("a record can be begun");
    for event in events(seconds, accuracy, recipe.workers, random) {
        writer.event(&event).expect("an event can be written");
    }
    for sample in samples(seconds, recipe.samples, random) {
        writer
            .sample(&node, &sample)
            .expect("a sample can be written");
    }
    let outcome = Outcome::Exited(if failed { 3 } else { 0 });
    let mut result = RunResult {
        done: !failed,
        outcome: outcome.to_string(),
        duration_s: seconds,
        ..RunResult::default()
    };
    let mut end = End::new(outcome, Micros((seconds * 1e6) as u64));
    end.overhead = Some(Overhead {
        cpu_s: 0.02,
        mem_peak_bytes: Some(9 << 20),
    });
    end.notices = vec![Notice {
        name: "made_up".to_owned(),
        text: "<i>nothing</i> of this happened".to_owned(),
        advice: None,
    }];
    if !failed {
        for (name, value) in [("time", seconds), ("accuracy", accuracy)] {
            result.responses.insert(name.to_owned(), value);
            end.responses.insert(name.to_owned(), value);
        }
    }
    writer.finish(end).expect("the record can be closed");
    result
}

fn start(plan: &Plan, run: &PlannedRun, node: &NodeName) -> Start {
    let names = plan.factors.iter().cloned();
    Start {
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
            cpu_model: Some("Made <b>up</b>".to_owned()),
            cpus_count: 4,
            memory_bytes: Some(16 << 30),
        }],
        started: WallTime(1_763_245_439_000_000),
        sample_interval: Micros(1_000_000),
        limits: Limits::default(),
        factors: names.zip(plan.levels(run).iter().cloned()).collect(),
        log_limit: LogLimit::default(),
        cluster: None,
    }
}

fn events(seconds: f64, accuracy: f64, workers: u32, random: &mut Random) -> Vec<Event> {
    let at = |share: f64| Micros((share * seconds * 1e6) as u64);
    let event = |kind, share: f64, name: &str, value: Option<f64>, step: Option<u64>| Event {
        at: at(share),
        worker: Some(WorkerId(0)),
        kind,
        step,
        name: name.to_owned(),
        value,
        text: None,
    };
    let mut events = vec![
        event(EventKind::Lifecycle, 0.0, "start", None, None),
        event(EventKind::Phase, 0.01, "load <data>", None, None),
        event(EventKind::Phase, 0.2, "train", None, None),
    ];
    for epoch in 1..=12_u32 {
        let share = 0.2 + f64::from(epoch) / 16.0;
        let done = 1.0 - (-f64::from(epoch) / 3.0).exp() + 0.01 * unit(random);
        let mut metric = |name: &str, value: f64| {
            let step = Some(u64::from(epoch));
            events.push(event(EventKind::Metric, share, name, Some(value), step));
        };
        metric("accuracy", accuracy * done);
        metric("loss", 2.3 * (1.0 - done) + 0.05);
    }
    for worker in (0..workers).filter(|_| workers > 1) {
        let wait = seconds * 0.1 * f64::from(workers - worker);
        for (name, value) in [
            ("iterations", 400.0),
            ("computing_s", seconds - wait),
            ("waiting_s", wait),
        ] {
            events.push(Event {
                worker: Some(WorkerId(worker)),
                ..event(EventKind::Metric, 1.0, name, Some(value), None)
            });
        }
    }
    events
}

fn samples(seconds: f64, count: u64, random: &mut Random) -> Vec<Sample> {
    let interval = seconds / count as f64;
    (1..=count)
        .map(|i| {
            let busy = interval * (1.5 + unit(random));
            let mut readings = Readings::default();
            for (measure, value) in [
                (Measure::RunCpuUser, busy),
                (Measure::RunCpuSystem, 0.1 * interval),
                (Measure::NodeCpuUser, busy + 0.2 * interval),
                (Measure::NodeCpuSystem, 0.2 * interval),
                (Measure::RunMemRss, 3e8 + 1e7 * unit(random)),
                (Measure::NodeMemTotal, 1.6e10),
                (Measure::NodeMemAvailable, 1.2e10),
                (Measure::RunDiskRead, 1e6 * interval * unit(random)),
                (Measure::RunDiskWrite, 0.0),
                (Measure::NodeNetRx, 5e5 * interval * unit(random)),
                (Measure::NodeNetTx, 2e5 * interval * unit(random)),
                (Measure::NodeLoopback, 0.0),
            ] {
                readings.set(measure, value);
            }
            Sample {
                at: Micros((interval * i as f64 * 1e6) as u64),
                interval: Micros((interval * 1e6) as u64),
                gap: None,
                readings,
                parts: Vec::new(),
            }
        })
        .collect()
}
