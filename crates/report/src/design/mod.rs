//! The design for people.

mod lines;
mod words;

pub(crate) use words::meaning_of_resolution;

use lines::Lines;
use words::{confounding, power_rows, roman, shortened};

use crate::number::{self, count, plural, significant};
use crate::text::{Column, Page, Table, columns, paragraph};
use paceline_answers::design::{Facts, Planned};
use paceline_design::{AliasSet, Factors, ModelTerms, Order, Scale};
use paceline_model::Level;
use paceline_study::{DesignKind, FactorType};
use std::fmt::Write as _;

/// How much of a list is shown; `--format json` has all of it.
const RUNS_SHOWN: usize = 20;
const TERMS_SHOWN: usize = 40;
const SETS_SHOWN: usize = 64;
const LEVELS_SHOWN: usize = 8;

/// Everything but the runs beyond the first few.
#[must_use]
pub fn text(planned: &Planned, facts: &Facts, page: Page) -> String {
    let report = Report {
        planned,
        facts,
        page,
    };
    let mut out = report.summary();
    for (title, body) in [
        ("Factors", report.factors()),
        ("Design", report.design()),
        ("Aliases", report.aliases()),
        ("Model", report.model()),
        ("Expected", report.expected()),
        ("Runs", report.runs()),
    ] {
        if !body.is_empty() {
            out.push_str(&format!("\n{}\n{body}", page.style.strong(title)));
        }
    }
    out
}

struct Report<'a> {
    planned: &'a Planned,
    facts: &'a Facts,
    page: Page,
}

