//! What the analysis means, in at most ten sentences.
//!
//! A sentence is never stronger than its evidence: terms count after Holm's
//! correction for their number, sizes come with intervals, an interaction
//! qualifies its main effects, an alias is named beside the term it cannot be
//! told from, and where the plain fit cannot be trusted the sentences speak of
//! the method that can.

use super::CodedDesign;
use super::assumptions::{Assumption, AssumptionKind, Verdict};
use super::recommendation::{Method, Recommendation, RobustResult, TransformedResult};
use super::wording::{list, p_value, percent, quoted, short};
use crate::anova::Anova;
use crate::box_cox::Transformation;
use crate::checks::{Lenth, holm};
use crate::effects::{Effect, Effects};
use crate::fit::{Coefficient, Fit};
use crate::formula::VariableData;
use crate::lstsq::mean;

/// A conclusion in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it speaks of.
    pub kind: FindingKind,
    /// The term it is about, if it is about one.
    pub term: Option<String>,
    /// The sentence.
    pub text: String,
}

/// What a finding speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindingKind {
    /// A term that matters.
    Effect,
    /// Terms for which there is no evidence.
    NoEvidence,
    /// How much the model explains.
    Explained,
    /// An assumption that fails, and what was done about it.
    Method,
    /// A reason to be careful.
    Caution,
}

pub(super) struct Material<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) anova: &'a Anova,
    pub(super) effects: Option<&'a Effects>,
    pub(super) lenth: Option<&'a (Effects, Lenth)>,
    pub(super) assumptions: &'a [Assumption],
    pub(super) recommendation: &'a Recommendation,
    pub(super) coded: Option<&'a CodedDesign>,
    pub(super) level: f64,
}

const MOST_FINDINGS: usize = 10;
const MOST_EFFECTS: usize = 5;

/// A term's evidence under the recommended method.
struct TermEvidence<'a> {
    term: &'a str,
    index: usize,
    percent: f64,
    adjusted: f64,
}

/// The beginning of a sentence, and how sure its number is.
struct Statement {
    text: String,
    interval: Option<(f64, f64)>,
}

impl Statement {
    fn plain(text: String) -> Statement {
        Statement {
            text,
            interval: None,
        }
    }
}

pub(super) fn findings(material: &Material<'_>) -> Vec<Finding> {
    let transformed = match &material.recommendation.result {
        Some(RobustResult::Transformed(result)) => Some(result.as_ref()),
        _ => None,
    };
    let story = Story {
        material,
        transformed,
        anova: transformed.map_or(material.anova, |result| &result.anova),
        effects: match transformed {
            Some(result) => result.effects.as_ref(),
            None => material.effects,
        },
        coefficients: transformed
            .map_or(material.fit.coefficients(), |result| &result.coefficients),
    };
    story.tell()
}

struct Story<'a> {
    material: &'a Material<'a>,
    transformed: Option<&'a TransformedResult>,
    anova: &'a Anova,
    effects: Option<&'a Effects>,
    coefficients: &'a [Coefficient],
}

