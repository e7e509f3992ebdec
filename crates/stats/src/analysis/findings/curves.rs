//! Columns that enter by powers or other functions: told as a curve.

use super::super::evidence::{Basis, TermEvidence};
use super::super::wording::{list, p_value, percent, quoted, short};
use super::terms::Statement;
use super::{Claim, ClaimKind, Story};
use crate::fit::upper_f;
use crate::formula::{Coding, Shape};
use crate::marginal::Setting;

/// Points at which a curve is looked at before its extremes are refined.
const POINTS: usize = 128;

impl Story<'_> {
    /// The column whose curve a main term is part of: one that enters by several
    /// numeric variables, or by one that is neither a line nor a logarithm.
    pub(super) fn curve_of(&self, term: usize) -> Option<String> {
        let [variable] = *self.frame.terms()[term].variables else {
            return None;
        };
        let own = &self.frame.variables()[variable];
        if own.coding() == Coding::Categorical {
            return None;
        }
        let columns = own.columns();
        let [column] = columns.as_slice() else {
            return None;
        };
        let users: Vec<_> = self
            .frame
            .variables()
            .iter()
            .filter(|other| other.columns().contains(column))
            .collect();
        // A column that is also categories, or part of other arithmetic, has no
        // curve of its own.
        let pure = users
            .iter()
            .all(|user| user.coding() == Coding::Numeric && user.columns().len() == 1);
        let bent = users.len() > 1 || !matches!(own.shape(), Some(Shape::Line | Shape::Log(_)));
        let few = self.frame.has_at_most(2, variable);
        (pure && bent && !few).then(|| (*column).to_owned())
    }

    /// The curve along a column: where it is lowest and highest, and whether
    /// that is inside the data.
    pub(super) fn curve(&self, column: &str) -> Statement {
        let scale = self.material.scale;
        let response = &scale.response;
        let plain = || Statement::plain(format!("`{response}` follows a curve along `{column}`"));
        let Some((low, high)) = self.material.margins.range(column) else {
            return plain();
        };
        let setting = |value: f64| {
            [Setting::Value {
                column: column.to_owned(),
                value,
            }]
        };
        let direction = if scale.rises() { 1.0 } else { -1.0 };
        let height = |value: f64| -> Option<f64> {
            let weights = self.material.margins.weights(&setting(value))?;
            Some(direction * self.material.margins.value(&weights)?)
        };
        let place = |step: usize| low + (high - low) * step as f64 / POINTS as f64;
        let heights: Option<Vec<f64>> = (0..=POINTS).map(|step| height(place(step))).collect();
        let Some(heights) = heights else {
            return plain();
        };
        let extreme = |sign: f64| {
            let best = (0..=POINTS)
                .max_by(|&a, &b| (sign * heights[a]).total_cmp(&(sign * heights[b])))
                .unwrap_or(0);
            match best == 0 || best == POINTS {
                true => None,
                false => {
                    let value = |x: f64| sign * height(x).unwrap_or(f64::NEG_INFINITY);
                    Some(refined(value, place(best - 1), place(best + 1)))
                }
            }
        };
        let (bottom, top) = (extreme(-1.0), extreme(1.0));
        let mut claims = Vec::new();
        let at = |value: f64, claims: &mut Vec<Claim>| -> String {
            let unit = (self.material.units)(column);
            let place = unit.value(value);
            let Some(mean) = self.material.margins.mean(&setting(value)) else {
                let bare = height(value).map_or(f64::NAN, |h| scale.back(direction * h));
                return format!("{} at {column} = {place}", scale.unit.value(bare));
            };
            let (lower, upper) = scale.back_interval(mean.lower, mean.upper);
            claims.push(Claim {
                kind: ClaimKind::Mean,
                subject: column.to_owned(),
                at: Vec::new(),
                values: vec![short(value)],
                estimate: scale.back(mean.estimate),
                lower,
                upper,
                p: None,
            });
            format!(
                "{} ({} interval {}) at {column} = {place}",
                scale.unit.value(scale.back(mean.estimate)),
                self.coverage(),
                scale.unit.values(lower, upper)
            )
        };
        let ends = [at(low, &mut claims), at(high, &mut claims)];
        let text = match (bottom, top) {
            (None, None) => {
                let rises = heights[POINTS] > heights[0];
                let ends_apart = self
                    .material
                    .margins
                    .difference(&setting(low), &setting(high));
                let (verb, sure) = match ends_apart {
                    Some(apart) if apart.p >= self.material.level => (
                        "follows a curve",
                        format!(
                            ", which cannot be told apart ({} of their difference)",
                            p_value(apart.p)
                        ),
                    ),
                    Some(apart) => (
                        if rises { "rises" } else { "falls" },
                        format!(", {} of their difference", p_value(apart.p)),
                    ),
                    None => ("follows a curve", String::new()),
                };
                format!(
                    "`{response}` {verb} along `{column}`, not in a straight line: from {} to {}, \
                     the edges of the data, without an optimum between{sure}",
                    ends[0], ends[1]
                )
            }
            (bottom, top) => {
                let mut parts = Vec::new();
                for (place, word) in [(bottom, "lowest"), (top, "highest")] {
                    let Some(place) = place else { continue };
                    let edge = self.nearest_edge(column, place, (low, high));
                    let best = at(place, &mut claims);
                    parts.push(format!("{word} {best}, {edge}"));
                }
                format!(
                    "`{response}` follows a curve along `{column}`: {}; at the edges {} and {}",
                    parts.join("; "),
                    ends[0],
                    ends[1]
                )
            }
        };
        Statement { text, claims }
    }

    /// How much all terms of a curve explain together, after the terms that are
    /// not of it.
    pub(super) fn share_of_curve(&self, column: &str, term: &TermEvidence) -> String {
        let fit = self.material.margins.fit();
        let terms = self.frame.terms();
        let of_curve = |variable: usize| self.frame.variables()[variable].columns() == [column];
        let own: Vec<usize> = (0..terms.len())
            .filter(|&term| match *terms[term].variables {
                [variable] => of_curve(variable),
                _ => false,
            })
            .collect();
        let wider = |term: usize| {
            let variables = &terms[term].variables;
            variables.len() > 1 && variables.iter().any(|&variable| of_curve(variable))
        };
        let (mut before, mut added) = (Vec::new(), Vec::new());
        for (index, column) in fit.matrix().columns().iter().enumerate() {
            match column.term() {
                Some(term) if own.contains(&term) => added.push(index),
                Some(term) if wider(term) => {}
                _ => before.push(index),
            }
        }
        let (square, df) = fit.solution.factored.added(&before, &added);
        let square = square / fit.solution.response_scale.powi(2);
        let share = percent(100.0 * square / fit.total_sum_of_squares());
        let scale = match self.material.scale.is_bent() {
            true => format!(" of `{}`", self.material.scale.fitted),
            false => String::new(),
        };
        let names: Vec<String> = own.iter().map(|&term| self.frame.term_name(term)).collect();
        let names = list(&quoted(names));
        // The joint test is one of equal spread; beside other methods the
        // strongest term's own p-value is named instead.
        let sure = match (term.basis == Basis::F && df > 0, own.len()) {
            (true, 2..) => {
                let f = square / df as f64 / fit.error_variance();
                format!(
                    "{} of their joint F test",
                    p_value(upper_f(f, df, fit.residual_df()))
                )
            }
            _ => format!("`{}` by itself {}", term.name, term.words()),
        };
        match own.len() {
            1 => format!(
                "it explains {share} of the variation{scale} ({})",
                term.words()
            ),
            _ => format!("{names} together explain {share} of the variation{scale} ({sure})"),
        }
    }

    /// Whether an optimum can be told from the edges of the data.
    fn nearest_edge(&self, column: &str, place: f64, (low, high): (f64, f64)) -> String {
        let setting = |value: f64| {
            [Setting::Value {
                column: column.to_owned(),
                value,
            }]
        };
        let mut doubtful = Vec::new();
        for edge in [low, high] {
            let difference = self
                .material
                .margins
                .difference(&setting(edge), &setting(place));
            match difference {
                Some(difference) if difference.p < self.material.level => {}
                _ => doubtful.push(short(edge)),
            }
        }
        match doubtful.as_slice() {
            [] => "inside the data".to_owned(),
            edges => format!(
                "inside the data by the fit, but these runs cannot tell it from {column} = {}, \
                 the edge",
                edges.join(" or ")
            ),
        }
    }
}

/// The place of the maximum between two places, by golden section.
fn refined(value: impl Fn(f64) -> f64, mut a: f64, mut b: f64) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..60 {
        let (c, d) = (b - golden * (b - a), a + golden * (b - a));
        match value(c) > value(d) {
            true => b = d,
            false => a = c,
        }
    }
    f64::midpoint(a, b)
}
