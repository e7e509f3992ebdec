//! `paceline study watch`: a study while it runs, read from its files alone.

use super::place::{Seen, look};
use super::status::{summary, trials};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::screen::Screen;
use paceline_report::number;
use paceline_report::text::bar;
use paceline_runner::study::RunState;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study's file or directory
    study: PathBuf,
    /// The study's directory, if it is not <STUDY>.study
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EVERY: Duration = Duration::from_secs(1);

/// Shows progress until the study is complete or nobody executes it any more.
pub(super) fn watch(args: &Args) -> Result<Exit, Failure> {
    let screen = Screen::new(false);
    let mut last = None;
    loop {
        let seen = look(&args.study, args.out.as_deref())?;
        let counts = seen.progress.counts();
        if screen.has_status() {
            screen.status(line(&seen));
        } else if last != Some(counts) {
            output::tell(&line(&seen));
        }
        last = Some(counts);
        if !seen.live {
            screen.close();
            let page = Page::of_stdout();
            let text = trials(&seen.plan, &seen.progress, &page)
                + &summary(&seen.plan, &seen.progress, &page);
            let complete = counts.pending + counts.leased == 0;
            let end = if complete {
                ""
            } else {
                "; nobody is executing it: `paceline study run` goes on"
            };
            output::data(&format!("{text}{end}\n"))?;
            return Ok(if counts.failed > 0 {
                Exit::Unmet
            } else {
                Exit::Done
            });
        }
        std::thread::sleep(EVERY);
    }
}

fn line(seen: &Seen) -> String {
    let counts = seen.progress.counts();
    let over = counts.done + counts.failed;
    let mut line = format!(
        "{} {over}/{} runs, {} failed",
        bar(over as f64 / counts.total().max(1) as f64, 20),
        counts.total(),
        counts.failed
    );
    let mut ended = (0_u32, 0.0);
    let mut running = Vec::new();
    for (position, run) in seen.plan.runs.iter().enumerate() {
        match seen.progress.state(position) {
            RunState::Done { result, .. } => ended = (ended.0 + 1, ended.1 + result.duration_s),
            RunState::Leased { .. } => {
                let levels = seen.plan.factors.iter().zip(seen.plan.levels(run));
                let words: Vec<String> = levels
                    .map(|(name, level)| format!("{name}={level}"))
                    .collect();
                running.push(format!("{}: {}", run.id, words.join(" ")));
            }
            RunState::Pending | RunState::Failed { .. } => {}
        }
    }
    if ended.0 > 0 {
        let side_by_side = running.len().max(1) as f64;
        let left =
            ended.1 / f64::from(ended.0) * (counts.pending + counts.leased) as f64 / side_by_side;
        line.push_str(&format!(", about {} left", number::duration(left)));
    }
    for run in running {
        line.push_str("  ");
        line.push_str(&run);
    }
    line
}
