//! What recorded runs reported after each epoch, as a table.

use super::{LearnError, Results, RunsTable};
use crate::error::{Explained, Fault};
use paceline_advise::curve::{
    EpochRecord, OverEpochs, Trace, epochs_as_factor, thin_epochs, traces,
};
use paceline_advise::predict::{Role, Roles};
use paceline_advise::runs::RunsError;
use paceline_diagnose::Tally;
use paceline_model::{Event, EventKind, Level, RunValue};
use paceline_records::{OpenRunError, ReadTableError, Run};
use paceline_study::{Absent, ResponseCollector, Study};

/// The metric that says which epoch a line is about.
const EPOCH: &str = "epoch";

/// How many settings, epochs included, predictors learn from at most: a Gaussian
/// process takes the cube of it.
const MOST_SETTINGS: usize = 160;
/// However many configurations there are, a curve needs its ends and a middle.
const LEAST_EPOCHS: usize = 3;

/// Why results do not tell how responses go on with the epochs.
#[derive(Debug, thiserror::Error)]
pub enum EpochsError {
    /// A plain table has nothing but the end of each run.
    #[error("`{0}` has one row for each run and none for their epochs")]
    NoStudy(String),
    /// The study has no such response.
    #[error("`{name}` is no response of the study; its responses are {}", .known.join(", "))]
    NoResponse {
        /// What was asked for.
        name: String,
        /// The study's responses.
        known: Vec<String>,
    },
    /// No run reported its epochs with all that was asked for.
    #[error("{}", silence(.absent.as_ref()))]
    Silent {
        /// A response that some epoch lacks, and why.
        absent: Option<(String, Absent)>,
        /// A response that could have been reported.
        example: String,
    },
    /// Nothing can be learned from the results.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The rows by epoch do not form a table of runs.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A record cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadTableError),
}

fn silence(absent: Option<&(String, Absent)>) -> String {
    match absent {
        Some((response, why)) => format!("no run has `{response}` after each epoch: {why}"),
        None => "no run reported its epochs".to_owned(),
    }
}

impl Explained for EpochsError {
    fn fault(&self) -> Fault {
        match self {
            Self::Open(error) => error.fault(),
            Self::Read(error) => error.fault(),
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoStudy(_) => Some(
                "name the directory of a study, whose runs are recorded with all they reported"
                    .to_owned(),
            ),
            Self::NoResponse { .. } => {
                Some("after each epoch only the study's own responses can be told".to_owned())
            }
            Self::Silent { example, .. } => Some(format!(
                "a run reports an epoch by printing a line such as {{\"epoch\": 1, \"{example}\": \
                 0.9}} after it"
            )),
            Self::Learn(error) => error.hint(),
            Self::Open(error) => error.hint(),
            Self::Runs(_) | Self::Read(_) => None,
        }
    }
}

/// Runs with a row per epoch; the last factor is the number of epochs.
pub struct EpochsTable {
    /// Every epoch that was reported.
    pub all: RunsTable,
    /// The epochs that predictors learn from.
    pub thin: RunsTable,
    /// The most epochs that a run had.
    pub most: f64,
    /// Runs that reported no epoch with all responses.
    pub silent: usize,
    /// Whether the runs count their epochs from zero.
    pub from_zero: bool,
}

impl EpochsTable {
    /// How each of these responses goes on with the epochs.
    #[must_use]
    pub fn shapes(&self, responses: &[String]) -> Vec<(String, OverEpochs)> {
        let shape = |response: &String| (response.clone(), self.over_epochs(response));
        responses.iter().map(shape).collect()
    }

    /// How a response goes on with the epochs.
    #[must_use]
    pub fn over_epochs(&self, response: &str) -> OverEpochs {
        let traces = traces(&self.all.runs, response).unwrap_or_default();
        let traces: Vec<Trace> = traces.into_iter().map(|(_, trace)| trace).collect();
        OverEpochs::of(&traces)
    }
}

/// Roles that know how the response goes on with the epochs.
pub(crate) fn following(roles: Roles, shape: OverEpochs) -> Roles {
    match shape {
        OverEpochs::LevellingOff { rate } => roles.levelling_off(rate),
        OverEpochs::Growing => roles,
    }
}

