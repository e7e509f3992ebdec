//! How fast the dense models train on synthetic images, by instruction set.
//!
//! `cargo run --release -p paceline-nets --example speed [-- threads [isa [model]]]`
//! prints for each model samples and floating-point operations a second: the
//! best of many short blocks of steps, which a busy machine disturbs least.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::time::Instant;

use paceline_kernels::{AlignedBuffer, Kernels, Slope, Team};
use paceline_nets::{Batch, Gradient, Inputs, LeNet, LeNetVariant, Mlp, Model, Tally};

/// Images in memory, of which each step takes the next batch.
const IMAGES: usize = 4096;
const WIDTH: usize = 784;
const CLASSES: usize = 10;

/// Length and number of the blocks of steps that are timed.
const BLOCK_SECONDS: f64 = 0.002;
const BLOCKS: usize = 600;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let threads = arguments
        .next()
        .map_or(2, |text| text.parse().expect("the number of threads"));
    let only = arguments.next();
    let wanted = arguments.next().unwrap_or_default();
    let (values, labels) = images();
    let mut team = Team::new(threads);
    println!(
        "round trip of a team of {threads}: {:.2} µs",
        round_trip(&mut team)
    );
    for kernels in Kernels::available().into_iter().rev() {
        if only
            .as_ref()
            .is_some_and(|only| only != kernels.isa().name())
        {
            continue;
        }
        let lenet = |variant| -> Box<dyn Model> {
            Box::new(LeNet::new(variant, 28, CLASSES, kernels).expect("large enough"))
        };
        let mlp = |hidden: &[usize]| -> Box<dyn Model> {
            Box::new(Mlp::new(WIDTH, hidden, CLASSES, kernels))
        };
        for (name, model, batch) in [
            ("softmax, batch 128", mlp(&[]), 128),
            ("softmax, batch 512", mlp(&[]), 512),
            ("784-128-10, batch 128", mlp(&[128]), 128),
            ("784-128-128-10, batch 128", mlp(&[128, 128]), 128),
            ("784-1024-1024-10, batch 128", mlp(&[1024, 1024]), 128),
            (
                "LeNet-5 classic, batch 64",
                lenet(LeNetVariant::Classic),
                64,
            ),
            ("LeNet-5 BigDL, batch 64", lenet(LeNetVariant::BigDl), 64),
        ] {
            if !name.contains(&wanted) {
                continue;
            }
            let mut training =
                Training::new(model.as_ref(), kernels, threads, batch, &values, &labels);
            let (seconds, first, last) = training.time(&mut team);
            let samples = batch as f64 / seconds;
            println!(
                "{:9} {name:28} {samples:>10.0} samples/s {:>7.1} GFLOP/s   loss {first:.3} -> {last:.3}",
                kernels.isa().name(),
                samples * model.flops_per_row() / 1e9,
            );
        }
    }
}

struct Training<'a> {
    model: &'a dyn Model,
    kernels: Kernels,
    batch: usize,
    values: &'a [f32],
    labels: &'a [u32],
    parameters: AlignedBuffer,
    shards: Vec<Shard>,
    step: usize,
}

struct Shard {
    gradient: Gradient,
    scratch: AlignedBuffer,
    tally: Tally,
}

impl<'a> Training<'a> {
    fn new(
        model: &'a dyn Model,
        kernels: Kernels,
        threads: usize,
        batch: usize,
        values: &'a [f32],
        labels: &'a [u32],
    ) -> Self {
        let mut parameters = AlignedBuffer::zeroed(model.layout().len());
        model.initialize(1, &mut parameters);
        let shards = (0..threads)
            .map(|_| Shard {
                gradient: Gradient::new(model.layout()),
                scratch: AlignedBuffer::zeroed(model.scratch_len(batch / threads)),
                tally: Tally::default(),
            })
            .collect();
        Self {
            model,
            kernels,
            batch,
            values,
            labels,
            parameters,
            shards,
            step: 0,
        }
    }

    /// One step; returns the mean loss before it.
    fn step(&mut self, team: &mut Team) -> f64 {
        let rows = self.batch / self.shards.len();
        let first = self.step % (IMAGES / self.batch) * self.batch;
        self.step += 1;
        let (model, parameters) = (self.model, &self.parameters);
        let (values, labels) = (self.values, self.labels);
        let scale = 1.0 / self.batch as f32;
        team.each(&mut self.shards, |member, shard| {
            let from = first + member.rank() * rows;
            let batch = Batch {
                inputs: Inputs::Dense {
                    values: &values[from * WIDTH..(from + rows) * WIDTH],
                    width: WIDTH,
                },
                labels: &labels[from..from + rows],
            };
            shard.gradient.begin();
            shard.tally = model.gradient(
                parameters,
                &batch,
                scale,
                &mut shard.gradient,
                &mut shard.scratch,
            );
        });
        let part = AlignedBuffer::padded(self.parameters.len().div_ceil(self.shards.len()));
        let mut parts: Vec<&mut [f32]> = self.parameters.chunks_mut(part).collect();
        let (kernels, shards) = (self.kernels, &self.shards);
        team.each(&mut parts, |member, parameters| {
            let range = member.rank() * part..member.rank() * part + parameters.len();
            let gradients: Vec<&[f32]> = shards
                .iter()
                .map(|shard| &shard.gradient.values()[range.clone()])
                .collect();
            let slope = Slope {
                shards: &gradients,
                shrink: 1.0,
                decay: 0.0,
            };
            kernels.update_sgd(parameters, slope, 0.05);
        });
        let mut tally = Tally::default();
        for shard in &self.shards {
            tally.add(shard.tally);
        }
        tally.mean_loss()
    }

    /// Seconds of a step, first and last loss.
    fn time(&mut self, team: &mut Team) -> (f64, f64, f64) {
        let first = self.step(team);
        let mut steps = 1;
        while seconds(|| {
            for _ in 0..steps {
                self.step(team);
            }
        }) < BLOCK_SECONDS
        {
            steps *= 2;
        }
        let mut best = f64::INFINITY;
        let mut last = first;
        for _ in 0..BLOCKS {
            let block = seconds(|| {
                for _ in 0..steps {
                    last = self.step(team);
                }
            });
            best = best.min(block / steps as f64);
        }
        (best, first, last)
    }
}

/// Microseconds that a task of nothing takes.
fn round_trip(team: &mut Team) -> f64 {
    (0..BLOCKS)
        .map(|_| {
            seconds(|| {
                for _ in 0..1000 {
                    team.run(|_| {});
                }
            })
        })
        .fold(f64::INFINITY, f64::min)
        * 1e3
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// One random picture for each class, with noise, so that the loss really
/// falls.
fn images() -> (Vec<f32>, Vec<u32>) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut even = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 24) as f32
    };
    let pictures: Vec<f32> = (0..CLASSES * WIDTH)
        .map(|_| if even() < 0.2 { even() } else { 0.0 })
        .collect();
    let labels: Vec<u32> = (0..IMAGES)
        .map(|_| (even() * CLASSES as f32) as u32)
        .collect();
    let values = labels
        .iter()
        .flat_map(|label| pictures[*label as usize * WIDTH..][..WIDTH].to_vec())
        .map(|pixel| (pixel + 0.1 * even()).min(1.0))
        .collect();
    (values, labels)
}
