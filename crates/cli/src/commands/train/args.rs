//! What a user may say about a training.

use super::distributed::ClusterArgs;
use super::given::Given;
use crate::commands::run::RecordArgs;
use crate::quantity;
use paceline_data::Holdout;
use paceline_train::{Cadence, Condition, Optimizer, Schedule};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the models, data sets, optimizers and schedules, and train nothing
    #[arg(long)]
    pub(super) list: bool,
    #[command(flatten)]
    pub(super) job: Given<JobArgs>,
    #[command(flatten)]
    pub(super) record: RecordArgs,
}

/// The training itself.
#[derive(Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// The model, such as softmax, mlp:128, lenet5, lstm:128, svm-rbf or forest:100; --list shows all
    #[arg(value_name = "MODEL", required_unless_present = "list")]
    pub(super) model: Option<String>,
    /// The data: mnist, tweets, synthetic:…, a file or a directory
    #[arg(long, default_value = "mnist")]
    pub(super) data: String,
    /// How texts become features, such as words=5000,length=30,encoding=bag
    #[arg(long, value_name = "WORDS", default_value = "")]
    pub(super) text: String,
    /// Which rows are held out where the data does not say: a share, or fold:1/5
    #[arg(long, value_name = "SHARE")]
    pub(super) test: Option<Holdout>,
    /// Rows per step; with several workers, of each worker [default: fits the model]
    #[arg(long, value_name = "ROWS")]
    pub(super) batch_size: Option<NonZeroUsize>,
    /// The learning rate [default: fits the model]
    #[arg(long, value_name = "RATE", value_parser = positive)]
    pub(super) learning_rate: Option<f64>,
    /// sgd, momentum:0.9, nesterov:0.9, adagrad or adam [default: fits the model]
    #[arg(long)]
    pub(super) optimizer: Option<Optimizer>,
    /// How the rate changes: constant, step:10,0.5, cosine:30, … [default: fits the model]
    #[arg(long)]
    pub(super) schedule: Option<Schedule>,
    /// Weight decay
    #[arg(long, value_name = "FACTOR", default_value_t = 0.0, value_parser = not_negative)]
    pub(super) weight_decay: f64,
    /// The largest norm of a step's gradient
    #[arg(long, value_name = "NORM", value_parser = positive)]
    pub(super) clip: Option<f64>,
    /// End after so many passes over the training rows [default: fits the model, if nothing else
    /// ends the training]
    #[arg(long, value_name = "COUNT")]
    pub(super) epochs: Option<u64>,
    /// End after so many steps
    #[arg(long, value_name = "COUNT")]
    pub(super) steps: Option<u64>,
    /// End after this time, such as 60s
    #[arg(long = "for", value_name = "TIME", value_parser = quantity::duration)]
    pub(super) time: Option<Duration>,
    /// End when a metric is good enough, such as 'loss<=0.35' or 'test_accuracy>=0.97'
    #[arg(long, value_name = "CONDITION")]
    pub(super) until: Option<Condition>,
    /// End when the test loss has not improved for so many evaluations
    #[arg(long, value_name = "COUNT")]
    pub(super) patience: Option<u32>,
    /// How often the test rows are looked at: 1epoch, or a number of steps
    #[arg(long, value_name = "CADENCE", default_value = "1epoch")]
    pub(super) eval_every: Cadence,
    /// Threads that share each batch [default: the CPUs, divided by the workers of this host]
    #[arg(long, value_name = "COUNT")]
    pub(super) threads: Option<NonZeroUsize>,
    /// Decides starting values and the order of the rows [default: 1]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Where the checkpoint goes [default: checkpoint/ of the run's record]
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,
    /// How often a checkpoint is written, besides the end
    #[arg(long, value_name = "CADENCE", default_value = "1epoch")]
    pub(super) checkpoint_every: Cadence,
    /// Write no checkpoint
    #[arg(long, conflicts_with_all = ["checkpoint", "checkpoint_every"])]
    pub(super) no_checkpoint: bool,
    /// Go on where the checkpoint of a run, or a checkpoint file, stands
    #[arg(long, value_name = "RUN|FILE")]
    pub(super) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value > 0.0)
        .ok_or_else(|| format!("`{text}` is not a number above zero"))
}

fn not_negative(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| format!("`{text}` is not a number from zero up"))
}
