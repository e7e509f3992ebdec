//! `paceline tune`: searches for the best level of a factor by real runs.
//!
//! A search is a study that grows in its own directory. What to run next is
//! decided from the finished runs alone, so that the same command resumes it.

mod told;

use crate::args::Format;
use crate::commands::study::{checks, run as study_run};
use crate::engines::{self, Purpose};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::screen::Screen;
use crate::{quantity, signals, study_file};
use anyhow::{Context, anyhow};
use clap::ValueEnum;
use paceline_answers::results::after_each_epoch;
use paceline_answers::tune::{Direction, End, History, Next, Question, Reach, Search};
use paceline_files::sealed::{self, Seal};
use paceline_model::{Level, RunId};
use paceline_records::study::{Plan, PlannedTrial, StudyDir};
use paceline_records::{Run, write_file};
use paceline_report::tune::Report;
use paceline_runner::Interrupt;
use paceline_runner::study::{Outlook, Session, Settings};
use paceline_study::Study;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use told::Told;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study file
    study: PathBuf,
    /// Change a setting of the study: policy.timeout=60s
    #[arg(value_name = "NAME=VALUES")]
    overrides: Vec<String>,
    /// The factor to tune; a Bayesian search may vary several
    #[arg(long, value_name = "NAME", required = true)]
    factor: Vec<String>,
    /// The factor that is an amount of training, such as epochs, for successive halving
    #[arg(long, value_name = "NAME")]
    budget: Option<String>,
    /// The level of a factor that does not vary; may be repeated
    #[arg(long, value_name = "NAME=LEVEL", value_parser = quantity::variable)]
    given: Vec<(String, String)>,
    /// How levels are chosen
    #[arg(long, value_enum, default_value_t)]
    strategy: Strategy,
    /// The response that shall be small
    #[arg(
        long,
        value_name = "RESPONSE",
        required_unless_present = "maximize",
        conflicts_with = "maximize"
    )]
    minimize: Option<String>,
    /// The response that shall be large
    #[arg(long, value_name = "RESPONSE")]
    maximize: Option<String>,
    /// What the level must keep, on average: 'time <= 300s'; may be repeated
    #[arg(long, value_name = "LIMIT")]
    limit: Vec<String>,
    /// Runs of each level before it is compared [default: 5 of a climb, else 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    replicates: Option<u16>,
    /// Runs after which the search ends wherever it is
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    max_runs: u32,
    /// The level at which a climb begins [default: the lowest]
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true)]
    start: Option<f64>,
    /// The search's directory [default: STUDY.tune]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The time between two samples, at least 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = quantity::duration)]
    interval: Duration,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Strategy {
    /// Double the level while the response improves, then raise it by tenths
    #[default]
    Climb,
    /// Run the level of the greatest expected improvement per second
    Bayes,
    /// Run all levels on a small budget, and the better half of them on a larger one
    Halving,
}

impl Strategy {
    fn word(self) -> &'static str {
        match self {
            Self::Climb => "climb",
            Self::Bayes => "bayes",
            Self::Halving => "halving",
        }
    }
}

/// The file that makes a growing study a search.
const SEARCH_FILE: &str = "tune.json";
/// What was asked is a few lines.
const LARGEST_SEARCH: u64 = 1 << 20;

pub(crate) fn tune(args: &Args) -> Result<Exit, Failure> {
    let study = study_file::load(&args.study, &args.overrides)?;
    let settings = study_run::settings(&args.study, args.interval)?;
    let objective = match (&args.minimize, &args.maximize) {
        (Some(response), _) => (response.as_str(), Direction::Minimize),
        (None, Some(response)) => (response.as_str(), Direction::Maximize),
        (None, None) => {
            return Err(Failure::user(anyhow!("nothing says what shall be best"))
                .hint("name a response with --minimize or --maximize"));
        }
    };
    let mut factors = args.factor.clone();
    match (args.strategy, &args.budget) {
        (Strategy::Halving, Some(budget)) => factors.push(budget.clone()),
        (Strategy::Halving, None) => {
            return Err(Failure::user(anyhow!("successive halving needs a budget"))
                .hint("name the factor that is an amount of training: --budget epochs"));
        }
        (Strategy::Climb | Strategy::Bayes, Some(_)) => {
            return Err(
                Failure::user(anyhow!("--budget belongs to successive halving"))
                    .hint("add --strategy halving"),
            );
        }
        (Strategy::Climb | Strategy::Bayes, None) => {}
    }
    let question = Question::read(&study, &factors, &args.given, objective, &args.limit)?;
    let reach = Reach {
        replicates: usize::from(args.replicates.unwrap_or(match args.strategy {
            Strategy::Climb => 5,
            Strategy::Bayes | Strategy::Halving => 3,
        })),
        most_runs: args.max_runs as usize,
        start: args.start,
        cpus: settings.cpus.cores().len(),
    };
    let search = match args.strategy {
        Strategy::Climb => Search::climb(&study, &question, &reach)?,
        Strategy::Bayes => Search::bayes(&study, &question, &reach)?,
        Strategy::Halving => Search::halving(&study, &question, &reach)?,
    };
    let dir = directory(&args.study, args.out.as_deref())?;
    let mut asked = question.frozen(&study);
    asked["strategy"] = json!(args.strategy.word());
    asked["start"] = json!(args.start);
    asked["replicates"] = json!(search.replicates());
    let tuning = Tuning {
        study,
        question,
        search,
        most_runs: reach.most_runs,
        asked,
    };
    tuning.check_first(&settings)?;
    tuning.execute(args, dir, settings)
}

