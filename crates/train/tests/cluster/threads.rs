//! Workers as threads.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use paceline_train::{
    Cadence, Checkpoint, CheckpointSettings, ClusterSession, Condition, Ending, Goal, Settings,
};

use crate::support::{Heard, bits, blobs, cluster, network, on_threads, settings, single, sparse};

#[test]
fn synchronous_workers_end_with_the_bits_of_one_worker_with_as_many_threads() {
    let data = blobs();
    let model = network(&data);
    for optimizer in ["sgd", "momentum", "adagrad", "adam"] {
        for workers in [1, 2, 3] {
            let settings = settings(optimizer, 3);
            let expected = single(&model, &data, &settings, workers as usize);
            let mut session = ClusterSession::new(
                "test",
                Arc::clone(&model),
                data.clone(),
                settings,
                cluster(workers, 2, "bsp"),
            )
            .unwrap();
            let mut heard = Heard::default();
            let outcome = on_threads(&mut session, &mut heard);
            assert_eq!(outcome.outcome.ending, Ending::Epochs);
            assert_eq!(heard.0.len(), 3);
            assert!(
                bits(session.parameters()) == expected,
                "{optimizer}, {workers} workers"
            );
        }
    }
}

#[test]
fn synchronous_workers_agree_with_one_worker_on_sparse_rows() {
    let (data, model) = sparse();
    for optimizer in ["sgd", "adam"] {
        let settings = settings(optimizer, 2);
        let expected = single(&model, &data, &settings, 3);
        let mut session = ClusterSession::new(
            "test",
            model.clone(),
            data.clone(),
            settings,
            cluster(3, 2, "bsp"),
        )
        .unwrap();
        on_threads(&mut session, &mut Heard::default());
        assert!(bits(session.parameters()) == expected, "{optimizer}");
    }
}

#[test]
fn every_consistency_model_learns_to_tell_the_blobs_apart() {
    let data = blobs();
    for sync in [
        "bsp",
        "ssp:0",
        "ssp:3",
        "async",
        "backup:1",
        "dynamic-ssp:1..8",
        "local:4",
    ] {
        for servers in [1, 3] {
            let mut session = ClusterSession::new(
                "test",
                network(&data),
                data.clone(),
                settings("momentum", 20),
                cluster(3, servers, sync),
            )
            .unwrap();
            let mut heard = Heard::default();
            let found = on_threads(&mut session, &mut heard);
            assert_eq!(found.outcome.ending, Ending::Epochs, "{sync}");
            let last = heard.0.last().expect("the end is evaluated");
            assert!(
                last.test.accuracy() > 0.9,
                "{sync}, {servers} servers: {}",
                last.test.accuracy()
            );
        }
    }
}

#[test]
fn no_worker_sees_older_parameters_than_the_bound_allows() {
    let data = blobs();
    for (sync, bound) in [
        ("bsp", 0),
        ("ssp:0", 0),
        ("ssp:3", 3),
        ("dynamic-ssp:1..8", 8),
    ] {
        let mut plan = cluster(3, 2, sync);
        plan.slow = vec!["worker1:3x".parse().unwrap()];
        let mut session = ClusterSession::new(
            "test",
            network(&data),
            data.clone(),
            settings("sgd", 5),
            plan,
        )
        .unwrap();
        let found = on_threads(&mut session, &mut Heard::default());
        let most = found.workers.iter().map(|worker| worker.staleness_most);
        assert!(most.max() <= Some(bound), "{sync}: {:?}", found.workers);
    }
}

#[test]
fn fast_workers_wait_for_the_slow_one_and_say_so() {
    let data = blobs();
    let mut plan = cluster(2, 1, "bsp");
    plan.slow = vec!["worker1:50x".parse().unwrap()];
    let mut session = ClusterSession::new(
        "test",
        network(&data),
        data.clone(),
        settings("sgd", 5),
        plan,
    )
    .unwrap();
    let found = on_threads(&mut session, &mut Heard::default());
    let [fast, slow] = &found.workers[..] else {
        panic!("there are two workers")
    };
    assert_eq!(fast.iterations, slow.iterations);
    assert!(fast.wait_share() > slow.wait_share());
    assert!(fast.waited_for[1] > fast.waited_for[0]);
}

#[test]
fn late_updates_of_a_backup_worker_are_dropped_and_counted() {
    let data = blobs();
    let mut plan = cluster(3, 1, "backup:1");
    plan.slow = vec!["worker2:200x".parse().unwrap()];
    let mut session = ClusterSession::new(
        "test",
        network(&data),
        data.clone(),
        settings("sgd", 5),
        plan,
    )
    .unwrap();
    let found = on_threads(&mut session, &mut Heard::default());
    assert!(found.workers[2].iterations < found.workers[0].iterations);
    assert_eq!(found.workers[0].staleness_most, 0);
}