impl Report<'_> {
    fn summary(&self) -> String {
        let Planned { study, path, .. } = self.planned;
        let own = study.design();
        let properties = &self.facts.properties;
        let title = match study.name() {
            Some(name) => format!("{name} ({})", path.display()),
            None => path.display().to_string(),
        };
        let mut text = paragraph("", &title, self.page.width);
        let mut size = plural(properties.trials, "trial");
        if own.replicates > 1 {
            write!(size, ", {} replicates", count(own.replicates.into())).expect(TO_TEXT);
        }
        write!(size, ", {}", plural(properties.runs, "run")).expect(TO_TEXT);
        if properties.blocks > 1 {
            write!(size, " in {} blocks", count(properties.blocks.into())).expect(TO_TEXT);
        }
        if own.warmup > 0 {
            let warmup = plural(own.warmup as usize, "run");
            write!(size, ", after {warmup} to warm up").expect(TO_TEXT);
        }
        let order = match own.order {
            Order::Random => format!("in random order from seed {}", own.seed),
            Order::Standard => "in standard order".to_owned(),
        };
        let line = format!(
            "{} design: {size}, {order}",
            DesignKind::of(&own.kind).word()
        );
        text.push_str(&paragraph("", &line, self.page.width));
        text
    }

    fn factors(&self) -> String {
        let mut table = Table::new([
            Column::words("  "),
            Column::words("factor"),
            Column::words("levels"),
            Column::words("scale").optional(),
        ]);
        for (position, factor) in self.planned.study.factors().iter().enumerate() {
            let shown: Vec<String> = factor
                .levels
                .iter()
                .take(LEVELS_SHOWN)
                .map(Level::to_string)
                .collect();
            let levels = if factor.is_range {
                format!("{} to {}", shown[0], shown[1])
            } else if factor.levels.len() > LEVELS_SHOWN {
                format!(
                    "{}, … ({} levels)",
                    shown.join(", "),
                    count(factor.levels.len() as u64)
                )
            } else {
                shown.join(", ")
            };
            let scale = match (factor.kind, factor.scale) {
                (FactorType::Categorical, _) => "categories",
                (FactorType::Numeric, Scale::Linear) => "linear",
                (FactorType::Numeric, Scale::Log) => "log",
            };
            table.row([&letter(position), &factor.name, &levels, scale]);
        }
        table.render(self.page.width, self.page.style)
    }

    fn design(&self) -> String {
        let properties = &self.facts.properties;
        let mut lines = Lines::new(self.page.width);
        if let Some(resolution) = properties.resolution {
            let meaning = meaning_of_resolution(resolution);
            lines.add("resolution", &format!("{}: {meaning}", roman(resolution)));
        }
        if let Some(relation) = &properties.defining_relation {
            lines.add("defining relation", &shortened(relation));
        }
        if let Some(pattern) = &properties.word_length_pattern {
            let words: Vec<String> = pattern
                .iter()
                .enumerate()
                .filter(|(_, words)| **words > 0)
                .map(|(length, words)| format!("{} of length {length}", count(*words)))
                .collect();
            lines.add("words", &words.join(", "));
        }
        if !properties.block_generators.is_empty() {
            let words: Vec<String> = properties
                .block_generators
                .iter()
                .map(|word| word.letters())
                .collect();
            lines.add("blocks differ by", &words.join(", "));
        }
        lines.add(
            "balance",
            if properties.balanced {
                "every factor takes each of its settings equally often"
            } else {
                "some settings are run more often than others"
            },
        );
        let correlation = properties.greatest_correlation;
        lines.add(
            "orthogonality",
            &if properties.is_orthogonal() {
                "main effects are uncorrelated".to_owned()
            } else {
                format!(
                    "main effects correlate by up to {}",
                    significant(correlation, 2)
                )
            },
        );
        lines.text
    }

    fn aliases(&self) -> String {
        let mut lines = Lines::new(self.page.width);
        match &self.facts.aliases {
            Some(sets) => self.alias_table(sets, &mut lines),
            None => self.biases(&mut lines),
        }
        lines.text
    }

    fn alias_table(&self, sets: &[AliasSet], lines: &mut Lines) {
        let of = match self.facts.alias_order {
            1 => "main effect".to_owned(),
            order => format!("effect of up to {order} factors"),
        };
        let shared: Vec<&AliasSet> = sets
            .iter()
            .filter(|set| set.effects.len() > 1 || set.with_blocks)
            .collect();
        if shared.is_empty() {
            lines.say(&format!("every {of} has an estimate of its own"));
            return;
        }
        let clear = sets.len() - shared.len();
        let estimates = plural(shared.len(), "estimate");
        lines.say(&format!(
            "{clear} of {} estimates belong to one {of} alone; {estimates} mix several:",
            sets.len()
        ));
        for set in shared.iter().take(SETS_SHOWN) {
            lines.item(&alias_set(set));
        }
        lines.rest(shared.len(), SETS_SHOWN, "estimates");
    }

    fn biases(&self, lines: &mut Lines) {
        let factors = self.planned.design.factors();
        let biases = self.facts.biases.as_deref().unwrap_or_default();
        if biases.is_empty() {
            return;
        }
        lines.say(
            "interactions of two factors that the model leaves out would add to its \
             coefficients, per unit of their own:",
        );
        for term in self.facts.assessment.terms.iter().take(TERMS_SHOWN) {
            let mut of_term: Vec<_> = biases
                .iter()
                .filter(|bias| bias.term == term.term)
                .collect();
            let Some(greatest) = of_term
                .iter()
                .map(|bias| bias.coefficient.abs())
                .reduce(f64::max)
            else {
                continue;
            };
            of_term.sort_by(|a, b| b.coefficient.abs().total_cmp(&a.coefficient.abs()));
            let strongest = of_term[0].omitted.name(factors);
            let text = match of_term.len() {
                1 => format!("{} from {strongest}", significant(greatest, 2)),
                n => format!(
                    "up to {} from {n} interactions, most from {strongest}",
                    significant(greatest, 2)
                ),
            };
            lines.item(&format!("{}: {text}", term.term.name(factors)));
        }
        lines.rest(self.facts.assessment.terms.len(), TERMS_SHOWN, "terms");
    }

    fn model(&self) -> String {
        let assessment = &self.facts.assessment;
        let factors = self.planned.design.factors();
        let mut lines = Lines::new(self.page.width);
        lines.add("terms", &self.terms());
        let (able, unable): (Vec<_>, Vec<_>) =
            assessment.terms.iter().partition(|term| term.estimable);
        lines.add(
            "estimable",
            &if unable.is_empty() {
                format!("all {}", plural(able.len(), "term"))
            } else {
                format!("{} of {} terms", able.len(), assessment.terms.len())
            },
        );
        lines.add(
            "noise",
            &match assessment.residual_df {
                0 => "no degrees of freedom are left to estimate it: add replicates, or leave \
                      out terms"
                    .to_owned(),
                1 => "1 degree of freedom is left to estimate it".to_owned(),
                df => format!(
                    "{} degrees of freedom are left to estimate it",
                    count(df as u64)
                ),
            },
        );
        if let Some(efficiency) = assessment.d_efficiency {
            let text = format!(
                "{} (1 is balanced and orthogonal at two levels)",
                significant(efficiency, 3)
            );
            lines.add("D-efficiency", &text);
        }
        for term in unable.iter().take(TERMS_SHOWN) {
            let text = format!(
                "{} is not estimable: {}",
                term.term.name(factors),
                confounding(term, factors)
            );
            lines.item(&text);
        }
        lines.rest(unable.len(), TERMS_SHOWN, "terms that are not estimable");
        lines.text + &self.power()
    }

    fn terms(&self) -> String {
        let factors = self.planned.design.factors();
        let terms = &self.facts.assessment.terms;
        match self.facts.model {
            ModelTerms::Main => "main effects".to_owned(),
            ModelTerms::TwoFactor if factors.len() < 2 => "main effects".to_owned(),
            ModelTerms::TwoFactor => "main effects and interactions of two factors".to_owned(),
            ModelTerms::Quadratic => {
                "main effects, interactions of two factors, and squares".to_owned()
            }
            ModelTerms::Explicit(_) if terms.len() > TERMS_SHOWN => plural(terms.len(), "term"),
            ModelTerms::Explicit(_) => {
                let names: Vec<String> = terms.iter().map(|term| term.term.name(factors)).collect();
                names.join(" + ")
            }
        }
    }

    /// The power of each term, if an effect is wanted.
    fn power(&self) -> String {
        let Some(wanted) = &self.facts.wanted else {
            return String::new();
        };
        let mut lines = Lines::new(self.page.width);
        lines.add(
            "power",
            &format!(
                "to find a change of {} where runs of one trial vary by {} (standard deviation), \
                 at a significance level of {}:",
                wanted.size, wanted.noise_sd, wanted.alpha
            ),
        );
        let factors = self.planned.design.factors();
        let mut table = Table::new([
            Column::words("  term"),
            Column::amounts("df"),
            Column::decimals("power"),
        ]);
        let rows = power_rows(&self.facts.assessment.terms, factors);
        for (name, df, power) in rows.iter().take(TERMS_SHOWN) {
            table.row([&format!("  {name}"), &df.to_string(), power]);
        }
        let mut text = lines.text + &table.render(self.page.width, self.page.style);
        let mut lines = Lines::new(self.page.width);
        lines.rest(rows.len(), TERMS_SHOWN, "terms");
        text.push_str(&lines.text);
        text
    }

    fn expected(&self) -> String {
        let mut lines = Lines::new(self.page.width);
        if let Some((time, total)) = self.facts.time.as_ref().zip(self.facts.duration_s) {
            let all = self.facts.properties.runs + self.planned.study.design().warmup as usize;
            let text = format!(
                "{}: {}, {} each, {}",
                number::duration(total),
                plural(all, "run"),
                number::duration(time.seconds),
                time.source
            );
            lines.add("time", &text);
        }
        match self.facts.cost {
            Some(cost) if cost.is_finite() => {
                lines.add("cost", &format!("{} in all", significant(cost, 5)));
            }
            Some(_) => lines.add("cost", "`cost_per_run` has no finite value for some trial"),
            None => {}
        }
        lines.text
    }

    fn runs(&self) -> String {
        let plan = &self.planned.plan;
        let shown = &plan.runs[..plan.runs.len().min(RUNS_SHOWN)];
        let has_blocks = self.facts.properties.blocks > 1;
        let mut who = vec![Column::words("run"), Column::amounts("trial")];
        who.push(Column::amounts("replicate"));
        if has_blocks {
            who.push(Column::amounts("block"));
        }
        let rows: Vec<Vec<String>> = shown
            .iter()
            .map(|run| {
                let mut cells = vec![run.id.to_string(), (run.trial + 1).to_string()];
                cells.push((run.replicate + 1).to_string());
                if has_blocks {
                    cells.push((run.block + 1).to_string());
                }
                let trial = &plan.trials[run.trial as usize];
                cells.extend(trial.levels.iter().map(shown_level));
                cells
            })
            .collect();
        let fixed = who.len();
        let (headings, hidden) = self.headings(&rows, fixed);
        who.extend(headings.iter().map(|heading| Column::amounts(heading)));
        let mut table = Table::new(who);
        for cells in rows {
            table.row(&cells[..fixed + headings.len()]);
        }
        let mut lines = Lines::new(self.page.width);
        if hidden > 0 {
            let factors = plural(hidden, "more factor");
            lines.say(&format!("{factors} in --format csv"));
        }
        if plan.runs.len() > shown.len() {
            lines.say(&format!(
                "the first {} of {} runs; --format csv has all",
                shown.len(),
                count(plan.runs.len() as u64)
            ));
        }
        table.render(self.page.width, self.page.style) + &lines.text
    }

    /// Headings of the factors that fit beside the `fixed` columns: names if
    /// all of them fit, else letters; and how many factors do not fit.
    fn headings(&self, rows: &[Vec<String>], fixed: usize) -> (Vec<String>, usize) {
        let names = &self.planned.plan.factors;
        // The columns before the factors take no more than this.
        let room = self.page.width.saturating_sub(34);
        let width = |heading: &str, factor: usize| {
            let cells = rows.iter().map(|row| columns(&row[fixed + factor]));
            2 + cells.max().unwrap_or(0).max(columns(heading))
        };
        let total: usize = names.iter().enumerate().map(|(i, n)| width(n, i)).sum();
        if total <= room {
            return (names.clone(), 0);
        }
        let mut used = 0;
        let letters: Vec<String> = (0..names.len())
            .map(letter)
            .enumerate()
            .take_while(|(i, letter)| {
                used += width(letter, *i);
                used <= room
            })
            .map(|(_, letter)| letter)
            .collect();
        let hidden = names.len() - letters.len();
        (letters, hidden)
    }
}