impl Results {
    /// The runs with a row per epoch and these responses, each as it would be had
    /// the run ended after that epoch.
    ///
    /// # Errors
    /// If the table is no study's, or its runs reported no epochs.
    pub fn epochs(&self, responses: &[String]) -> Result<EpochsTable, EpochsError> {
        let (Some(study), Some(recorded)) = (self.study(), self.recorded()) else {
            return Err(EpochsError::NoStudy(self.source()));
        };
        // A run with another number of epochs is no replicate, but its epochs are.
        let otherwise = study.otherwise();
        let also = study.records_at(&otherwise);
        let recorded = recorded.chain(also.iter().map(|dir| Run::open(dir)));
        let study = &study.study;
        let asked = positions(study, responses)?;
        let short = self.factor_runs(&otherwise)?;
        let roles = self.roles(short.factors())?;
        let mut records = Vec::new();
        let (mut silent, mut from_zero) = (0, false);
        let mut absent = None;
        for (row, run) in recorded.enumerate() {
            let found = reported(&run?, study, &asked)?;
            silent += usize::from(found.epochs.is_empty());
            absent = absent.or(found.absent);
            from_zero |= found.epochs.first().is_some_and(|(epoch, _)| *epoch == 0.0);
            let each = found
                .epochs
                .into_iter()
                .map(|(epoch, responses)| EpochRecord {
                    run: row,
                    epoch,
                    responses,
                });
            records.extend(each);
        }
        if records.is_empty() {
            let example = responses.iter().find(|name| *name != "time");
            return Err(EpochsError::Silent {
                absent,
                example: example.map_or("accuracy", String::as_str).to_owned(),
            });
        }
        if from_zero {
            for record in &mut records {
                record.epoch += 1.0;
            }
        }
        let names: Vec<&str> = responses.iter().map(String::as_str).collect();
        let table = |records: &[EpochRecord]| -> Result<RunsTable, EpochsError> {
            Ok(RunsTable {
                runs: epochs_as_factor(&short, &roles, &names, records)?,
                count: short.rows() - silent,
                source: self.source(),
                left_out: self.left_out(),
            })
        };
        let all = table(&records)?;
        let most = records
            .iter()
            .map(|record| record.epoch)
            .fold(1.0, f64::max);
        let configurations = traces(&all.runs, names[0]).unwrap_or_default().len();
        let each = (MOST_SETTINGS / configurations.max(1)).max(LEAST_EPOCHS);
        let thin = table(&thin_epochs(&records, each))?;
        Ok(EpochsTable {
            all,
            thin,
            most,
            silent,
            from_zero,
        })
    }

    /// Whether the first run reported any epochs: a glance, for a hint.
    pub(crate) fn report_epochs(&self) -> bool {
        let first = self.recorded().and_then(|mut recorded| recorded.next());
        let Some(Ok(run)) = first else { return false };
        let is_epoch = |event: &Event| event.kind == EventKind::Metric && event.name == EPOCH;
        let events = run.events().unwrap_or_default();
        events.iter().filter(|event| is_epoch(event)).count() > 1
    }
}

fn positions(study: &Study, responses: &[String]) -> Result<Vec<usize>, EpochsError> {
    let names = || study.responses().iter().map(|own| own.name.as_str());
    let position = |name: &String| {
        let found = names().position(|known| known == name);
        found.ok_or_else(|| EpochsError::NoResponse {
            name: name.clone(),
            known: names().map(ToOwned::to_owned).collect(),
        })
    };
    responses.iter().map(position).collect()
}

/// The epochs of one run with the asked responses after each.
struct Reported {
    /// In order of their numbers.
    epochs: Vec<(f64, Vec<f64>)>,
    /// A response that some epoch does not have, and why.
    absent: Option<(String, Absent)>,
}

/// What a run's response was after each epoch that it reported; empty if it
/// reported none, or the response is none of the study's own.
#[must_use]
pub fn after_each_epoch(run: &Run, study: &Study, response: &str) -> Vec<(f64, f64)> {
    let names = study.responses().iter().map(|own| own.name.as_str());
    let asked: Vec<usize> = names
        .enumerate()
        .filter(|(_, name)| *name == response)
        .map(|(at, _)| at)
        .collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let found = reported(run, study, &asked).map(|found| found.epochs);
    let epochs = found.unwrap_or_default().into_iter();
    epochs.map(|(epoch, values)| (epoch, values[0])).collect()
}

