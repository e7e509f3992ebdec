//! What one run reported into the values of its responses.

use crate::expression::Absent;
use crate::response::{ResponseSource, Take};
use crate::study::Study;
use paceline_model::{Level, WorkerId};
use std::collections::BTreeMap;

/// Gathers, line by line and metric by metric, what the responses of a study
/// need of one run. Memory does not grow with the length of the run.
#[derive(Debug, Clone)]
pub struct ResponseCollector<'a> {
    study: &'a Study,
    /// Per response: the values its pattern found.
    from_log: Vec<Summary>,
    /// Every name that a response may read as a metric, and no other: a run
    /// that reports without end must not fill the memory.
    metrics: BTreeMap<&'a str, BTreeMap<WorkerId, Summary>>,
}

/// One number of what several ranks reported: the mean of what each of them gives, as
/// in a run's summary and in its learning curve.
fn over_ranks(ranks: &BTreeMap<WorkerId, Summary>, take: Take) -> Option<f64> {
    let values = ranks.values().filter_map(|summary| summary.take(take));
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Everything [`Take`] may ask for.
#[derive(Debug, Clone, Copy, Default)]
struct Summary {
    count: u64,
    first: f64,
    last: f64,
    min: f64,
    max: f64,
    mean: f64,
}

impl Summary {
    fn add(&mut self, value: f64) {
        self.count += 1;
        if self.count == 1 {
            (self.first, self.min, self.max, self.mean) = (value, value, value, 0.0);
        }
        self.last = value;
        // A NaN must stay visible: f64::min and f64::max would drop it.
        self.min = if value.is_nan() {
            value
        } else {
            nan_or(self.min, value, f64::min)
        };
        self.max = if value.is_nan() {
            value
        } else {
            nan_or(self.max, value, f64::max)
        };
        // The running mean of Welford (1962), which does not overflow as a sum would.
        self.mean += (value - self.mean) / self.count as f64;
    }

    fn take(&self, take: Take) -> Option<f64> {
        (self.count > 0).then_some(match take {
            Take::First => self.first,
            Take::Last => self.last,
            Take::Min => self.min,
            Take::Max => self.max,
            Take::Mean => self.mean,
        })
    }
}

fn nan_or(known: f64, value: f64, choose: fn(f64, f64) -> f64) -> f64 {
    if known.is_nan() {
        known
    } else {
        choose(known, value)
    }
}

impl<'a> ResponseCollector<'a> {
    /// Begins a run of `study`.
    #[must_use]
    pub fn new(study: &'a Study) -> Self {
        Self {
            study,
            from_log: vec![Summary::default(); study.responses.len()],
            metrics: study
                .responses
                .iter()
                .flat_map(|response| match &response.source {
                    ResponseSource::Metric(name, _) => vec![name.as_str()],
                    ResponseSource::Expression(expression) => expression
                        .names()
                        .into_iter()
                        .map(|(name, _)| name)
                        .collect(),
                    ResponseSource::Log(..) => Vec::new(),
                })
                .map(|name| (name, BTreeMap::new()))
                .collect(),
        }
    }

    /// Takes one line of the log, without its line break.
    pub fn log_line(&mut self, line: &str) {
        for (response, summary) in self.study.responses.iter().zip(&mut self.from_log) {
            if let ResponseSource::Log(pattern, _) = &response.source
                && let Some(value) = pattern.number_in(line)
            {
                summary.add(value);
            }
        }
    }

    /// Takes one value of a metric that the run reported, or one rank of it.
    pub fn metric(&mut self, rank: Option<WorkerId>, name: &str, value: f64) {
        if let Some(ranks) = self.metrics.get_mut(name) {
            ranks
                .entry(rank.unwrap_or_default())
                .or_default()
                .add(value);
        }
    }

    /// The value of every response, in the order of [`Study::responses`].
    ///
    /// `levels` are those of the run, in the order of [`Study::factors`];
    /// `run_value` gives what Paceline measured ([`RunValue`](paceline_model::RunValue))
    /// or nothing. A response that has no value says why.
    pub fn finish(
        &self,
        levels: &[Level],
        run_value: impl Fn(&str) -> Option<f64>,
    ) -> Vec<Result<f64, Absent>> {
        let study = self.study;
        let mut values: Vec<Option<Result<f64, Absent>>> = vec![None; study.responses.len()];
        let position = |name: &str| study.responses.iter().position(|r| r.name == name);
        for &index in &study.order {
            let response = &study.responses[index];
            let found = |value: Option<f64>, name: &str| match value {
                Some(value) if value.is_finite() => Ok(value),
                Some(_) => Err(Absent::NotFinite(name.to_owned())),
                None => Err(Absent::Missing(name.to_owned())),
            };
            let metric = |name: &str, take| over_ranks(self.metrics.get(name)?, take);
            let value = match &response.source {
                ResponseSource::Log(_, take) => {
                    found(self.from_log[index].take(*take), &response.name)
                }
                ResponseSource::Metric(name, take) => found(metric(name, *take), name),
                ResponseSource::Expression(expression) => {
                    // An absent response is absent for the same reason in
                    // everything that uses it.
                    let used = expression
                        .names()
                        .into_iter()
                        .filter_map(|(name, _)| position(name))
                        .filter(|&used| used != index)
                        .find_map(|used| values[used].clone()?.err());
                    match used {
                        Some(absent) => Err(absent),
                        None => expression.evaluate(|name| {
                            if let Some(used) = position(name).filter(|&used| used != index) {
                                return values[used].clone()?.ok();
                            }
                            run_value(name)
                                .or_else(|| study.level(name, levels)?.as_number())
                                .or_else(|| metric(name, Take::Last))
                        }),
                    }
                }
            };
            values[index] = Some(value);
        }
        values
            .into_iter()
            .map(|value| value.expect("the evaluation order holds every response"))
            .collect()
    }
}

impl Study {
    /// The level of a factor in a trial, or of a constant.
    pub(crate) fn level<'l>(&'l self, name: &str, levels: &'l [Level]) -> Option<&'l Level> {
        let factor = self.factors.iter().position(|factor| factor.name == name);
        match factor {
            Some(position) => levels.get(position),
            None => self
                .fixed
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, level)| level),
        }
    }
}