const TO_TEXT: &str = "writing to a text succeeds";

fn letter(position: usize) -> String {
    Factors::letter(position).map_or_else(|| format!("[{}]", position + 1), String::from)
}

/// A level in a table: what the command gets, unless it is very long.
fn shown_level(level: &Level) -> String {
    match level {
        Level::Number(x) => {
            let exact = level.to_string();
            if columns(&exact) > 9 {
                significant(*x, 6)
            } else {
                exact
            }
        }
        Level::Integer(_) | Level::Switch(_) | Level::Word(_) => level.to_string(),
    }
}

/// `A + BC - DE`: the estimate of the first effect is this sum.
fn alias_set(set: &AliasSet) -> String {
    let mut text = String::new();
    for (index, effect) in set.effects.iter().enumerate() {
        let letters = effect.letters();
        match (index, letters.strip_prefix('-')) {
            (0, _) => text.push_str(&letters),
            (_, Some(positive)) => text.push_str(&format!(" - {positive}")),
            (_, None) => text.push_str(&format!(" + {letters}")),
        }
    }
    if set.with_blocks {
        text.push_str(" + blocks");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_design::Word;

    #[test]
    fn an_alias_set_reads_as_the_sum_that_is_estimated() {
        let negative = Word {
            factors: 0b110,
            negative: true,
        };
        let set = AliasSet {
            effects: vec![Word::of(0), negative],
            with_blocks: true,
        };
        assert_eq!(alias_set(&set), "A - BC + blocks");
    }
}