impl Story<'_> {
    fn tell(&self) -> Vec<Finding> {
        let evidence = self.evidence();
        let level = self.material.level;
        let (mut strong, weak): (Vec<_>, Vec<_>) =
            evidence.into_iter().partition(|term| term.adjusted < level);
        strong.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        let mut findings: Vec<Finding> = strong
            .iter()
            .take(MOST_EFFECTS)
            .map(|term| self.effect(term, &strong))
            .collect();
        if strong.len() > MOST_EFFECTS {
            let rest = quoted(strong[MOST_EFFECTS..].iter().map(|term| term.term));
            findings.push(Finding {
                kind: FindingKind::Effect,
                term: None,
                text: format!(
                    "There is evidence for smaller effects of {} too.",
                    list(&rest)
                ),
            });
        }
        findings.extend(self.method());
        findings.push(self.explained());
        let terms = self.material.fit.matrix().frame().terms();
        // A factor of an interaction that matters does have an effect, whatever
        // its average.
        let idle: Vec<TermEvidence<'_>> = weak
            .into_iter()
            .filter(|term| {
                let contained =
                    |other: &TermEvidence<'_>| terms[other.index].contains(&terms[term.index]);
                !strong.iter().any(contained)
            })
            .collect();
        findings.extend(self.no_evidence(&idle));
        findings.extend(self.lenth());
        findings.extend(self.cautions());
        findings.truncate(MOST_FINDINGS);
        findings
    }

    /// Every tested term with its p-value after Holm's correction.
    fn evidence(&self) -> Vec<TermEvidence<'_>> {
        let terms = self.material.fit.matrix().frame().terms();
        let rows: Vec<(usize, f64, f64)> = self
            .anova
            .rows
            .iter()
            .enumerate()
            .filter_map(|(index, row)| {
                let p = self.replaced_p().or(row.test.map(|test| test.p))?;
                Some((index, row.percent, p))
            })
            .collect();
        let p_values: Vec<f64> = rows.iter().map(|&(.., p)| p).collect();
        let adjusted = holm(&p_values).unwrap_or(p_values);
        rows.into_iter()
            .zip(adjusted)
            .map(|((index, percent, _), adjusted)| {
                let term = terms[index].label.as_str();
                // Shuffles can show no p-value below one over their number, so
                // the correction for many terms is left to the F tests; a term
                // counts only if both agree.
                let shuffled = self.permutation_p(term).unwrap_or(0.0);
                TermEvidence {
                    term,
                    index,
                    percent,
                    adjusted: adjusted.max(shuffled),
                }
            })
            .collect()
    }

    /// The p-value of a one-way model by a test that replaces the F test.
    fn replaced_p(&self) -> Option<f64> {
        match &self.material.recommendation.result {
            Some(RobustResult::Welch(test)) => Some(test.p),
            Some(RobustResult::KruskalWallis(test)) => Some(test.p),
            Some(RobustResult::Permutation(_) | RobustResult::Transformed(_)) | None => None,
        }
    }

    fn permutation_p(&self, term: &str) -> Option<f64> {
        let tests = match &self.material.recommendation.result {
            Some(RobustResult::Permutation(tests)) => tests,
            Some(RobustResult::Transformed(result)) => result.permutation.as_ref()?,
            Some(RobustResult::Welch(_) | RobustResult::KruskalWallis(_)) | None => return None,
        };
        tests.iter().find(|test| test.term == term).map(|t| t.p)
    }

    fn response(&self) -> &str {
        self.material.fit.matrix().frame().response().label()
    }

    /// The sentence about one term that matters.
    fn effect(&self, term: &TermEvidence<'_>, strong: &[TermEvidence<'_>]) -> Finding {
        let frame = self.material.fit.matrix().frame();
        let variables = &frame.terms()[term.index].variables;
        let Statement { mut text, interval } = match variables.as_slice() {
            [only] => self.main_effect(term, *only),
            several => self.interaction(several),
        };
        let scale = match self.transformed {
            Some(result) => format!("the variation of `{}`", result.response),
            None => "the variation".to_owned(),
        };
        let interval = interval.map_or_else(String::new, |(low, high)| {
            let coverage = percent(100.0 * (1.0 - self.material.level));
            format!("{coverage} interval {} to {}; ", short(low), short(high))
        });
        text.push_str(&format!(
            " ({interval}{} of {scale}, {})",
            percent(term.percent),
            p_value(term.adjusted)
        ));
        let partners = self.partners(term, strong);
        if !partners.is_empty() {
            let verb = match variables.len() {
                1 => "how much depends on",
                _ => "and that on",
            };
            text.push_str(&format!("; {verb} {}", list(&quoted(partners))));
        }
        if let Some(aliases) = self.aliases_of(term.term) {
            text.push_str(&format!(
                "; it may as well be {aliases}, which this design cannot tell from it"
            ));
        }
        text.push('.');
        Finding {
            kind: FindingKind::Effect,
            term: Some(term.term.to_owned()),
            text,
        }
    }

    /// The other variables of significant interactions that contain this term.
    fn partners(&self, term: &TermEvidence<'_>, strong: &[TermEvidence<'_>]) -> Vec<String> {
        let frame = self.material.fit.matrix().frame();
        let own = &frame.terms()[term.index];
        let mut partners: Vec<String> = Vec::new();
        for other in strong {
            let wider = &frame.terms()[other.index];
            if wider == own || !wider.contains(own) {
                continue;
            }
            for &variable in &wider.variables {
                let label = frame.variables()[variable].label().to_owned();
                if !own.variables.contains(&variable) && !partners.contains(&label) {
                    partners.push(label);
                }
            }
        }
        partners
    }

    fn interaction(&self, variables: &[usize]) -> Statement {
        let frame = self.material.fit.matrix().frame();
        let names = quoted(variables.iter().map(|&v| frame.variables()[v].label()));
        let (last, others) = names
            .split_last()
            .expect("an interaction has at least two variables");
        Statement::plain(format!(
            "What {last} does to `{}` depends on {}",
            self.response(),
            list(others)
        ))
    }

    fn main_effect(&self, term: &TermEvidence<'_>, variable: usize) -> Statement {
        let name = term.term;
        let coded = self.material.coded.zip(self.effects);
        if let Some((design, effects)) = coded
            && let Some(effect) = effects.effects.iter().find(|e| e.term == plain(name))
            && let Some(factor) = design.factor(plain(name))
        {
            let Statement { text, interval } = self.change(effect);
            let text = format!(
                "Taking `{}` from {} to {} {text}",
                factor.name(),
                factor.low(),
                factor.high()
            );
            return Statement { text, interval };
        }
        let frame = self.material.fit.matrix().frame();
        match frame.variables()[variable].data() {
            VariableData::Categorical { levels, codes, .. } => {
                self.levels(name, levels, codes, frame.response_values())
            }
            VariableData::Numeric { .. } => self.slope(name),
        }
    }

    /// The means of the levels that are furthest apart.
    fn levels(&self, name: &str, levels: &[String], codes: &[u32], values: &[f64]) -> Statement {
        let mut groups = vec![Vec::new(); levels.len()];
        for (&code, &value) in codes.iter().zip(values) {
            groups[code as usize].push(value);
        }
        let means: Vec<f64> = groups.iter().map(|group| mean(group)).collect();
        let by_mean = |a: &usize, b: &usize| means[*a].total_cmp(&means[*b]);
        let lowest = (0..levels.len()).min_by(by_mean).unwrap_or(0);
        let highest = (0..levels.len()).max_by(by_mean).unwrap_or(0);
        Statement::plain(format!(
            "`{}` differs between the levels of `{name}`, on average from {} at {} to {} at {}",
            self.response(),
            short(means[lowest]),
            levels[lowest],
            short(means[highest]),
            levels[highest]
        ))
    }

    /// The change from low to high.
    fn change(&self, effect: &Effect) -> Statement {
        let response = self.response();
        let rises = effect.estimate > 0.0;
        match self.transformed.map(|result| result.transformation) {
            Some(Transformation::Log) => Statement {
                text: format!(
                    "multiplies `{response}` by {} on average",
                    short(effect.estimate.exp())
                ),
                interval: effect.interval.map(|i| (i.lower.exp(), i.upper.exp())),
            },
            Some(transformation) => {
                // Reciprocals turn the direction around.
                let verb = match rises == (transformation.lambda() > 0.0) {
                    true => "raises",
                    false => "lowers",
                };
                Statement::plain(format!("{verb} `{response}`"))
            }
            None => Statement {
                text: format!(
                    "{} `{response}` by {} on average",
                    if rises { "raises" } else { "lowers" },
                    short(effect.estimate.abs())
                ),
                interval: effect.interval.map(|i| match rises {
                    true => (i.lower, i.upper),
                    false => (-i.upper, -i.lower),
                }),
            },
        }
    }

    fn slope(&self, name: &str) -> Statement {
        let response = match self.transformed {
            Some(result) => result.response.as_str(),
            None => self.response(),
        };
        match self.coefficients.iter().find(|c| c.name == name) {
            Some(slope) => Statement {
                text: format!(
                    "`{response}` changes by {} for each unit of `{name}`",
                    short(slope.estimate)
                ),
                interval: Some((slope.lower, slope.upper)),
            },
            None => Statement::plain(format!("`{response}` changes with `{name}`")),
        }
    }

    /// The terms that share a column with this one, lowest order first.
    fn aliases_of(&self, term: &str) -> Option<String> {
        const NAMED: usize = 2;
        let effects = self.effects?;
        let wanted: Vec<&str> = term.split(':').map(plain).collect();
        let same = |effect: &&Effect| {
            let mut a: Vec<&str> = effect.term.split(':').collect();
            let mut b = wanted.clone();
            a.sort_unstable();
            b.sort_unstable();
            a == b
        };
        let effect = effects.effects.iter().find(same)?;
        // An alias of three or more factors is less likely than the term itself
        // by the usual hierarchy; it is in the table of effects.
        let order = effect.factors.len().max(2);
        let close: Vec<String> = effect
            .aliases
            .iter()
            .filter(|alias| alias.term.split(':').count() <= order)
            .take(NAMED)
            .map(|alias| format!("`{}`", alias.term))
            .collect();
        (!close.is_empty()).then(|| close.join(" or "))
    }

    /// What was done about violated assumptions.
    fn method(&self) -> Vec<Finding> {
        let recommendation = self.material.recommendation;
        let finding = |text: String| Finding {
            kind: FindingKind::Method,
            term: None,
            text,
        };
        match recommendation.method {
            Method::LeastSquares if recommendation.result.is_none() => {
                let broken = self.material.assumptions.iter().any(|a| {
                    a.verdict == Verdict::Violated
                        && matches!(
                            a.kind,
                            AssumptionKind::Normality
                                | AssumptionKind::EqualVariances
                                | AssumptionKind::ConstantSpread
                        )
                });
                match broken {
                    true => vec![finding(sentence(&recommendation.reason))],
                    false => Vec::new(),
                }
            }
            _ => vec![finding(format!(
                "These statements do not rest on the plain fit: {}.",
                recommendation.reason
            ))],
        }
    }

    fn explained(&self) -> Finding {
        let residual = self.anova.residual.percent;
        let response = match self.transformed {
            Some(result) => &result.response,
            None => self.response(),
        };
        Finding {
            kind: FindingKind::Explained,
            term: None,
            text: format!(
                "The model explains {} of the variation of `{response}` in {} runs; {} remains \
                 unexplained.",
                percent(100.0 - residual),
                self.material.fit.observations(),
                percent(residual)
            ),
        }
    }

    fn no_evidence(&self, weak: &[TermEvidence<'_>]) -> Option<Finding> {
        const NAMED: usize = 6;
        if weak.is_empty() {
            return None;
        }
        let mut names = quoted(weak.iter().take(NAMED).map(|term| term.term));
        if weak.len() > NAMED {
            names.push(format!("{} more", weak.len() - NAMED));
        }
        Some(Finding {
            kind: FindingKind::NoEvidence,
            term: None,
            text: format!(
                "These runs give no evidence for an effect of {}, which is not evidence that \
                 there is none.",
                list(&names)
            ),
        })
    }

    /// What Lenth's margins say about an unreplicated design.
    fn lenth(&self) -> Option<Finding> {
        let (effects, lenth) = self.material.lenth?;
        let beyond: Vec<String> = effects
            .effects
            .iter()
            .filter(|effect| effect.estimate.abs() > lenth.margin)
            .map(|effect| effect.term.clone())
            .collect();
        let text = match beyond.is_empty() {
            true => format!(
                "No run is repeated; by Lenth's margin of {} no effect stands out from the others.",
                short(lenth.margin)
            ),
            false => format!(
                "No run is repeated; by Lenth's margin of {} the effects of {} stand out from the \
                 others.",
                short(lenth.margin),
                list(&quoted(beyond))
            ),
        };
        Some(Finding {
            kind: FindingKind::Caution,
            term: None,
            text,
        })
    }

    /// Other checks that did not pass, and columns that could not be estimated.
    fn cautions(&self) -> Vec<Finding> {
        let caution = |text: String| Finding {
            kind: FindingKind::Caution,
            term: None,
            text,
        };
        let mut cautions: Vec<Finding> = self
            .material
            .assumptions
            .iter()
            .filter(|a| matches!(a.verdict, Verdict::Violated | Verdict::Doubtful))
            .filter(|a| {
                !matches!(
                    a.kind,
                    AssumptionKind::Normality
                        | AssumptionKind::EqualVariances
                        | AssumptionKind::ConstantSpread
                )
            })
            .map(|a| {
                caution(match self.transformed {
                    Some(_) => format!("Before the transformation, {}.", a.meaning),
                    None => sentence(&a.meaning),
                })
            })
            .collect();
        if self.material.fit.is_exact() {
            cautions.push(caution(
                "The model reproduces every row to rounding, so its p-values mean nothing; look \
                 for a response that was computed rather than measured."
                    .to_owned(),
            ));
        }
        let aliases = self.material.fit.aliases();
        if let Some(first) = aliases.first() {
            cautions.push(caution(match aliases.len() {
                1 => format!(
                    "`{}` cannot be told from {} in these runs.",
                    first.column,
                    first.combination()
                ),
                several => format!(
                    "{several} columns cannot be told from others in these runs, among them `{}` \
                     from {}.",
                    first.column,
                    first.combination()
                ),
            }));
        }
        cautions
    }
}

/// A variable's column: `C(x)` is `x`.
fn plain(label: &str) -> &str {
    label
        .strip_prefix("C(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(label)
        .trim_matches('`')
}

/// A fragment as a sentence.
fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}