fn reported(run: &Run, study: &Study, asked: &[usize]) -> Result<Reported, EpochsError> {
    let events = run.events()?;
    let metrics: Vec<&Event> = events
        .iter()
        .filter(|event| event.kind == EventKind::Metric)
        .collect();
    // One line of output is one time, one step and one worker.
    let lines: Vec<&[&Event]> = metrics
        .chunk_by(|a, b| (a.at, a.step, a.worker) == (b.at, b.step, b.worker))
        .collect();
    let manifest = run.manifest();
    let levels: Vec<Level> = manifest.start.factors.values().cloned().collect();
    let ended = manifest.end.as_ref().map(|end| end.duration.as_secs());
    let last = lines.iter().rev().find(|line| epoch_of(line).is_some());
    let last = last.map_or(0.0, |line| line[0].at.as_secs());
    // What comes after the last epoch, as a final evaluation, comes after any.
    let after = ended.map_or(0.0, |ended| (ended - last).max(0.0));
    let measured = Measured::new(run);
    let mut so_far = ResponseCollector::new(study);
    let mut of_epoch = ResponseCollector::new(study);
    let mut current = None;
    let mut found = Reported {
        epochs: Vec::new(),
        absent: None,
    };
    for line in lines {
        let epoch = epoch_of(line);
        if epoch.is_some() && epoch != current {
            of_epoch = ResponseCollector::new(study);
            current = epoch;
        }
        for event in line {
            if let Some(value) = event.value {
                so_far.metric(event.worker, &event.name, value);
                of_epoch.metric(event.worker, &event.name, value);
            }
        }
        let Some(epoch) = epoch else { continue };
        let at_s = line[0].at.as_secs();
        let value = |name: &str| match name {
            "duration_s" => Some(at_s + after),
            _ => measured.value(name, at_s),
        };
        // A metric that this epoch did not report would be that of another.
        let fresh = of_epoch.finish(&levels, value);
        let values = so_far.finish(&levels, value);
        let missing = asked.iter().find_map(|&at| {
            let why = fresh[at].as_ref().and(values[at].as_ref()).err()?;
            Some((study.responses()[at].name.clone(), why.clone()))
        });
        if let Some(missing) = missing {
            found.absent.get_or_insert(missing);
            continue;
        }
        let values = asked.iter().filter_map(|&at| values[at].as_ref().ok());
        let values: Vec<f64> = values.copied().collect();
        match found.epochs.iter_mut().find(|(known, _)| *known == epoch) {
            Some((_, known)) => *known = values,
            None => found.epochs.push((epoch, values)),
        }
    }
    found.epochs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let declared = declared_epochs(study, &levels);
    let counts_from_zero = found.epochs.first().is_some_and(|(epoch, _)| *epoch == 0.0);
    let most = found.epochs.last().map(|(epoch, _)| *epoch);
    if counts_from_zero && declared.is_some() && most == declared {
        // An epoch 0 beside as many as were asked for is the state before training.
        found.epochs.remove(0);
    }
    Ok(found)
}

/// The whole number that a line gives as its epoch.
fn epoch_of(line: &[&Event]) -> Option<f64> {
    let event = line.iter().find(|event| event.name == EPOCH)?;
    event
        .value
        .filter(|epoch| *epoch >= 0.0 && epoch.fract() == 0.0 && epoch.is_finite())
}

/// How many epochs the run was asked for, by a factor or a constant of that name.
fn declared_epochs(study: &Study, levels: &[Level]) -> Option<f64> {
    let factors = study.factors().iter().map(|factor| factor.name.as_str());
    let fixed = study
        .fixed()
        .iter()
        .map(|(name, level)| (name.as_str(), level));
    let mut all = factors.zip(levels).chain(fixed);
    let (_, level) = all.find(|(name, _)| Role::parse(name) == Some(Role::Epochs))?;
    level.as_number()
}

/// What was measured of a run up to a time. Samples are read only if a response
/// uses them.
struct Measured<'a> {
    run: &'a Run,
    tallies: std::cell::OnceCell<Vec<(f64, Tally)>>,
}

impl<'a> Measured<'a> {
    fn new(run: &'a Run) -> Self {
        Self {
            run,
            tallies: std::cell::OnceCell::new(),
        }
    }

    fn value(&self, name: &str, until_s: f64) -> Option<f64> {
        let value = RunValue::from_name(name)?;
        let tallies = self.tallies.get_or_init(|| self.read());
        let until = tallies.partition_point(|(at, _)| *at <= until_s);
        // A run of less than a sample is told by its first.
        let (_, tally) = tallies.get(until.saturating_sub(1))?;
        tally.value(value, None)
    }

    /// What each sample makes of all before it; nothing if they cannot be read.
    fn read(&self) -> Vec<(f64, Tally)> {
        let node = self
            .run
            .nodes()
            .ok()
            .and_then(|nodes| nodes.into_iter().next());
        let samples = node.and_then(|node| self.run.samples_of(&node).ok());
        let mut tally = Tally::default();
        samples
            .into_iter()
            .flatten()
            .map_while(Result::ok)
            .map(|sample| {
                tally.add(&sample);
                (sample.at.as_secs(), tally.clone())
            })
            .collect()
    }
}
