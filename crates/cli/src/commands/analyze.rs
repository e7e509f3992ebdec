//! `paceline analyze`: what matters for a response, and whether to believe it.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::output::{self, Page};
use anyhow::anyhow;
use clap::ValueEnum;
use paceline_answers::table_file::TableFile;
use paceline_answers::{study_file, units};
use paceline_records::study::{Plan, ReadPlanError, StudyDir};
use paceline_report::analyze::AnalysisReport;
use paceline_report::number::count;
use paceline_report::text::Style;
use paceline_stats::analysis::{AnalysisOptions, AnalyzeError, analyze as analysed};
use paceline_stats::anova::AnovaType;
use paceline_stats::formula::{Formula, ResolveProblem, TermOrder};
use paceline_study::Capabilities;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The table: a CSV file, or the directory of a study
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
    let file = TableFile::read(&args.table)?;
    let response = response(args)?;
    // A study's plan says which columns are its factors and in which order the
    // runs were made; the rest of its table is what came of them.
    let plan = study_plan(&args.table)?;
    let planned = plan.as_ref().map(|plan| plan.factors.as_slice());
    let study = plan
        .as_ref()
        .and_then(|_| study_file::load(&args.table, &[], &Capabilities::ALL).ok());
    let units = study.as_ref().map_or_else(Vec::new, units::of);
    let options = AnalysisOptions {
        formula: args.formula.as_deref(),
        factors: args
            .by
            .as_deref()
            .or(planned.filter(|_| args.formula.is_none())),
        kind: args.kind,
        order: match args.written_order {
            true => TermOrder::Written,
            false => TermOrder::ByDegree,
        },
        units: &units,
        run_order: args.order.as_deref().or(plan.as_ref().map(|_| "order")),
        ..AnalysisOptions::default()
    };
    let analysis =
        analysed(&file.table, &response, &options).map_err(|error| explain(error, &file))?;
    let report = AnalysisReport {
        analysis: &analysis,
        confidence: options.confidence,
        source: file.path.display().to_string(),
        remarks: remarks(&file),
    };
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
    Ok(Exit::Done)
}

/// The plan of the study in `dir`, if there is one.
fn study_plan(dir: &Path) -> Result<Option<Plan>, Failure> {
    match Plan::read(&StudyDir::new(dir).plan()) {
        Ok(plan) => Ok(Some(plan)),
        Err(ReadPlanError::Absent(_)) => Ok(None),
        Err(error) => Err(Failure::record(error)),
    }
}

fn response(args: &Args) -> Result<String, Failure> {
    match (&args.response, &args.formula) {
        (Some(response), _) => Ok(response.clone()),
        (None, Some(formula)) => {
            let formula = Formula::parse(formula).map_err(Failure::user)?;
            Ok(formula.response_text().to_owned())
        }
        (None, None) => Err(Failure::user(anyhow!("no response is named"))
            .hint("name the column to explain with --response")),
    }
}

/// What the reader must know of the table beside its numbers.
fn remarks(file: &TableFile) -> Vec<String> {
    let mut remarks = Vec::new();
    match file.left_out {
        0 => {}
        1 => remarks.push("1 run that is not done was left out".to_owned()),
        n => remarks.push(format!(
            "{} runs that are not done were left out",
            count(n as u64)
        )),
    }
    match file.unnamed {
        0 => {}
        1 => remarks.push("1 column without a name was left out".to_owned()),
        n => remarks.push(format!("{n} columns without a name were left out")),
    }
    remarks
}

/// An error about a data row, told by the line of the file.
fn explain(error: AnalyzeError, file: &TableFile) -> Failure {
    let place = |row: usize| match file.line_of(row) {
        Some(line) => format!("line {line}"),
        None => format!("row {row}"),
    };
    let AnalyzeError::Resolve(problem) = &error else {
        return Failure::user(error);
    };
    match problem.problem() {
        ResolveProblem::TextInNumericColumn { column, row, value } => Failure::user(anyhow!(
            "{}: `{value}` in column `{column}` is not a number",
            place(*row)
        ))
        .hint(format!(
            "if its values are categories, write C({column}) in a formula"
        )),
        ResolveProblem::NotFinite {
            expression,
            row,
            value,
        } => Failure::user(anyhow!("{}: `{expression}` is {value}", place(*row)))
            .hint("remove the row, or correct the value"),
        _ => Failure::user(error),
    }
}
