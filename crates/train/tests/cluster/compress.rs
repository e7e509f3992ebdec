//! Updates that travel in fewer bytes.

use paceline_train::{Ending, Evaluation};

use crate::processes::{PLAN, Plan, Run, run};
use crate::support::{blobs, network};

const CONVEX: Plan = Plan {
    sync: "bsp",
    optimizer: "sgd",
    steps: 400,
    ..PLAN
};

fn compressed(plan: &Plan, compress: &'static str) -> Run {
    let run = run(
        &Plan {
            compress,
            ..plan.clone()
        },
        &[],
    );
    let ending = run.outcome.as_ref().expect("a training").outcome.ending;
    assert_eq!(ending, Ending::Steps);
    run
}

fn last(run: &Run) -> Evaluation {
    let outcome = &run.outcome.as_ref().expect("a training").outcome;
    outcome.evaluation.expect("an evaluation at the end")
}

/// Values of the dense part, which is all of this model.
fn values() -> u64 {
    network(&blobs()).layout().dense().len() as u64
}

#[test]
fn compressed_updates_lead_to_the_same_model_in_fewer_bytes() {
    let plain = last(&compressed(&CONVEX, "none"));
    let values = values();
    // Six numbers go along with every update.
    for (compress, bytes, pulled) in [
        ("none", 4 * (values + 6), 4),
        ("fp16", 2 * values + 4 * 6, 2),
        ("topk:10%", 8 * (values.div_ceil(10) + 6), 4),
    ] {
        let run = compressed(&CONVEX, compress);
        let found = run.outcome.as_ref().expect("a training");
        for worker in &found.workers {
            assert_eq!(worker.bytes_sent, bytes * worker.iterations, "{compress}");
            assert_eq!(
                worker.bytes_received,
                pulled * values * worker.iterations,
                "{compress}"
            );
        }
        let loss = last(&run).test.mean_loss();
        let off = (loss - plain.test.mean_loss()).abs() / plain.test.mean_loss();
        assert!(off < 0.02, "{compress}: {loss} is off by {off}");
    }
}

#[test]
fn half_precision_repeats_to_the_bit_with_any_number_of_servers() {
    let once = compressed(&PLAN, "fp16");
    assert_ne!(once.parameters, compressed(&PLAN, "none").parameters);
    for servers in [1, 3] {
        let again = compressed(&Plan { servers, ..PLAN }, "fp16");
        assert_eq!(once.parameters, again.parameters);
    }
}

#[test]
fn every_way_to_synchronise_takes_compressed_updates() {
    for sync in ["ssp:2", "async", "backup:1", "local:4"] {
        for compress in ["fp16", "topk:5%"] {
            let plan = Plan {
                sync,
                servers: 2,
                policy: "continue",
                ..PLAN
            };
            let found = last(&compressed(&plan, compress));
            assert!(found.test.accuracy() > 0.8, "{sync} {compress}: {found:?}");
        }
    }
}

#[test]
fn a_replaced_worker_begins_without_what_its_former_life_left_out() {
    let plan = Plan {
        compress: "topk:5%",
        ..CONVEX
    };
    let run = run(&plan, &["worker1@step100"]);
    let found = run.outcome.as_ref().expect("a training");
    assert_eq!(found.outcome.ending, Ending::Steps);
    assert!(last(&run).test.accuracy() > 0.8);
}
