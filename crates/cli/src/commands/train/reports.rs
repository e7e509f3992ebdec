//! What the trainer tells the recorder, written on the side.

use crate::failure::Failure;
use anyhow::Context;
use paceline_model::{WorkerId, WorkerMetric, waited_for_metric};
use paceline_train::{Evaluation, Metric, Notice, ProgressReport, WorkerTotals};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lines that may wait for the disk. Ten a second arrive.
const WAITING: usize = 1024;

/// JSON lines in the file that `$PACELINE_EVENTS` names. The training thread
/// only hands them over.
pub(super) struct Reports {
    queue: Option<SyncSender<String>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Reports {
    /// Without a recorder, nothing is written.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self {
                queue: None,
                thread: None,
            });
        };
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("cannot open {} for reports", path.display()))
            .map_err(Failure::world)?;
        let (queue, waiting) = sync_channel::<String>(WAITING);
        let thread = std::thread::Builder::new()
            .name("reports".to_owned())
            .spawn(move || waiting.iter().try_for_each(|line| write(&mut file, &line)))
            .context("cannot start a thread")
            .map_err(Failure::world)?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    pub(super) fn phase(&self, name: &str) {
        self.send(format!("{{\"phase\": \"{name}\"}}\n"));
    }

    pub(super) fn progress(&self, report: &ProgressReport) {
        let done = report
            .done
            .map_or(String::new(), |done| format!(", \"progress\": {done:.4}"));
        self.send(format!(
            "{{\"step\": {}, \"batch_loss\": {}, \"batch_accuracy\": {}, \"rows_per_s\": {:.1}{done}}}\n",
            report.steps,
            Json(report.loss),
            Json(report.accuracy),
            report.rows_per_second,
        ));
    }

    pub(super) fn evaluation(&self, found: &Evaluation) {
        let mut line = format!(
            "{{\"step\": {}, \"epoch\": {}, \"elapsed_s\": {:.6}",
            found.steps,
            Json(found.epochs),
            found.elapsed.as_secs_f64()
        );
        for metric in Metric::ALL {
            line.push_str(&format!(
                ", \"{}\": {}",
                metric.name(),
                Json(found.metric(metric))
            ));
        }
        line.push_str("}\n");
        self.send(line);
    }

    /// What each worker has done so far, by number.
    pub(super) fn workers(&self, accounts: &[WorkerTotals]) {
        for (worker, account) in accounts.iter().enumerate() {
            let mut line = format!("{{\"worker\": {worker}");
            for &metric in WorkerMetric::ALL {
                let value = value_of(account, metric);
                line.push_str(&format!(", \"{}\": {value}", metric.name()));
            }
            for (other, waited) in (0_u32..).zip(&account.waited_for) {
                if other as usize != worker {
                    line.push_str(&format!(
                        ", \"{}\": {:.6}",
                        waited_for_metric(WorkerId(other)),
                        waited.as_secs_f64()
                    ));
                }
            }
            line.push_str("}\n");
            self.send(line);
        }
    }

    /// Something that a person should know, and the last step before it.
    pub(super) fn notice(&self, notice: &Notice, step: u64) {
        let mut object = serde_json::json!({
            "notice": notice.name(),
            "text": notice.to_string(),
            "step": step,
        });
        if let Some(worker) = notice.worker() {
            object["worker"] = worker.into();
        }
        self.send(format!("{object}\n"));
    }

    /// Numbers of the training as a whole.
    pub(super) fn summary(&self, numbers: &[(&str, f64)]) {
        let fields: Vec<String> = numbers
            .iter()
            .map(|(name, value)| format!("\"{name}\": {}", Json(*value)))
            .collect();
        self.send(format!("{{{}}}\n", fields.join(", ")));
    }

    /// Waits until everything is written.
    pub(super) fn close(mut self) -> Result<(), Failure> {
        self.queue = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => Err(error)
                .context("cannot write reports")
                .map_err(Failure::world),
            Some(Err(_)) => Err(Failure::world(anyhow::anyhow!(
                "the thread that writes reports has ended early"
            ))),
            Some(Ok(Ok(()))) | None => Ok(()),
        }
    }

    fn send(&self, line: String) {
        if let Some(queue) = &self.queue {
            // The thread is gone only if the disk failed, which `close` tells.
            let _ = queue.send(line);
        }
    }
}

fn write(file: &mut File, line: &str) -> std::io::Result<()> {
    file.write_all(line.as_bytes())
}

/// A number as JSON, or as Python writes what JSON lacks.
struct Json(f64);

impl std::fmt::Display for Json {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_nan() {
            formatter.write_str("NaN")
        } else if self.0.is_infinite() {
            formatter.write_str(if self.0 > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            })
        } else {
            write!(formatter, "{}", self.0)
        }
    }
}

/// A metric of a worker's totals, as it is written.
fn value_of(totals: &WorkerTotals, metric: WorkerMetric) -> String {
    let seconds = |time: Duration| format!("{:.6}", time.as_secs_f64());
    match metric {
        WorkerMetric::Iterations => totals.iterations.to_string(),
        WorkerMetric::Rows => totals.rows.to_string(),
        WorkerMetric::Computing => seconds(totals.computing),
        WorkerMetric::Waiting => seconds(totals.waiting),
        WorkerMetric::Sending => seconds(totals.sending),
        WorkerMetric::Receiving => seconds(totals.receiving),
        WorkerMetric::Serialising => seconds(totals.serialising),
        WorkerMetric::OnWire => seconds(totals.on_wire),
        WorkerMetric::Queued => seconds(totals.queued),
        WorkerMetric::WaitShare => format!("{:.4}", totals.wait_share()),
        WorkerMetric::SentBytes => totals.bytes_sent.to_string(),
        WorkerMetric::ReceivedBytes => totals.bytes_received.to_string(),
        WorkerMetric::StalenessMean => format!("{:.4}", totals.mean_staleness()),
        WorkerMetric::StalenessMax => totals.staleness_most.to_string(),
        WorkerMetric::Dropped => totals.dropped.to_string(),
        WorkerMetric::Restarts => totals.restarts.to_string(),
    }
}
