//! `paceline compare`: whether runs differ, and in what.

mod page;

use super::run::series::{self, Wanted};
use super::run::{MeasureArgs, Terminal};
use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::output;
use crate::records::{find, open};
use anyhow::anyhow;
use paceline_answers::compare::{CompareAnswer, Group, Measured};
use paceline_answers::report::read;
use paceline_records::State;
use paceline_records::series::{Series, letter};
use paceline_runner::reports::MetricPattern;
use paceline_study::EngineSettings;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Between two commands.
const BETWEEN: &str = "---";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The runs to compare with the first: each a run as `show` takes it, several of them with
    /// commas between, or the directory of `run --repeat` or of an earlier comparison
    #[arg(
        value_name = "RUNS",
        conflicts_with = "command",
        allow_negative_numbers = true
    )]
    runs: Vec<PathBuf>,
    /// How often each command is run, in turn and in an order drawn by lot
    #[arg(long, value_name = "N", default_value_t = 10, requires = "command", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: u32,
    /// Before that, run each so often without counting it
    #[arg(long, value_name = "N", default_value_t = 1, requires = "command", value_parser = clap::value_parser!(u32).range(0..=1000))]
    warmup: u32,
    /// What the order of the runs follows from
    #[arg(long, value_name = "N", default_value_t = 1, requires = "command")]
    seed: u64,
    /// Where the records go [default: runs/TIME-compare]
    #[arg(long, value_name = "DIR", requires = "command")]
    out: Option<PathBuf>,
    /// Begin anew, even if the same comparison was interrupted
    #[arg(long, requires = "command", conflicts_with = "out")]
    fresh: bool,
    /// Go on if a run fails, and leave it out
    #[arg(long, requires = "command")]
    ignore_failures: bool,
    /// Find a metric in the output: the first group of the expression is its value; may be repeated
    #[arg(long, value_name = "NAME=REGEX", value_parser = MetricPattern::parse, requires = "command")]
    metric: Vec<MetricPattern>,
    #[command(flatten)]
    measure: MeasureArgs,
    /// Write a page as well, with every run's resources over each other
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Say nothing while the commands run
    #[arg(long, short)]
    quiet: bool,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The commands, with `---` between them
    #[arg(last = true, value_name = "CMD --- CMD")]
    command: Vec<OsString>,
}

/// What is compared, and where its records are.
pub(super) struct Compared {
    groups: Vec<Group>,
    /// The records of each group.
    places: Vec<Vec<PathBuf>>,
    alternating: bool,
    source: String,
}

pub(crate) fn compare(args: Args) -> Result<Exit, Failure> {
    // A place that cannot be written to is found before the work, not after.
    let file = args.page.as_deref().map(OutFile::create).transpose()?;
    let (compared, exit) = match args.command.is_empty() {
        false => commands(&args)?,
        true => (records(&args.runs)?, Exit::Done),
    };
    if exit == Exit::Interrupted {
        return Ok(exit);
    }
    let Compared {
        groups,
        places,
        alternating,
        source,
    } = compared;
    let answer = paceline_answers::compare::compare(groups, alternating)?;
    print(&answer, &source, args.format)?;
    if let Some(file) = file {
        let written = file.finish(&page::html(&answer, &places, &source)?)?;
        output::tell(&format!("page: {}", written.display()));
    }
    Ok(exit)
}

fn print(answer: &CompareAnswer, source: &str, format: Format) -> Result<(), Failure> {
    output::data(&match format {
        Format::Text => paceline_report::compare::text(answer, output::stdout_page()),
        Format::Json => {
            let mut json = answer.json();
            json["source"] = source.into();
            output::json(&json)
        }
    })
}

