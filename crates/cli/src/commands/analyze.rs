//! `paceline analyze`: what matters for a response, and whether to believe it.

use super::table_args::{open, tell_disturbed};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::output::{self, Page};
use clap::ValueEnum;
use paceline_answers::analyze::{AnalyzeQuestion, analyze as analysed};
use paceline_report::analyze::AnalysisReport;
use paceline_report::text::Style;
use paceline_stats::anova::AnovaType;
use paceline_stats::formula::TermOrder;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The table: a CSV file, or a study: its directory or its file
    table: PathBuf,
    /// The column to explain; a formula may name it instead
    #[arg(long, value_name = "COLUMN", required_unless_present = "formula")]
    response: Option<String>,
    /// The model, as in `time ~ workers*batch_size`; chosen from the table by default
    #[arg(long)]
    formula: Option<String>,
    /// The sums of squares: 1 one after another, 2 after the other terms, 3 after all
    #[arg(long = "type", value_name = "1|2|3", default_value = "2", value_parser = kind)]
    kind: AnovaType,
    /// Keep the terms in the order of the formula; by default main effects come first
    #[arg(long, requires = "formula")]
    written_order: bool,
    /// The columns that a chosen model may use
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        conflicts_with = "formula"
    )]
    by: Option<Vec<String>>,
    /// The column that tells in which order the runs were made; a study knows it
    #[arg(long, value_name = "COLUMN")]
    order: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where to write it; by default stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For programs; the keys are a promise
    Json,
    /// A page with plots that needs nothing else
    Html,
}

/// What text in a file is laid out for.
const FILE: Page = Page {
    width: 100,
    style: Style::Plain,
};

fn kind(text: &str) -> Result<AnovaType, &'static str> {
    match text {
        "1" | "I" => Ok(AnovaType::I),
        "2" | "II" => Ok(AnovaType::II),
        "3" | "III" => Ok(AnovaType::III),
        _ => Err("there are 1, 2 and 3"),
    }
}

pub(crate) fn analyze(args: &Args) -> Result<Exit, Failure> {
    // A place that cannot be written to is found before the work, not after.
    let out = args.out.as_deref().map(OutFile::create).transpose()?;
    let results = open(&args.table)?;
    let question = AnalyzeQuestion {
        response: args.response.clone(),
        formula: args.formula.clone(),
        kind: args.kind,
        by: args.by.clone(),
        order: args.order.clone(),
        terms: match args.written_order {
            true => TermOrder::Written,
            false => TermOrder::ByDegree,
        },
    };
    let answer = analysed(&results, &question)?;
    let report = AnalysisReport::new(&results, &answer);
    let text = match args.format {
        Format::Text => {
            let page = match out {
                Some(_) => FILE,
                None => output::stdout_page(),
            };
            report.text(page.width, page.style)
        }
        Format::Json => output::json(&report.json()),
        Format::Html => report.html(),
    };
    match out {
        Some(out) => drop(out.finish(&text)?),
        None => output::data(&text)?,
    }
    tell_disturbed(&results, args.response.as_deref(), "--response");
    Ok(Exit::Done)
}
