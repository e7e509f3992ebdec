//! Stated probabilities held against what came.

use paceline_dist::{PoissonBinomial, clopper_pearson};

/// Something that was stated to hold, and whether it did.
///
/// Several limits of one run hold together with a probability that their own
/// probabilities only bound (Fréchet): at least `least`, at most `most`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stated {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) kept: bool,
}

impl Stated {
    /// That all of several hold, stated with these probabilities.
    pub(super) fn all_of(probabilities: impl Iterator<Item = f64>, kept: bool) -> Self {
        let (mut missing, mut most) = (0.0, 1.0_f64);
        for probability in probabilities {
            missing += 1.0 - probability;
            most = most.min(probability);
        }
        Self {
            least: (1.0 - missing).max(0.0),
            most,
            kept,
        }
    }
}

/// How often a share lies outside of an interval, and how improbable a count must be
/// to speak against what was stated: in both directions together.
const DOUBT: f64 = 0.05;

/// How often what was stated was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// How many were put to the test.
    pub of: usize,
    /// How many of them were kept.
    pub kept: usize,
    /// How many should have been, by what was stated: at least and at most.
    pub expected: (f64, f64),
    /// Where the share that is kept in the long run lies, with 95% (Clopper and
    /// Pearson).
    pub interval: (f64, f64),
    /// What that says of the stated probabilities.
    pub judgement: Judgement,
}

/// What a count says of the probabilities that were stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Judgement {
    /// Nothing was put to the test.
    Untested,
    /// No count at all could have spoken against them.
    TooFew,
    /// They may be right.
    Fits {
        /// So many kept, or fewer, would have spoken against them; nothing if only
        /// more than expected could have.
        against: Option<usize>,
    },
    /// Fewer were kept than chance explains.
    TooConfident {
        /// The probability of so few, had the stated ones been right.
        chance: f64,
    },
    /// More were kept than chance explains.
    TooCareful {
        /// The probability of so many, had the stated ones been right.
        chance: f64,
    },
}

impl Judgement {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Untested => "untested",
            Self::TooFew => "too_few",
            Self::Fits { .. } => "fits",
            Self::TooConfident { .. } => "too_confident",
            Self::TooCareful { .. } => "too_careful",
        }
    }
}

impl Account {
    pub(super) fn of(stated: &[Stated]) -> Self {
        let kept = stated.iter().filter(|one| one.kept).count();
        let expected = (
            stated.iter().map(|one| one.least).sum(),
            stated.iter().map(|one| one.most).sum(),
        );
        Self {
            of: stated.len(),
            kept,
            expected,
            interval: clopper_pearson(kept as u64, stated.len() as u64, 1.0 - DOUBT),
            judgement: judge(stated, kept),
        }
    }

    /// What was kept, and what that says. `whose` is what is judged, `one` what is
    /// counted, and `kept` what became of it.
    #[must_use]
    pub fn sentence(&self, whose: &str, one: &str, kept: &str) -> String {
        if self.of == 0 {
            return format!("{whose}: none was put to the test yet.");
        }
        let plural = if self.of == 1 { "" } else { "s" };
        let (least, most) = self.expected;
        // What is shown alike is alike.
        let expected = match (format!("{least:.2}"), format!("{most:.2}")) {
            (least, most) if least == most => least,
            (least, most) => format!("{least} to {most}"),
        };
        let counted = format!(
            "{} of {} {one}{plural} {kept}, {expected} stated",
            self.kept, self.of
        );
        let (low, high) = self.interval;
        let share = format!(
            "The share {kept} in the long run lies between {} and {} with 95%.",
            percent(low),
            percent(high)
        );
        let judged = match self.judgement {
            Judgement::Untested => unreachable!("something was put to the test"),
            Judgement::TooFew => format!(
                "too few to tell ({counted}): whatever had come of {}, it would not have spoken \
                 against what was stated.",
                self.of
            ),
            Judgement::Fits { against } => {
                let against = match against {
                    None => String::new(),
                    Some(0) => format!("; none {kept} would have"),
                    Some(count) => format!("; {count} or fewer {kept} would have"),
                };
                format!("nothing speaks against what was stated ({counted}){against}.")
            }
            Judgement::TooConfident { chance } => format!(
                "too confident ({counted}): had the stated probabilities been right, so few would \
                 come {}.",
                by_chance(chance)
            ),
            Judgement::TooCareful { chance } => format!(
                "too careful ({counted}): had the stated probabilities been right, so many would \
                 come {}.",
                by_chance(chance)
            ),
        };
        format!("{whose}: {judged} {share}")
    }
}

