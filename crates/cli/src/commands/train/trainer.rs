//! The process that trains.

use super::args::Args;
use super::classic::ClassicJob;
use super::distributed::Spawn;
use super::external::ExternalStart;
use super::job::{Job, Opened};
use super::members::Members;
use super::reports::Reports;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use anyhow::Context;
use paceline_records::{Run, State, WallTime};
use paceline_report::number::{self, plural};
use paceline_train::{
    ClusterSession, Ending, Evaluation, External, Notice, Outcome, ProgressReport, RunRecord,
    Watch, WorkerTotals,
};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

/// Trains in this process, reporting to the recorder if there is one.
pub(crate) fn trainer(args: &Args) -> Result<Exit, Failure> {
    let run_dir = variable("PACELINE_RUN_DIR");
    if let Some(job) = ClassicJob::check(&args.job, run_dir.as_deref())? {
        return job.run(Reports::open(variable("PACELINE_EVENTS").as_deref())?);
    }
    name_process("trainer");
    let job = Job::check(&args.job, run_dir.as_deref())?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .context("cannot receive signals")
            .map_err(Failure::world)?;
    }
    let reports = Reports::open(variable("PACELINE_EVENTS").as_deref())?;
    reports.phase("read data");
    let title = format!("{} on {}", job.model, job.data);
    let (threads, batch_size) = (job.settings().threads, job.settings().batch_size);
    let rate = job.settings().rate;
    let cluster_words = job.plan().map(|plan| {
        let cluster = &plan.cluster;
        format!(
            "{} under {}, each with ",
            plural(cluster.workers.get() as usize, "worker"),
            cluster.strategy
        )
    });
    let opened = job.open()?;
    let gathers = matches!(&opened, Opened::Several(_, plan) if plan.spawn == Spawn::Hosts);
    reports.phase(if gathers { "wait for members" } else { "train" });
    output::data(&format!(
        "{title}: {}batches of {batch_size} on {}\n",
        cluster_words.unwrap_or_default(),
        plural(threads, "thread")
    ))?;
    let mut told = Told {
        reports,
        workers_told: Duration::ZERO,
        elapsed: Duration::ZERO,
        steps: 0,
    };
    let outcome = match opened {
        Opened::Single(mut session) => session.run(&mut told, &stop).map_err(Failure::world)?,
        Opened::Several(mut session, plan) => {
            let found = match plan.spawn {
                Spawn::Threads => {
                    record_iterations(&mut session);
                    session.run_on_threads(&mut told, &stop)
                }
                Spawn::Processes => {
                    output::data(plan.exposure().unwrap_or_default())?;
                    let mut members = Members::new(&plan)?;
                    let meeting = members.meeting();
                    session.run_on_processes(&meeting, &mut members, &plan.kills, &mut told, &stop)
                }
                Spawn::Hosts => {
                    let ExternalStart { meeting, text } = ExternalStart::new(&plan)?;
                    output::data(&text)?;
                    session.run_on_processes(&meeting, &mut External, &[], &mut told, &stop)
                }
            };
            let found = found.map_err(Failure::world)?;
            told.reports.workers(&found.workers);
            found.outcome
        }
    };
    told.reports.summary(&summary(&outcome));
    told.reports.close()?;
    output::data(&format!("{}\n", conclusion(&outcome, rate)))?;
    Ok(match outcome.ending {
        Ending::Diverged => Exit::Unmet,
        Ending::Interrupted => Exit::Interrupted,
        _ => Exit::Done,
    })
}

/// Passes everything on to the recorder, and evaluations to the log.
struct Told {
    reports: Reports,
    /// When workers were last told of.
    workers_told: Duration,
    elapsed: Duration,
    steps: u64,
}

/// How often the record hears of each worker: often enough for a curve, seldom
/// enough for a training of days.
const WORKERS_EVERY: Duration = Duration::from_secs(1);

