//! Is the difference between runs real, and what moved with it?
//!
//! Every group of runs is compared with the first, quantity by quantity. A
//! difference counts if two tests agree: Welch's t test, whose p-value is
//! adjusted by Holm for the number of comparisons, and the rank sum test, which
//! single outliers cannot decide. How long the runs took is one family of
//! comparisons, everything else that was measured another: the first is the
//! question, the second only says where to look.

mod json;
mod measured;
mod summary;

pub use measured::{Kind, Measured, Quantity, Unit};
pub use summary::{Spread, Summary};

use crate::error::Explained;
use indexmap::IndexMap;
use paceline_model::Verdict;
use paceline_stats::checks::{RankSumTest, WelchTest, holm, least_rank_sum_p, rank_sum, welch};

/// Differences are claimed at this chance of an error for each family.
const ALPHA: f64 = 0.05;

/// Runs that are taken for repetitions of one thing.
#[derive(Debug, Clone)]
pub struct Group {
    /// What it is called: `A`, `B`.
    pub label: String,
    /// What was run, or where its records are.
    pub what: String,
    /// The runs, whatever became of them.
    pub runs: Vec<Measured>,
}

impl Group {
    /// The runs that did what they were asked to.
    pub fn done(&self) -> impl Iterator<Item = &Measured> {
        self.runs.iter().filter(|run| run.verdict == Verdict::Done)
    }

    /// Runs that failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        let failed = |run: &&Measured| run.verdict == Verdict::Failed;
        self.runs.iter().filter(failed).count()
    }

    /// Everything that any of its runs has a value of, by kind.
    #[must_use]
    pub fn quantities(&self) -> Vec<Quantity> {
        quantities(std::slice::from_ref(self))
            .into_values()
            .collect()
    }

    fn values(&self, key: &str) -> Vec<f64> {
        self.done()
            .filter_map(|run| run.values.get(key))
            .map(|(_, value)| *value)
            .collect()
    }
}

/// Why runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// There is nothing to compare with.
    #[error("a comparison needs at least two groups of runs, not {0}")]
    TooFew(usize),
    /// A group has nothing to show.
    #[error("no run of {label} ({what}) did what it was asked to: {outcome}")]
    NoneDone {
        /// The group.
        label: String,
        /// What was run.
        what: String,
        /// How its last run ended.
        outcome: String,
    },
}

impl Explained for CompareError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::TooFew(_) => {
                "paceline compare A B, or compare --repeat 10 -- CMD --- CMD".to_owned()
            }
            Self::NoneDone { .. } => {
                "what a run printed is in log/ of its record; a run that failed or was cut short \
                 measures something else"
                    .to_owned()
            }
        })
    }
}

/// What a comparison of one quantity came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Both tests say that the groups differ.
    Differs,
    /// Neither does, or the values are too few for them to.
    NotShown,
    /// One says so and the other does not.
    Disagree,
    /// All values of both groups are equal.
    Equal,
    /// A group has a single run: how much that varies by itself is not known.
    Unknown,
}

impl Finding {
    /// The word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Differs => "differs",
            Self::NotShown => "not_shown",
            Self::Disagree => "tests_disagree",
            Self::Equal => "equal",
            Self::Unknown => "unknown",
        }
    }
}

/// One quantity of one group beside that of the first.
#[derive(Debug, Clone)]
pub struct Compared {
    /// What is compared.
    pub quantity: Quantity,
    /// The other group, by its place.
    pub other: usize,
    /// How many values the first and the other group have.
    pub counts: (usize, usize),
    /// Their means.
    pub means: (f64, f64),
    /// Their standard deviations; nothing for a single value.
    pub spreads: (Option<f64>, Option<f64>),
    /// Welch's test at the level of the answer; nothing where a group has one
    /// value or neither varies.
    pub welch: Option<WelchTest>,
    /// The rank sum test; nothing where a group has one value.
    pub ranks: Option<RankSumTest>,
    /// The p-value that decides, adjusted for the number of comparisons.
    pub p_adjusted: Option<f64>,
    /// What it came to.
    pub finding: Finding,
}

