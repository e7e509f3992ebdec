//! A pick beside jobs that run already, without breaking what they were promised.

use super::answer::{configurations, extrapolated};
use super::{Args, Setup};
use crate::args::Format;
use crate::commands::predict::{interval, prediction_json};
use crate::commands::runs_table::{settings_json, written};
use crate::commands::table_file::TableFile;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Page};
use crate::quantity;
use anyhow::anyhow;
use paceline_advise::overlap::{Admission, Finish, Interference, Job, Newcomer, admit};
use paceline_advise::pick::{Constraint, Limit, PickRequest, Picked, Verdict, judge, pick};
use paceline_advise::predict::{Predictor, Role, Roles};
use paceline_advise::runs::{Configuration, SettingError};
use paceline_model::Level;
use paceline_report::number::{count, duration, significant};
use paceline_report::text::{Column, Table, paragraph};
use paceline_stats::table::ColumnData;
use serde_json::{Value, json};
use std::path::Path;

/// A job that runs, as the user described it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunningJob {
    name: String,
    /// In seconds from now; below zero if it runs already.
    start_s: f64,
    /// In seconds from its start.
    deadline_s: Option<f64>,
    /// How many jobs of the measured kind it is as heavy as.
    load: f64,
    settings: Vec<(String, Level)>,
}

/// What the newcomer is called.
const NEWCOMER: &str = "the pick";

/// Reads jobs: `start=-120s,batch_size=128,deadline=600s`, or a CSV file with such
/// columns.
pub(super) fn read(texts: &[String]) -> Result<Vec<RunningJob>, Failure> {
    let mut jobs = Vec::new();
    for text in texts {
        if text.contains('=') {
            let parts: Vec<(&str, &str)> = text
                .split(',')
                .map(|part| part.split_once('=').ok_or(part))
                .collect::<Result<_, _>>()
                .map_err(|part| bad_job(text, &format!("`{part}` is not NAME=VALUE")))?;
            jobs.push(job(text, jobs.len() + 1, parts)?);
        } else {
            read_file(Path::new(text), &mut jobs)?;
        }
    }
    Ok(jobs)
}

fn read_file(path: &Path, jobs: &mut Vec<RunningJob>) -> Result<(), Failure> {
    let file = TableFile::read(path)?;
    let cell = |data: &ColumnData, row: usize| match data {
        ColumnData::Numeric(values) => Some(values[row].to_string()),
        ColumnData::Categorical { levels, codes, .. } => levels.get(codes[row] as usize).cloned(),
    };
    for row in 0..file.table.rows() {
        let columns = file.table.columns().iter();
        let cells: Vec<(&str, String)> = columns
            .filter_map(|column| Some((column.name(), cell(column.data(), row)?)))
            .filter(|(_, cell)| cell != "NaN")
            .collect();
        let parts = cells.iter().map(|(name, cell)| (*name, cell.as_str()));
        let place = format!("{}, job {}", path.display(), row + 1);
        jobs.push(job(&place, jobs.len() + 1, parts.collect())?);
    }
    Ok(())
}

fn job(place: &str, number: usize, parts: Vec<(&str, &str)>) -> Result<RunningJob, Failure> {
    let mut job = RunningJob {
        name: format!("job {number}"),
        start_s: f64::NAN,
        deadline_s: None,
        load: 1.0,
        settings: Vec::new(),
    };
    for (name, value) in parts {
        let (name, value) = (name.trim(), value.trim());
        let unusable = || bad_job(place, &format!("`{value}` is no {name}"));
        match name {
            "name" => job.name = value.to_owned(),
            "start" => job.start_s = offset(value).ok_or_else(unusable)?,
            "deadline" => {
                let deadline = quantity::duration(value).map_err(|_| unusable())?;
                job.deadline_s = Some(deadline.as_secs_f64());
            }
            "load" => {
                let load = value.parse().ok();
                let load = load.filter(|load: &f64| *load > 0.0 && load.is_finite());
                job.load = load.ok_or_else(unusable)?;
            }
            _ => job.settings.push((name.to_owned(), Level::parse(value))),
        }
    }
    if job.start_s.is_nan() {
        return Err(bad_job(place, "it does not say when it started"));
    }
    Ok(job)
}

fn bad_job(place: &str, why: &str) -> Failure {
    Failure::user(anyhow!("{place}: {why}")).hint(
        "a job is its start from now, its factors and its deadline from its start: \
         start=-120s,batch_size=128,deadline=600s",
    )
}