/// With the exact distribution of the count, were the stated probabilities right: of
/// those that are consistent with what was stated, the ones that excuse most.
fn judge(stated: &[Stated], kept: usize) -> Judgement {
    if stated.is_empty() {
        return Judgement::Untested;
    }
    let counts = |probability: fn(&Stated) -> f64| {
        let each: Vec<f64> = stated.iter().map(probability).collect();
        PoissonBinomial::new(&each).ok()
    };
    let (Some(least), Some(most)) = (counts(|one| one.least), counts(|one| one.most)) else {
        // A ledger of another version may state what is no probability.
        return Judgement::Untested;
    };
    let so_few = |count: usize| least.cdf(count);
    let so_many = |count: usize| count.checked_sub(1).map_or(1.0, |below| most.sf(below));
    let is_doubtful = |chance: f64| chance <= 0.5 * DOUBT;
    if is_doubtful(so_few(kept)) {
        return Judgement::TooConfident {
            chance: so_few(kept),
        };
    }
    if is_doubtful(so_many(kept)) {
        return Judgement::TooCareful {
            chance: so_many(kept),
        };
    }
    let against = (0..stated.len())
        .rev()
        .find(|&count| is_doubtful(so_few(count)));
    match against {
        Some(_) => Judgement::Fits { against },
        None if is_doubtful(so_many(stated.len())) => Judgement::Fits { against },
        None => Judgement::TooFew,
    }
}

