//! Paceline's side of `cargo xtask bench promises`: predictions, picks and the time
//! they take, as JSON lines. Python's side reads the divisions from these lines.
//!
//! ```text
//! cargo run --release -p paceline-advise --example promises -- FOLDER TABLES [PREDICTOR]
//! ```

#![expect(clippy::print_stdout, reason = "the lines are the result")]

mod table;

use paceline_advise::Threads;
use paceline_advise::pick::{Constraint, Objective, PickRequest, Verdict, pick};
use paceline_advise::predict::{Choice, Kind, PredictOptions, Predictor};
use paceline_advise::runs::Configuration;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use table::{Division, Table, divide};

const COUNTS: [usize; 4] = [8, 16, 24, 40];
/// Runs that a table is judged by.
const TESTED: usize = 30;
const CONFIDENCE: f64 = 0.95;
/// Judged cell by cell, with this many runs to learn from.
const BY_CELL: (&str, usize) = ("unequal-cells", 120);

/// One table to learn from.
struct Task<'a> {
    table: &'a Table,
    count: usize,
    number: usize,
}

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, tables, rest @ ..] = words.as_slice() else {
        return Err("FOLDER TABLES [PREDICTOR]".to_owned());
    };
    let tables: usize = tables
        .parse()
        .map_err(|_| "TABLES is a number".to_owned())?;
    let choice = match rest.first().map(String::as_str) {
        None | Some("auto") => Choice::Auto,
        Some(name) => Choice::Only(Kind::parse(name).ok_or("there is no such predictor")?),
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "csv"))
        .collect();
    files.sort();
    let sets = files
        .iter()
        .map(|path| Table::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let mut tasks = Vec::new();
    for table in &sets {
        let counts = match table.name == BY_CELL.0 {
            true => &[BY_CELL.1][..],
            false => &COUNTS,
        };
        for &count in counts {
            tasks.extend((0..tables).map(|number| Task {
                table,
                count,
                number,
            }));
        }
    }
    let next = AtomicUsize::new(0);
    let out = Mutex::new(());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let lines = task.lines(choice);
                    let _held = out.lock();
                    for line in lines {
                        println!("{line}");
                    }
                }
            });
        }
    });
    println!("{}", speed(Path::new(folder), choice)?);
    Ok(())
}

fn options(choice: Choice, seed: u64) -> PredictOptions {
    PredictOptions {
        choice,
        coverage: CONFIDENCE,
        seed,
        threads: Threads::ONE,
        ..PredictOptions::default()
    }
}