/// Seconds from now: `-120s` is two minutes ago.
fn offset(text: &str) -> Option<f64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let time = quantity::duration(text).ok()?;
    Some(sign * time.as_secs_f64())
}

/// The number of concurrent jobs at which a job is alone, unless it is given.
pub(super) fn alone(roles: &Roles, given: &[(usize, f64)]) -> Option<(usize, f64)> {
    let at = roles.position(Role::Concurrency)?;
    let is_given = given.iter().any(|&(known, _)| known == at);
    (!is_given).then_some((at, 1.0))
}

/// Picks for a newcomer that starts now.
pub(super) fn pick_beside(
    args: &Args,
    request: &PickRequest,
    setup: &Setup,
    jobs: &[RunningJob],
) -> Result<Exit, Failure> {
    let factors = setup.table.runs.factors();
    let roles = setup.open.roles(factors)?;
    let interference = interference(args, setup, &roles)?;
    let time = setup.predictors.iter().find(|p| p.response() == args.time);
    let time = time.expect("the time of the newcomer is always predicted");
    let configurations = jobs
        .iter()
        .map(|job| configuration(job, setup, &roles))
        .collect::<Result<Vec<_>, _>>()?;
    let running: Vec<Job> = jobs
        .iter()
        .zip(&configurations)
        .map(|(job, at)| {
            let promise_s = job.deadline_s.map(|deadline| job.start_s + deadline);
            let start_s = job.start_s;
            let alone = Alone::of(time, at, request.confidence);
            alone.job(&job.name, start_s, job.load, promise_s)
        })
        .collect();

    // How long the newcomer takes is judged beside the others; all other limits
    // are judged as always.
    let (deadlines, others): (Vec<Constraint>, Vec<Constraint>) =
        request.constraints.iter().cloned().partition(|limit| {
            limit.response == args.time && matches!(limit.limit, Limit::AtMost(_))
        });
    let deadline = deadlines.iter().map(|limit| limit.limit.value());
    let deadline = deadline.reduce(f64::min);
    let request = PickRequest {
        constraints: others,
        ..request.clone()
    };
    let without_time = pick(&setup.predictors, &setup.choices, &request).map_err(Failure::user)?;
    if matches!(without_time.verdict, Verdict::Unmet { .. }) {
        // Not even alone: there is nobody to admit.
        return super::print(args, &request, setup, &without_time, &[]);
    }
    let judged: Vec<Picked> = judge(&setup.predictors, &setup.choices, &request)
        .map_err(Failure::user)?
        .into_iter()
        .filter(|one| {
            one.chances
                .iter()
                .all(|&chance| chance >= request.confidence)
        })
        .collect();
    let newcomers: Vec<Newcomer> = judged
        .iter()
        .map(|one| Newcomer {
            job: Alone::of(time, &one.configuration, request.confidence)
                .job(NEWCOMER, 0.0, 1.0, deadline),
            objective: one.objective,
        })
        .collect();
    let admission = admit(&running, &newcomers, interference).map_err(Failure::user)?;
    let answer = Answer {
        setup,
        request: &request,
        jobs,
        configurations: &configurations,
        running: &running,
        interference,
        fitted: args.contention.is_none(),
        newcomer: &newcomers[admission.candidate].job,
        picked: &judged[admission.candidate],
        admission: &admission,
    };
    output::data(&match args.format {
        Format::Text => answer.text(),
        Format::Json => output::json(&answer.json()),
    })?;
    Ok(match admission.promises_kept {
        true => Exit::Done,
        false => Exit::Unmet,
    })
}

fn interference(args: &Args, setup: &Setup, roles: &Roles) -> Result<Interference, Failure> {
    match args.contention {
        Some(contention) if contention >= 0.0 && contention.is_finite() => Ok(Interference {
            contention,
            ..Interference::NONE
        }),
        Some(contention) => Err(Failure::user(anyhow!(
            "--contention {contention} is not zero or more"
        ))),
        None => Interference::fit(&setup.table.runs, &args.time, roles).map_err(|error| {
            Failure::user(error).hint(
                "name the factor with --role jobs=FACTOR, or say what jobs take from each other: \
                 --contention 1 is a fair share",
            )
        }),
    }
}

