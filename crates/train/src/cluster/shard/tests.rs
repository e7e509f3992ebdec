//! A shard without sockets or threads.

use std::num::NonZeroU32;

use paceline_kernels::AlignedBuffer;
use paceline_nets::{Layout, Tally};
use paceline_sync::{Clock, Coordinator, LossCause, Message, Receipt, Refusal, Sender, Tick};

use super::*;
use crate::cluster::milestones::Milestones;
use crate::cluster::update::Update;
use crate::goal::{Cadence, Goal};
use crate::optimizer::{Optimizer, OptimizerState};
use crate::schedule::Schedule;
use crate::session::Settings;

const LEN: usize = 16;

struct Bench {
    shard: ParameterShard<Update>,
    layout: Layout,
    events: Vec<ShardEvent>,
}

fn settings(steps: u64, evaluate_every: u64) -> Settings {
    Settings {
        batch_size: 1,
        threads: 1,
        seed: 1,
        optimizer: Optimizer::Sgd,
        rate: 1.0,
        schedule: Schedule::CONSTANT,
        decay: 0.0,
        clip: None,
        goal: Goal {
            steps: Some(steps),
            ..Goal::default()
        },
        evaluate_every: Cadence::Steps(evaluate_every),
        checkpoint: None,
    }
}

impl Bench {
    /// Two workers that have joined a shard of zeros and asked to begin.
    fn new(sync: &str, steps: u64, evaluate_every: u64) -> Self {
        let mut bench = Self::unjoined(sync, steps, evaluate_every);
        for worker in 0..2 {
            bench.say(worker, Message::Join).unwrap();
        }
        let clock = Clock(0);
        for worker in 0..2 {
            bench.say(worker, Message::Read { clock }).unwrap();
        }
        bench.events.clear();
        bench
    }

    fn unjoined(sync: &str, steps: u64, evaluate_every: u64) -> Self {
        let mut builder = Layout::builder();
        builder.vector("all", LEN, LEN);
        let layout = builder.build();
        let settings = settings(steps, evaluate_every);
        let consistency = sync.parse().unwrap();
        let plan = ShardPlan {
            consistency,
            workers: 2,
            milestones: Milestones::new(&settings, 10),
            settings,
        };
        let workers = NonZeroU32::new(2).unwrap().get();
        let rules = paceline_sync::Settings::new(consistency, workers).unwrap();
        let rules = ShardRules::new(plan, Coordinator::new(rules), 0);
        let zeros = AlignedBuffer::zeroed(LEN);
        let optimizer = OptimizerState::new(Optimizer::Sgd, LEN);
        let store = Store::new(Span::whole(&layout), &zeros, &optimizer);
        Self {
            shard: ParameterShard::new(rules, store, || Update::none(&layout)),
            layout,
            events: Vec::new(),
        }
    }

    fn say(&mut self, worker: u32, message: Message) -> Result<(), Refusal> {
        let from = Sender::first(worker);
        self.shard
            .on_message(from, message, Tick(0), &mut self.events)
    }

    /// A worker's update of `slope` everywhere.
    fn push(&mut self, worker: u32, clock: u64, slope: f32) -> Result<Receipt, Refusal> {
        self.push_loss(worker, clock, slope, 0.5)
    }

    fn push_loss(
        &mut self,
        worker: u32,
        clock: u64,
        slope: f32,
        loss: f64,
    ) -> Result<Receipt, Refusal> {
        let mut update = Update::none(&self.layout);
        update.dense.fill(slope);
        let arrival = Arrival {
            from: Sender::first(worker),
            clock: Clock(clock),
            tally: Tally {
                loss,
                hits: 0,
                rows: 1,
            },
            then_read: true,
        };
        self.shard
            .on_update(arrival, &mut update, Tick(0), &mut self.events)
    }

    fn value(&self) -> f32 {
        self.shard.store().parameters()[LEN - 1]
    }

