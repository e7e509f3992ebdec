//! Reading `[design]` against the factors.

mod kind;

use crate::design::{DesignKind, DesignSettings};
use crate::document::Entry;
use crate::expression::{Condition, Expression};
use crate::factor::FactorType;
use crate::keys::{DESIGN, MAX_RUNS};
use crate::names::Names;
use crate::problem::{Place, Problem};
use crate::section::{Section, bad_expression};
use paceline_design::{BlockBy, Blocks, Order};

/// Reads `[design]`. `None` if a problem left no design to speak of.
pub(crate) fn read(
    entry: Option<&Entry>,
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
    notices: &mut Vec<Problem>,
) -> Option<DesignSettings> {
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
    let centre_points = reader.section.whole("center_points", problems).map(small);
    let blocks = reader.blocks(problems);
    let forbid = reader.forbid(problems, notices);
    let cost_per_run = reader.cost(problems);
    let kind = kind?;
    reader.keys_of_other_kinds(kind, problems);
    reader.factors_fit(kind, problems);
    reader.runs_fit(kind, replicates, problems);
    reader.notice_values_between(kind, notices);
    let kind = reader.kind(kind, problems);
    (problems.len() == before).then_some(())?;
    Some(DesignSettings {
        kind: kind?,
        replicates,
        seed,
        order,
        centre_points,
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
    fn blocks(&self, problems: &mut Vec<Problem>) -> Blocks {
        let count = self.section.whole("blocks", problems);
        let by = self.section.one_of("block_by", problems);
        if let (Some(entry), None) = (self.section.entry("block_by"), self.section.entry("blocks"))
        {
            problems.push(
                Problem::new(&entry.place, "`block_by` without `blocks`")
                    .hint("say into how many, as in blocks = 2"),
            );
        }
        count.map_or(Blocks::NONE, |count| Blocks {
            count: u32::try_from(count).expect("the table of keys bounds it"),
            by: by.unwrap_or(BlockBy::Time),
        })
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