fn commands(args: &Args) -> Result<(Compared, Exit), Failure> {
    let parts = args.command.split(|word| word == OsStr::new(BETWEEN));
    let commands: Vec<Vec<OsString>> = parts.map(<[OsString]>::to_vec).collect();
    if commands.len() < 2 || commands.iter().any(Vec::is_empty) {
        return Err(Failure::user(anyhow!(
            "a comparison needs two commands or more, none of them empty, with `{BETWEEN}` between"
        ))
        .hint("paceline compare --repeat 10 -- python a.py --- python b.py"));
    }
    let wanted = Wanted {
        commands,
        metrics: args.metric.clone(),
        engine: EngineSettings::local(),
        repeat: args.repeat,
        warmup: args.warmup,
        seed: args.seed,
        terminal: Terminal::Nothing,
        title: "compare".to_owned(),
        out: args.out.clone(),
        fresh: args.fresh,
        ignore_failures: args.ignore_failures,
        quiet: args.quiet,
    };
    let executed = series::execute(wanted, &args.measure)?;
    let mut compared = Compared {
        groups: Vec::new(),
        places: Vec::new(),
        alternating: true,
        source: executed.dir.display().to_string(),
    };
    if executed.exit != Exit::Interrupted {
        add_series(&mut compared, &executed.dir, &executed.series)?;
    }
    if !args.quiet {
        output::tell(&format!("records: {}\n", compared.source));
    }
    Ok((compared, executed.exit))
}

fn records(runs: &[PathBuf]) -> Result<Compared, Failure> {
    let mut compared = Compared {
        groups: Vec::new(),
        places: Vec::new(),
        // Of one comparison, if it is that; of records, what their times say.
        alternating: runs.len() == 1,
        source: runs
            .iter()
            .map(|run| run.display().to_string())
            .collect::<Vec<_>>()
            .join(", "),
    };
    if runs.is_empty() {
        return Err(Failure::user(anyhow!("there is nothing to compare"))
            .hint("paceline compare A B, or paceline compare --repeat 10 -- CMD --- CMD"));
    }
    for run in runs {
        let dir = match is_series(run) {
            true => run.clone(),
            false => match several(run) {
                Some(places) => {
                    add(&mut compared, &places, &run.display().to_string())?;
                    continue;
                }
                None => find(Some(run))?,
            },
        };
        match Series::read(&dir)? {
            Some(series) => add_series(&mut compared, &dir, &series)?,
            None => add(&mut compared, &[dir], &run.display().to_string())?,
        }
    }
    for (at, group) in compared.groups.iter_mut().enumerate() {
        group.label = letter(at).to_uppercase();
    }
    Ok(compared)
}

fn is_series(dir: &Path) -> bool {
    matches!(Series::read(dir), Ok(Some(_)))
}

/// `a,b,c` are three runs of one group, unless it is the name of one.
fn several(run: &Path) -> Option<Vec<PathBuf>> {
    let text = run
        .to_str()
        .filter(|text| text.contains(',') && !run.exists())?;
    Some(text.split(',').map(PathBuf::from).collect())
}

fn add_series(compared: &mut Compared, dir: &Path, series: &Series) -> Result<(), Failure> {
    let groups = series::groups(dir, series)?;
    for (group, places) in groups.into_iter().zip(series::places(dir, series)?) {
        compared.groups.push(group);
        compared.places.push(places);
    }
    Ok(())
}

fn add(compared: &mut Compared, runs: &[PathBuf], named: &str) -> Result<(), Failure> {
    let mut group = Group {
        label: String::new(),
        what: named.to_owned(),
        runs: Vec::new(),
    };
    let mut places = Vec::new();
    for run in runs {
        let dir = find(Some(run))?;
        let run = open(&dir)?;
        if run.state() != State::Finished {
            let why = match run.state() {
                State::Live => "is still running",
                _ => "was cut short",
            };
            return Err(Failure::user(anyhow!("{} {why}", dir.display()))
                .hint("only runs that came to their end can be compared"));
        }
        group.what = match runs.len() {
            1 => format!("{named}: {}", run.manifest().start.argv.join(" ")),
            _ => named.to_owned(),
        };
        group.runs.push(Measured::of(read(&run))?);
        places.push(dir);
    }
    compared.groups.push(group);
    compared.places.push(places);
    Ok(())
}
