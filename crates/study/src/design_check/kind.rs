//! Reading the kind of design, with what only that kind has.

use super::Reader;
use crate::design::DesignKind;
use crate::document::{Entry, Value};
use crate::factor::{Factor, FactorType};
use crate::problem::{Place, Problem};
use crate::section::{level, table, wrong};
use crate::words::{ALPHA_WORDS, ALPHAS};
use paceline_design::{
    Alpha, CentralComposite, CompositeCube, CompositeShape, FractionBy, Generator, Kind,
    ModelTerms, Optimal,
};
use paceline_model::Level;
use paceline_model::spelling::suggestion;

impl Reader<'_> {
    pub(super) fn kind(&self, kind: DesignKind, problems: &mut Vec<Problem>) -> Option<Kind> {
        let small = |n: u64| u32::try_from(n).expect("the table of keys bounds it");
        let runs = |problems: &mut Vec<Problem>| self.section.whole("runs", problems).map(small);
        Some(match kind {
            DesignKind::Full => Kind::Full,
            DesignKind::TwoLevel => Kind::TwoLevel,
            DesignKind::BoxBehnken => Kind::BoxBehnken,
            DesignKind::Fractional => Kind::Fractional(self.fraction(problems)?),
            DesignKind::OneAtATime => Kind::OneAtATime {
                control: self.control(problems)?,
            },
            DesignKind::PlackettBurman => Kind::PlackettBurman {
                runs: self.plackett_burman_runs(runs(problems), problems),
            },
            DesignKind::CentralComposite => Kind::CentralComposite(CentralComposite {
                shape: self
                    .section
                    .one_of("shape", problems)
                    .unwrap_or(CompositeShape::Circumscribed),
                alpha: self.alpha(problems),
                cube: self
                    .section
                    .one_of("cube", problems)
                    .unwrap_or(CompositeCube::Full),
            }),
            DesignKind::LatinHypercube => Kind::LatinHypercube {
                runs: self.needed("runs", kind, runs(problems), problems)?,
            },
            DesignKind::Optimal => {
                let runs = self.needed("runs", kind, runs(problems), problems);
                let terms = self.needed("model", kind, self.model(problems), problems);
                let budget = self.budget(problems);
                let mut optimal = Optimal::new(terms?, runs?);
                optimal.budget = budget;
                Kind::Optimal(optimal)
            }
        })
    }

    /// Reports a key that the kind cannot do without.
    fn needed<T>(
        &self,
        key: &str,
        kind: DesignKind,
        value: Option<T>,
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        if self.section.entry(key).is_none() {
            problems.push(Problem::new(
                &self.place,
                format!("{} needs `{key}`", kind.with_article()),
            ));
        }
        value
    }

    fn fraction(&self, problems: &mut Vec<Problem>) -> Option<FractionBy> {
        let small = |n: u64| u32::try_from(n).expect("the table of keys bounds it");
        let resolution = self.section.whole("resolution", problems).map(small);
        let runs = self.section.whole("runs", problems).map(small);
        if let Some(entry) = self.section.entry("runs")
            && let Some(runs) = runs
            && !runs.is_power_of_two()
        {
            problems.push(
                Problem::new(
                    &entry.node.place,
                    format!("a fractional design has a power of two of runs, not {runs}"),
                )
                .hint(format!(
                    "{} or {}",
                    runs.next_power_of_two() / 2,
                    runs.next_power_of_two()
                )),
            );
        }
        if let Some(entry) = self.section.entry("generators") {
            for other in ["resolution", "runs"] {
                if let Some(other) = self.section.entry(other) {
                    problems.push(
                        Problem::new(&other.place, format!("`{}` beside `generators`", other.key))
                            .hint("generators decide the resolution and the number of runs"),
                    );
                }
            }
            return self.generators(entry, problems).map(FractionBy::Generators);
        }
        match (runs, resolution) {
            (Some(runs), Some(resolution)) => {
                Some(FractionBy::RunsAndResolution { runs, resolution })
            }
            (Some(runs), None) => Some(FractionBy::Runs(runs)),
            (None, Some(resolution)) => Some(FractionBy::Resolution(resolution)),
            (None, None) => {
                if self
                    .section
                    .entry("runs")
                    .or(self.section.entry("resolution"))
                    .is_none()
                {
                    problems.push(
                        Problem::new(
                            &self.place,
                            "a fractional design needs to know which fraction",
                        )
                        .hint("give resolution = 5, runs = 16 or generators = [\"F = A*B*C*D*E\"]"),
                    );
                }
                None
            }
        }
    }

    fn generators(&self, entry: &Entry, problems: &mut Vec<Problem>) -> Option<Vec<Generator>> {
        let before = problems.len();
        let texts = self.section.texts("generators", problems);
        if texts.is_empty() && problems.len() == before {
            problems.push(
                Problem::new(&entry.place, "`generators` is empty")
                    .hint("for all combinations choose kind = \"two-level\""),
            );
        }
        let mut generators: Vec<Generator> = Vec::new();
        for (text, place) in texts {
            match Generator::parse(text, &self.names.factor_names) {
                Ok(generator) => {
                    let target = generator.target();
                    if generators.iter().any(|other| other.target() == target) {
                        problems.push(
                            Problem::new(
                                place,
                                format!(
                                    "factor `{}` has two generators",
                                    self.names.factor_names[target]
                                ),
                            )
                            .hint("each added factor has one"),
                        );
                    }
                    generators.push(generator);
                }
                Err(fault) => problems.push(
                    Problem::new(place, format!("generator: {}", fault.message))
                        .excerpt(text, &fault.span)
                        .maybe_hint(fault.hint),
                ),
            }
        }
        // A product may use a generated factor only if its generator came
        // before, so that no two define each other.
        for (index, generator) in generators.iter().enumerate() {
            if let Some(later) = generators[index + 1..]
                .iter()
                .find(|later| generator.product().contains(&later.target()))
            {
                problems.push(
                    Problem::new(
                        &entry.place,
                        format!(
                            "the generator of `{}` uses `{}`, which is generated later",
                            self.names.factor_names[generator.target()],
                            self.names.factor_names[later.target()]
                        ),
                    )
                    .hint("write generators over the factors that have none"),
                );
            }
        }
        (problems.len() == before).then_some(generators)
    }

    fn plackett_burman_runs(&self, runs: Option<u32>, problems: &mut Vec<Problem>) -> Option<u32> {
        let entry = self.section.entry("runs")?;
        let runs = runs?;
        let factors = self.names.factor_names.len();
        if !runs.is_multiple_of(4) {
            problems.push(
                Problem::new(
                    &entry.node.place,
                    format!("a plackett-burman design has a multiple of four runs, not {runs}"),
                )
                .hint(format!("{} is the next", runs.next_multiple_of(4))),
            );
        } else if runs as usize <= factors {
            problems.push(Problem::new(
                &entry.node.place,
                format!(
                    "{runs} runs of a plackett-burman design hold {} factors, not {factors}",
                    runs - 1
                ),
            ));
        }
        Some(runs)
    }

    fn control(&self, problems: &mut Vec<Problem>) -> Option<Vec<(String, Level)>> {
        let before = problems.len();
        let entries = self
            .section
            .entry("control")
            .map_or(&[][..], |entry| table(&entry.node, "`control`", problems));
        for entry in entries {
            if !self.names.is_factor(&entry.key) {
                problems.push(
                    Problem::new(&entry.place, format!("`{}` is not a factor", entry.key))
                        .maybe_hint(suggestion(
                            &entry.key,
                            self.names.factor_names.iter().copied(),
                        )),
                );
            }
        }
        let control = self
            .names
            .factors
            .iter()
            .map(|(_, factor)| {
                let level = control_level(factor, entries, problems);
                (factor.name.clone(), level)
            })
            .collect();
        (problems.len() == before).then_some(control)
    }

    fn alpha(&self, problems: &mut Vec<Problem>) -> Alpha {
        let Some(entry) = self.section.entry("alpha") else {
            return Alpha::Rotatable;
        };
        let number = match &entry.node.value {
            Value::Integer(i) => *i as f64,
            Value::Number(x) => *x,
            Value::Text(text) => {
                if let Some((_, alpha)) = ALPHAS.iter().find(|(word, _)| word == text) {
                    return *alpha;
                }
                problems.push(
                    Problem::new(&entry.node.place, format!("`alpha` cannot be `{text}`"))
                        .maybe_hint(suggestion(text, ALPHA_WORDS.iter().copied())),
                );
                return Alpha::Rotatable;
            }
            _ => {
                wrong::<()>(entry, "a number, \"rotatable\" or \"orthogonal\"", problems);
                return Alpha::Rotatable;
            }
        };
        // NaN is not above zero either.
        if !(number > 0.0 && number.is_finite()) {
            problems.push(Problem::new(
                &entry.node.place,
                format!("`alpha` must be above zero, found {number}"),
            ));
        }
        Alpha::Value(number)
    }

    fn model(&self, problems: &mut Vec<Problem>) -> Option<ModelTerms> {
        let text = self.section.text("model", problems)?;
        let place = &self.section.entry("model")?.node.place;
        match ModelTerms::parse(text, &self.names.factor_names) {
            Ok(model) => {
                self.powers_of_numbers(&model, place, problems);
                Some(model)
            }
            Err(fault) => {
                problems.push(
                    Problem::new(place, format!("`model`: {}", fault.message))
                        .excerpt(text, &fault.span)
                        .maybe_hint(fault.hint),
                );
                None
            }
        }
    }

    fn powers_of_numbers(&self, model: &ModelTerms, place: &Place, problems: &mut Vec<Problem>) {
        let ModelTerms::Explicit(terms) = model else {
            return;
        };
        for (position, power) in terms.iter().flat_map(|term| term.parts().iter().copied()) {
            let name = self.names.factor_names[position];
            if power > 1
                && self
                    .names
                    .factor(name)
                    .is_some_and(|factor| factor.kind == FactorType::Categorical)
            {
                problems.push(Problem::new(
                    place,
                    format!("`model`: factor `{name}` is categorical and has no power {power}"),
                ));
            }
        }
    }

    fn budget(&self, problems: &mut Vec<Problem>) -> Option<f64> {
        let budget = self.section.number("budget", problems)?.as_number()?;
        let entry = self.section.entry("budget")?;
        if budget <= 0.0 {
            problems.push(Problem::new(
                &entry.node.place,
                format!("`budget` must be above zero, found {budget}"),
            ));
        }
        if self.section.entry("cost_per_run").is_none() {
            problems.push(
                Problem::new(&entry.place, "`budget` without `cost_per_run`")
                    .hint("say what one run costs, as in cost_per_run = \"workers * epochs\""),
            );
        }
        Some(budget)
    }
}

fn control_level(factor: &Factor, entries: &[Entry], problems: &mut Vec<Problem>) -> Level {
    let first = factor.levels[0].clone();
    let Some(entry) = entries.iter().find(|entry| entry.key == factor.name) else {
        return first;
    };
    let Some(wanted) = level(
        &entry.node,
        &format!("control of `{}`", factor.name),
        problems,
    ) else {
        return first;
    };
    if !factor.admits(&wanted) {
        let levels: Vec<_> = factor
            .levels
            .iter()
            .take(20)
            .map(|l| format!("`{l}`"))
            .collect();
        problems.push(
            Problem::new(
                &entry.node.place,
                format!("`{wanted}` is not a level of factor `{}`", factor.name),
            )
            .hint(format!("its levels are {}", levels.join(", "))),
        );
        return first;
    }
    // The factor's own spelling of the level: 64 and 64.0 are one.
    factor
        .levels
        .iter()
        .find(|own| crate::factor::same(own, &wanted))
        .cloned()
        .unwrap_or(wanted)
}
