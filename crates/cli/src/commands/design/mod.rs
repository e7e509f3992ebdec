//! `paceline design`: what a study will run and what it will be able to tell.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::quantity;
use crate::records;
use crate::study_file;
use anyhow::anyhow;
use clap::ValueEnum;
use paceline_answers::design::{
    self as planned_design, Facts, Planned, Question, TimePerRun, Wanted,
};
use paceline_design::{Effect, ModelTerms};
use paceline_model::Verdict;
use paceline_runner::study::plan;
use paceline_study::Study;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study: its file, or its directory
    study: PathBuf,
    /// Levels and keys instead of the file's, as in batch_size=64,128 or design.replicates=5
    #[arg(value_name = "NAME=VALUE")]
    overrides: Vec<String>,
    /// How to print it; csv is the planned runs alone
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// How long one run takes, as in 90s or 1h30m: gives the expected time
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    estimate: Option<Duration>,
    /// A run made before, by directory or id, whose duration stands for every run's
    #[arg(long, value_name = "RUN", conflicts_with = "estimate")]
    pilot: Option<PathBuf>,
    /// A change of the response worth finding, in its unit: gives the power
    #[arg(long, value_name = "SIZE", requires = "noise")]
    effect: Option<f64>,
    /// The standard deviation of the response between runs of one trial
    #[arg(long, value_name = "SD", requires = "effect")]
    noise: Option<f64>,
    /// How often a test may cry wolf
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.05)]
    alpha: f64,
    /// The terms to estimate: main, interactions, quadratic, or a formula such as
    /// `a + b + a:b + a^2`, in which a*b stands for a + b + a:b; chosen by the design by default
    #[arg(long)]
    model: Option<String>,
    /// Effects of up to so many factors are in the alias table
    #[arg(long, value_name = "FACTORS", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    aliases: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// The planned runs, one per line
    Csv,
    /// For programs; the keys are a promise
    Json,
}

pub(crate) fn design(args: &Args) -> Result<Exit, Failure> {
    let effect = effect(args)?;
    let study = study_file::load(&args.study, &args.overrides)?;
    let model = args
        .model
        .as_deref()
        .map(|text| model(&study, text))
        .transpose()?;
    let time = time_per_run(args)?;
    let (design, plan) = plan(&study)?;
    let planned = Planned {
        path: args.study.clone(),
        study,
        design,
        plan,
    };
    let question = Question {
        model,
        effect,
        alias_order: args.aliases,
        time,
    };
    let text = match args.format {
        Format::Csv => planned_design::csv(&planned.plan),
        Format::Text => {
            let facts = Facts::gather(&planned, question).map_err(Failure::user)?;
            paceline_report::design::text(&planned, &facts, output::stdout_page())
        }
        Format::Json => {
            let facts = Facts::gather(&planned, question).map_err(Failure::user)?;
            output::versioned(&planned_design::json(&planned, &facts))
        }
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

fn effect(args: &Args) -> Result<Option<Wanted>, Failure> {
    let Some((size, noise_sd)) = args.effect.zip(args.noise) else {
        return Ok(None);
    };
    let alpha = args.alpha;
    let effect = Effect::new(size, noise_sd, alpha).map_err(Failure::user)?;
    Ok(Some(Wanted {
        effect,
        size,
        noise_sd,
        alpha,
    }))
}

/// A formula may be written as for `paceline analyze`, with its response.
fn model(study: &Study, text: &str) -> Result<ModelTerms, Failure> {
    let terms = text.split_once('~').map_or(text, |(_, terms)| terms).trim();
    study.model_terms(terms).map_err(|mut problem| {
        let hint = problem.hint.take();
        Failure::user(anyhow!(problem.render("--model"))).hint(hint.unwrap_or_else(|| {
            "write main, interactions, quadratic, or factors as in a + b + a:b + a^2".to_owned()
        }))
    })
}

fn time_per_run(args: &Args) -> Result<Option<TimePerRun>, Failure> {
    match (&args.pilot, args.estimate) {
        (Some(pilot), _) => Ok(Some(TimePerRun {
            seconds: pilot_seconds(pilot)?,
            source: format!("as in {}", pilot.display()),
        })),
        (None, Some(time)) => Ok(Some(TimePerRun {
            seconds: time.as_secs_f64(),
            source: "as estimated".to_owned(),
        })),
        (None, None) => Ok(None),
    }
}

fn pilot_seconds(pilot: &Path) -> Result<f64, Failure> {
    let run = records::open(&records::find(Some(pilot))?)?;
    match &run.manifest().end {
        Some(end) if end.outcome.verdict() == Verdict::Done => Ok(end.duration.as_secs()),
        _ => Err(
            Failure::user(anyhow!("{} is not a run that is done", pilot.display()))
                .hint("a pilot must have come to its end; or give its time with --estimate"),
        ),
    }
}