impl Compared {
    /// The other group's mean as a multiple of the first's, less one.
    #[must_use]
    pub fn change(&self) -> Option<f64> {
        let (first, other) = self.means;
        (first > 0.0).then(|| other / first - 1.0)
    }
}

/// The answer.
#[derive(Debug, Clone)]
pub struct CompareAnswer {
    /// The groups; the first is what the others are compared with.
    pub groups: Vec<Group>,
    /// How long the runs took: one for every other group.
    pub times: Vec<Compared>,
    /// Everything else.
    pub others: Vec<Compared>,
    /// The confidence of all intervals of times together (Bonferroni).
    pub level: f64,
    /// What makes the comparison less certain than it looks.
    pub cautions: Vec<String>,
}

/// Compares groups of runs with the first of them. `alternating` says that their
/// order was drawn by lot, round by round.
///
/// # Errors
/// If there are fewer than two groups, or one has no run that was done.
pub fn compare(groups: Vec<Group>, alternating: bool) -> Result<CompareAnswer, CompareError> {
    if groups.len() < 2 {
        return Err(CompareError::TooFew(groups.len()));
    }
    for group in &groups {
        if group.done().next().is_none() {
            return Err(CompareError::NoneDone {
                label: group.label.clone(),
                what: group.what.clone(),
                outcome: group
                    .runs
                    .last()
                    .map_or("there is none", |run| &run.outcome)
                    .to_owned(),
            });
        }
    }
    let quantities = quantities(&groups);
    let others = groups.len() - 1;
    // Times are told with intervals that hold together.
    let level = 1.0 - ALPHA / others as f64;
    let (mut times, mut rest) = (Vec::new(), Vec::new());
    for (other, group) in groups.iter().enumerate().skip(1) {
        for (key, quantity) in &quantities {
            let values = (groups[0].values(key), group.values(key));
            let Some(compared) = one(quantity, other, &values.0, &values.1, level) else {
                continue;
            };
            match quantity.kind {
                Kind::Time => times.push(compared),
                _ => rest.push(compared),
            }
        }
    }
    judge(&mut times);
    judge(&mut rest);
    let cautions = cautions(&groups, &times, alternating);
    Ok(CompareAnswer {
        groups,
        times,
        others: rest,
        level,
        cautions,
    })
}

/// Everything that any run has a value of, by kind.
fn quantities(groups: &[Group]) -> IndexMap<String, Quantity> {
    let mut quantities: IndexMap<String, Quantity> = IndexMap::new();
    for run in groups.iter().flat_map(Group::done) {
        for (key, (quantity, _)) in &run.values {
            quantities
                .entry(key.clone())
                .or_insert_with(|| quantity.clone());
        }
    }
    quantities.sort_by(|_, a, _, b| a.kind.cmp(&b.kind));
    quantities
}

