//! Clusters whose outcome is known without a simulation.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_simulate::{
    Bound, Cluster, ClusterError, Compute, Failures, Join, Network, Outcome, Placement, ServerCost,
    simulate,
};

/// Workers that compute for 10 ms on hosts of their own, with nothing else that takes time.
fn ideal(sync: &str, workers: u32) -> Cluster {
    Cluster {
        strategy: sync.parse().unwrap(),
        workers,
        servers: 1,
        compute: Compute::Varying {
            mean_s: 0.01,
            variation: 0.0,
        },
        worker_overhead_s: 0.0,
        slow: Vec::new(),
        update_bytes: 1e6,
        parameter_bytes: 1e6,
        server: ServerCost {
            message_s: 0.0,
            byte_s: 0.0,
            apply_byte_s: 0.0,
        },
        network: Network {
            bandwidth: f64::INFINITY,
            latency_s: 0.0,
            switch: None,
        },
        slow_links: Vec::new(),
        placement: Placement::Apart,
        failures: None,
        joins: Vec::new(),
    }
}

fn run(cluster: &Cluster) -> Outcome {
    simulate(cluster, 200, 1).unwrap()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!(
        (found / expected - 1.0).abs() < 0.02,
        "{found} instead of {expected}"
    );
}

#[test]
fn without_any_cost_every_worker_only_computes() {
    for sync in [
        "bsp",
        "ssp:3",
        "async",
        "dynamic-ssp:1..8",
        "local:4",
        "allreduce",
    ] {
        let found = run(&ideal(sync, 4));
        near(found.iterations_per_s, 100.0);
        near(found.shares.computing, 1.0);
        assert_eq!(found.bound, Bound::Computing, "{sync}");
    }
}

#[test]
fn a_worker_of_half_the_speed_halves_bsp_and_not_async() {
    let slowed = |sync| {
        let mut cluster = ideal(sync, 4);
        cluster.slow = vec![(2, 2.0)];
        run(&cluster)
    };
    let bsp = slowed("bsp");
    near(bsp.updates_per_s, 4.0 * 50.0);
    near(bsp.shares.waiting, 0.75 / 2.0);
    assert_eq!(bsp.staleness_max, 0);
    let free = slowed("async");
    near(free.updates_per_s, 3.0 * 100.0 + 50.0);
    near(free.shares.waiting + 1.0, 1.0);
    // In the long run nobody is faster than the slowest by more than the bound.
    let stale = slowed("ssp:3");
    near(stale.updates_per_s, 4.0 * 50.0);
    assert_eq!(stale.staleness_max, 3);
    // One update is done without: the other three workers set the pace.
    let backup = slowed("backup:1");
    near(backup.updates_per_s, 3.0 * 100.0);
    assert!(backup.dropped_share > 0.05, "{}", backup.dropped_share);
}

#[test]
fn the_server_s_link_bounds_many_workers() {
    let mut cluster = ideal("bsp", 10);
    cluster.network.bandwidth = 1e8;
    // Ten megabytes in and ten out at a hundred a second, after ten milliseconds.
    let apart = run(&cluster);
    near(apart.iterations_per_s, 1.0 / (0.01 + 0.1 + 0.1));
    assert_eq!(apart.bound, Bound::Link, "one direction after the other");
    // Two servers halve the time on their links; a worker's own link is as fast.
    cluster.servers = 2;
    near(run(&cluster).iterations_per_s, 1.0 / (0.01 + 0.05 + 0.05));
    // Workers that are not in step use both directions of the link all the time: two
    // balanced stations with a hundred customers give 100/101 of their rate.
    let mut cluster = ideal("async", 100);
    cluster.network.bandwidth = 1e8;
    cluster.compute = Compute::Varying {
        mean_s: 0.01,
        variation: 1.0,
    };
    let free = run(&cluster);
    near(free.updates_per_s, 1e8 / 1e6);
    assert_eq!(free.bound, Bound::Link);
    assert!(free.link_busy > 0.95);
}

#[test]
fn the_switch_is_shared_by_all_servers() {
    let mut cluster = ideal("async", 20);
    cluster.servers = 4;
    cluster.network.bandwidth = 1e9;
    cluster.network.switch = Some(2e8);
    let found = run(&cluster);
    // Forty megabytes a round, in and out, after ten milliseconds.
    near(found.updates_per_s, 20.0 / (0.01 + 4e7 / 2e8));
    assert_eq!(found.bound, Bound::Switch);
}

#[test]
fn a_server_s_core_bounds_small_messages() {
    let mut cluster = ideal("async", 64);
    cluster.update_bytes = 0.0;
    cluster.parameter_bytes = 0.0;
    cluster.server.message_s = 1e-3;
    let found = run(&cluster);
    // An update is received and answered.
    near(found.updates_per_s, 500.0);
    assert_eq!(found.bound, Bound::ServerCore);
}

#[test]
fn a_server_beside_a_worker_spares_its_bytes_the_link() {
    let mut cluster = ideal("bsp", 2);
    cluster.network.bandwidth = 1e8;
    let apart = run(&cluster);
    near(apart.iterations_per_s, 1.0 / (0.01 + 0.02 + 0.02));
    cluster.placement = Placement::Beside;
    near(run(&cluster).iterations_per_s, 1.0 / (0.01 + 0.01 + 0.01));
}

#[test]
fn a_slow_link_of_one_worker_holds_up_all_under_bsp() {
    let mut cluster = ideal("bsp", 4);
    cluster.network.bandwidth = 1e9;
    cluster.slow_links = vec![(1, 1e7)];
    // A tenth of a second there and back; the others' bytes are through long before.
    near(run(&cluster).iterations_per_s, 1.0 / (0.01 + 0.1 + 0.1));
}

