//! What was done about failed assumptions, and reasons to be careful.

use super::super::assumptions::{AssumptionKind, Verdict};
use super::super::comparisons::Comparisons;
use super::super::recommendation::Method;
use super::super::wording::{list, p_value, percent, quoted, sentence, short};
use super::{Finding, FindingKind, Story, spoken_effect};
use crate::checks::PairwiseComparison;

impl Story<'_> {
    /// A run that decides the result is named before anything that rests on it.
    pub(super) fn decisive(&self) -> Vec<Finding> {
        let Some(found) = self.material.decisive else {
            return Vec::new();
        };
        let why = match found.share > 0.5 {
            true => format!(
                "makes {} of the unexplained variation by itself",
                percent(100.0 * found.share)
            ),
            false => format!("has a Cook's distance of {}", short(found.cooks_distance)),
        };
        let change = match (found.gained.as_slice(), found.lost.as_slice()) {
            ([], []) => "the same terms count with and without it".to_owned(),
            (gained, []) => format!("without it {} would count", list(&quoted(gained))),
            ([], lost) => format!("without it {} would not count", list(&quoted(lost))),
            (gained, lost) => format!(
                "without it {} would count, and {} would not",
                list(&quoted(gained)),
                list(&quoted(lost))
            ),
        };
        vec![Finding::plain(
            FindingKind::Caution,
            format!(
                "Row {} {why}; {change}. Look at that run before believing the rest.",
                found.row
            ),
        )]
    }

    /// What was done about violated assumptions.
    pub(super) fn method(&self) -> Vec<Finding> {
        let recommendation = self.material.recommendation;
        let reason = &recommendation.reason;
        let broken = self.material.assumptions.iter().any(|a| {
            a.verdict == Verdict::Violated
                && matches!(
                    a.kind,
                    AssumptionKind::Normality
                        | AssumptionKind::EqualVariances
                        | AssumptionKind::ConstantSpread
                )
        });
        let text = match recommendation.method {
            Method::LeastSquares if !broken => return Vec::new(),
            Method::LeastSquares | Method::Robust | Method::Welch | Method::KruskalWallis => {
                sentence(reason)
            }
            Method::Transformed(_) => format!(
                "These statements rest on a model of `{}`: {reason}.",
                self.material.scale.fitted
            ),
            Method::Permutation => format!(
                "{} Sizes and their intervals are those of the plain fit, and only approximate.",
                sentence(reason)
            ),
            Method::Lenth => self.lenth(reason),
        };
        let mut findings = vec![Finding::plain(FindingKind::Method, text)];
        // A transformed model of a design without replicates is judged by Lenth's
        // method too.
        if matches!(recommendation.method, Method::Transformed(_))
            && self.material.unreplicated.is_some()
        {
            let reason = "no run is repeated, so effects are judged against each other";
            findings.push(Finding::plain(FindingKind::Method, self.lenth(reason)));
        }
        findings
    }

    /// Lenth's margins, and effects beyond them that the model does not have.
    fn lenth(&self, reason: &str) -> String {
        let Some(found) = self.material.unreplicated else {
            return sentence(reason);
        };
        let lenth = &found.lenth;
        let modelled: Vec<usize> = match self.material.coded {
            Some(design) => design
                .terms
                .iter()
                .filter_map(|factors| {
                    let names: Vec<&str> =
                        factors.iter().map(|&f| design.factors[f].name()).collect();
                    found.position(factors, &names.join(":"))
                })
                .collect(),
            None => Vec::new(),
        };
        let missed: Vec<String> = (0..found.effects.effects.len())
            .filter(|position| !modelled.contains(position))
            .filter(|&position| lenth.effects[position].effect.abs() > lenth.simultaneous_margin)
            .map(|position| spoken_effect(&found.effects.effects[position].term))
            .collect();
        let beyond = match missed.is_empty() {
            true => String::new(),
            false => format!(
                " Beyond it too, but not in the model: {}.",
                list(&quoted(missed))
            ),
        };
        format!(
            "{} By Lenth's method an effect counts beyond {} (with all {} effects in mind; {} \
             alone).{beyond}",
            sentence(reason),
            short(lenth.simultaneous_margin),
            lenth.effects.len(),
            short(lenth.margin)
        )
    }

    /// Other checks that did not pass, columns that could not be estimated, and
    /// levels that differ.
    pub(super) fn cautions(&self) -> Vec<Finding> {
        let caution = |text: String| Finding::plain(FindingKind::Caution, text);
        let mut found: Vec<Finding> = Vec::new();
        found.extend(
            self.material
                .comparisons
                .iter()
                .filter_map(|c| self.compared(c)),
        );
        let told = |kind: AssumptionKind| match kind {
            // Told by the method, or before everything else.
            AssumptionKind::Normality
            | AssumptionKind::EqualVariances
            | AssumptionKind::ConstantSpread => true,
            AssumptionKind::Influence => {
                self.material.decisive.is_some() || self.material.transformed
            }
            _ => false,
        };
        found.extend(
            self.material
                .assumptions
                .iter()
                .filter(|a| matches!(a.verdict, Verdict::Violated | Verdict::Doubtful))
                .filter(|a| !told(a.kind))
                .map(|a| {
                    caution(match self.material.transformed {
                        true => format!("Before the transformation, {}.", a.meaning),
                        false => sentence(&a.meaning),
                    })
                }),
        );
        let fit = self.material.fit;
        if fit.is_exact() && !fit.is_saturated() {
            found.push(caution(
                "The model reproduces every row to rounding, so its p-values mean nothing; look \
                 for a response that was computed rather than measured."
                    .to_owned(),
            ));
        }
        let aliases = fit.aliases();
        if let Some(first) = aliases.first() {
            let column = |name: &str| fit.matrix().label_of(name);
            found.push(caution(match aliases.len() {
                1 => format!(
                    "`{}` cannot be told from {} in these runs.",
                    column(&first.column),
                    first.combination_of(column)
                ),
                several => format!(
                    "{several} columns cannot be told from others in these runs, among them `{}` \
                     from {}.",
                    column(&first.column),
                    first.combination_of(column)
                ),
            }));
        }
        found
    }

    /// Which levels of a factor differ, if its term counts.
    fn compared(&self, comparisons: &Comparisons) -> Option<Finding> {
        const NAMED: usize = 4;
        let level = self.material.level;
        let strong = self
            .material
            .evidence
            .iter()
            .any(|term| term.name == comparisons.factor && term.adjusted < level);
        if !strong {
            return None;
        }
        let name = |index: usize| comparisons.levels[index].as_str();
        let (apart, together): (Vec<&PairwiseComparison>, Vec<&PairwiseComparison>) =
            comparisons.pairs.iter().partition(|pair| pair.p < level);
        let pairs = |pairs: &[&PairwiseComparison]| {
            let mut words: Vec<String> = pairs
                .iter()
                .take(NAMED)
                .map(|pair| format!("{} and {}", name(pair.first), name(pair.second)))
                .collect();
            if pairs.len() > NAMED {
                words.push(format!("{} more pairs", pairs.len() - NAMED));
            }
            words.join(", ")
        };
        let factor = &comparisons.factor;
        let method = comparisons.method.name();
        let text = match (apart.as_slice(), together.as_slice()) {
            ([], _) => format!(
                "No two levels of `{factor}` can be told apart by themselves ({method}, all pairs \
                 at once)."
            ),
            (apart, []) => {
                let largest = apart.iter().map(|pair| pair.p).fold(0.0, f64::max);
                format!(
                    "Every two levels of `{factor}` differ ({method}, all pairs at once, largest \
                     {}).",
                    p_value(largest)
                )
            }
            (apart, together) => format!(
                "Levels of `{factor}` that differ: {}; that cannot be told apart: {} ({method}, \
                 all pairs at once).",
                pairs(apart),
                pairs(together)
            ),
        };
        Some(Finding::plain(FindingKind::Comparison, text))
    }
}
