//! Reading `[design]` against the factors.

use crate::design::{
    Alpha, BlockBy, CompositeCube, CompositeShape, Design, DesignKind, FractionBy, Generator,
    Layout, Order,
};
use crate::document::{Entry, Value};
use crate::expression::{Condition, Expression};
use crate::factor::{Factor, FactorType};
use crate::keys::{DESIGN, MAX_RUNS};
use crate::names::Names;
use crate::problem::{Place, Problem};
use crate::section::{Section, bad_expression, level, table, wrong};
use crate::terms::{Model, parse_generator, parse_model};
use paceline_model::Level;
use paceline_model::spelling::suggestion;

/// Reads `[design]`. `None` if a problem left no design to speak of.
pub(crate) fn read(
    entry: Option<&Entry>,
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
    notices: &mut Vec<Problem>,
) -> Option<Design> {
    let before = problems.len();
    let reader = Reader {
        section: Section::open(entry.map(|entry| &entry.node), &DESIGN, problems),
        place: entry.map_or(Place::START, |entry| entry.place.clone()),
        names,
    };
    let kind = match reader.section.entry("kind") {
        Some(_) => reader.section.one_of("kind", problems),
        None => Some(DesignKind::Full),
    };
    let small = |n: u64| u32::try_from(n).expect("the table of keys bounds it");
    let replicates = reader
        .section
        .whole("replicates", problems)
        .map_or(1, small);
    let seed = reader.section.whole("seed", problems).unwrap_or(1);
    let order = reader
        .section
        .one_of("order", problems)
        .unwrap_or(Order::Random);
    let warmup = reader.section.whole("warmup", problems).map_or(0, small);
    let center_points = reader.section.whole("center_points", problems).map(small);
    let blocks = reader.blocks(problems);
    let forbid = reader.forbid(problems, notices);
    let cost_per_run = reader.cost(problems);
    let kind = kind?;
    reader.keys_of_other_kinds(kind, problems);
    reader.factors_fit(kind, problems);
    reader.runs_fit(kind, replicates, problems);
    reader.notice_values_between(kind, notices);
    let layout = reader.layout(kind, problems);
    (problems.len() == before).then_some(())?;
    Some(Design {
        layout: layout?,
        replicates,
        seed,
        order,
        center_points,
        blocks,
        forbid,
        cost_per_run,
        warmup,
    })
}

struct Reader<'a> {
    section: Section<'a>,
    /// Of `[design]`, for what is absent.
    place: Place,
    names: &'a Names<'a>,
}

