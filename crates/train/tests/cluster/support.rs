//! Small trainings with several workers.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use paceline_data::{DataSpec, Options, Split};
use paceline_kernels::Kernels;
use paceline_nets::{Mlp, Model, ModelSpec};
use paceline_train::{
    Cadence, Cluster, ClusterOutcome, ClusterSession, Compression, Evaluation, Goal,
    ProgressReport, Schedule, Session, Settings, Watch, input_of,
};

/// Remembers the evaluations.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Vec<Evaluation>);

impl Watch for Heard {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, evaluation: &Evaluation) {
        self.0.push(*evaluation);
    }
}

pub(crate) fn data(spec: &str) -> Split {
    let spec: DataSpec = spec.parse().expect("a data set");
    paceline_data::open(&spec, &Options::default()).expect("generated rows")
}

pub(crate) fn blobs() -> Split {
    data("synthetic:blobs,rows=600,width=20,classes=4,seed=3")
}

pub(crate) fn network(data: &Split) -> Arc<dyn Model> {
    let (width, classes) = (data.train.width(), data.train.classes());
    Arc::new(Mlp::new(width, &[24], classes, Kernels::detect()))
}

/// A network so large that its gradient is summed in buckets.
pub(crate) fn wide_network(data: &Split) -> Arc<dyn Model> {
    let (width, classes) = (data.train.width(), data.train.classes());
    Arc::new(Mlp::new(width, &[800, 720], classes, Kernels::detect()))
}

/// A model of sparse rows: its parameters are a table of touched rows.
pub(crate) fn sparse() -> (Split, Arc<dyn Model>) {
    let data = data("synthetic:sparse,rows=400,width=3000,entries=12,seed=4");
    let spec: ModelSpec = "sparse-logistic".parse().expect("a model");
    let model = spec
        .build(
            input_of(&data.train),
            data.train.classes(),
            Kernels::detect(),
        )
        .expect("the model reads sparse rows");
    (data, model.into())
}

/// Rows of two classes that `seed` draws, and a model by its name.
pub(crate) fn pairs(seed: &str, model: &str) -> (Split, Arc<dyn Model>) {
    let data = data(&format!(
        "synthetic:dense,rows=400,width=8,signal=4,seed={seed}"
    ));
    let spec: ModelSpec = model.parse().expect("a model");
    let input = input_of(&data.train);
    let model = spec.build(input, data.train.classes(), Kernels::detect());
    (data, model.expect("the model reads dense rows").into())
}

pub(crate) fn settings(optimizer: &str, epochs: u64) -> Settings {
    Settings {
        batch_size: 16,
        threads: 1,
        seed: 5,
        optimizer: optimizer.parse().expect("an optimizer"),
        rate: 0.02,
        schedule: Schedule::CONSTANT,
        decay: 1e-4,
        clip: None,
        goal: Goal {
            epochs: Some(epochs),
            ..Goal::default()
        },
        evaluate_every: Cadence::Epochs(1.0),
        checkpoint: None,
    }
}

pub(crate) fn cluster(workers: u32, servers: u32, sync: &str) -> Cluster {
    Cluster {
        workers: NonZeroU32::new(workers).expect("workers"),
        servers: NonZeroU32::new(servers).expect("servers"),
        strategy: sync.parse().expect("a way to synchronise"),
        slow: Vec::new(),
        on_worker_loss: None,
        failure_timeout: Cluster::FAILURE_TIMEOUT,
        compress: Compression::None,
    }
}

pub(crate) fn on_threads(session: &mut ClusterSession, heard: &mut Heard) -> ClusterOutcome {
    session
        .run_on_threads(heard, &AtomicBool::new(false))
        .expect("training needs nothing but memory here")
}

/// The bits that one worker with `threads` threads ends with.
pub(crate) fn single(
    model: &Arc<dyn Model>,
    data: &Split,
    settings: &Settings,
    threads: usize,
) -> Vec<u32> {
    let settings = Settings {
        threads,
        batch_size: settings.batch_size * threads,
        ..settings.clone()
    };
    let mut session = Session::new(Arc::clone(model), data.clone(), settings);
    session
        .run(&mut Heard::default(), &AtomicBool::new(false))
        .expect("training needs nothing but memory here");
    bits(session.parameters())
}

pub(crate) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
