//! `paceline eval`: how good a trained model is.

use crate::args::Format;
use crate::commands::train::{Trained, usable_cpus};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use paceline_report::number;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run of `paceline train`, or a checkpoint file
    #[arg(value_name = "RUN|FILE")]
    trained: PathBuf,
    /// Other data than the model was trained on; its test rows count
    #[arg(long)]
    data: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn evaluate(args: &Args) -> Result<Exit, Failure> {
    let mut trained = Trained::open(&args.trained, args.data.as_deref(), usable_cpus()?)?;
    let judged = trained.evaluate()?;
    let confusion = confusion(&mut trained)?;
    let names = trained.data.test.labels().names().to_vec();
    match args.format {
        Format::Json => output::data(&output::json(&serde_json::json!({
            "checkpoint": trained.path,
            "model": trained.model,
            "data": trained.data.test.name(),
            "steps": trained.steps,
            "rows": judged.rows,
            "test_loss": judged.loss,
            "test_accuracy": judged.accuracy(),
            "classes": names,
            "confusion": confusion,
        })))?,
        Format::Text => {
            let after = trained.steps.map_or(String::new(), |steps| {
                format!(" after {} steps", number::count(steps))
            });
            let loss = judged.loss.map_or(String::new(), |loss| {
                format!("loss {}, ", number::significant(loss, 4))
            });
            let mut text = format!(
                "{}{after}, on {} test rows of {}\n{loss}accuracy {:.2}%\n\n",
                trained.model,
                number::count(judged.rows),
                trained.data.test.name(),
                100.0 * judged.accuracy(),
            );
            text.push_str(&by_class(&names, &confusion));
            output::data(&text)?;
        }
    }
    Ok(Exit::Done)
}

/// How many rows of each class (outer) were taken for each class (inner).
fn confusion(trained: &mut Trained) -> Result<Vec<Vec<u64>>, Failure> {
    let classes = trained.data.test.classes();
    let scores = trained.scores()?;
    let mut counts = vec![vec![0; classes]; classes];
    let labels = trained.data.test.labels();
    for (row, label) in scores.chunks(classes).zip(labels.iter()) {
        counts[*label as usize][best(row)] += 1;
    }
    Ok(counts)
}

/// The class with the largest score; the first of equals.
pub(crate) fn best(scores: &[f32]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best
}

fn by_class(names: &[String], confusion: &[Vec<u64>]) -> String {
    let mut text = format!(
        "{:<14}{:>8}{:>9}{:>11}   most often taken for\n",
        "class", "rows", "recall", "precision"
    );
    for (class, row) in confusion.iter().enumerate() {
        let rows: u64 = row.iter().sum();
        let taken: u64 = confusion.iter().map(|row| row[class]).sum();
        let share = |part: u64, whole: u64| match whole {
            0 => "–".to_owned(),
            _ => format!("{:.1}%", 100.0 * part as f64 / whole as f64),
        };
        let wrong = row
            .iter()
            .enumerate()
            .filter(|(other, count)| *other != class && **count > 0)
            .max_by_key(|(_, count)| **count)
            .map_or(String::new(), |(other, count)| {
                format!("{} ({count})", names[other])
            });
        text.push_str(&format!(
            "{:<14}{:>8}{:>9}{:>11}   {wrong}\n",
            names[class],
            number::count(rows),
            share(row[class], rows),
            share(row[class], taken),
        ));
    }
    text
}
