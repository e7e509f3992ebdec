//! How fast the linear and recurrent models train on this machine, with plain
//! SGD on invented rows: samples per second, and what that is of the machine.
//!
//! `cargo run --release -p paceline-nets --example speed_recurrent`
//!
//! Each figure is the best of several blocks, because other work on the machine
//! only ever slows a block down.

#![expect(clippy::print_stdout, reason = "its figures are its purpose")]

use std::sync::{Mutex, RwLock};
use std::time::Instant;

use paceline_kernels::{AlignedBuffer, Kernels, Team};
use paceline_nets::{
    Batch, Cell, Csr, DenseLinear, Gradient, Inputs, MarginLoss, Model, Reading,
    RecurrentClassifier, RecurrentShape, RowStep, Sequence, SparseLinear,
};

fn main() {
    let kernels = Kernels::detect();
    println!("instructions: {}", kernels.isa().name());
    dense_rows(kernels);
    sparse_rows();
    for threads in [1, 2] {
        recurrent(kernels, threads);
    }
}

/// Rows of 10,000 values, 10,000 of them: more than any cache, batch 1.
fn dense_rows(kernels: Kernels) {
    const ROWS: usize = 10_000;
    const WIDTH: usize = 10_000;
    let mut numbers = Numbers(1);
    let mut values = AlignedBuffer::zeroed(ROWS * WIDTH);
    values.iter_mut().for_each(|value| *value = numbers.even());
    let labels: Vec<u32> = (0..ROWS).map(|_| numbers.below(2)).collect();
    let bytes = (ROWS * WIDTH * size_of::<f32>()) as f64;
    let reading = best(5, || {
        for row in values.chunks(WIDTH) {
            std::hint::black_box(kernels.dot(row, row));
        }
    });
    println!(
        "memory, reading in order: {:.1} GB/s",
        bytes / reading / 1e9
    );

    let data = Batch {
        inputs: Inputs::Dense {
            values: &values,
            width: WIDTH,
        },
        labels: &labels,
    };
    let steps = shuffled_steps(ROWS, &mut numbers);
    let model = DenseLinear::new(WIDTH, MarginLoss::Logistic, kernels);
    let mut parameters = AlignedBuffer::zeroed(model.layout().len());
    let epoch = best(5, || {
        model.descend(&mut parameters, &data, &steps, 1, 1e-4, &mut []);
    });
    println!(
        "logistic 10000 x 10000, batch 1, shuffled: {:.0} samples/s, {:.1} GB/s, {:.0}% of reading",
        ROWS as f64 / epoch,
        bytes / epoch / 1e9,
        100.0 * reading / epoch
    );
}

fn sparse_rows() {
    for (rows, width, entries) in [(100_000, 10_000, 50), (100_000, 1_000_000, 50)] {
        let mut numbers = Numbers(2);
        let mut columns: Vec<u32> = (0..rows * entries)
            .map(|_| numbers.below(width as u32))
            .collect();
        columns.chunks_mut(entries).for_each(<[u32]>::sort_unstable);
        let values: Vec<f32> = columns.iter().map(|_| numbers.even()).collect();
        let starts: Vec<usize> = (0..=rows).map(|row| row * entries).collect();
        let labels: Vec<u32> = (0..rows).map(|_| numbers.below(2)).collect();
        let data = Batch {
            inputs: Inputs::Sparse(Csr {
                starts: &starts,
                columns: &columns,
                values: &values,
            }),
            labels: &labels,
        };
        let steps = shuffled_steps(rows, &mut numbers);
        for (name, loss, batch) in [
            ("sparse-logistic", MarginLoss::Logistic, 1),
            ("sparse-logistic", MarginLoss::Logistic, 32),
            ("sparse linear-svm", MarginLoss::Hinge, 1),
        ] {
            let model = SparseLinear::new(width, loss);
            let mut parameters = AlignedBuffer::zeroed(model.layout().len());
            let mut scratch = vec![0.0; model.scratch_len(batch)];
            let epoch = best(5, || {
                model.descend(&mut parameters, &data, &steps, batch, 1e-6, &mut scratch);
            });
            println!(
                "{name} {rows} x {width}, {entries} entries, batch {batch}, shuffled: \
                 {:.2}M samples/s, {:.2} ns an entry",
                rows as f64 / epoch / 1e6,
                epoch / (rows * entries) as f64 * 1e9
            );
        }
    }
}