#[test]
fn an_iteration_takes_as_long_as_the_slowest_draw() {
    let mut cluster = ideal("bsp", 2);
    cluster.compute = Compute::Measured(vec![0.01, 0.03]);
    let found = simulate(&cluster, 20_000, 3).unwrap();
    near(found.iterations_per_s, 1.0 / 0.025);
    near(found.shares.waiting, 0.005 / 0.025);
}

#[test]
fn cores_of_one_machine_are_shared() {
    let mut cluster = ideal("bsp", 4);
    cluster.placement = Placement::OneMachine { cores: 2.0 };
    for sync in ["bsp", "async", "allreduce"] {
        cluster.strategy = sync.parse().unwrap();
        let found = run(&cluster);
        near(found.iterations_per_s, 50.0);
        assert_eq!(found.bound, Bound::Cores, "{sync}");
    }
}

#[test]
fn a_ring_sends_each_byte_twice_at_most() {
    let mut cluster = ideal("allreduce", 8);
    cluster.network.bandwidth = 1e8;
    cluster.network.latency_s = 1e-4;
    let steps = 14.0 * (1e6 / 8.0 / 1e8 + 1e-4);
    near(run(&cluster).iterations_per_s, 1.0 / (0.01 + steps));
    // Simulated step by step where links differ: the slow one sets the pace.
    cluster.slow_links = vec![(3, 1e7)];
    let steps = 14.0 * (1e6 / 8.0 / 1e7 + 1e-4);
    near(run(&cluster).iterations_per_s, 1.0 / (0.01 + steps));
    // A short vector goes by doubling: three exchanges among eight.
    cluster.slow_links.clear();
    cluster.update_bytes = 1e4;
    near(
        run(&cluster).iterations_per_s,
        1.0 / (0.01 + 3.0 * (1e4 / 1e8 + 1e-4)),
    );
}

#[test]
fn losses_cost_bsp_the_restart_and_async_only_the_worker() {
    let failing = |sync| {
        let mut cluster = ideal(sync, 10);
        cluster.failures = Some(Failures {
            every_s: 10.0,
            restart_s: 1.0,
        });
        simulate(&cluster, 3000, 5).unwrap()
    };
    let free = failing("async");
    assert!(free.losses > 10);
    // A worker is away for one second of eleven.
    near(free.updates_per_s, 1000.0 * 10.0 / 11.0);
    let bsp = failing("bsp");
    // Everybody waits while somebody is away, at about one loss a second.
    assert!(
        bsp.updates_per_s < 0.7 * free.updates_per_s && bsp.updates_per_s > 300.0,
        "{}",
        bsp.updates_per_s
    );
}

#[test]
fn workers_that_join_add_their_iterations() {
    let mut cluster = ideal("async", 2);
    cluster.joins = vec![Join {
        at_s: 0.0,
        workers: 2,
    }];
    near(run(&cluster).updates_per_s, 400.0);
}

#[test]
fn a_seed_means_one_course_of_events() {
    let mut cluster = ideal("dynamic-ssp:1..8", 16);
    cluster.compute = Compute::Varying {
        mean_s: 0.01,
        variation: 0.4,
    };
    cluster.network.bandwidth = 1e9;
    let (one, same) = (run(&cluster), run(&cluster));
    assert_eq!(one, same);
    assert_ne!(one, simulate(&cluster, 200, 2).unwrap());
}

#[test]
fn a_thousand_workers_are_simulated() {
    large(1_000);
}

#[test]
#[ignore = "takes a minute without optimisation"]
fn ten_thousand_workers_are_simulated() {
    large(10_000);
}

fn large(workers: u32) {
    let mut cluster = ideal("bsp", workers);
    cluster.network.bandwidth = 1.25e9;
    cluster.servers = 4;
    let found = simulate(&cluster, 5, 1).unwrap();
    // Every server's link carries a quarter of the bytes, in and then out.
    near(
        found.iterations_per_s,
        1.0 / (0.01 + 2.0 * f64::from(workers) * 0.25e6 / 1.25e9),
    );
}

#[test]
fn what_is_no_cluster_is_refused_with_its_reason() {
    let check = |change: fn(&mut Cluster), expected: &str| {
        let mut cluster = ideal("bsp", 4);
        change(&mut cluster);
        let error: ClusterError = simulate(&cluster, 10, 1).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(|c| c.workers = 0, "training needs at least one worker");
    check(
        |c| c.workers = 1_000_000,
        "1000000 workers are more than the 16384 a run has room for",
    );
    check(
        |c| c.servers = 0,
        "the number of servers is 0, and must be at least one and not many times the workers",
    );
    check(
        |c| c.network.bandwidth = f64::NAN,
        "the bandwidth is NaN, and must be above zero",
    );
    check(
        |c| c.compute = Compute::Measured(vec![0.1, f64::INFINITY]),
        "the time of an iteration is inf, and must be zero or more",
    );
    check(
        |c| c.slow = vec![(4, 2.0)],
        "there is no worker 4: there are 4, counted from 0",
    );
    check(
        |c| {
            c.strategy = "allreduce".parse().unwrap();
            c.failures = Some(Failures {
                every_s: 1.0,
                restart_s: 1.0,
            });
        },
        "a simulated all-reduce has neither losses nor later joins",
    );
    let much = simulate(&ideal("bsp", 10_000), 1_000_000, 1).unwrap_err();
    assert_eq!(
        much.to_string(),
        "4.0e10 messages are more than the 1e8 that are simulated at once"
    );
}