    /// Who may go on, and what is shown, since the last call.
    fn told(&mut self) -> Vec<String> {
        let word = |event: ShardEvent| match event {
            ShardEvent::Proceed { to, clock, .. } => format!("{} starts {clock}", to.worker),
            ShardEvent::Show(shown) => format!(
                "shows {} of {} rows{}",
                shown.steps,
                shown.tally.rows,
                if shown.due.end { ", the last" } else { "" }
            ),
            other => format!("{other:?}"),
        };
        self.events.drain(..).map(word).collect()
    }
}

#[test]
fn gathered_updates_are_applied_together_and_then_all_go_on() {
    let mut bench = Bench::new("bsp", 100, 100);
    assert_eq!(bench.push(1, 0, 2.0), Ok(Receipt::Counted));
    assert_eq!((bench.value(), bench.told()), (0.0, vec![]));
    assert_eq!(bench.push(0, 0, 1.0), Ok(Receipt::Counted));
    assert!((bench.value() + 3.0).abs() < 1e-6);
    assert_eq!(bench.told(), ["worker1 starts 1", "worker0 starts 1"]);
    assert_eq!(bench.shard.rules().steps(), 1);
}

#[test]
fn an_asynchronous_update_is_applied_at_once() {
    let mut bench = Bench::new("async", 100, 100);
    bench.push(0, 0, 1.0).unwrap();
    assert!((bench.value() + 1.0).abs() < 1e-6);
    assert_eq!(bench.told(), ["worker0 starts 1"]);
    assert_eq!(
        bench.shard.rules().steps(),
        0,
        "a step is one of every worker"
    );
}

#[test]
fn workers_go_on_while_a_version_is_looked_at_but_not_beyond_the_next() {
    let mut bench = Bench::new("bsp", 100, 2);
    for clock in 0..4 {
        bench.push(0, clock, 1.0).unwrap();
        bench.push(1, clock, 1.0).unwrap();
    }
    assert_eq!(
        bench.told(),
        [
            "worker0 starts 1",
            "worker1 starts 1",
            "shows 2 of 4 rows",
            "worker0 starts 2",
            "worker1 starts 2",
            "worker0 starts 3",
            "worker1 starts 3",
        ],
        "the fourth step is due and nobody has looked at the second"
    );
    bench.shard.rules_mut().seen(&mut bench.events);
    assert_eq!(
        bench.told(),
        ["shows 4 of 4 rows", "worker0 starts 4", "worker1 starts 4"]
    );
}

#[test]
fn the_last_step_is_shown_and_nobody_goes_on() {
    let mut bench = Bench::new("bsp", 1, 100);
    bench.push(0, 0, 1.0).unwrap();
    bench.push(1, 0, 1.0).unwrap();
    assert_eq!(bench.told(), ["shows 1 of 2 rows, the last"]);
    let value = bench.value();
    assert_eq!(bench.push(0, 1, 1.0), Ok(Receipt::Heard));
    assert_eq!(bench.value().to_bits(), value.to_bits());
}

#[test]
fn an_end_as_soon_as_possible_is_the_end_of_the_open_iteration() {
    let mut bench = Bench::new("bsp", 100, 100);
    bench.push(0, 0, 1.0).unwrap();
    bench.shard.rules_mut().end_at(None, &mut bench.events);
    assert!(bench.told().is_empty());
    bench.push(1, 0, 1.0).unwrap();
    assert_eq!(bench.told(), ["shows 1 of 2 rows, the last"]);
}

#[test]
fn a_shard_that_follows_is_shown_when_another_is() {
    let mut bench = Bench::unjoined("async", 100, 1);
    let rules = std::mem::replace(&mut bench.shard, Bench::unjoined("async", 100, 1).shard);
    bench.shard = ParameterShard {
        rules: rules.rules.following(true),
        ..rules
    };
    for worker in 0..2 {
        bench.say(worker, Message::Join).unwrap();
    }
    bench.events.clear();
    for worker in 0..2 {
        bench.push(worker, 0, 1.0).unwrap();
    }
    assert_eq!(bench.told(), ["worker0 starts 1", "worker1 starts 1"]);
    bench.shard.rules_mut().show_as(7, &mut bench.events);
    assert_eq!(bench.told(), ["shows 7 of 2 rows"]);
    bench.shard.rules_mut().end_at(Some(9), &mut bench.events);
    assert_eq!(bench.told(), ["shows 9 of 0 rows, the last"]);
}