/// A search that can be made.
struct Tuning {
    study: Study,
    question: Question,
    search: Search,
    most_runs: usize,
    /// What was asked, as it is frozen in the search's directory.
    asked: Value,
}

/// How a session of a search ended.
enum Ended {
    Of(End),
    Interrupted,
    FailedFast,
}

impl Tuning {
    /// Whether the trainer leaves checkpoints: in a search that goes on from them,
    /// over passes or steps, which are what a training can be continued by.
    fn goes_on_from_checkpoints(&self) -> bool {
        let budget = self
            .question
            .varied
            .last()
            .map(|&at| &self.study.factors()[at]);
        let by_epochs = budget.is_some_and(|factor| ["epochs", "steps"].contains(&&*factor.name));
        self.search.goes_on_from_checkpoints() && by_epochs
    }

    /// Refuses a study whose first run is bound to fail.
    fn check_first(&self, settings: &Settings) -> Result<(), Failure> {
        let nothing = History::default();
        match self.search.next(&self.study, &self.question, &nothing)? {
            Next::Run { levels, .. } => self.check(&levels, settings),
            Next::Done(_) => Ok(()),
        }
    }

    fn check(&self, levels: &[Level], settings: &Settings) -> Result<(), Failure> {
        let plan = Plan {
            fingerprint: String::new(),
            seed: 0,
            factors: Vec::new(),
            responses: Vec::new(),
            trials: vec![PlannedTrial {
                levels: levels.to_vec(),
                coded: Vec::new(),
            }],
            runs: Vec::new(),
        };
        checks::check(&self.study, &plan, &settings.base, &settings.cpus, 1, &[])
    }

    fn execute(&self, args: &Args, dir: StudyDir, settings: Settings) -> Result<Exit, Failure> {
        let interrupt = Interrupt::new();
        signals::pass_on(&interrupt)?;
        let node = settings.host.machine.node.clone();
        let settings = Settings {
            keep_checkpoints: self.goes_on_from_checkpoints(),
            ..settings
        };
        let opened = Session::open_growing(dir.clone(), self.study.clone(), settings.clone());
        let mut session = opened.map_err(study_run::cannot_open)?;
        self.claim(&dir, session.plan())?;
        study_run::tell_recovered(&session);
        let screen = Screen::new(args.quiet);
        let told = Told::new(screen.clone(), args.quiet, &self.study, &self.question);
        let purpose = Purpose {
            place: dir.path(),
            base: &settings.base,
            sole: true,
            requests: vec![engines::request(self.study.engine())],
            node,
        };
        let engine = engines::open(self.study.engine(), &purpose)?;
        let run = |session: &Session| {
            let outlook = session.run(engine.as_ref(), &interrupt, &told);
            outlook.map_err(|error| study_run::cannot_run(error, &dir))
        };
        let ended = self.drive(&mut session, &settings, &told, run);
        screen.close();
        match ended? {
            Ended::Of(end) => self.conclude(args, &session, &end),
            Ended::Interrupted => {
                output::tell("interrupted; the same command goes on from here");
                Ok(Exit::Interrupted)
            }
            Ended::FailedFast => {
                output::tell("a run failed, and [policy] keep_going = false ends the search there");
                Ok(Exit::Unmet)
            }
        }
    }