impl Reader<'_> {
    fn blocks(&self, problems: &mut Vec<Problem>) -> Option<(u32, BlockBy)> {
        let count = self.section.whole("blocks", problems);
        let by = self.section.one_of("block_by", problems);
        if let (Some(entry), None) = (self.section.entry("block_by"), self.section.entry("blocks"))
        {
            problems.push(
                Problem::new(&entry.place, "`block_by` without `blocks`")
                    .hint("say into how many, as in blocks = 2"),
            );
        }
        let count = u32::try_from(count?).expect("the table of keys bounds it");
        Some((count, by.unwrap_or(BlockBy::Time)))
    }

    fn keys_of_other_kinds(&self, kind: DesignKind, problems: &mut Vec<Problem>) {
        for entry in self.section.entries() {
            let Some(key) = DESIGN.key(&entry.key) else {
                continue;
            };
            if !key.only.is_empty() && !key.only.contains(&kind) {
                let words: Vec<_> = key.only.iter().map(|kind| kind.word()).collect();
                problems.push(
                    Problem::new(
                        &entry.place,
                        format!("`{}` has no meaning in {}", key.name, kind.with_article()),
                    )
                    .hint(format!("it belongs to kind = {}", words.join(", "))),
                );
            }
        }
    }

    /// Reports factors whose levels the kind of design cannot use.
    fn factors_fit(&self, kind: DesignKind, problems: &mut Vec<Problem>) {
        use DesignKind as D;
        let a_design = kind.with_article();
        let least = match kind {
            D::BoxBehnken => 3,
            D::TwoLevel | D::CentralComposite => 2,
            D::Fractional => 3,
            _ => 1,
        };
        let count = self.names.factor_names.len();
        if count > 0 && count < least {
            problems.push(Problem::new(
                &self.place,
                format!("{a_design} needs at least {least} factors, found {count}"),
            ));
        }
        for (place, factor) in &self.names.factors {
            let levels = factor.levels.len();
            let name = &factor.name;
            let complaint = match kind {
                D::Full | D::OneAtATime if factor.is_range => Some((
                    format!("factor `{name}` is a range; {a_design} needs levels"),
                    "give steps = n, or levels = […]".to_owned(),
                )),
                D::TwoLevel | D::Fractional | D::PlackettBurman if levels != 2 => Some((
                    format!("factor `{name}` has {levels} levels; {a_design} needs two"),
                    "give two levels, or choose kind = \"full\" or \"optimal\"".to_owned(),
                )),
                D::CentralComposite | D::BoxBehnken if factor.kind == FactorType::Categorical => {
                    Some((
                        format!("factor `{name}` is categorical; {a_design} needs numbers"),
                        "choose kind = \"optimal\", which mixes both".to_owned(),
                    ))
                }
                D::CentralComposite | D::BoxBehnken if levels > 3 => Some((
                    format!("factor `{name}` has {levels} levels; {a_design} chooses its own"),
                    "give a range: low = … and high = …".to_owned(),
                )),
                _ => None,
            };
            if let Some((message, hint)) = complaint {
                problems.push(Problem::new(place, message).hint(hint));
            }
        }
    }

    /// A Latin hypercube takes two numbers for the ends of a range, which may
    /// surprise someone who listed them as levels.
    fn notice_values_between(&self, kind: DesignKind, notices: &mut Vec<Problem>) {
        if kind != DesignKind::LatinHypercube {
            return;
        }
        for (place, factor) in &self.names.factors {
            if factor.kind == FactorType::Numeric && factor.levels.len() == 2 && !factor.is_range {
                notices.push(
                    Problem::new(
                        place,
                        format!(
                            "factor `{}` takes values between its two levels in {}",
                            factor.name,
                            kind.with_article()
                        ),
                    )
                    .hint("write low and high to say so, or type = \"categorical\" to prevent it"),
                );
            }
        }
    }

    /// Reports a factorial design with more runs than a study may plan. Other
    /// kinds say their number of runs, which the table of keys bounds.
    fn runs_fit(&self, kind: DesignKind, replicates: u32, problems: &mut Vec<Problem>) {
        if !matches!(kind, DesignKind::Full | DesignKind::TwoLevel) {
            return;
        }
        let counts = self
            .names
            .factors
            .iter()
            .map(|(_, factor)| factor.levels.len() as f64);
        let runs = counts.product::<f64>() * f64::from(replicates);
        if runs > MAX_RUNS as f64 {
            problems.push(
                Problem::new(
                    &self.place,
                    format!(
                        "{} of {runs} runs is more than {MAX_RUNS}",
                        kind.with_article()
                    ),
                )
                .hint("choose kind = \"fractional\", \"latin-hypercube\" or \"optimal\""),
            );
        }
    }

    fn layout(&self, kind: DesignKind, problems: &mut Vec<Problem>) -> Option<Layout> {
        let small = |n: u64| u32::try_from(n).expect("the table of keys bounds it");
        let runs = |problems: &mut Vec<Problem>| self.section.whole("runs", problems).map(small);
        Some(match kind {
            DesignKind::Full => Layout::Full,
            DesignKind::TwoLevel => Layout::TwoLevel,
            DesignKind::BoxBehnken => Layout::BoxBehnken,
            DesignKind::Fractional => Layout::Fractional(self.fraction(problems)?),
            DesignKind::OneAtATime => Layout::OneAtATime {
                control: self.control(problems)?,
            },
            DesignKind::PlackettBurman => Layout::PlackettBurman {
                runs: self.plackett_burman_runs(runs(problems), problems),
            },
            DesignKind::CentralComposite => Layout::CentralComposite {
                shape: self
                    .section
                    .one_of("shape", problems)
                    .unwrap_or(CompositeShape::Circumscribed),
                alpha: self.alpha(problems),
                cube: self
                    .section
                    .one_of("cube", problems)
                    .unwrap_or(CompositeCube::Full),
            },
            DesignKind::LatinHypercube => Layout::LatinHypercube {
                runs: self.needed("runs", kind, runs(problems), problems)?,
            },
            DesignKind::Optimal => {
                let runs = self.needed("runs", kind, runs(problems), problems);
                let model = self.needed("model", kind, self.model(problems), problems);
                let budget = self.budget(problems);
                Layout::Optimal {
                    runs: runs?,
                    model: model?,
                    budget,
                }
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
            match parse_generator(text, &self.names.factor_names) {
                Ok(generator) => {
                    let target = generator.target;
                    if generators.iter().any(|other| other.target == target) {
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
                .find(|later| generator.product.contains(&later.target))
            {
                problems.push(
                    Problem::new(
                        &entry.place,
                        format!(
                            "the generator of `{}` uses `{}`, which is generated later",
                            self.names.factor_names[generator.target],
                            self.names.factor_names[later.target]
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

    fn control(&self, problems: &mut Vec<Problem>) -> Option<Vec<Level>> {
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
            .map(|(_, factor)| control_level(factor, entries, problems))
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
            Value::Text(text) => match text.as_str() {
                "rotatable" => return Alpha::Rotatable,
                "orthogonal" => return Alpha::Orthogonal,
                _ => {
                    problems.push(
                        Problem::new(&entry.node.place, format!("`alpha` cannot be `{text}`"))
                            .maybe_hint(suggestion(text, Alpha::WORDS.iter().copied())),
                    );
                    return Alpha::Rotatable;
                }
            },
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

    fn model(&self, problems: &mut Vec<Problem>) -> Option<Model> {
        let text = self.section.text("model", problems)?;
        let place = &self.section.entry("model")?.node.place;
        match parse_model(text, &self.names.factor_names) {
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

    fn powers_of_numbers(&self, model: &Model, place: &Place, problems: &mut Vec<Problem>) {
        let Model::Terms(terms) = model else {
            return;
        };
        for (position, power) in terms.iter().flat_map(|term| term.0.iter().copied()) {
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

    fn cost(&self, problems: &mut Vec<Problem>) -> Option<Expression> {
        let (expression, place) = self.section.expression("cost_per_run", problems)?;
        let text = self
            .section
            .text("cost_per_run", &mut Vec::new())
            .unwrap_or_default();
        for (name, span) in expression.names() {
            self.names
                .check_number(name, place, "`cost_per_run`", (text, &span), problems);
        }
        Some(expression)
    }

    fn forbid(&self, problems: &mut Vec<Problem>, notices: &mut Vec<Problem>) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (text, place) in self.section.texts("forbid", problems) {
            let condition = match Condition::parse(text) {
                Ok(condition) => condition,
                Err(error) => {
                    problems.push(bad_expression(place, "`forbid`", text, &error));
                    continue;
                }
            };
            for (name, span) in condition.names() {
                self.names
                    .check_known(name, place, "`forbid`", (text, &span), problems);
            }
            for (name, span) in condition.names_used_as_numbers() {
                if self.names.is_known(name) {
                    self.names
                        .check_number(name, place, "`forbid`", (text, &span), problems);
                }
            }
            for (name, span) in condition.names_used_as_conditions() {
                self.names
                    .check_switch(name, place, "`forbid`", (text, &span), problems);
            }
            // Levels may be replaced on the command line, so a comparison that
            // never holds is worth saying but not wrong.
            for (name, level, is_equality, span) in condition.comparisons_with_constants() {
                if let Some(factor) = self.names.factor(name)
                    && is_equality
                    && !factor.admits(&level)
                {
                    notices.push(
                        Problem::new(place, format!("`{name}` never has the level `{level}`"))
                            .excerpt(text, &span),
                    );
                }
            }
            conditions.push(condition);
        }
        conditions
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
