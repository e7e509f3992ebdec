//! Softmax regression and networks of fully connected layers.

mod support;

use paceline_kernels::Kernels;
use paceline_nets::{Batch, Gradient, Inputs, Mlp, Model};
use paceline_testkit::gradient_check;
use support::{Blobs, Net, descend};

fn batch(blobs: &Blobs) -> Batch<'_> {
    Batch {
        inputs: Inputs::Dense {
            values: &blobs.values,
            width: blobs.width,
        },
        labels: &blobs.labels,
    }
}

#[test]
fn gradients_are_derivatives_of_the_loss_on_every_instruction_set() {
    for kernels in Kernels::available() {
        for (width, hidden, classes) in [
            (7, vec![], 3),
            (20, vec![], 10),
            (9, vec![21], 4),
            (30, vec![16, 5], 10),
            (13, vec![33, 17], 18),
            (6, vec![5, 4, 3], 2),
        ] {
            let model = Mlp::new(width, &hidden, classes, kernels);
            let blobs = Blobs::new(1, 11, width, classes);
            let report = gradient_check(&model, &batch(&blobs), 2);
            assert!(
                report.passed(),
                "{width} {hidden:?} {classes} {:?}: {report}",
                kernels.isa()
            );
        }
    }
}

#[test]
fn loss_and_gradient_agree_with_plain_loops_in_float64() {
    for kernels in Kernels::available() {
        for hidden in [vec![], vec![128], vec![128, 128], vec![50, 20]] {
            let model = Mlp::new(784, &hidden, 10, kernels);
            let mut parameters = vec![0.0; model.layout().len()];
            model.initialize(4, &mut parameters);
            let blobs = Blobs::new(3, 20, 784, 10);
            let mut gradient = Gradient::new(model.layout());
            let mut scratch = vec![0.0; model.scratch_len(20)];
            let tally = model.gradient(
                &parameters,
                &batch(&blobs),
                0.05,
                &mut gradient,
                &mut scratch,
            );
            let layers: Vec<&str> = match hidden.len() {
                0 => vec!["output"],
                1 => vec!["hidden1", "output"],
                _ => vec!["hidden1", "hidden2", "output"],
            };
            let mut net = Net::new(model.layout(), &parameters, &layers);
            let rows: Vec<Vec<f64>> = blobs
                .values
                .chunks_exact(784)
                .map(|row| row.iter().map(|x| f64::from(*x)).collect())
                .collect();
            let loss = net.loss_and_gradient(&rows, &blobs.labels, 0.05);
            assert!((tally.loss - loss).abs() < 1e-5 * loss);
            let difference = net.relative_difference(model.layout(), gradient.values());
            assert!(
                difference < 1e-4,
                "{hidden:?} {:?}: {difference}",
                kernels.isa()
            );
        }
    }
}

#[test]
fn two_shards_add_up_to_the_whole_batch() {
    let kernels = Kernels::detect();
    let model = Mlp::new(30, &[20], 5, kernels);
    let mut parameters = vec![0.0; model.layout().len()];
    model.initialize(1, &mut parameters);
    let blobs = Blobs::new(5, 24, 30, 5);
    let run = |rows: std::ops::Range<usize>| {
        let mut gradient = Gradient::new(model.layout());
        let mut scratch = vec![0.0; model.scratch_len(rows.len())];
        let batch = Batch {
            inputs: Inputs::Dense {
                values: &blobs.values[rows.start * 30..rows.end * 30],
                width: 30,
            },
            labels: &blobs.labels[rows],
        };
        let tally = model.gradient(&parameters, &batch, 1.0 / 24.0, &mut gradient, &mut scratch);
        (tally, gradient.values().to_vec())
    };
    let (mut tally, first) = run(0..10);
    let (second_tally, second) = run(10..24);
    let (whole_tally, whole) = run(0..24);
    tally.add(second_tally);
    assert_eq!(
        (tally.hits, tally.rows),
        (whole_tally.hits, whole_tally.rows)
    );
    assert!((tally.loss - whole_tally.loss).abs() < 1e-5);
    for ((first, second), whole) in first.iter().zip(&second).zip(&whole) {
        assert!((first + second - whole).abs() < 1e-6);
    }
}

#[test]
fn descent_separates_classes_that_are_apart() {
    for hidden in [vec![], vec![32], vec![32, 16]] {
        let model = Mlp::new(20, &hidden, 4, Kernels::detect());
        let blobs = Blobs::new(7, 200, 20, 4);
        let tally = descend(&model, &batch(&blobs), 60, 0.2);
        assert!(tally.accuracy() > 0.98, "{hidden:?}: {tally:?}");
        assert!(tally.mean_loss() < 0.3, "{hidden:?}: {tally:?}");
    }
}

#[test]
fn a_seed_gives_the_same_start_and_another_gives_another() {
    let model = Mlp::simplenet(Kernels::detect());
    let start = |seed| {
        let mut parameters = vec![0.0; model.layout().len()];
        model.initialize(seed, &mut parameters);
        parameters
    };
    assert_eq!(start(1), start(1));
    assert_ne!(start(1), start(2));
}