impl Task<'_> {
    fn lines(&self, choice: Choice) -> Vec<Value> {
        let name = self.table.name.bytes().fold(7_u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let seed = name
            .wrapping_mul(1000)
            .wrapping_add((self.count * 1000 + self.number) as u64);
        let mut division = divide(self.table, self.count, TESTED, seed);
        let known = self.table.runs.select(&division.train);
        let fit = |response| {
            Predictor::fit(&known, response, &options(choice, self.number as u64 + 1)).ok()
        };
        let mut lines = Vec::new();
        let Some(time) = fit("time") else {
            return vec![json!({ "kind": "none", "set": self.table.name, "n": self.count })];
        };
        lines.push(self.predictions(&division, &time));
        if self.table.name != BY_CELL.0
            && let Some(accuracy) = fit("accuracy")
        {
            lines.push(self.pick(&mut division, &[time, accuracy]));
        }
        lines
    }

    fn predictions(&self, division: &Division, predictor: &Predictor) -> Value {
        let runs = &self.table.runs;
        let truth = runs.response("time").unwrap_or_default();
        let at: Vec<&Configuration> = division
            .test
            .iter()
            .map(|&row| &runs.settings()[row])
            .collect();
        let predictions: Vec<_> = at
            .iter()
            .map(|at| predictor.predict(at, CONFIDENCE))
            .collect();
        let ends: Vec<_> = predictions.iter().map(|p| p.interval.ends()).collect();
        let seen = |at: &Configuration| {
            division
                .train
                .iter()
                .any(|&row| runs.settings()[row] == *at)
        };
        json!({
            "kind": "prediction",
            "set": self.table.name,
            "n": self.count,
            "table": self.number,
            "train": division.train,
            "test": division.test,
            "truth": division.test.iter().map(|&row| truth[row]).collect::<Vec<_>>(),
            "value": predictions.iter().map(|p| p.value).collect::<Vec<_>>(),
            "low": ends.iter().map(|ends| ends.map(|(low, _)| low)).collect::<Vec<_>>(),
            "high": ends.iter().map(|ends| ends.map(|(_, high)| high)).collect::<Vec<_>>(),
            "seen": at.iter().map(|at| seen(at)).collect::<Vec<_>>(),
            "cell": at.iter().map(|at| format!("{at:?}")).collect::<Vec<_>>(),
        })
    }

    /// A deadline between the quick and the slow runs of the whole table, and a pick
    /// among the settings that were seen.
    fn pick(&self, division: &mut Division, predictors: &[Predictor]) -> Value {
        let runs = &self.table.runs;
        let time = runs.response("time").unwrap_or_default();
        let accuracy = runs.response("accuracy").unwrap_or_default();
        let mut sorted = time.to_vec();
        sorted.sort_by(f64::total_cmp);
        let share = 0.1 + 0.8 * division.draws.unit();
        let limit = sorted[(share * sorted.len() as f64) as usize];
        let known = runs.select(&division.train);
        let request = PickRequest {
            objective: Objective::Maximise("accuracy".to_owned()),
            constraints: vec![Constraint::at_most("time", limit)],
            confidence: CONFIDENCE,
            coverage: CONFIDENCE,
        };
        let seen = known.distinct_settings();
        let mean =
            |rows: &[usize]| rows.iter().map(|&row| accuracy[row]).sum::<f64>() / rows.len() as f64;
        // A setting is taken to keep the deadline if all of its runs did.
        let possible = seen.iter().filter_map(|setting| {
            let rows = self.table.rows_of(setting);
            rows.iter()
                .all(|&row| time[row] <= limit)
                .then(|| mean(&rows))
        });
        let possible = possible.fold(f64::NEG_INFINITY, f64::max);
        let answer = pick(predictors, &seen, &request);
        let mut line = json!({
            "kind": "pick",
            "set": self.table.name,
            "n": self.count,
            "table": self.number,
            "limit": limit,
            "feasible": possible.is_finite(),
            "stated": null,
        });
        if let Ok(answer) = answer
            && let Verdict::Met { best, .. } = answer.verdict
        {
            let rows = self.table.rows_of(&best.configuration);
            let fresh: Vec<usize> = rows
                .iter()
                .copied()
                .filter(|row| !division.train.contains(row))
                .collect();
            let kept = fresh.iter().filter(|&&row| time[row] <= limit).count();
            line["stated"] = json!(best.chances[0]);
            line["fresh"] = json!(fresh.len());
            line["kept"] = json!(kept);
            if possible.is_finite() {
                line["regret"] = json!((possible - mean(&rows)).max(0.0));
            }
        }
        line
    }
}

/// Fit and a thousand candidates from forty runs, one thread, the best of five.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn speed(folder: &Path, choice: Choice) -> Result<Value, String> {
    let table = Table::read(&folder.join("amdahl.csv"))?;
    let division = divide(&table, 40, TESTED, 1);
    let known = table.runs.select(&division.train);
    let candidates: Vec<Vec<f64>> = (0..1000)
        .map(|i| {
            vec![
                f64::from(i % 8 + 1),
                32.0 + 0.48 * f64::from(i),
                f64::from(i % 2),
            ]
        })
        .collect();
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        let begun = Instant::now();
        let predictor =
            Predictor::fit(&known, "time", &options(choice, 1)).map_err(|e| e.to_string())?;
        let fitted = begun.elapsed().as_secs_f64();
        let beliefs = predictor.beliefs(&candidates);
        let known = beliefs
            .iter()
            .filter(|belief| {
                let interval = predictor.interval(belief, CONFIDENCE).interval;
                interval.ends().is_some() && predictor.at_most(belief, 200.0) > 0.0
            })
            .count();
        let all = begun.elapsed().as_secs_f64();
        if all < best.0 {
            best = (all, fitted);
        }
        assert!(known > 0, "a thousand candidates were predicted");
    }
    Ok(json!({ "kind": "speed", "fit_s": best.1, "with_candidates_s": best.0 }))
}
