//! What was promised of runs, held against what came.

mod account;
mod json;
mod learned;

pub use account::{Account, Bin, Judgement};
pub use learned::Learned;

use crate::error::Explained;
use crate::results::{Results, StudyState};
use paceline_records::study::{LedgerEntry, Outcome, Promise, PromisedValue};
use paceline_runner::study::unsettled;

pub(crate) use learned::learned;

/// Asks how promises were kept; there is nothing to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromisesQuestion;

/// Why nothing can be said of promises.
#[derive(Debug, thiserror::Error)]
pub enum PromisesError {
    /// A plain table has no ledger.
    #[error("`{0}` is a plain table: nothing is promised of its runs, and none can be made")]
    NoStudy(String),
}

impl Explained for PromisesError {
    fn hint(&self) -> Option<String> {
        Some("promises are made and kept in a study's directory: paceline pick DIR --run".into())
    }
}

/// A promise with what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// What was stated.
    pub promise: Promise,
    /// What came of its run; nothing while that has not ended.
    pub outcome: Option<Outcome>,
}

/// What became of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Its run has not ended.
    Open,
    /// Every limit was kept; without limits, every value came within its interval.
    Kept,
    /// One was not.
    Broken,
    /// The run failed, so that nothing was kept.
    Failed,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Failed => "failed",
        }
    }
}

impl Held {
    /// What became of it.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let Some(outcome) = &self.outcome else {
            return Verdict::Open;
        };
        if !outcome.done {
            return Verdict::Failed;
        }
        let mut limits = self.promise.limits.iter();
        let mut intervals = self.promise.predictions.iter();
        let kept = match self.promise.limits.is_empty() {
            true => intervals.all(|one| is_within(one, outcome).unwrap_or(false)),
            false => limits.all(|limit| limit.is_kept_by(outcome)),
        };
        if kept { Verdict::Kept } else { Verdict::Broken }
    }

    /// Whether something disturbed the run.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        let outcome = self.outcome.as_ref();
        outcome.is_some_and(|outcome| !outcome.disturbed.is_empty())
    }
}

/// Whether a value came within its interval; nothing if there is no value.
#[must_use]
pub fn is_within(stated: &PromisedValue, outcome: &Outcome) -> Option<bool> {
    let value = outcome.values.get(&stated.response)?;
    let came = outcome.done && (stated.low..=stated.high).contains(value);
    outcome.done.then_some(came)
}

/// Stated against kept.
#[derive(Debug, Clone, PartialEq)]
pub struct PromisesAnswer {
    /// The study's directory.
    pub source: String,
    /// Every promise, in the order in which they were made.
    pub promises: Vec<Held>,
    /// Promises with limits: how often all limits of a run were kept.
    pub limits: Account,
    /// The same by what was stated.
    pub bins: Vec<Bin>,
    /// How often a value came within its interval, by response.
    pub intervals: Vec<(String, Account)>,
    /// What predictors have learned from it, by response: at the usual coverage.
    pub learned: Vec<Learned>,
}

/// How the promises of a study's results were kept.
///
/// # Errors
/// If the results are a plain table.
pub fn promises(
    results: &Results,
    _question: PromisesQuestion,
) -> Result<PromisesAnswer, PromisesError> {
    match results.study() {
        Some(study) => Ok(of_study(&study.state)),
        None => Err(PromisesError::NoStudy(results.source())),
    }
}

/// How the promises of a study were kept, whether a run of it counts or not.
#[must_use]
pub fn of_study(state: &StudyState) -> PromisesAnswer {
    let promises = held(state);
    let ended = || promises.iter().filter(|held| held.outcome.is_some());
    let limited: Vec<account::Stated> = ended()
        .filter(|held| !held.promise.limits.is_empty())
        .map(|held| {
            let each = held.promise.limits.iter().map(|limit| limit.probability);
            account::Stated::all_of(each, held.verdict() == Verdict::Kept)
        })
        .collect();
    let mut responses: Vec<&str> = Vec::new();
    for held in &promises {
        for one in &held.promise.predictions {
            if !responses.contains(&one.response.as_str()) {
                responses.push(&one.response);
            }
        }
    }
    let intervals = responses.iter().map(|response| {
        let stated = ended().filter_map(|held| {
            let one = held.promise.predictions.iter();
            let one = one.clone().find(|one| one.response == *response)?;
            let came = is_within(one, held.outcome.as_ref()?)?;
            Some(account::Stated::all_of([one.coverage].into_iter(), came))
        });
        (
            (*response).to_owned(),
            Account::of(&stated.collect::<Vec<_>>()),
        )
    });
    PromisesAnswer {
        source: state.dir.path().display().to_string(),
        limits: Account::of(&limited),
        bins: Bin::of(&limited),
        intervals: intervals.collect(),
        learned: learned(&promises, USUAL_COVERAGE),
        promises,
    }
}

/// The coverage at which the learned widths are told where nobody asks for another.
const USUAL_COVERAGE: f64 = 0.95;

/// The promises of a study with their outcomes: those in the ledger, and those of
/// runs that ended when nobody was left to note them down.
pub(crate) fn held(state: &StudyState) -> Vec<Held> {
    let missing = unsettled(&state.plan, &state.progress, &state.ledger);
    let noted = state.ledger.iter().filter_map(|entry| match entry {
        LedgerEntry::Came(outcome) => Some(outcome.as_ref()),
        LedgerEntry::Promised(_) => None,
    });
    let outcomes: Vec<&Outcome> = noted.chain(&missing).collect();
    let promised = state.ledger.iter().filter_map(|entry| match entry {
        LedgerEntry::Promised(promise) => Some(promise.as_ref()),
        LedgerEntry::Came(_) => None,
    });
    promised
        .map(|promise| Held {
            promise: promise.clone(),
            outcome: outcomes
                .iter()
                .find(|outcome| outcome.promise == promise.id)
                .map(|outcome| (*outcome).clone()),
        })
        .collect()
}

impl PromisesAnswer {
    /// How many promises became what.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        let same = |held: &&Held| held.verdict() == verdict;
        self.promises.iter().filter(same).count()
    }

    /// What it comes to, in sentences that are true of what was stated and came.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        if self.promises.is_empty() {
            return vec!["Nothing has been promised yet.".to_owned()];
        }
        let mut sentences = Vec::new();
        if self.limits.of > 0 || self.intervals.iter().all(|(_, account)| account.of == 0) {
            sentences.push(self.limits.sentence("Limits", "promise", "kept"));
        }
        for (response, account) in &self.intervals {
            if account.of > 0 {
                let whose = format!("Intervals of {response}");
                sentences.push(account.sentence(&whose, "value", "within"));
            }
        }
        let ended = self.promises.iter().filter(|held| held.outcome.is_some());
        let disturbed = ended.clone().filter(|held| held.is_disturbed()).count();
        if disturbed > 0 {
            let broken =
                ended.filter(|held| held.is_disturbed() && held.verdict() != Verdict::Kept);
            let ended = self.promises.len() - self.count(Verdict::Open);
            sentences.push(format!(
                "Disturbed by other work: {disturbed} of {ended} runs, of which {} did not keep \
                 their promise.",
                broken.count()
            ));
        }
        sentences.extend(self.learned.iter().map(Learned::sentence));
        sentences
    }
}
