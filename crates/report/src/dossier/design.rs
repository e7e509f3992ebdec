//! How the runs were laid out, and what they cannot tell apart.

use super::StudyPart;
use crate::page::{Heading, HtmlTable, Section};

/// The design in words and lists.
#[derive(Debug, Clone, Default)]
pub struct DesignPart {
    /// What kind of design, with how many trials and replicates.
    pub sentence: String,
    /// Properties in words, such as its resolution and what that means.
    pub properties: Vec<String>,
    /// Effects that share one estimate, each as `A + BC`.
    pub aliases: Vec<String>,
    /// Aliases that are not listed.
    pub more_aliases: usize,
}

pub(super) fn section(study: &StudyPart<'_>) -> Section {
    let design = &study.design;
    let mut section = Section::new("design", "How it was designed").paragraph(&design.sentence);
    let mut factors = HtmlTable::new(
        "Factors and their levels",
        [
            Heading::words("factor"),
            Heading::numbers("levels"),
            Heading::words("which"),
        ],
    );
    for (name, levels) in &study.factors {
        factors.row([name, &levels.len().to_string(), &shortened(levels)]);
    }
    section = section.push(factors);
    if !design.properties.is_empty() {
        section = section.list(false, &design.properties);
    }
    if design.aliases.is_empty() {
        return section;
    }
    let mut aliases = HtmlTable::new(
        "Aliases: effects in one row cannot be told apart by this design",
        [Heading::words("one estimate stands for")],
    );
    for set in &design.aliases {
        aliases.row([set]);
    }
    section = section.push(aliases);
    if design.more_aliases > 0 {
        section = section.paragraph(&format!(
            "{} more sets are listed by `paceline design --format json`.",
            design.more_aliases
        ));
    }
    section
}

/// The most levels that are written out.
const LEVELS_SHOWN: usize = 12;

fn shortened(levels: &[String]) -> String {
    let mut text = levels[..levels.len().min(LEVELS_SHOWN)].join(", ");
    if levels.len() > LEVELS_SHOWN {
        text.push_str(", …");
    }
    text
}