fn configuration(job: &RunningJob, setup: &Setup, roles: &Roles) -> Result<Configuration, Failure> {
    let factors = setup.table.runs.factors();
    let refused = |error: SettingError| {
        Failure::user(anyhow!(error).context(format!("--running: {}", job.name)))
            .hint("a job that runs names the level of every factor that varies")
    };
    let mut settings = job.settings.clone();
    let given = factors.fixed(&settings).map_err(refused)?;
    if let Some((at, level)) = alone(roles, &given) {
        let factor = factors.at(at);
        settings.push((factor.name().to_owned(), factor.level(level)));
    }
    factors.configuration(&settings).map_err(refused)
}

/// How long a job takes with the cluster to itself.
struct Alone {
    expected_s: f64,
    upper_s: f64,
}

impl Alone {
    fn of(time: &Predictor, at: &[f64], confidence: f64) -> Self {
        // The upper end of this interval is passed in half of the rest.
        let coverage = (2.0 * confidence - 1.0).max(0.01);
        let predicted = time.predict(at, coverage);
        Self {
            expected_s: predicted.value.max(0.0),
            upper_s: predicted.high.max(0.0),
        }
    }

    fn job(self, name: &str, start_s: f64, load: f64, promise_s: Option<f64>) -> Job {
        Job {
            name: name.to_owned(),
            start_s,
            alone_s: self.expected_s,
            alone_upper_s: self.upper_s,
            load,
            promise_s,
        }
    }
}

struct Answer<'a> {
    setup: &'a Setup,
    request: &'a PickRequest,
    jobs: &'a [RunningJob],
    configurations: &'a [Configuration],
    running: &'a [Job],
    interference: Interference,
    fitted: bool,
    newcomer: &'a Job,
    picked: &'a Picked,
    admission: &'a Admission,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let page = Page::of_stdout();
        let table = &self.setup.table;
        let mut out = format!(
            "Looking for {} among {} beside {} running {}, learned from {} runs of \
             {}\n",
            self.request.objective,
            configurations(self.setup.choices.len()),
            self.jobs.len(),
            if self.jobs.len() == 1 { "job" } else { "jobs" },
            count(table.count as u64),
            table.source
        );
        if let Some(epochs) = &self.setup.epochs {
            out += &paragraph("", &epochs.to_string(), page.width);
        }
        out += &paragraph("", &self.interference_words(), page.width);
        let word = if self.admission.promises_kept {
            "Pick"
        } else {
            out += "\nNo configuration keeps every promise; this one breaks the fewest\n";
            "Nearest"
        };
        out += &format!(
            "\n{word}   {}\n\n",
            self.settings(&self.picked.configuration)
        );
        out += &self.predictions().render(page.width, page.style);
        out += &extrapolated(self.picked, page.width);
        out += "\nWhen jobs end, from now\n\n";
        out += &self.ends().render(page.width, page.style);
        for caution in self.cautions() {
            out += &paragraph("caution: ", &caution, page.width);
        }
        out
    }

    fn interference_words(&self) -> String {
        let beside = |others: f64| significant(self.interference.slowdown(1.0 + others), 3);
        format!(
            "A job takes {} times as long beside one other and {} times beside two ({})",
            beside(1.0),
            beside(2.0),
            if self.fitted {
                "fitted to runs of several jobs"
            } else {
                "as --contention says"
            }
        )
    }

    fn settings(&self, at: &[f64]) -> String {
        written(&self.setup.table.runs.factors().settings(at))
    }

    fn predictions(&self) -> Table {
        let mut table = Table::new([
            Column::words("response"),
            Column::decimals("alone"),
            Column::words("interval"),
        ]);
        for (name, prediction) in &self.picked.predictions {
            table.row([
                name.clone(),
                significant(prediction.value, 4),
                interval(prediction),
            ]);
        }
        table
    }

    fn ends(&self) -> Table {
        let latest = format!("at {} by", self.request.confidence);
        let mut table = Table::new([
            Column::words("job"),
            Column::amounts("without"),
            Column::amounts("expected"),
            Column::amounts(&latest),
            Column::amounts("promised"),
            Column::words("promise"),
        ]);
        for line in self.lines() {
            table.row([
                line.finish.name.clone(),
                line.without
                    .map_or("–".to_owned(), |end| seconds(end.expected_s)),
                seconds(line.finish.expected_s),
                seconds(line.finish.upper_s),
                line.job.promise_s.map_or("–".to_owned(), seconds),
                line.verdict().to_owned(),
            ]);
        }
        table
    }

    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let jobs = self.running.iter().chain([self.newcomer]);
        let ends = self.admission.finishes.iter().enumerate();
        jobs.zip(ends).map(|(job, (at, finish))| Line {
            job,
            finish,
            without: self.admission.without.get(at),
        })
    }

    fn cautions(&self) -> Vec<String> {
        let over = self.admission.without.iter();
        let mut cautions: Vec<String> = over
            .filter(|end| end.expected_s < 0.0)
            .map(|end| {
                format!(
                    "{} should have ended {} ago. What it still has to do is unknown and not \
                     counted.",
                    end.name,
                    seconds(-end.expected_s)
                )
            })
            .collect();
        let time = self.setup.predictors.iter();
        let far = self.configurations.iter().zip(self.jobs).filter(|(at, _)| {
            time.clone()
                .any(|predictor| !predictor.predict(at, 0.9).outside.is_empty())
        });
        cautions.extend(far.map(|(_, job)| {
            format!(
                "the configuration of {} lies outside what was run; its end is less certain.",
                job.name
            )
        }));
        cautions
    }

    fn json(&self) -> Value {
        let factors = self.setup.table.runs.factors();
        let responses = self.picked.predictions.iter();
        let responses = responses.map(|(name, p)| (name.clone(), prediction_json(p)));
        let configurations = self
            .configurations
            .iter()
            .chain([&self.picked.configuration]);
        let jobs: Vec<Value> = self
            .lines()
            .zip(configurations)
            .map(|(line, at)| {
                json!({
                    "name": line.finish.name,
                    "configuration": settings_json(&factors.settings(at)),
                    "start_s": line.job.start_s,
                    "alone_s": line.job.alone_s,
                    "ends_without_pick_s": line.without.map(|end| end.expected_s),
                    "ends_expected_s": line.finish.expected_s,
                    "ends_latest_s": line.finish.upper_s,
                    "promised_s": line.job.promise_s,
                    "promise": line.verdict(),
                })
            })
            .collect();
        json!({
            "source": self.setup.table.source,
            "runs": self.setup.table.count,
            "objective": self.request.objective.to_string(),
            "confidence": self.request.confidence,
            "considered": self.setup.choices.len(),
            "epochs": self.setup.epochs.as_ref().map(super::FreeEpochs::json),
            "interference": {
                "contention": self.interference.contention,
                "coherence": self.interference.coherence,
                "fitted": self.fitted,
            },
            "promises_kept": self.admission.promises_kept,
            "pick": {
                "configuration": settings_json(&factors.settings(&self.picked.configuration)),
                "objective": self.picked.objective,
                "responses_alone": Value::Object(responses.collect()),
            },
            "jobs": jobs,
        })
    }
}

