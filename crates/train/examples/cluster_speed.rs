//! How fast several workers on threads iterate, and where their time goes:
//! `cargo run --release -p paceline-train --example cluster_speed [batch size] [workers]`.

use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paceline_data::{DataSpec, Options};
use paceline_kernels::Kernels;
use paceline_nets::ModelSpec;
use paceline_train::{
    Cadence, Cluster, ClusterSession, Compression, Evaluation, Goal, ProgressReport, Schedule,
    Settings, Watch, input_of,
};

struct Silent;

impl Watch for Silent {
    fn progressed(&mut self, _: &ProgressReport) {}
    fn evaluated(&mut self, _: &Evaluation) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let batch_size = words.next().map_or(Ok(1), |word| word.parse())?;
    let workers = words.next().map_or(Ok(2), |word| word.parse())?;
    let data = paceline_data::open(&"mnist".parse::<DataSpec>()?, &Options::default())?;
    let spec: ModelSpec = "softmax".parse()?;
    for sync in ["bsp", "ssp:3", "async", "local:16", "allreduce"] {
        let model = spec.build(
            input_of(&data.train),
            data.train.classes(),
            Kernels::detect(),
        )?;
        let settings = Settings {
            batch_size,
            threads: 1,
            seed: 1,
            optimizer: "sgd".parse()?,
            rate: 0.01,
            schedule: Schedule::CONSTANT,
            decay: 0.0,
            clip: None,
            goal: Goal {
                time: Some(Duration::from_secs(2)),
                ..Goal::default()
            },
            evaluate_every: Cadence::Steps(u64::MAX),
            checkpoint: None,
        };
        let cluster = Cluster {
            workers: NonZeroU32::new(workers).ok_or("no workers")?,
            servers: NonZeroU32::MIN,
            strategy: sync.parse()?,
            slow: Vec::new(),
            on_worker_loss: None,
            failure_timeout: Cluster::FAILURE_TIMEOUT,
            compress: Compression::None,
        };
        let mut session =
            ClusterSession::new("softmax", model.into(), data.clone(), settings, cluster)?;
        let found = session.run_on_threads(&mut Silent, &AtomicBool::new(false))?;
        let seconds = found.outcome.progress.elapsed.as_secs_f64();
        let iterations: u64 = found.workers.iter().map(|worker| worker.iterations).sum();
        let first = &found.workers[0];
        let each = |time: Duration| time.as_secs_f64() * 1e6 / first.iterations.max(1) as f64;
        #[expect(clippy::print_stdout, reason = "an example prints")]
        {
            println!(
                "{sync:>10}: {:>9.0} iterations/s; each {:.2} us computing, {:.2} waiting, {:.2} sending, {:.2} receiving",
                iterations as f64 / seconds,
                each(first.computing),
                each(first.waiting),
                each(first.sending),
                each(first.receiving),
            );
        }
    }
    Ok(())
}
