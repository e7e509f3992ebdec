//! What synchronising costs: an iteration of BSP beyond its compute, and two
//! workers against one.

use super::group::WORKERS;
use super::models::{BATCH, cluster, single};
use crate::bench::train::verdict;
use crate::bench::{Options, trainer};
use anyhow::Result;

/// A softmax model of 25,010 parameters: 100 KB.
const MODEL: (&str, &str) = (
    "softmax",
    "synthetic:blobs,rows=10000,width=2500,classes=10",
);
/// Few rows, so that compute hides nothing.
const SMALL_BATCH: f64 = 10.0;
const OVERHEAD_TARGET_MICROS: f64 = 60.0;
const SPEEDUP_TARGET: f64 = 1.8;

/// Two paragraphs; what the product refuses is said in them.
pub(crate) fn run(options: Options) -> String {
    println!("overhead and speed-up");
    let parts = [
        iteration(options, "processes"),
        iteration(options, "threads"),
        speedup(options, "processes"),
        speedup(options, "threads"),
    ];
    let lines: Vec<String> = parts
        .into_iter()
        .map(|part| part.unwrap_or_else(|error| format!("- absent: {error:#}")))
        .collect();
    format!("### What synchronising costs\n\n{}", lines.join("\n"))
}

fn iteration(options: Options, spawn: &str) -> Result<String> {
    let batch = SMALL_BATCH.to_string();
    let workers = WORKERS.to_string();
    let words = cluster(MODEL.0, MODEL.1, &batch, &workers, ("bsp", spawn));
    let (mut alone, mut together) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..options.turns() {
        let rate = trainer::rate(&single(MODEL.0, MODEL.1, &batch), options.seconds())?;
        alone = alone.min(1e6 * SMALL_BATCH / rate);
        let rate = trainer::rate(&words, options.seconds())?;
        together = together.min(1e6 * SMALL_BATCH * WORKERS as f64 / rate);
    }
    let overhead = together - alone;
    let judged = verdict(OVERHEAD_TARGET_MICROS, overhead);
    Ok(format!(
        "- BSP of a model of 100 KB between {spawn}, batches of {batch} rows: {together:.1} µs an \
         iteration, {alone:.1} µs of one worker alone, so {overhead:.1} µs beyond compute; the \
         target between processes is under {OVERHEAD_TARGET_MICROS} µs, {judged}."
    ))
}

fn speedup(options: Options, spawn: &str) -> Result<String> {
    let (mut one, mut two) = (0f64, 0f64);
    let workers = WORKERS.to_string();
    for _ in 0..options.turns() {
        let words = cluster("lenet5", "mnist", BATCH, "1", ("bsp", spawn));
        one = one.max(trainer::rate(&words, options.seconds())?);
        let words = cluster("lenet5", "mnist", BATCH, &workers, ("bsp", spawn));
        two = two.max(trainer::rate(&words, options.seconds())?);
    }
    let ratio = two / one;
    let judged = verdict(ratio, SPEEDUP_TARGET);
    Ok(format!(
        "- LeNet-5, bsp between {spawn}: {two:.0} rows a second of two workers, {one:.0} of one: \
         {ratio:.2}×; the target is {SPEEDUP_TARGET}×, {judged}."
    ))
}