fn recurrent(kernels: Kernels, threads: usize) {
    const BATCH: usize = 64;
    let tokens = Sequence::Tokens {
        length: 30,
        vocabulary: 5000,
        embedding: 128,
    };
    let image = Sequence::Steps {
        steps: 28,
        width: 28,
    };
    for (name, sequence, cell, reading, hidden, classes) in [
        (
            "lstm:128, 30 tokens",
            tokens,
            Cell::Lstm,
            Reading::Forward,
            128,
            2,
        ),
        (
            "bilstm:64, 30 tokens",
            tokens,
            Cell::Lstm,
            Reading::BothWays,
            64,
            2,
        ),
        (
            "lstm:128, 28 x 28",
            image,
            Cell::Lstm,
            Reading::Forward,
            128,
            10,
        ),
        (
            "birnn:64, 28 x 28",
            image,
            Cell::Tanh,
            Reading::BothWays,
            64,
            10,
        ),
    ] {
        let model = RecurrentClassifier::new(
            RecurrentShape {
                sequence,
                cell,
                reading,
                hidden,
                classes,
            },
            kernels,
        );
        let mut step = training_step(&model, kernels, threads, BATCH / threads);
        let seconds = best(20, || {
            for _ in 0..10 {
                step();
            }
        }) / 10.0;
        let samples = BATCH as f64 / seconds;
        println!(
            "{name}, batch {BATCH}, {threads} threads: {samples:.0} samples/s, {:.0} GFLOP/s",
            samples * model.flops_per_row() / 1e9
        );
    }
}

/// One thread's share of a step.
struct Shard {
    ids: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<u32>,
    gradient: Gradient,
    scratch: AlignedBuffer,
}

/// A step of plain SGD: a gradient for each thread's rows, then the update.
fn training_step<'a>(
    model: &'a RecurrentClassifier,
    kernels: Kernels,
    threads: usize,
    rows: usize,
) -> impl FnMut() + 'a {
    let mut numbers = Numbers(3);
    let shards: Vec<Mutex<Shard>> = (0..threads)
        .map(|_| {
            let (ids, values) = match model.shape().sequence {
                Sequence::Tokens {
                    length, vocabulary, ..
                } => (
                    (0..rows * length)
                        .map(|_| numbers.below(vocabulary as u32))
                        .collect(),
                    Vec::new(),
                ),
                Sequence::Steps { steps, width } => (
                    Vec::new(),
                    (0..rows * steps * width).map(|_| numbers.even()).collect(),
                ),
            };
            Mutex::new(Shard {
                ids,
                values,
                labels: (0..rows)
                    .map(|_| numbers.below(model.classes() as u32))
                    .collect(),
                gradient: Gradient::new(model.layout()),
                scratch: AlignedBuffer::zeroed(model.scratch_len(rows)),
            })
        })
        .collect();
    let mut start = AlignedBuffer::zeroed(model.layout().len());
    model.initialize(1, &mut start);
    let parameters = RwLock::new(start);
    let mut team = Team::new(threads);
    let rate = -0.05;
    move || {
        team.run(|member| {
            let mut shard = shards[member.rank()].lock().expect("no member panicked");
            let shard = &mut *shard;
            shard.gradient.begin();
            let batch = Batch {
                inputs: match model.shape().sequence {
                    Sequence::Tokens { length, .. } => Inputs::Tokens {
                        ids: &shard.ids,
                        length,
                    },
                    Sequence::Steps { steps, width } => Inputs::Dense {
                        values: &shard.values,
                        width: steps * width,
                    },
                },
                labels: &shard.labels,
            };
            let parameters = parameters.read().expect("no member panicked");
            model.gradient(
                &parameters,
                &batch,
                1.0 / (rows * threads) as f32,
                &mut shard.gradient,
                &mut shard.scratch,
            );
        });
        let mut parameters = parameters.write().expect("no member panicked");
        for shard in &shards {
            let shard = shard.lock().expect("no member panicked");
            let dense = shard.gradient.dense();
            kernels.axpy(rate, dense, &mut parameters[..dense.len()]);
            if let Some(table) = model.layout().table() {
                for row in shard.gradient.touched() {
                    let from = table.offset + *row as usize * table.stride;
                    kernels.axpy(
                        rate,
                        shard.gradient.row(*row),
                        &mut parameters[from..from + table.stride],
                    );
                }
            }
        }
    }
}

fn shuffled_steps(rows: usize, numbers: &mut Numbers) -> Vec<RowStep> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    for last in (1..rows).rev() {
        order.swap(last, numbers.below(last as u32 + 1) as usize);
    }
    order
        .into_iter()
        .map(|row| RowStep { row, rate: 1e-3 })
        .collect()
}

/// Seconds of the fastest of `blocks` calls, after one that does not count.
#[expect(
    clippy::disallowed_methods,
    reason = "measuring time is what this example is for"
)]
fn best(blocks: usize, mut block: impl FnMut()) -> f64 {
    block();
    (0..blocks)
        .map(|_| {
            let start = Instant::now();
            block();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

struct Numbers(u64);

impl Numbers {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Even between -1 and 1.
    fn even(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
    }
}
