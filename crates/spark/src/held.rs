//! What held an application back: how long it would have taken without it, by
//! simulating its own tasks.

use crate::application::{Application, Stage};
use crate::simulate::{Changes, Script, durations, measured};

/// Something that takes time and could take less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The driver worked while no job ran.
    Driver,
    /// Stages waited for executors or the scheduler, with slots free.
    Waits,
    /// Tasks of a stage were unequal, so that slots waited for the longest.
    Skew,
    /// Stages had too few tasks for the slots, or a number that leaves slots over.
    FewTasks,
    /// The garbage collector stopped tasks.
    Gc,
    /// Tasks waited for other executors' shuffle data.
    FetchWait,
    /// Launching and unpacking tasks.
    TaskOverhead,
    /// There were too few slots: twice as many would have helped.
    Slots,
}

/// What going without a cause would save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saving {
    /// What is taken away.
    pub cause: Cause,
    /// How much shorter the simulated application is then.
    pub saved_ms: u64,
}

/// The application with other executors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WhatIf {
    /// How many executors of the size that ran.
    pub executors: u32,
    /// How many slots they have.
    pub slots: u32,
    /// How long the simulated application takes; nothing if a stage whose tasks
    /// must run together does not fit.
    pub wall_ms: Option<u64>,
}

/// What held an application back. All but the first two are estimates: other
/// executors would also change locality, contention and garbage collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// As measured.
    pub wall_ms: u64,
    /// How long no stage was running, as measured.
    pub driver_ms: u64,
    /// What the simulation says of the very slots that ran: how far it can be
    /// trusted.
    pub simulated_ms: u64,
    /// With endless slots: the driver and the longest chain of longest tasks.
    pub critical_ms: u64,
    /// With the same slots, never idle while a stage runs.
    pub ideal_ms: u64,
    /// All tasks on one slot.
    pub one_slot_ms: u64,
    /// What each cause costs, the most first; those that cost nothing are left out.
    pub savings: Vec<Saving>,
    /// Other numbers of executors, the number that ran among them.
    pub what_if: Vec<WhatIf>,
}

impl Cause {
    /// A word that programs can rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Waits => "waits",
            Self::Skew => "skew",
            Self::FewTasks => "few_tasks",
            Self::Gc => "gc",
            Self::FetchWait => "fetch_wait",
            Self::TaskOverhead => "task_overhead",
            Self::Slots => "slots",
        }
    }
}

/// A cause that would save less than this share of the time is no finding.
const LEAST_SHARE: f64 = 0.05;

impl Held {
    /// Simulates `application`; nothing if it ran no task.
    #[must_use]
    pub fn of(application: &Application) -> Option<Self> {
        let script = Script::of(application);
        let slots = application.slots();
        if script.is_empty() || slots == 0 {
            return None;
        }
        let run = |slots: u32, driver: bool, waits: bool, tasks: &dyn Fn(&Stage) -> Vec<u32>| {
            script.run(&Changes {
                slots,
                driver,
                waits,
                tasks,
            })
        };
        let with_slots = |slots| run(slots, true, true, &measured);
        // A barrier stage ran, so its slots were there; executors may have come
        // and gone so that the peak counts fewer.
        let simulated = with_slots(slots)?;
        let even = run(slots, true, true, &evened)?;
        let without = |part: &dyn Fn(&crate::application::Task) -> u32| {
            run(slots, true, true, &|stage: &Stage| {
                durations(stage, |task| task.duration_ms.saturating_sub(part(task)))
            })
        };
        let spread = run(slots, true, true, &|stage: &Stage| spread(stage, slots))?;
        let alternatives = [
            (Cause::Driver, simulated, run(slots, false, true, &measured)),
            (Cause::Waits, simulated, run(slots, true, false, &measured)),
            (Cause::Skew, simulated, Some(even)),
            (Cause::FewTasks, even, Some(spread)),
            (Cause::Gc, simulated, without(&|task| task.gc_ms)),
            (
                Cause::FetchWait,
                simulated,
                without(&|task| task.fetch_wait_ms),
            ),
            (
                Cause::TaskOverhead,
                simulated,
                without(&|task| task.overhead_ms),
            ),
            (Cause::Slots, simulated, with_slots(slots.saturating_mul(2))),
        ];
        let mut savings: Vec<Saving> = alternatives
            .into_iter()
            .filter_map(|(cause, from, to)| {
                let saved_ms = from.saturating_sub(to?);
                (saved_ms > 0).then_some(Saving { cause, saved_ms })
            })
            .collect();
        savings.sort_by_key(|saving| std::cmp::Reverse(saving.saved_ms));
        let busy = application.totals.duration_ms;
        let wall_ms = application.wall_ms();
        let driver_ms = application.driver_ms();
        Some(Self {
            wall_ms,
            driver_ms,
            simulated_ms: simulated,
            critical_ms: with_slots(script.endless().max(slots))?,
            ideal_ms: driver_ms + busy / u64::from(slots),
            one_slot_ms: driver_ms + busy,
            savings,
            what_if: what_if(application, slots, &with_slots),
        })
    }

    /// What cost the most, if it cost enough to speak of.
    #[must_use]
    pub fn verdict(&self) -> Option<Saving> {
        let first = *self.savings.first()?;
        (first.saved_ms as f64 >= LEAST_SHARE * self.simulated_ms as f64).then_some(first)
    }
}

/// Every task as long as the stage's mean.
fn evened(stage: &Stage) -> Vec<u32> {
    let sum: u64 = stage
        .tasks
        .iter()
        .map(|task| u64::from(task.duration_ms))
        .sum();
    let count = stage.tasks.len().max(1) as u64;
    let mean = u32::try_from(sum.div_ceil(count)).unwrap_or(u32::MAX);
    vec![mean; stage.tasks.len()]
}

/// The stage's work in as many equal parts as there are slots.
fn spread(stage: &Stage, slots: u32) -> Vec<u32> {
    if stage.barrier {
        return evened(stage);
    }
    let sum: u64 = stage
        .tasks
        .iter()
        .map(|task| u64::from(task.duration_ms))
        .sum();
    let part = sum.div_ceil(u64::from(slots.max(1)));
    vec![u32::try_from(part).unwrap_or(u32::MAX); slots.max(1) as usize]
}

/// Half, the same and up to sixteen times as many executors, fewer where more
/// would bring nothing.
fn what_if(
    application: &Application,
    slots: u32,
    wall: &dyn Fn(u32) -> Option<u64>,
) -> Vec<WhatIf> {
    let executors = application.peak_executors().max(1);
    let each = (slots / executors).max(1);
    let mut counts = vec![1, executors.div_ceil(2), executors];
    counts.extend([2, 4, 8, 16].map(|times| executors.saturating_mul(times)));
    counts.sort_unstable();
    counts.dedup();
    let mut rows: Vec<WhatIf> = Vec::new();
    for executors_then in counts {
        let slots_then = match executors_then == executors {
            true => slots,
            false => executors_then.saturating_mul(each),
        };
        let row = WhatIf {
            executors: executors_then,
            slots: slots_then,
            wall_ms: wall(slots_then),
        };
        let last = rows.last().and_then(|last| last.wall_ms);
        let brings_nothing = executors_then > executors
            && last.zip(row.wall_ms).is_some_and(|(last, now)| now >= last);
        if brings_nothing {
            break;
        }
        rows.push(row);
    }
    rows
}