/// Nothing for a quantity that a group lacks, or that is nought throughout.
fn one(quantity: &Quantity, other: usize, a: &[f64], b: &[f64], level: f64) -> Option<Compared> {
    let nought = a.iter().chain(b).all(|value| *value == 0.0);
    if a.is_empty() || b.is_empty() || nought {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let spread = |values: &[f64]| {
        let centre = mean(values);
        let square: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
        (values.len() > 1).then(|| (square / (values.len() - 1) as f64).sqrt())
    };
    let several = a.len() > 1 && b.len() > 1;
    Some(Compared {
        quantity: quantity.clone(),
        other,
        counts: (a.len(), b.len()),
        means: (mean(a), mean(b)),
        spreads: (spread(a), spread(b)),
        welch: welch(a, b, level).ok().filter(|_| several),
        ranks: rank_sum(a, b).ok().filter(|_| several),
        p_adjusted: None,
        finding: match several {
            false => Finding::Unknown,
            true if a.iter().chain(b).all(|value| *value == a[0]) => Finding::Equal,
            true => Finding::NotShown,
        },
    })
}

/// Adjusts the p-values of a family, and says what differs.
fn judge(family: &mut [Compared]) {
    let open: Vec<usize> = (0..family.len())
        .filter(|&at| family[at].finding == Finding::NotShown)
        .collect();
    // What does not vary within groups is judged by its ranks alone.
    let p: Vec<f64> = open
        .iter()
        .map(|&at| {
            let compared = &family[at];
            let by_ranks = compared.ranks.map_or(1.0, |ranks| ranks.p);
            compared.welch.map_or(by_ranks, |welch| welch.p)
        })
        .collect();
    let adjusted = holm(&p).unwrap_or_else(|_| vec![1.0; p.len()]);
    for (&at, adjusted) in open.iter().zip(adjusted) {
        let compared = &mut family[at];
        let by_ranks = compared.ranks.is_some_and(|ranks| ranks.p < ALPHA);
        compared.p_adjusted = Some(adjusted);
        compared.finding = match (adjusted < ALPHA, by_ranks) {
            (true, true) => Finding::Differs,
            (true, false) => Finding::Disagree,
            // Ranks alone are no contradiction: they are not adjusted.
            (false, _) => Finding::NotShown,
        };
    }
}

fn cautions(groups: &[Group], times: &[Compared], alternating: bool) -> Vec<String> {
    let mut cautions = Vec::new();
    for group in groups {
        let (failed, all) = (group.failed(), group.runs.len());
        if failed > 0 {
            cautions.push(format!(
                "{failed} of {all} runs of {} failed and are left out.",
                group.label
            ));
        }
    }
    if times.iter().any(|time| time.finding == Finding::Unknown) {
        cautions.push(
            "How much a run varies by itself cannot be known from one run: repeat it with \
             `paceline compare --repeat 10 -- CMD --- CMD`."
                .to_owned(),
        );
    }
    for time in times.iter().filter(|time| time.finding != Finding::Unknown) {
        let (a, b) = time.counts;
        if least_rank_sum_p(a, b) >= ALPHA {
            cautions.push(format!(
                "{a} and {b} runs are too few for the rank sum test to show any difference; at \
                 least 4 of each are needed."
            ));
        }
    }
    let started = |group: &Group| {
        let times: Vec<_> = group.done().map(|run| run.started).collect();
        times.iter().min().copied().zip(times.iter().max().copied())
    };
    if !alternating {
        for group in &groups[1..] {
            if let (Some((a0, a1)), Some((b0, b1))) = (started(&groups[0]), started(group))
                && (a1 < b0 || b1 < a0)
            {
                let (early, late) = match a1 < b0 {
                    true => (&groups[0].label, &group.label),
                    false => (&group.label, &groups[0].label),
                };
                cautions.push(format!(
                    "All runs of {early} came before those of {late}: what else changed on the \
                     machine meanwhile counts as their difference. `paceline compare --repeat` \
                     alternates."
                ));
            }
        }
    }
    let mut machines: Vec<&str> = Vec::new();
    for run in groups.iter().flat_map(Group::done) {
        if !machines.contains(&run.machine.as_str()) {
            machines.push(&run.machine);
        }
    }
    if machines.len() > 1 {
        cautions.push(format!(
            "The runs are of different machines: {}.",
            machines.join(", ")
        ));
    }
    for group in groups {
        let disturbed = group.done().filter(|run| !run.disturbed.is_empty()).count();
        if disturbed > 0 {
            cautions.push(format!(
                "{disturbed} of {} runs of {} were disturbed by other work on the machine.",
                group.done().count(),
                group.label
            ));
        }
    }
    cautions
}

#[cfg(test)]
mod tests;