impl Watch for Told {
    fn progressed(&mut self, report: &ProgressReport) {
        self.elapsed = report.elapsed;
        self.steps = report.steps;
        self.reports.progress(report);
    }

    fn began(&mut self) {
        self.reports.phase("train");
    }

    fn noticed(&mut self, notice: &Notice) {
        self.reports.notice(notice, self.steps);
        // As with evaluations: the log is a courtesy.
        let _ = output::data(&format!("notice: {notice}\n"));
    }

    fn workers(&mut self, accounts: &[WorkerTotals]) {
        if self.elapsed.saturating_sub(self.workers_told) >= WORKERS_EVERY {
            self.workers_told = self.elapsed;
            self.reports.workers(accounts);
        }
    }

    fn evaluated(&mut self, found: &Evaluation) {
        self.reports.evaluation(found);
        let line = format!(
            "epoch {:<6} loss {:<8} accuracy {:>6.2}%   test loss {:<8} test accuracy {:>6.2}%   {}\n",
            number::significant(found.epochs, 4),
            number::significant(found.train.mean_loss(), 4),
            100.0 * found.train.accuracy(),
            number::significant(found.test.mean_loss(), 4),
            100.0 * found.test.accuracy(),
            number::duration(found.elapsed.as_secs_f64()),
        );
        // The log is a courtesy: a reader that has gone away stops nothing.
        let _ = output::data(&line);
    }
}

fn summary(outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let seconds = outcome.progress.elapsed.as_secs_f64();
    vec![
        ("train_s", seconds),
        ("steps", outcome.progress.steps as f64),
        ("epochs_done", outcome.progress.epochs as f64),
        ("rows_trained", outcome.rows as f64),
        (
            "reached",
            f64::from(u8::from(outcome.ending == Ending::Reached)),
        ),
        (
            "diverged",
            f64::from(u8::from(outcome.ending == Ending::Diverged)),
        ),
    ]
}

fn conclusion(outcome: &Outcome, rate: f64) -> String {
    let steps = plural(outcome.progress.steps as usize, "step");
    let time = number::duration(outcome.progress.elapsed.as_secs_f64());
    match outcome.ending {
        Ending::Epochs => format!("all epochs done: {steps} in {time}"),
        Ending::Steps => format!("all steps done: {steps} in {time}"),
        Ending::Time => format!("the time is up: {steps} in {time}"),
        Ending::Reached => format!("the goal is reached: {steps} in {time}"),
        Ending::Stale => format!("the test loss improves no more: {steps} in {time}"),
        Ending::Interrupted => {
            format!("interrupted after {steps} in {time}; --resume with this run goes on from here")
        }
        Ending::Diverged => format!(
            "diverged after {steps} in {time}: the loss is not a number any more\n\
             hint: the learning rate {rate} is too large for this model and data; try {}, or clip \
             the gradient with --clip 1",
            number::significant(rate / 4.0, 2)
        ),
    }
}

/// Names this process for whoever lists processes: the record's samples tell
/// trainer, servers and workers apart by it.
pub(super) fn name_process(name: &str) {
    // Where the kernel does not take it, the program's name stays.
    let _ = std::fs::write("/proc/self/comm", name);
}

/// Has the workers of this process write down their iterations, if a recorder
/// has started it.
pub(super) fn record_iterations(session: &mut ClusterSession) {
    let Some(dir) = variable("PACELINE_RUN_DIR") else {
        return;
    };
    // A directory without a live record is not the recorder's.
    let Some(run) = Run::open(&dir)
        .ok()
        .filter(|run| run.state() == State::Live)
    else {
        return;
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the run's age is told by its start"
    )]
    let now = WallTime::from(SystemTime::now());
    let age = now.0.saturating_sub(run.manifest().start.started.0);
    let age = Duration::from_micros(u64::try_from(age).unwrap_or(0));
    session.record_in(RunRecord::started_ago(&dir, age));
}

#[expect(clippy::disallowed_methods, reason = "the cli reads the environment")]
pub(super) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}
