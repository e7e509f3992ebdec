//! `paceline predict-batch`: what a trained model says of each row.

use crate::commands::evaluate::best;
use crate::commands::train::{Trained, usable_cpus};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run of `paceline train`, or a checkpoint file
    #[arg(value_name = "RUN|FILE")]
    trained: PathBuf,
    /// Other data than the model was trained on; its test rows are predicted
    #[arg(long)]
    data: Option<String>,
    /// Print the score of every class beside the answer
    #[arg(long)]
    scores: bool,
    /// Where the CSV goes [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn predict_batch(args: &Args) -> Result<Exit, Failure> {
    let mut trained = Trained::open(&args.trained, args.data.as_deref(), usable_cpus()?)?;
    let scores = trained.scores()?;
    let labels = trained.data.test.labels();
    let names = labels.names();
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut header = vec!["row".to_owned(), "label".to_owned(), "predicted".to_owned()];
    if args.scores {
        header.extend(names.iter().map(|name| format!("score_{name}")));
    }
    let mut write = |record: &[String]| {
        table
            .write_record(record)
            .expect("memory takes rows of equal length");
    };
    write(&header);
    for (number, (row, label)) in scores.chunks(names.len()).zip(labels.iter()).enumerate() {
        let mut record = vec![
            number.to_string(),
            names[*label as usize].clone(),
            names[best(row)].clone(),
        ];
        if args.scores {
            record.extend(row.iter().map(f32::to_string));
        }
        write(&record);
    }
    let bytes = table.into_inner().expect("memory is always flushed");
    match &args.out {
        Some(path) => {
            paceline_records::write_file(path, &bytes).map_err(Failure::world)?;
            output::tell(&format!(
                "{} rows written to {}",
                labels.len(),
                path.display()
            ));
        }
        None => output::data(&String::from_utf8_lossy(&bytes))?,
    }
    Ok(Exit::Done)
}
