//! `paceline quickstart`: the whole story, on embedded data.
//!
//! Every step is one of Paceline's own commands, run as a user would type it,
//! so that the story shows nothing a user could not do. What is finished stays
//! finished: the same command goes on where an interrupted one stopped.

mod deadline;

use crate::args::Args as CommandLine;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use anyhow::{Context, anyhow};
use clap::Parser;
use deadline::Why;
use paceline_answers::results::Results;
use paceline_records::{Run, State};
use paceline_report::number;
use paceline_report::text::paragraph;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The study of the second step.
const STUDY: &str = include_str!("study.toml");

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the story's runs and its report go
    #[arg(long, value_name = "DIR", default_value = "quickstart")]
    out: PathBuf,
    /// Use a tenth of the data: a story of a few seconds whose figures say little
    #[arg(long)]
    quick: bool,
}

pub(crate) fn quickstart(args: &Args) -> Result<Exit, Failure> {
    match tell_story(args) {
        Ok(()) => Ok(Exit::Done),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Interrupted) => {
            output::tell("interrupted; the same command goes on with the story");
            Ok(Exit::Interrupted)
        }
    }
}

/// Why the story stops before its end.
enum Stop {
    Failed(Failure),
    Interrupted,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn tell_story(args: &Args) -> Result<(), Stop> {
    let story = Story::open(&args.out)?;
    let data = if args.quick { "mnist:6000" } else { "mnist" };
    let from = format!("--data={data}");
    story.tell(
        "Paceline trains, measures, explains and picks. This story does all of it on the \
         handwritten digits inside the program, in about a minute where nothing else runs; nothing \
         leaves this machine.",
    )?;

    story.step(1, "Where does the time of a training go?")?;
    let profile = story.dir.join("profile");
    if is_done(&profile) {
        story.command(&["show", &text(&profile)])?;
    } else {
        story.discard(&profile)?;
        let out = format!("--out={}", text(&profile));
        let words = ["train", "lenet5", "--epochs=1", "--interval=100ms"];
        story.command(&[&words[..], &[&from, &out]].concat())?;
    }

    story.step(2, "Which knobs matter? A designed experiment")?;
    story.tell(
        "Batch size, workers and consistency are crossed, each combination is run twice, in \
         random order.",
    )?;
    let study = story.dir.join("study.toml");
    let text_of_study = STUDY.replace("\"mnist\"", &format!("\"{data}\""));
    paceline_records::write_file(&study, text_of_study.as_bytes()).map_err(Failure::world)?;
    let results = story.dir.join("study");
    let out = format!("--out={}", text(&results));
    story.command(&["study", "run", &text(&study), &out, "--interval=100ms"])?;

    story.step(3, "What matters, and how sure is that?")?;
    story.command(&["analyze", &text(&results), "--response=time"])?;

    story.step(4, "Which configuration meets a deadline?")?;
    story.command(&["predict", &text(&results), "--responses=time"])?;
    let runs = Results::open(&results).map_err(Failure::from)?;
    let deadline = deadline::of(&runs)?;
    let shown = number::duration(deadline.seconds);
    story.gap()?;
    story.tell(&match deadline.why {
        Why::Kept { by, of } => format!(
            "{by} of {of} configurations are done within {shown} with a probability of at least 0.95 \
             each: that is the deadline."
        ),
        Why::Promised => format!(
            "This story was told before, and its deadline was {shown}: the promise is in the \
             study's ledger."
        ),
        Why::Nobody => format!(
            "The times scatter so much that no configuration is done with a probability of 0.95 \
             even within {shown}, in which every run ended."
        ),
    })?;
    let slo = deadline.flag();
    let wish = [slo.as_str(), "--maximize=accuracy"];
    let of_study = text(&results);
    let pick = ["pick", &of_study, wish[0], wish[1]];
    if deadline.why != Why::Promised {
        story.command(&pick)?;
    }

    if deadline.why == Why::Nobody {
        story.step(5, "Nothing is promised, so that nothing is run")?;
        story.tell("On a quieter machine, or with more replicates, there would be more to say.")?;
    } else {
        story.step(5, "Does the promise hold? The pick, run for real")?;
        story.command(&[&pick[..], &["--run"]].concat())?;
        story.gap()?;
        story.command(&["promises", &text(&results)])?;
    }

    story.step(6, "Everything on one page")?;
    let page = story.dir.join("report.html");
    let out = format!("--out={}", text(&page));
    story.command(&[&["report", &text(&results)][..], &wish, &[&out]].concat())?;
    story.tell("Next, with your own job:")?;
    output::data(
        "  paceline run -- python train.py     where does its time go?\n  \
         paceline study run study.toml       which of its knobs matter?\n  \
         paceline pick study.study --slo 5m  what is done in five minutes?\n",
    )?;
    Ok(())
}

/// The story's directory and its voice.
struct Story {
    dir: PathBuf,
    page: Page,
}

impl Story {
    fn open(dir: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot make the directory {}", dir.display()))
            .map_err(|error| Failure::world(error).hint("name another one with --out"))?;
        Ok(Self {
            dir: dir.to_owned(),
            page: output::stdout_page(),
        })
    }

    fn step(&self, number: u32, title: &str) -> Result<(), Failure> {
        output::data(&format!(
            "\n{}\n",
            self.page.style.strong(&format!("{number}. {title}"))
        ))
    }

    fn tell(&self, words: &str) -> Result<(), Failure> {
        output::data(&format!("{}\n", paragraph("", words, self.page.width)))
    }

    fn gap(&self) -> Result<(), Failure> {
        output::data("\n")
    }

    /// Runs one of Paceline's commands, shown as a user would type it.
    fn command(&self, words: &[&str]) -> Result<Exit, Stop> {
        output::data(&format!("$ paceline {}\n", words.join(" ")))?;
        let line = CommandLine::try_parse_from([&["paceline"], words].concat())
            .map_err(|error| anyhow!("the story's own command is refused: {error}"))
            .map_err(Failure::user)?;
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match line.run(&words)? {
            exit @ (Exit::Done | Exit::Unmet) => Ok(exit),
            Exit::Command(0) => Ok(Exit::Done),
            Exit::Interrupted | Exit::Command(130) => Err(Stop::Interrupted),
            _ => Err(Stop::Failed(Failure::world(anyhow!(
                "the story ends here, because this step failed"
            )))),
        }
    }

    /// Removes what an interrupted story left of a run.
    fn discard(&self, run: &Path) -> Result<(), Failure> {
        if !run.exists() {
            return Ok(());
        }
        std::fs::remove_dir_all(run)
            .with_context(|| format!("cannot remove the unfinished {}", run.display()))
            .map_err(Failure::world)
    }
}

/// Whether a run was recorded to its end.
fn is_done(run: &Path) -> bool {
    Run::open(run).is_ok_and(|run| run.state() == State::Finished)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
