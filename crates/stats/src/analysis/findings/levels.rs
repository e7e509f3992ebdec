//! The sentences about interactions and about factors with several levels.

use super::super::wording::{list, quoted};
use super::terms::{Path, Statement};
use super::{Claim, ClaimKind, Story};
use crate::marginal::{Estimate, Setting};

impl Story<'_> {
    /// What an interaction says: how the effect of one factor moves with another.
    pub(super) fn interaction(&self, variables: &[usize]) -> Statement {
        let response = &self.material.scale.response;
        let names = quoted(variables.iter().map(|&v| self.frame.variable_name(v)));
        let (last, others) = names
            .split_last()
            .expect("an interaction has at least two variables");
        let plain = || {
            Statement::plain(format!(
                "What {last} does to `{response}` depends on {}",
                list(others)
            ))
        };
        let [first, second] = variables else {
            return plain();
        };
        // The factor whose effect is one number is the one to move.
        let order = [(*second, *first), (*first, *second)];
        for (moved, by) in order {
            let Some(mover) = self.mover(moved) else {
                continue;
            };
            let Some(range) = self.extremes(&mover, by) else {
                continue;
            };
            let how = match &mover.path {
                Path::Step { from, to } => format!("from {} to {} it changes", from.0, to.0),
                Path::Slope { words, .. } => format!("{words} it changes"),
            };
            return Statement {
                text: format!(
                    "What `{}` does to `{response}` depends on `{}`: {how} {}",
                    mover.name,
                    self.frame.variable_name(by),
                    range.text
                ),
                claims: range.claims,
            };
        }
        plain()
    }

    /// The adjusted means of the levels that are furthest apart.
    pub(super) fn levels(&self, variable: usize, name: &str, levels: &[String]) -> Statement {
        let (margins, scale) = (self.material.margins, self.material.scale);
        let found: Vec<(usize, Estimate)> = (0..levels.len())
            .filter_map(|level| {
                let mean = margins.mean(&[Setting::Level { variable, level }])?;
                Some((level, mean))
            })
            .collect();
        let value = |entry: &(usize, Estimate)| scale.back(entry.1.estimate);
        let lowest = found.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
        let highest = found.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
        let (Some(lowest), Some(highest)) = (lowest, highest) else {
            return Statement::plain(format!(
                "`{}` differs between the levels of `{name}`",
                scale.response
            ));
        };
        let mut claims = Vec::new();
        let mut one = |(level, mean): &(usize, Estimate)| {
            let (low, high) = scale.back_interval(mean.lower, mean.upper);
            claims.push(Claim {
                kind: ClaimKind::Mean,
                subject: name.to_owned(),
                at: Vec::new(),
                values: vec![levels[*level].clone()],
                estimate: scale.back(mean.estimate),
                lower: low,
                upper: high,
                p: None,
            });
            format!(
                "{} ({} interval {}) at {}",
                scale.unit.value(scale.back(mean.estimate)),
                self.coverage(),
                scale.unit.values(low, high),
                levels[*level]
            )
        };
        let (low, high) = (one(lowest), one(highest));
        let compared = match found.len() < levels.len() {
            true => format!(", of the {} levels that these runs determine,", found.len()),
            false => String::new(),
        };
        let others = self.frame.terms().len() > 1;
        let how = match (others, scale.is_bent()) {
            (true, true) => ", typically, adjusted for the other terms",
            (true, false) => ", adjusted for the other terms",
            (false, true) => ", typically",
            (false, false) => "",
        };
        Statement {
            text: format!(
                "`{}` differs between the levels of `{name}`:{compared} from {low} to {high}{how}",
                scale.response
            ),
            claims,
        }
    }
}