#[test]
fn a_resumed_synchronous_training_ends_with_the_bits_of_one_that_never_stopped() {
    let data = blobs();
    let model = network(&data);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    let settings = |steps| Settings {
        goal: Goal {
            steps: Some(steps),
            ..Goal::default()
        },
        checkpoint: Some(CheckpointSettings {
            path: path.clone(),
            every: Cadence::Steps(4),
            words: Default::default(),
        }),
        ..settings("adam", 0)
    };
    let start = |steps| {
        ClusterSession::new(
            "test",
            model.clone(),
            data.clone(),
            settings(steps),
            cluster(3, 2, "bsp"),
        )
        .unwrap()
    };
    let mut whole = start(25);
    on_threads(&mut whole, &mut Heard::default());
    let mut first = start(11);
    on_threads(&mut first, &mut Heard::default());
    let checkpoint = Checkpoint::read(model.layout(), &path).unwrap();
    assert_eq!(checkpoint.progress.steps, 11);
    let mut second = ClusterSession::resume(
        "test",
        model.clone(),
        data.clone(),
        settings(25),
        cluster(3, 2, "bsp"),
        checkpoint,
    )
    .unwrap();
    let mut heard = Heard::default();
    on_threads(&mut second, &mut heard);
    assert!(bits(whole.parameters()) == bits(second.parameters()));
}

#[test]
fn training_ends_at_the_loss_that_was_asked_for() {
    let data = blobs();
    for sync in ["bsp", "async"] {
        let mut settings = settings("momentum", 200);
        settings.goal.until = Some("loss<=0.35".parse::<Condition>().unwrap());
        let mut session = ClusterSession::new(
            "test",
            network(&data),
            data.clone(),
            settings,
            cluster(2, 1, sync),
        )
        .unwrap();
        let found = on_threads(&mut session, &mut Heard::default());
        assert_eq!(found.outcome.ending, Ending::Reached, "{sync}");
        let last = found.outcome.evaluation.unwrap();
        assert!(last.train.mean_loss() <= 0.35);
    }
}

#[test]
fn a_training_that_diverges_ends_and_says_so() {
    let data = blobs();
    for sync in ["bsp", "async", "allreduce"] {
        let mut settings = settings("sgd", 50);
        settings.rate = 1e20;
        let mut session = ClusterSession::new(
            "test",
            network(&data),
            data.clone(),
            settings,
            cluster(2, 1, sync),
        )
        .unwrap();
        let found = on_threads(&mut session, &mut Heard::default());
        assert_eq!(found.outcome.ending, Ending::Diverged, "{sync}");
    }
}

#[test]
fn a_training_stops_when_asked() {
    let data = blobs();
    for sync in ["bsp", "ssp:2", "async", "allreduce"] {
        let mut session = ClusterSession::new(
            "test",
            network(&data),
            data.clone(),
            settings("sgd", 1 << 40),
            cluster(2, 1, sync),
        )
        .unwrap();
        let found = session
            .run_on_threads(&mut Heard::default(), &AtomicBool::new(true))
            .unwrap();
        assert_eq!(found.outcome.ending, Ending::Interrupted, "{sync}");
    }
}

#[test]
fn a_dataflow_takes_one_step_per_pass_over_all_rows() {
    let data = blobs();
    let mut settings = settings("momentum", 60);
    settings.rate = 0.1;
    let rows = data.train.rows() as u64;
    let mut session = ClusterSession::new(
        "test",
        network(&data),
        data.clone(),
        settings.clone(),
        cluster(3, 1, "dataflow"),
    )
    .unwrap();
    let mut heard = Heard::default();
    let found = on_threads(&mut session, &mut heard);
    assert_eq!(found.outcome.progress.steps, 60);
    assert_eq!(heard.0[0].train.rows, rows);
    // The same as one worker whose batch is everything, up to the order in
    // which floats are added.
    settings.batch_size = data.train.rows();
    let mut single = paceline_train::Session::new(network(&data), data.clone(), settings);
    single
        .run(&mut Heard::default(), &AtomicBool::new(false))
        .unwrap();
    let pairs = session.parameters().iter().zip(single.parameters());
    let apart = pairs
        .map(|(one, other)| (one - other).abs())
        .fold(0.0, f32::max);
    assert!(apart < 1e-3, "{apart}");
}

#[test]
fn workers_that_sum_among_themselves_end_with_the_bits_of_a_server() {
    let data = blobs();
    let (rows, table) = sparse();
    let cases = [(network(&data), data), (table, rows)];
    for (model, data) in cases {
        let train = |sync| {
            let settings = settings("adam", 3);
            let plan = cluster(3, 1, sync);
            let mut session =
                ClusterSession::new("test", model.clone(), data.clone(), settings, plan).unwrap();
            let mut heard = Heard::default();
            let found = on_threads(&mut session, &mut heard);
            assert_eq!(found.outcome.ending, Ending::Epochs);
            assert_eq!(heard.0.len(), 3);
            bits(session.parameters())
        };
        assert!(train("allreduce") == train("bsp"));
    }
}