/// One job with its end, beside the newcomer and without it.
struct Line<'a> {
    job: &'a Job,
    finish: &'a Finish,
    without: Option<&'a Finish>,
}

impl Line<'_> {
    fn verdict(&self) -> &'static str {
        match (self.job.promise_s, self.finish.kept, self.without) {
            (None, ..) => "none",
            (_, true, _) => "kept",
            (_, false, Some(without)) if !without.kept => "broken anyway",
            (_, false, _) => "broken",
        }
    }
}

/// A time from now, before it as well.
fn seconds(value: f64) -> String {
    if value < 0.0 {
        format!("-{}", duration(-value))
    } else {
        duration(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<RunningJob, Failure> {
        read(&[text.to_owned()]).map(|mut jobs| jobs.remove(0))
    }

    #[test]
    fn a_job_is_its_start_its_factors_and_its_deadline() {
        let job = one("name=a, start=-2m, batch_size=128, sync=bsp, deadline=10m, load=2").unwrap();
        assert_eq!((job.name.as_str(), job.start_s), ("a", -120.0));
        assert_eq!((job.deadline_s, job.load), (Some(600.0), 2.0));
        assert_eq!(
            job.settings[0],
            ("batch_size".to_owned(), Level::Integer(128))
        );
        assert_eq!(one("start=+30s").unwrap().start_s, 30.0);
    }

    #[test]
    fn a_job_without_sense_is_refused() {
        for text in [
            "batch_size=128",
            "start=soon",
            "start=-1s,deadline=never",
            "start=-1s,load=-1",
            "start=-1s,load=inf",
            "start=-1s,batch",
        ] {
            assert!(one(text).is_err(), "{text}");
        }
    }
}
