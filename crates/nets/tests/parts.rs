//! Gradients that are handed over part by part while they are computed.

mod support;

use paceline_kernels::Kernels;
use paceline_nets::{Batch, Gradient, Inputs, LeNet, LeNetVariant, Mlp, Model, ModelSpec};
use support::Blobs;

/// The parts are those of the whole gradient, from its end to its beginning.
fn check(model: &dyn Model, width: usize, parts_expected: usize) {
    let blobs = Blobs::new(3, 12, width, model.classes());
    let batch = Batch {
        inputs: Inputs::Dense {
            values: &blobs.values,
            width,
        },
        labels: &blobs.labels,
    };
    let mut parameters = vec![0.0; model.layout().len()];
    model.initialize(7, &mut parameters);
    let mut scratch = vec![0.0; model.scratch_len(12)];
    let mut whole = Gradient::new(model.layout());
    let expected = model.gradient(&parameters, &batch, 0.1, &mut whole, &mut scratch);

    let mut gradient = Gradient::new(model.layout());
    let mut gathered = vec![f32::NAN; whole.dense().len()];
    let (mut begun, mut parts) = (gathered.len(), 0);
    let found = model.gradient_in_parts(
        &parameters,
        &batch,
        0.1,
        &mut gradient,
        &mut scratch,
        &mut |start, values| {
            assert_eq!(
                start + values.len(),
                begun,
                "a part ends where the last began"
            );
            gathered[start..begun].copy_from_slice(values);
            begun = start;
            parts += 1;
        },
    );
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!((begun, parts), (0, parts_expected));
    assert_eq!(found, expected);
    // What was handed over was final.
    assert!(bits(&gathered) == bits(gradient.dense()));
    assert!(bits(&gathered) == bits(whole.dense()));
}

#[test]
fn a_network_hands_over_layer_after_layer() {
    let kernels = Kernels::detect();
    check(&Mlp::softmax(30, 5, kernels), 30, 1);
    check(&Mlp::new(30, &[20, 18], 5, kernels), 30, 3);
    for (variant, parts) in [(LeNetVariant::Classic, 5), (LeNetVariant::BigDl, 4)] {
        let model = LeNet::new(variant, 28, 10, kernels).unwrap();
        check(&model, 28 * 28, parts);
    }
}

#[test]
fn a_model_of_one_part_hands_over_everything_at_the_end() {
    let spec: ModelSpec = "logistic".parse().unwrap();
    let input = paceline_nets::Input::Dense { width: 9 };
    let model = spec.build(input, 2, Kernels::detect()).unwrap();
    check(&*model, 9, 1);
}