    /// Runs what is planned, decides, plans more, until there is nothing to do.
    fn drive(
        &self,
        session: &mut Session,
        settings: &Settings,
        told: &Told<'_>,
        run: impl Fn(&Session) -> Result<Outlook, Failure>,
    ) -> Result<Ended, Failure> {
        loop {
            self.prepare(session, told);
            match run(session)? {
                Outlook::Complete => {}
                Outlook::Interrupted => return Ok(Ended::Interrupted),
                Outlook::FailedFast => return Ok(Ended::FailedFast),
            }
            let history = History::new(session.plan(), &session.progress(), &self.question);
            match self.search.next(&self.study, &self.question, &history)? {
                Next::Run { levels, mut from } => {
                    self.check(&levels, settings)?;
                    let left = self.most_runs.saturating_sub(history.run_count()).max(1);
                    from.truncate(left);
                    let grown = session.grow_from(&levels, &from);
                    grown.map_err(Failure::world)?;
                }
                Next::Done(end) => return Ok(Ended::Of(end)),
            }
        }
    }

    /// Says whom the run that is next is compared with while it lasts.
    fn prepare(&self, session: &Session, told: &Told<'_>) {
        let (plan, progress) = (session.plan(), session.progress());
        let next = progress.next_pending(None);
        let rivals = next.and_then(|position| {
            let history = History::new(plan, &progress, &self.question);
            let trace = |run: &RunId, attempt: u32| {
                let record = Run::open(&session.dir().attempt(run, attempt)).ok();
                let found = record
                    .map(|record| after_each_epoch(&record, &self.study, &self.question.response));
                let costs = found.unwrap_or_default().into_iter();
                costs
                    .map(|(epoch, value)| (epoch, self.question.direction.cost(value)))
                    .collect()
            };
            let levels = plan.levels(&plan.runs[position]);
            self.search.rivals(&self.question, &history, levels, trace)
        });
        told.compare_with(rivals);
    }

    /// Makes the directory this search's, or finds it so.
    fn claim(&self, dir: &StudyDir, plan: &Plan) -> Result<(), Failure> {
        let path = dir.path().join(SEARCH_FILE);
        let text = match paceline_files::read_regular(&path, LARGEST_SEARCH) {
            Ok(text) => text,
            Err(error) if error.is_absent() && plan.runs.is_empty() => {
                let text = sealed::seal(&format!("{:#}\n", self.asked))
                    .expect("a question is an object with keys");
                return write_file(&path, text.as_bytes()).map_err(Failure::world);
            }
            Err(error) if error.is_absent() => {
                return Err(Failure::user(anyhow!(
                    "{} holds a study that is no search",
                    dir.path().display()
                ))
                .hint("name another directory with --out"));
            }
            Err(error) => return Err(Failure::world(error)),
        };
        let damaged = || format!("{} is damaged", path.display());
        let before: Value = serde_json::from_slice(&text)
            .with_context(damaged)
            .map_err(Failure::record)?;
        let keys = self.asked.as_object().into_iter().flatten();
        // A search of an earlier version has no checksum; nor any key but these.
        let is_earlier = || {
            let keys = before.as_object().into_iter().flatten();
            keys.clone().count() > 0 && keys.clone().all(|(key, _)| self.asked.get(key).is_some())
        };
        match sealed::check(&text) {
            Seal::Whole => {}
            Seal::Absent if is_earlier() => {}
            Seal::Absent | Seal::Broken => return Err(Failure::record(anyhow!(damaged()))),
        }
        let changed: Vec<&str> = keys
            .filter(|(key, value)| before.get(key) != Some(value))
            .map(|(key, _)| key.as_str())
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        Err(Failure::user(anyhow!(
            "{} holds another search: {} changed",
            dir.path().display(),
            changed.join(", ")
        ))
        .hint("a changed question is a new search: name another directory with --out"))
    }

    fn conclude(&self, args: &Args, session: &Session, end: &End) -> Result<Exit, Failure> {
        let history = History::new(session.plan(), &session.progress(), &self.question);
        let report = Report {
            study: &self.study,
            question: &self.question,
            history: &history,
            end,
            strategy: args.strategy.word(),
            by_budget: args.strategy == Strategy::Halving,
        };
        output::data(&match args.format {
            Format::Text => report.text(output::stdout_page()),
            Format::Json => output::json(&report.json()),
        })?;
        Ok(match end.best {
            Some(_) => Exit::Done,
            None => Exit::Unmet,
        })
    }
}

/// The directory of a search: the one named, or `<file>.tune` in the working
/// directory.
fn directory(file: &Path, out: Option<&Path>) -> Result<StudyDir, Failure> {
    let named = match out {
        Some(out) => out.to_owned(),
        None => PathBuf::from(file.file_stem().unwrap_or_default()).with_added_extension("tune"),
    };
    let absolute = std::path::absolute(&named).map_err(Failure::world)?;
    Ok(StudyDir::new(&absolute))
}
