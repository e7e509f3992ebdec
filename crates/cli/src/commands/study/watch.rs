//! `paceline study watch`: a study while it runs, read from its files alone.

use super::place::look;
use super::status::{summary, trials};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use paceline_answers::results::StudyState;
use paceline_model::{Measure, Sample};
use paceline_records::Run;
use paceline_report::number;
use paceline_report::text::{bar, truncate};
use paceline_runner::study::RunState;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The study's file or directory
    study: PathBuf,
    /// The study's directory, if it is not STUDY.study
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EVERY: Duration = Duration::from_secs(1);

/// Moves to the top left corner and clears what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Shows progress until the study is complete or nobody executes it any more.
pub(super) fn watch(args: &Args) -> Result<Exit, Failure> {
    let terminal = std::io::stdout().is_terminal();
    let mut last = None;
    loop {
        let seen = look(&args.study, args.out.as_deref())?;
        let counts = seen.progress.counts();
        let page = output::stdout_page();
        if !seen.live {
            let complete = counts.pending + counts.leased == 0;
            let end = match complete {
                true => "",
                false => "; nobody is executing it: `paceline study run` goes on",
            };
            let clear = if terminal { CLEAR } else { "" };
            output::data(&format!(
                "{clear}{}{}{end}\n",
                trials(&seen.plan, &seen.progress, &page),
                summary(&seen.plan, &seen.progress, &page)
            ))?;
            return Ok(if counts.failed > 0 {
                Exit::Unmet
            } else {
                Exit::Done
            });
        }
        if terminal {
            let running = running(&seen)
                .into_iter()
                .map(|line| truncate(&line, page.width) + "\n");
            output::data(&format!(
                "{CLEAR}{}\n{}\n{}",
                trials(&seen.plan, &seen.progress, &page),
                progress(&seen),
                running.collect::<String>()
            ))?;
        } else if last != Some(counts) {
            output::data(&format!("{}\n", progress(&seen)))?;
        }
        last = Some(counts);
        std::thread::sleep(EVERY);
    }
}

/// How far it is and how long it will take, from the runs so far.
fn progress(seen: &StudyState) -> String {
    let counts = seen.progress.counts();
    let over = counts.done + counts.failed;
    let mut line = format!(
        "{} {over}/{} runs, {} failed",
        bar(over as f64 / counts.total().max(1) as f64, 20),
        counts.total(),
        counts.failed
    );
    let (mut runs, mut seconds) = (0_u32, 0.0);
    for position in 0..seen.plan.runs.len() {
        if let RunState::Done { result, .. } = seen.progress.state(position) {
            runs += 1;
            seconds += result.duration_s;
        }
    }
    if runs > 0 {
        let side_by_side = counts.leased.max(1) as f64;
        let left =
            seconds / f64::from(runs) * (counts.pending + counts.leased) as f64 / side_by_side;
        line.push_str(&format!(", about {} left", number::duration(left)));
    }
    line
}

/// A line per run that is being executed: its levels and what it uses now.
fn running(seen: &StudyState) -> Vec<String> {
    let runs = seen.plan.runs.iter().enumerate();
    runs.filter_map(|(position, run)| {
        let RunState::Leased { attempt } = seen.progress.state(position) else {
            return None;
        };
        let levels = seen.plan.factors.iter().zip(seen.plan.levels(run));
        let words: Vec<String> = levels
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        // Its record may just be appearing or closing: then there is no load to show.
        let load = Run::open(&seen.dir.attempt(&run.id, *attempt))
            .ok()
            .and_then(|record| record.samples().ok())
            .and_then(|nodes| nodes.into_iter().next()?.1.into_iter().last())
            .map_or(String::new(), |sample| load(&sample));
        Some(format!("{}: {}{load}", run.id, words.join(" ")))
    })
    .collect()
}

fn load(sample: &Sample) -> String {
    let seconds = sample.interval.as_secs().max(1e-6);
    let read = |measure| sample.readings.get(measure).unwrap_or(0.0);
    let cpus = (read(Measure::RunCpuUser) + read(Measure::RunCpuSystem)) / seconds;
    let disk = (read(Measure::RunDiskRead) + read(Measure::RunDiskWrite)) / seconds;
    format!(
        "  {}  cpu {cpus:.1}  memory {}  disk {}",
        number::duration(sample.at.as_secs()),
        number::bytes(read(Measure::RunMemRss)),
        number::rate(disk, "B")
    )
}
