//! What the pick promised, against what its run gave.

use crate::context;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use paceline_engine::host::answer_of;
use paceline_model::EventKind;
use paceline_records::Run;
use paceline_report::number;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

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
    /// Asks the pick again, in the form for programs.
    pub(super) fn ask(pick: &[&str]) -> Result<Self, Failure> {
        let program = context::program()?;
        let words = [pick, &["--format=json"]].concat();
        let unreadable = || Failure::world(anyhow!("the pick's answer cannot be read"));
        let (_, answer) = answer_of(&program.to_string_lossy(), &words).ok_or_else(unreadable)?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| unreadable())?;
        // On a busy machine no time may be sure enough; then the nearest
        // configuration is run, and its promise is as weak as it says.
        let verdict = &answer["verdict"];
        let pick = verdict.get("pick").unwrap_or(&verdict["nearest"]);
        let interval = |name: &str| {
            let of = &pick["responses"][name];
            let number = |key: &str| of[key].as_f64().ok_or_else(unreadable);
            Ok::<_, Failure>(Interval {
                value: number("value")?,
                ends: of["low"].as_f64().zip(of["high"].as_f64()),
            })
        };
        let settings = pick["configuration"].as_object().ok_or_else(unreadable)?;
        Ok(Self {
            configuration: settings
                .iter()
                .map(|(name, level)| {
                    let level = level
                        .as_str()
                        .map_or_else(|| level.to_string(), str::to_owned);
                    (name.clone(), level)
                })
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
pub(super) fn median_time(study: &Path) -> Result<f64, Failure> {
    let path = study.join("table.csv");
    let unreadable = || format!("cannot read {}", path.display());
    let mut table = csv::Reader::from_path(&path)
        .with_context(unreadable)
        .map_err(Failure::world)?;
    let mut times: BTreeMap<[String; 3], Vec<f64>> = BTreeMap::new();
    for row in table.deserialize::<BTreeMap<String, String>>() {
        let mut row = row.with_context(unreadable).map_err(Failure::world)?;
        let time = row.get("time").and_then(|time| time.parse().ok());
        let Some(time) = time else { continue };
        let levels =
            ["batch_size", "workers", "sync"].map(|factor| row.remove(factor).unwrap_or_default());
        times.entry(levels).or_default().push(time);
    }
    let mut means: Vec<f64> = times
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