#[test]
fn an_end_that_another_shard_has_missed_is_none_and_shown_again() {
    let mut bench = Bench::new("async", 1, 100);
    bench.push(0, 0, 1.0).unwrap();
    bench.push(1, 0, 1.0).unwrap();
    let told = bench.told();
    assert_eq!(told[1..], ["shows 1 of 2 rows, the last"], "{told:?}");
    // A worker comes back meanwhile: it is welcome, and waits.
    let back = Sender {
        worker: paceline_model::WorkerId(1),
        incarnation: paceline_sync::Incarnation(1),
    };
    let shard = &mut bench.shard;
    shard
        .on_message(back, Message::Join, Tick(1), &mut bench.events)
        .unwrap();
    let read = Message::Read { clock: Clock(1) };
    shard
        .on_message(back, read, Tick(1), &mut bench.events)
        .unwrap();
    assert!(!bench.told().iter().any(|words| words.contains("starts")));
    bench.shard.rules_mut().waived(&mut bench.events);
    assert_eq!(bench.told(), ["shows 1 of 0 rows, the last"]);
    assert!(bench.shard.rules().is_over());
}

#[test]
fn with_backups_a_shard_at_the_end_lets_workers_go_on_for_the_others() {
    let mut bench = Bench::new("backup:1", 1, 100);
    bench.push(0, 0, 1.0).unwrap();
    let told = bench.told();
    assert!(
        told.contains(&"shows 1 of 1 rows, the last".to_owned()),
        "{told:?}"
    );
    let value = bench.value();
    bench.push(1, 0, 5.0).unwrap();
    assert_eq!(bench.told(), ["worker1 starts 1"]);
    assert_eq!(bench.value().to_bits(), value.to_bits());
}

#[test]
fn a_loss_that_is_no_number_ends_everything() {
    let mut bench = Bench::new("bsp", 100, 100);
    bench.push_loss(0, 0, 1.0, f64::NAN).unwrap();
    assert_eq!(bench.told(), ["Diverged"]);
    bench.push(1, 0, 1.0).unwrap();
    assert_eq!((bench.value(), bench.told()), (0.0, vec![]));
}

#[test]
fn an_update_that_comes_too_late_is_told_with_the_next_iteration() {
    let mut bench = Bench::new("backup:1", 100, 100);
    bench.push(0, 0, 1.0).unwrap();
    bench.told();
    assert_eq!(bench.push(1, 0, 5.0), Ok(Receipt::Late));
    let late = bench.events.iter().any(
        |event| matches!(event, ShardEvent::Proceed { to, is_late: true, .. } if to.worker.0 == 1),
    );
    assert!(late);
    // The mean of one, for two workers.
    assert!((bench.value() + 2.0).abs() < 1e-6);
}

#[test]
fn a_stranger_is_refused_and_a_loss_is_told() {
    let mut bench = Bench::unjoined("bsp", 100, 100);
    assert!(matches!(
        bench.push(0, 0, 1.0),
        Err(Refusal::NotAMember { .. })
    ));
    bench.say(0, Message::Join).unwrap();
    bench.events.clear();
    bench
        .shard
        .on_disconnect(Sender::first(0), Tick(9), &mut bench.events);
    assert!(matches!(
        bench.events[..],
        [ShardEvent::Lost {
            worker: 0,
            cause: LossCause::Disconnected,
            ..
        }]
    ));
}

#[test]
fn a_worker_that_is_gone_for_good_is_not_waited_for() {
    let mut bench = Bench::new("bsp", 100, 100);
    bench.push(0, 0, 1.0).unwrap();
    bench.shard.on_worker_gone(1, Tick(1), &mut bench.events);
    assert_eq!(
        bench.told().last().map(String::as_str),
        Some("worker0 starts 1")
    );
    assert!(
        (bench.value() + 2.0).abs() < 1e-6,
        "the mean of one for two"
    );
}
