//! What holds in every run, whatever the network does and whoever crashes.
//!
//! Each case is a simulated run of a few hundred messages. The simulation
//! asserts at every step that the bound holds, that reads are fresh enough, that
//! no update counts twice, and at the end that every update is accounted for;
//! that it ends at all shows that nothing deadlocks.

use crate::network::Weather;
use crate::problem::Problem;
use crate::simulation::{Fault, FaultKind, Plan, simulate};
use std::time::Duration;

use paceline_sync::{
    Action, Clock, Consistency, Coordinator, Incarnation, Message, OnWorkerLoss, Sender, Settings,
    Strategy as SyncStrategy, Tick,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same cases on every machine, so that a failure is always there to see.
fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(0x5eed),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn model(workers: u32) -> impl Strategy<Value = Consistency> {
    (0..6u8, 0..4u32, 1..5u32).prop_map(move |(kind, small, more)| {
        let text = match kind {
            0 => "bsp".to_owned(),
            1 => format!("ssp:{small}"),
            2 => "async".to_owned(),
            3 => format!("backup:{}", small.min(workers - 1)),
            4 => format!("dynamic-ssp:{small}..{}", small + more),
            _ => format!("local:{more}"),
        };
        text.parse().expect("these are words of the flag")
    })
}

fn weather() -> impl Strategy<Value = Weather> {
    (1..60u64, 0..35u64, 0..30u64).prop_map(|(delay, loss, repeat)| Weather {
        delay,
        loss,
        repeat,
    })
}

prop_compose! {
    fn calm_plan()(workers in 1..6u32)(
        workers in Just(workers),
        consistency in model(workers),
        seed in any::<u64>(),
        servers in 1..4usize,
        weather in weather(),
        compute in 1..120u64,
    ) -> Plan {
        Plan {
            seed, consistency, workers, servers, weather, compute,
            iterations: 12,
            // Silence alone must not remove anybody from a run without crashes.
            on_worker_loss: OnWorkerLoss::Wait,
            faults: Vec::new(),
        }
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    (1..4000u64, 0..6u32, 0..3u8, 1..2000u64).prop_map(|(at, worker, kind, length)| Fault {
        at,
        worker,
        kind: match kind {
            0 => FaultKind::Restart,
            1 => FaultKind::Death,
            _ => FaultKind::Cut(length),
        },
    })
}

/// As `plan`, except that nobody dies for good.
fn without_deaths(mut plan: Plan) -> Plan {
    for fault in &mut plan.faults {
        if fault.kind == FaultKind::Death {
            fault.kind = FaultKind::Restart;
        }
    }
    plan
}

prop_compose! {
    fn rough_plan()(
        plan in calm_plan(),
        policy in 0..4u8,
        faults in prop::collection::vec(fault(), 1..5),
    ) -> Plan {
        let plan = Plan { faults, ..plan };
        match policy {
            // Whoever waits for the dead waits for ever: the policy says so.
            0 => without_deaths(Plan { on_worker_loss: OnWorkerLoss::Wait, ..plan }),
            1 => Plan { on_worker_loss: OnWorkerLoss::Replace, ..plan },
            2 => Plan { on_worker_loss: OnWorkerLoss::Fail, ..plan },
            _ => Plan { on_worker_loss: OnWorkerLoss::Continue, ..plan },
        }
    }
}

proptest! {
    #![proptest_config(seeded(200))]

    #[test]
    fn every_run_keeps_its_bound_and_ends(plan in calm_plan()) {
        let outcome = simulate(&plan);
        prop_assert!(!outcome.failed);
        if let Some(most) = plan.consistency.most_lead() {
            prop_assert!(outcome.most_stale <= u64::from(most));
        }
        // Nobody was lost for good, so every update that was due was computed;
        // without spare workers all of them count.
        if !matches!(plan.consistency, Consistency::Backup { .. }) {
            let per_update = plan.consistency.iterations_per_update();
            let updates = plan.iterations.div_ceil(per_update) * u64::from(plan.workers);
            for server in &outcome.servers {
                prop_assert_eq!(server.ledger.len() as u64, updates);
            }
        }
    }

    #[test]
    fn every_run_with_faults_ends_as_its_policy_says(plan in rough_plan()) {
        let outcome = simulate(&plan);
        prop_assert!(!outcome.failed || plan.on_worker_loss == OnWorkerLoss::Fail);
    }

    #[test]
    fn bulk_synchronous_runs_equal_one_worker_with_the_whole_batch(plan in calm_plan()) {
        let plan = Plan { consistency: Consistency::Bsp, ..plan };
        let outcome = simulate(&plan);
        let found: Vec<f64> = outcome.servers.iter().map(|server| server.parameter).collect();
        let expected = Problem::new(plan.seed, plan.servers)
            .single_worker(plan.workers as usize, plan.iterations);
        // Bit for bit: the same sums in the same order.
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn with_one_server_restarted_workers_change_nothing_in_a_bulk_synchronous_run(
        plan in rough_plan(),
        replace in any::<bool>(),
    ) {
        let on_worker_loss = if replace { OnWorkerLoss::Replace } else { OnWorkerLoss::Wait };
        let plan = without_deaths(Plan {
            consistency: Consistency::Bsp,
            servers: 1,
            on_worker_loss,
            ..plan
        });
        let outcome = simulate(&plan);
        let expected = Problem::new(plan.seed, 1)
            .single_worker(plan.workers as usize, plan.iterations);
        prop_assert_eq!(vec![outcome.servers[0].parameter], expected);
    }

    #[test]
    fn words_are_printed_as_they_are_read(text in "(bsp|ssp|async|backup|dynamic-ssp|local|allreduce|dataflow)(:[0-9]{1,4}(\\.\\.[0-9]{1,4})?)?") {
        if let Ok(strategy) = text.parse::<SyncStrategy>() {
            prop_assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,40}") {
        if let Err(error) = text.parse::<SyncStrategy>() {
            prop_assert!(!error.hint().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(seeded(40_000))]

    #[test]
    #[ignore = "the long campaign, minutes; the short one runs always"]
    fn many_runs_with_faults_end_as_their_policy_says(plan in rough_plan()) {
        let outcome = simulate(&plan);
        prop_assert!(!outcome.failed || plan.on_worker_loss == OnWorkerLoss::Fail);
    }
}

/// Any messages whatsoever, also of workers that break every rule.
fn chaos() -> impl Strategy<Value = Vec<(u32, u32, u8, u64)>> {
    prop::collection::vec((0..5u32, 0..3u32, 0..8u8, 0..9u64), 0..200)
}

fn feed(coordinator: &mut Coordinator, inputs: &[(u32, u32, u8, u64)]) -> Vec<Action> {
    let mut actions = Vec::new();
    for (now, &(worker, life, kind, number)) in (0u64..).zip(inputs) {
        let from = Sender {
            incarnation: Incarnation(life),
            ..Sender::first(worker)
        };
        let clock = Clock(number);
        let message = match kind {
            0 | 1 => Message::Join,
            2 | 3 => Message::Update { clock },
            4 | 5 => Message::Read { clock },
            6 => Message::Leave,
            _ if number < 3 => {
                coordinator.disconnect(from, Tick(now), &mut actions);
                continue;
            }
            _ => {
                coordinator.tick(Tick(now), &mut actions);
                continue;
            }
        };
        // Refusals are as good an answer as any to chaos.
        let _ = coordinator.step(from, message, Tick(now), &mut actions);
    }
    actions
}

fn coordinator(text: &str) -> Coordinator {
    let settings = Settings::new(text.parse().expect("a word of the flag"), 3)
        .expect("three workers suit")
        .with_room_for(4)
        .on_worker_loss(OnWorkerLoss::Continue)
        .failure_timeout(Duration::from_nanos(30))
        .join_timeout(Duration::from_nanos(60));
    Coordinator::new(settings)
}

proptest! {
    #![proptest_config(seeded(300))]

    #[test]
    fn no_messages_make_the_coordinator_panic(inputs in chaos(), consistency in model(3)) {
        let mut coordinator = coordinator(&consistency.to_string());
        let mut version = Clock::ZERO;
        for input in &inputs {
            let actions = feed(&mut coordinator, std::slice::from_ref(input));
            prop_assert!(actions.len() <= 2 * 4 + 2, "more actions than promised");
            prop_assert!(coordinator.version() >= version, "the version fell");
            version = coordinator.version();
        }
    }

    #[test]
    fn no_spare_worker_and_single_steps_are_bulk_synchronous(inputs in chaos()) {
        let bulk = feed(&mut coordinator("bsp"), &inputs);
        prop_assert_eq!(&bulk, &feed(&mut coordinator("backup:0"), &inputs));
        prop_assert_eq!(&bulk, &feed(&mut coordinator("local:1"), &inputs));
    }

    #[test]
    fn a_replay_of_the_messages_is_a_replay_of_the_decisions(
        inputs in chaos(),
        consistency in model(3),
    ) {
        let text = consistency.to_string();
        prop_assert_eq!(
            feed(&mut coordinator(&text), &inputs),
            feed(&mut coordinator(&text), &inputs)
        );
    }
}

fn plan(consistency: &str, workers: u32) -> Plan {
    Plan {
        seed: 7,
        consistency: consistency.parse().expect("a word of the flag"),
        workers,
        servers: 2,
        iterations: 60,
        weather: Weather {
            delay: 5,
            loss: 0,
            repeat: 0,
        },
        compute: 100,
        on_worker_loss: OnWorkerLoss::Wait,
        faults: Vec::new(),
    }
}

#[test]
fn stragglers_are_dropped_by_backup_and_the_drops_are_counted() {
    let outcome = simulate(&plan("backup:1", 4));
    for server in &outcome.servers {
        let total = server.coordinator.total();
        assert!(total.late > 0, "worker 0 is slow");
        let all_but_last = &server.closed[..server.closed.len() - 4];
        assert!(all_but_last.iter().all(|&(_, counted)| counted == 3));
        assert_eq!(
            total.counted,
            server
                .closed
                .iter()
                .map(|&(_, c)| u64::from(c))
                .sum::<u64>()
        );
    }
}

#[test]
fn staleness_is_used_and_never_exceeded() {
    let bulk = simulate(&plan("bsp", 3));
    assert_eq!(bulk.stale_starts, 0);
    let bounded = simulate(&plan("ssp:3", 3));
    assert!(bounded.stale_starts > 0);
    assert_eq!(bounded.most_stale, 3);
    let dynamic = simulate(&plan("dynamic-ssp:1..8", 3));
    assert!(dynamic.most_stale > 1, "the lower bound was never exceeded");
    assert!(dynamic.most_stale <= 8);
    let unbounded = simulate(&plan("async", 3));
    assert!(unbounded.most_stale > 8);
}
