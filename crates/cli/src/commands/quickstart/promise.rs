//! What the pick promised, against what its run gave.

use crate::failure::Failure;
use anyhow::anyhow;
use paceline_answers::pick::AloneAnswer;
use paceline_answers::results::Results;
use paceline_model::EventKind;
use paceline_records::Run;
use paceline_report::number;
use std::collections::BTreeMap;

/// A picked configuration with its predictions.
pub(super) struct Promise {
    configuration: Vec<(String, String)>,
    time: Interval,
    accuracy: Interval,
}

/// A prediction and the range it is expected in.
struct Interval {
    value: f64,
    /// From here to there, if the runs bound it.
    ends: Option<(f64, f64)>,
}

impl Promise {
    /// What a pick promises of its configuration. On a busy machine no time may be
    /// sure enough; then the nearest configuration is run, and its promise is as
    /// weak as it says.
    pub(super) fn of(pick: &AloneAnswer) -> Result<Self, Failure> {
        let best = pick.best();
        let interval = |name: &str| {
            let found = best.predictions.iter().find(|(own, _)| own == name);
            let unknown = || Failure::world(anyhow!("the pick promises nothing of {name}"));
            let (_, found) = found.ok_or_else(unknown)?;
            let value = found.value;
            Ok::<_, Failure>(Interval {
                value: value.ok_or_else(unknown)?,
                ends: found.interval.ends(),
            })
        };
        let settings = pick.settings(&best.configuration).into_iter();
        Ok(Self {
            configuration: settings
                .map(|(name, level)| (name, level.to_string()))
                .collect(),
            time: interval("time")?,
            accuracy: interval("accuracy")?,
        })
    }

    /// The training of the story's study at the picked levels.
    pub(super) fn training(&self) -> Vec<String> {
        let mut words: Vec<String> = [
            "train",
            "mlp:64",
            "--epochs=2",
            "--learning-rate=0.05",
            "--optimizer=sgd",
            "--threads=1",
            "--seed=7",
            "--interval=200ms",
        ]
        .map(str::to_owned)
        .to_vec();
        for (name, level) in &self.configuration {
            words.push(format!("--{}={level}", name.replace('_', "-")));
        }
        words
    }

    /// A small table of promise and outcome.
    pub(super) fn against(&self, run: &Run) -> Result<String, Failure> {
        let events = run.events().map_err(Failure::record)?;
        let measured = |name: &str| {
            events
                .iter()
                .rfind(|event| event.kind == EventKind::Metric && event.name == name)
                .and_then(|event| event.value)
                .ok_or_else(|| Failure::record(anyhow!("the run did not report its {name}")))
        };
        let time = measured("train_s")?;
        let accuracy = measured("test_accuracy")?;
        let kept = |interval: &Interval, value: f64| match interval.ends {
            Some((low, high)) if (low..=high).contains(&value) => "as promised",
            Some(_) => "outside of the interval",
            None => "nothing was promised",
        };
        let between = |interval: &Interval, shown: &dyn Fn(f64) -> String| {
            let ends = interval.ends;
            ends.map_or("not known".to_owned(), |(low, high)| {
                format!("{} and {}", shown(low), shown(high))
            })
        };
        let seconds = number::duration;
        let percent = |value: f64| format!("{:.1}%", 100.0 * value);
        Ok(format!(
            "{:<12}{:>12}{:>24}{:>12}\n{:<12}{:>12}{:>24}{:>12}   {}\n{:<12}{:>12}{:>24}{:>12}   {}\n",
            "",
            "promised",
            "between",
            "came",
            "time",
            seconds(self.time.value),
            between(&self.time, &seconds),
            seconds(time),
            kept(&self.time, time),
            "accuracy",
            percent(self.accuracy.value),
            between(&self.accuracy, &percent),
            percent(accuracy),
            kept(&self.accuracy, accuracy),
        ))
    }
}

/// The time that half of the study's configurations do not exceed.
pub(super) fn median_time(results: &Results) -> Result<f64, Failure> {
    let runs = results.runs(&["time".to_owned()])?.runs;
    let times = runs.response("time").unwrap_or_default();
    let mut by_trial: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (&trial, &time) in runs.trials().iter().zip(times) {
        by_trial.entry(trial).or_default().push(time);
    }
    let mut means: Vec<f64> = by_trial
        .values()
        .map(|times| times.iter().sum::<f64>() / times.len() as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let middle = means.len() / 2;
    match means.get(middle) {
        Some(upper) => Ok((means[middle.saturating_sub(1)] + upper) / 2.0),
        None => Err(Failure::world(anyhow!(
            "no run of the story's study is done"
        ))),
    }
}
