//! How a study was laid out, in words.

use super::DesignPart;
use crate::design::meaning_of_resolution;
use crate::number::{plural, significant};
use paceline_design::{AliasSet, Design, Factors};
use paceline_records::study::Plan;
use paceline_study::{DesignKind, Study, Word as _};

/// The most alias sets on the page.
const ALIASES_SHOWN: usize = 60;

/// The design of a study; `None` for its own design if it cannot be made again,
/// as when the runs grew while they were made.
pub(super) fn part(study: &Study, design: Option<&Design>, plan: &Plan) -> DesignPart {
    let own = study.design();
    let mut part = DesignPart {
        sentence: format!(
            "A {} design: {}, {} each, {} in {} order from seed {}.",
            DesignKind::of(&own.kind).word(),
            plural(plan.trials.len(), "configuration"),
            plural(own.replicates as usize, "replicate"),
            plural(plan.runs.len(), "run"),
            own.order.word(),
            plan.seed
        ),
        ..DesignPart::default()
    };
    let Some(design) = design else {
        part.properties
            .push("The runs were chosen one after the other, not laid out in advance.".to_owned());
        return part;
    };
    let properties = design.properties();
    let mut say = |text: String| part.properties.push(text);
    if let Some(resolution) = properties.resolution {
        say(format!(
            "Resolution {resolution}: {}.",
            meaning_of_resolution(resolution)
        ));
    }
    if let Some(relation) = &properties.defining_relation {
        say(format!("Defining relation: {}.", shortened(relation)));
    }
    if properties.blocks > 1 {
        say(format!(
            "The runs are divided into {} blocks.",
            properties.blocks
        ));
    }
    say(match properties.balanced {
        true => "Every factor takes each of its levels equally often.".to_owned(),
        false => "Some factor takes some of its levels more often than others.".to_owned(),
    });
    say(match properties.is_orthogonal() {
        true => "Main effects are uncorrelated.".to_owned(),
        false => format!(
            "Main effects are correlated, at most by {}.",
            significant(properties.greatest_correlation, 2)
        ),
    });
    let sets = design.aliases(2).unwrap_or_default();
    let shared: Vec<String> = sets
        .iter()
        .filter(|set| set.effects.len() > 1 || set.with_blocks)
        .map(|set| written(set, design.factors()))
        .collect();
    if design.fraction().is_some() && shared.is_empty() {
        say("Every effect of up to two factors has an estimate of its own.".to_owned());
    }
    part.more_aliases = shared.len().saturating_sub(ALIASES_SHOWN);
    part.aliases = shared.into_iter().take(ALIASES_SHOWN).collect();
    part
}

/// `a + b:c − d:e`: the estimate of the first effect is this sum.
fn written(set: &AliasSet, factors: &Factors) -> String {
    let mut text = String::new();
    for effect in &set.effects {
        let name = effect.names(factors);
        match (text.is_empty(), name.strip_prefix('-')) {
            (true, _) => text.push_str(&name),
            (false, Some(positive)) => text.push_str(&format!(" − {positive}")),
            (false, None) => text.push_str(&format!(" + {name}")),
        }
    }
    if set.with_blocks {
        text.push_str(" + blocks");
    }
    text
}

/// A relation that is too long to read is cut after a whole word.
fn shortened(relation: &str) -> String {
    const WORDS: usize = 12;
    let words: Vec<&str> = relation.split(" = ").collect();
    match words.len() > WORDS {
        true => format!("{} = …", words[..WORDS].join(" = ")),
        false => relation.to_owned(),
    }
}
