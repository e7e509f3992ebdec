//! The sentence about one term.
//!
//! More than 600 lines: every sentence about a term stands beside the others, so that they agree.

use super::super::scale::ScaleKind;
use super::super::wording::{list, p_value, percent, quoted, short};
use super::{Claim, ClaimKind, Finding, FindingKind, Story, TermEvidence};
use crate::formula::{Shape, VariableData};
use crate::marginal::{Estimate, Setting};

/// The beginning of a sentence, and the numbers in it.
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) claims: Vec<Claim>,
}

impl Statement {
    pub(super) fn plain(text: String) -> Statement {
        Statement {
            text,
            claims: Vec::new(),
        }
    }
}

/// One way to move a factor, whose effect is a single number.
pub(super) struct Mover {
    pub(super) name: String,
    variable: usize,
    pub(super) path: Path,
}

pub(super) enum Path {
    /// From one setting to another.
    Step {
        from: (String, Setting),
        to: (String, Setting),
    },
    /// Along a number, by so much of the variable; in words.
    Slope { by: f64, words: String },
}

/// Conditions that an effect is compared at: in words, and as a setting.
type Condition = (String, String, Setting);

impl Story<'_> {
    /// The sentence about a term that matters.
    pub(super) fn effect(&self, term: &TermEvidence, strong: &[&TermEvidence]) -> Finding {
        let variables = &self.frame.terms()[term.index].variables;
        let curve = self.curve_of(term.index);
        let Statement { mut text, claims } = match (&curve, variables.as_slice()) {
            (Some(column), _) => self.curve(column),
            (None, [only]) => self.main_effect(*only, strong),
            (None, several) => self.interaction(several),
        };
        if curve.is_none() && variables.len() > 1 {
            let partners = self.partners(variables, strong);
            if !partners.is_empty() {
                text.push_str(&format!("; and that on {}", list(&quoted(partners))));
            }
        }
        if let Some(aliases) = self.aliases(term.index) {
            text.push_str(&match aliases.strip_prefix("less likely ") {
                Some(unlikely) => format!(
                    "; it may be, less likely, {unlikely}, which this design cannot tell from it"
                ),
                None => {
                    format!("; it may as well be {aliases}, which this design cannot tell from it")
                }
            });
        }
        let share = match &curve {
            Some(column) => self.share_of_curve(column, term),
            None => self.share(term),
        };
        text.push_str(&format!("; {share}."));
        Finding {
            kind: FindingKind::Effect,
            term: Some(term.term.clone()),
            text,
            claims,
        }
    }

    /// How much the term explains, and how sure that is.
    fn share(&self, term: &TermEvidence) -> String {
        let scale = match self.material.scale.is_bent() {
            true => format!(" of `{}`", self.material.scale.fitted),
            false => String::new(),
        };
        match term.percent.is_finite() {
            true => format!(
                "it explains {} of the variation{scale} ({})",
                percent(term.percent),
                term.words()
            ),
            false => format!("it matters ({})", term.words()),
        }
    }

    /// The other variables of significant interactions that contain these.
    fn partners(&self, own: &[usize], strong: &[&TermEvidence]) -> Vec<String> {
        let mut partners: Vec<String> = Vec::new();
        for variable in self.partner_variables(own, strong) {
            let name = self.frame.variable_name(variable);
            if !partners.contains(&name) {
                partners.push(name);
            }
        }
        partners
    }

    fn partner_variables(&self, own: &[usize], strong: &[&TermEvidence]) -> Vec<usize> {
        let mut partners: Vec<usize> = Vec::new();
        for other in strong {
            let wider = &self.frame.terms()[other.index].variables;
            if wider.len() <= own.len() || !own.iter().all(|v| wider.contains(v)) {
                continue;
            }
            for &variable in wider {
                if !own.contains(&variable) && !partners.contains(&variable) {
                    partners.push(variable);
                }
            }
        }
        partners
    }

    /// Whether the model lets the effect of a variable depend on another.
    fn interacts(&self, variable: usize) -> bool {
        let mut terms = self.frame.terms().iter();
        terms.any(|term| term.variables.len() > 1 && term.variables.contains(&variable))
    }

    fn main_effect(&self, variable: usize, strong: &[&TermEvidence]) -> Statement {
        let name = self.frame.variable_name(variable);
        let response = &self.material.scale.response;
        if let Some(mover) = self.mover(variable) {
            let estimate = self.judged(&mover, &[]);
            return match estimate {
                Some(estimate) => self.moved(&mover, &estimate, strong),
                None => Statement::plain(format!("`{response}` depends on `{name}`")),
            };
        }
        match self.frame.variables()[variable].data() {
            VariableData::Categorical { levels, .. } if !self.shares_column(variable) => {
                let mut statement = self.levels(variable, &name, levels);
                let partners = self.partners(&[variable], strong);
                if !partners.is_empty() {
                    let words = list(&quoted(partners));
                    statement
                        .text
                        .push_str(&format!("; how much depends on {words}"));
                }
                statement
            }
            _ => Statement::plain(format!("`{response}` depends on `{name}`")),
        }
    }

    /// Whether another variable is made of the same column.
    fn shares_column(&self, variable: usize) -> bool {
        let columns = self.frame.variables()[variable].columns();
        self.frame
            .variables()
            .iter()
            .enumerate()
            .any(|(other, own)| {
                other != variable && own.columns().iter().any(|column| columns.contains(column))
            })
    }

    /// How a variable can be moved so that one number tells its effect.
    pub(super) fn mover(&self, variable: usize) -> Option<Mover> {
        if self.shares_column(variable) {
            return None;
        }
        let own = &self.frame.variables()[variable];
        let name = self.frame.variable_name(variable);
        if let VariableData::Categorical { levels, .. } = own.data() {
            let [from, to] = levels.as_slice() else {
                return None;
            };
            let at = |level| Setting::Level { variable, level };
            let path = Path::Step {
                from: (from.clone(), at(0)),
                to: (to.clone(), at(1)),
            };
            return Some(Mover {
                name,
                variable,
                path,
            });
        }
        let columns = own.columns();
        let [column] = columns.as_slice() else {
            return None;
        };
        let (low, high) = self.material.margins.range(column)?;
        let unit = (self.material.units)(column);
        let at = |value: f64| {
            let column = (*column).to_owned();
            (unit.setting(value), Setting::Value { column, value })
        };
        let step = || Path::Step {
            from: at(low),
            to: at(high),
        };
        let power = matches!(self.material.scale.kind, ScaleKind::Power(_));
        let path = match own.shape()? {
            _ if self.two_valued(variable) || power => step(),
            Shape::Line => {
                let by = step_within(high - low);
                let words = match (by == 1.0, &unit) {
                    (true, super::Unit::Unknown) => format!("for each unit of `{name}`"),
                    _ => format!("for each {} of `{name}`", unit.setting(by)),
                };
                Path::Slope { by, words }
            }
            Shape::Log(base) => Path::Slope {
                by: 2.0_f64.ln() / base.ln(),
                words: format!("with each doubling of `{column}`"),
            },
            Shape::Power(_) | Shape::Other => return None,
        };
        Some(Mover {
            name: (*column).to_owned(),
            variable,
            path,
        })
    }

    fn two_valued(&self, variable: usize) -> bool {
        self.frame.has_at_most(2, variable)
    }

    /// The effect of a mover, with its error.
    fn judged(&self, mover: &Mover, at: &[Setting]) -> Option<Estimate> {
        if let Some(unreplicated) = self.material.unreplicated {
            if !at.is_empty() {
                return None;
            }
            return self.by_lenth(mover.variable, unreplicated);
        }
        let margins = self.material.margins;
        match &mover.path {
            Path::Step { from, to } => {
                let with = |setting: &Setting| {
                    let mut all = at.to_vec();
                    all.push(setting.clone());
                    all
                };
                margins.difference(&with(&from.1), &with(&to.1))
            }
            Path::Slope { by, .. } => {
                let slope = margins.slope(mover.variable, at)?;
                Some(times(&slope, *by))
            }
        }
    }

    fn by_lenth(
        &self,
        variable: usize,
        found: &super::super::design::Unreplicated,
    ) -> Option<Estimate> {
        let design = self.material.coded?;
        let position = found.position(&[variable], design.factors[variable].name())?;
        let effect = &found.lenth.effects[position];
        Some(Estimate {
            estimate: effect.effect,
            standard_error: found.lenth.pseudo_standard_error,
            df: found.lenth.df,
            lower: effect.effect - found.lenth.margin,
            upper: effect.effect + found.lenth.margin,
            p: effect.p,
        })
    }

    /// The sentence about a mover: its effect, and between what it varies.
    fn moved(&self, mover: &Mover, estimate: &Estimate, strong: &[&TermEvidence]) -> Statement {
        let response = &self.material.scale.response;
        let sure = estimate.p < self.material.level;
        let averaged = match (self.interacts(mover.variable), &mover.path) {
            (false, _) => "",
            (true, Path::Step { .. }) => " on average over the other factors",
            (true, Path::Slope { .. }) => " on average over the data",
        };
        let (amount, interval) = self.amount(mover, estimate);
        let text = match (&mover.path, self.material.scale.kind) {
            (Path::Step { from, to }, ScaleKind::Power(_)) => {
                let (a, b) = (self.typical(&from.1), self.typical(&to.1));
                let verb = match (sure, b.1 >= a.1) {
                    (true, true) => "raises",
                    (true, false) => "lowers",
                    (false, _) => "moves",
                };
                format!(
                    "Taking `{}` from {} to {} {verb} `{response}`{averaged} from typically {} to \
                     {}",
                    mover.name, from.0, to.0, a.0, b.0
                )
            }
            (Path::Step { from, to }, ScaleKind::Log(_)) => format!(
                "Taking `{}` from {} to {} multiplies `{response}` by {amount}{averaged}",
                mover.name, from.0, to.0
            ),
            (Path::Step { from, to }, ScaleKind::Plain) => {
                let verb = match (sure, estimate.estimate > 0.0) {
                    (true, true) => "raises",
                    (true, false) => "lowers",
                    (false, _) => "changes",
                };
                format!(
                    "Taking `{}` from {} to {} {verb} `{response}` by {amount}{averaged}",
                    mover.name, from.0, to.0
                )
            }
            (Path::Slope { words, .. }, ScaleKind::Log(_)) => {
                let verb = match (sure, estimate.estimate > 0.0) {
                    (true, true) => "grows",
                    (true, false) => "shrinks",
                    (false, _) => "changes",
                };
                format!("`{response}` {verb} ×{amount} {words}{averaged}")
            }
            (Path::Slope { words, .. }, _) => {
                let verb = match (sure, estimate.estimate > 0.0) {
                    (true, true) => "rises",
                    (true, false) => "falls",
                    (false, _) => "changes",
                };
                format!("`{response}` {verb} by {amount} {words}{averaged}")
            }
        };
        let doubt = match sure {
            true => "",
            false => ", which cannot be told from no change",
        };
        let bent = match (&mover.path, self.bends_along(&mover.name)) {
            (Path::Slope { .. }, true) => " along the model's straight line, from which it bends",
            _ => "",
        };
        let (elasticity, claim) = self.claim(mover, estimate, Vec::new());
        let text = format!(
            "{text}{bent}{doubt} ({elasticity}{interval}, {})",
            p_value(estimate.p)
        );
        let mut claims = vec![claim];
        let mut statement = self.varying(mover, strong);
        claims.append(&mut statement.claims);
        Statement {
            text: format!("{text}{}", statement.text),
            claims,
        }
    }

    /// Whether the response bends where the model has a straight line.
    fn bends_along(&self, column: &str) -> bool {
        let clear = self
            .material
            .curvature
            .map(|c| c.clear(self.material.level));
        clear.is_some_and(|bends| {
            bends
                .iter()
                .any(|bend| bend.columns.iter().any(|own| own == column))
        })
    }

    /// The typical value at a setting with its interval, and as a number.
    fn typical(&self, setting: &Setting) -> (String, f64) {
        let scale = self.material.scale;
        match self.material.margins.mean(std::slice::from_ref(setting)) {
            Some(mean) => {
                let value = scale.back(mean.estimate);
                (scale.unit.value(value), value)
            }
            None => ("an unknown value".to_owned(), f64::NAN),
        }
    }

    /// The size of an effect in words, and its interval. Where the verb says the
    /// direction, the size has no sign.
    fn amount(&self, mover: &Mover, estimate: &Estimate) -> (String, String) {
        let scale = self.material.scale;
        let coverage = self.coverage();
        let sure = estimate.p < self.material.level;
        match scale.kind {
            ScaleKind::Log(base) => {
                let factor = |x: f64| short(base.powf(x));
                let (low, high) = (factor(estimate.lower), factor(estimate.upper));
                let mark = match mover.path {
                    Path::Step { .. } => "",
                    Path::Slope { .. } => "×",
                };
                (
                    factor(estimate.estimate),
                    format!("{coverage} interval {mark}{low} to {mark}{high}"),
                )
            }
            ScaleKind::Plain => {
                let down = sure && estimate.estimate < 0.0;
                let (value, low, high) = match down {
                    true => (-estimate.estimate, -estimate.upper, -estimate.lower),
                    false => (estimate.estimate, estimate.lower, estimate.upper),
                };
                (
                    scale.unit.difference(value),
                    format!("{coverage} interval {}", scale.unit.differences(low, high)),
                )
            }
            ScaleKind::Power(_) => (
                short(estimate.estimate),
                format!(
                    "{coverage} interval of the difference of `{}` {} to {}",
                    scale.fitted,
                    short(estimate.lower),
                    short(estimate.upper)
                ),
            ),
        }
    }

    pub(super) fn coverage(&self) -> String {
        percent(100.0 * (1.0 - self.material.level))
    }

    /// The claim of a mover's effect, per unit where it is a slope; an elasticity
    /// is also said.
    fn claim(
        &self,
        mover: &Mover,
        estimate: &Estimate,
        at: Vec<(String, String)>,
    ) -> (String, Claim) {
        let scale = self.material.scale;
        let shape = self.frame.variables()[mover.variable].shape();
        let (kind, per, values) = match (&mover.path, scale.kind, shape) {
            (Path::Step { from, to }, ScaleKind::Log(_), _) => {
                (ClaimKind::Factor, 1.0, vec![from.0.clone(), to.0.clone()])
            }
            (Path::Step { from, to }, ..) => (
                ClaimKind::Difference,
                1.0,
                vec![from.0.clone(), to.0.clone()],
            ),
            (Path::Slope { by, .. }, ScaleKind::Log(base), Some(Shape::Log(along))) => {
                let per = base.ln() / along.ln() / by;
                (ClaimKind::Elasticity, per, Vec::new())
            }
            (Path::Slope { by, .. }, ScaleKind::Log(_), _) => {
                (ClaimKind::FactorPerUnit, 1.0 / by, Vec::new())
            }
            (Path::Slope { by, .. }, ..) => (ClaimKind::Slope, 1.0 / by, Vec::new()),
        };
        let own = times(estimate, per);
        let said = |x: f64| match (kind, scale.kind) {
            (ClaimKind::Factor | ClaimKind::FactorPerUnit, ScaleKind::Log(base)) => base.powf(x),
            _ => x,
        };
        let words = match kind {
            ClaimKind::Elasticity => format!("elasticity {}; ", short(own.estimate)),
            _ => String::new(),
        };
        let claim = Claim {
            kind,
            subject: mover.name.clone(),
            at,
            values,
            estimate: said(own.estimate),
            lower: said(own.lower),
            upper: said(own.upper),
            p: Some(own.p),
        };
        (words, claim)
    }

    /// Between what an effect varies with each variable it interacts with.
    fn varying(&self, mover: &Mover, strong: &[&TermEvidence]) -> Statement {
        const NAMED: usize = 2;
        let partners = self.partner_variables(&[mover.variable], strong);
        let mut claims = Vec::new();
        let mut parts: Vec<String> = Vec::new();
        let mut others: Vec<String> = Vec::new();
        for (index, &partner) in partners.iter().enumerate() {
            let name = format!("`{}`", self.frame.variable_name(partner));
            let range = match index < NAMED {
                true => self.extremes(mover, partner),
                false => None,
            };
            match range {
                Some(range) => {
                    parts.push(format!("{name}: {}", range.text));
                    claims.extend(range.claims);
                }
                None => others.push(name),
            }
        }
        let mut text = String::new();
        if !parts.is_empty() {
            text.push_str(&format!("; it depends on {}", parts.join("; and on ")));
        }
        if !others.is_empty() {
            let also = if parts.is_empty() {
                "how much"
            } else {
                "it also"
            };
            text.push_str(&format!("; {also} depends on {}", list(&others)));
        }
        Statement { text, claims }
    }

    /// The values of a partner to compare an effect at.
    fn conditions(&self, variable: usize) -> Vec<Condition> {
        let own = &self.frame.variables()[variable];
        let name = self.frame.variable_name(variable);
        if self.shares_column(variable) {
            return Vec::new();
        }
        match (own.data(), own.columns().as_slice()) {
            (VariableData::Categorical { levels, .. }, _) => levels
                .iter()
                .enumerate()
                .map(|(level, text)| {
                    (
                        name.clone(),
                        text.clone(),
                        Setting::Level { variable, level },
                    )
                })
                .collect(),
            (VariableData::Numeric { .. }, [column]) => {
                let Some((low, high)) = self.material.margins.range(column) else {
                    return Vec::new();
                };
                let unit = (self.material.units)(column);
                let at = |value: f64| {
                    let setting = Setting::Value {
                        column: (*column).to_owned(),
                        value,
                    };
                    ((*column).to_owned(), unit.setting(value), setting)
                };
                vec![at(low), at(high)]
            }
            _ => Vec::new(),
        }
    }

    /// The least and the greatest effect over the values of a partner.
    pub(super) fn extremes(&self, mover: &Mover, partner: usize) -> Option<Statement> {
        let conditions = self.conditions(partner);
        let mut found: Vec<(Condition, Estimate)> = Vec::new();
        for condition in conditions {
            let estimate = self.judged(mover, std::slice::from_ref(&condition.2))?;
            found.push((condition, estimate));
        }
        let size = |entry: &&(Condition, Estimate)| entry.1.estimate;
        let least = found.iter().min_by(|a, b| size(a).total_cmp(&size(b)))?;
        let most = found.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
        let one = |(condition, estimate): &(Condition, Estimate)| {
            format!(
                "{} at {} = {}",
                self.signed(mover, estimate),
                condition.0,
                condition.1
            )
        };
        let claims = [least, most].map(|(condition, estimate)| {
            let at = vec![(condition.0.clone(), condition.1.clone())];
            self.claim(mover, estimate, at).1
        });
        Some(Statement {
            text: format!("from {} to {}", one(least), one(most)),
            claims: claims.into(),
        })
    }

    /// An effect with its sign and interval.
    fn signed(&self, mover: &Mover, estimate: &Estimate) -> String {
        let scale = self.material.scale;
        let coverage = self.coverage();
        match scale.kind {
            ScaleKind::Log(base) => {
                let factor = |x: f64| format!("×{}", short(base.powf(x)));
                format!(
                    "{} ({coverage} interval {} to {})",
                    factor(estimate.estimate),
                    factor(estimate.lower),
                    factor(estimate.upper)
                )
            }
            ScaleKind::Plain => format!(
                "{} ({coverage} interval {})",
                scale.unit.difference(estimate.estimate),
                scale.unit.differences(estimate.lower, estimate.upper)
            ),
            ScaleKind::Power(_) => {
                let Path::Step { .. } = mover.path else {
                    return short(estimate.estimate);
                };
                format!("{} in `{}`", short(estimate.estimate), scale.fitted)
            }
        }
    }
}

/// The largest power of ten within a range, or one where a unit is well inside.
fn step_within(range: f64) -> f64 {
    match (1.0..1000.0).contains(&range) || range <= 0.0 {
        true => 1.0,
        false => 10.0_f64.powf(range.log10().floor()),
    }
}

/// An estimate in units of another size.
fn times(estimate: &Estimate, by: f64) -> Estimate {
    let (a, b) = (estimate.lower * by, estimate.upper * by);
    Estimate {
        estimate: estimate.estimate * by,
        standard_error: estimate.standard_error * by.abs(),
        lower: a.min(b),
        upper: a.max(b),
        ..*estimate
    }
}