fn by_chance(chance: f64) -> String {
    if chance <= 0.0 {
        "never".to_owned()
    } else if chance < 0.001 {
        "less than once in a thousand times".to_owned()
    } else {
        format!("with a probability of {chance:.3}")
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// Promises that were stated about equally.
#[derive(Debug, Clone, PartialEq)]
pub struct Bin {
    /// Where the stated probabilities begin.
    pub from: f64,
    /// Where they end.
    pub to: f64,
    /// How often they were kept.
    pub account: Account,
}

/// Where bins begin: narrower where promises are stated.
const EDGES: [f64; 7] = [0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0];

impl Bin {
    /// The bins that hold anything.
    pub(super) fn of(stated: &[Stated]) -> Vec<Self> {
        let bins = EDGES.windows(2).map(|edges| {
            let (from, to) = (edges[0], edges[1]);
            let holds = |one: &&Stated| one.least >= from && (one.least < to || to == 1.0);
            let inside: Vec<Stated> = stated.iter().filter(holds).copied().collect();
            Self {
                from,
                to,
                account: Account::of(&inside),
            }
        });
        bins.filter(|bin| bin.account.of > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(probabilities: &[f64], kept: usize) -> Account {
        let stated = probabilities.iter().enumerate();
        let stated = stated.map(|(at, &p)| Stated::all_of([p].into_iter(), at < kept));
        Account::of(&stated.collect::<Vec<_>>())
    }

    fn check(probabilities: &[f64], kept: usize, expected: &str) -> String {
        let account = account(probabilities, kept);
        assert_eq!(
            account.judgement.name(),
            expected,
            "{kept} of {probabilities:?}"
        );
        account.sentence("Limits", "promise", "kept")
    }

    #[test]
    fn nothing_one_and_a_few_are_too_few_to_tell() {
        check(&[], 0, "untested");
        // 0.05 is no less than chance allows in one direction.
        check(&[0.95], 0, "too_few");
        let one = check(&[0.95], 1, "too_few");
        assert!(one.contains("(1 of 1 promise kept, 0.95 stated)"), "{one}");
        check(&[0.5; 5], 5, "too_few");
        // Two broken promises of 0.95 are already one in four hundred.
        check(&[0.95; 2], 0, "too_confident");
    }

    #[test]
    fn certainty_that_was_wrong_was_too_confident() {
        let text = check(&[1.0], 0, "too_confident");
        assert!(text.contains("never"), "{text}");
        check(&[1.0, 1.0], 2, "fits");
        check(&[0.0], 1, "too_careful");
    }

    #[test]
    fn all_kept_is_too_careful_only_if_that_is_improbable() {
        check(&[0.95; 20], 20, "fits");
        // 0.95 to the 72nd is just below a fortieth.
        check(&[0.95; 71], 71, "fits");
        check(&[0.95; 72], 72, "too_careful");
        check(&[0.8; 17], 17, "too_careful");
    }

    #[test]
    fn several_limits_of_a_run_are_judged_by_what_excuses_most() {
        // Stated 0.9 and 0.9: together at least 0.8, at most 0.9.
        let both = |kept: bool| Stated::all_of([0.9, 0.9].into_iter(), kept);
        assert!((both(true).least - 0.8).abs() < 1e-12 && both(true).most == 0.9);
        let stated: Vec<Stated> = (0..10).map(|at| both(at < 6)).collect();
        // Six of ten: 0.121 for 0.8, and 0.013 for 0.9.
        assert_eq!(Account::of(&stated).judgement.name(), "fits");
        assert_eq!(account(&[0.9; 10], 6).judgement.name(), "too_confident");
    }

    /// Whatever was stated and came: the sentence must not claim more than an
    /// independent computation of the same chances allows.
    #[test]
    fn no_ledger_makes_the_sentence_false() {
        // Every combination of up to twelve promises at three levels, however kept.
        for n in 0..=12_usize {
            for level in [0.55, 0.8, 0.95, 1.0] {
                for kept in 0..=n {
                    let probabilities = vec![level; n];
                    let found = account(&probabilities, kept);
                    let chance = |count: usize| {
                        let ways =
                            (0..count).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
                        ways * f64::powi(level, count as i32)
                            * f64::powi(1.0 - level, (n - count) as i32)
                    };
                    let few: f64 = (0..=kept).map(chance).sum();
                    let many: f64 = (kept..=n).map(chance).sum();
                    let possible = (0..=n).any(|count| {
                        (0..=count).map(chance).sum::<f64>() <= 0.025
                            || (count..=n).map(chance).sum::<f64>() <= 0.025
                    });
                    let text = found.sentence("Limits", "promise", "kept");
                    let case = format!("{kept} of {n} at {level}: {text}");
                    assert_eq!(
                        text.contains("too confident"),
                        n > 0 && few <= 0.025,
                        "{case}"
                    );
                    let careful = n > 0 && many <= 0.025 && few > 0.025;
                    assert_eq!(text.contains("too careful"), careful, "{case}");
                    assert_eq!(text.contains("too few"), n > 0 && !possible, "{case}");
                    if let Judgement::Fits {
                        against: Some(against),
                    } = found.judgement
                    {
                        let at = |count: usize| (0..=count).map(chance).sum::<f64>();
                        assert!(at(against) <= 0.025 && at(against + 1) > 0.025, "{case}");
                    }
                    if n > 0 {
                        assert!(text.contains(&format!("{kept} of {n} promise")), "{case}");
                        let share = kept as f64 / n as f64;
                        let (low, high) = found.interval;
                        assert!(low <= share && share <= high, "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_promise_is_in_one_bin() {
        let levels = [0.0, 0.3, 0.5, 0.8, 0.95, 0.9501, 0.99, 0.9999, 1.0];
        let stated = levels.map(|p| Stated::all_of([p].into_iter(), true));
        let bins = Bin::of(&stated);
        let all: usize = bins.iter().map(|bin| bin.account.of).sum();
        assert_eq!(all, levels.len());
        assert_eq!(bins.last().map(|bin| bin.account.of), Some(3));
    }
}
