//! The design for programs.

use super::{Facts, Planned};
use crate::settings::level_json;
use paceline_design::{Factors, Partner, Word};
use paceline_records::study::{Plan, PlannedRun};
use paceline_study::{DesignKind, FactorType, Word as _};
use serde_json::{Map, Value, json};

/// Everything about the design, and every run on a line of its own.
#[must_use]
pub fn json(planned: &Planned, facts: &Facts) -> String {
    // The runs are put into words one by one: as one tree, a hundred thousand
    // of them take half a gigabyte.
    let about = format!("{:#}", about(planned, facts));
    let mut text = about
        .strip_suffix("\n}")
        .expect("an indented object ends with a brace on its own line")
        .to_owned();
    text.push_str(",\n  \"runs\": [");
    for (position, run) in planned.plan.runs.iter().enumerate() {
        let comma = if position == 0 { "" } else { "," };
        let run = run_json(&planned.plan, position, run);
        text.push_str(&format!("{comma}\n    {run}"));
    }
    text.push_str("\n  ]\n}\n");
    text
}

fn about(planned: &Planned, facts: &Facts) -> Value {
    let Planned {
        path,
        study,
        design,
        plan,
    } = planned;
    let own = study.design();
    let properties = &facts.properties;
    let factors = design.factors();
    let generators = design.fraction().map_or(Vec::new(), |f| f.generators());
    json!({
        "study": path.to_string_lossy(),
        "name": study.name(),
        "fingerprint": plan.fingerprint,
        "kind": DesignKind::of(&own.kind).word(),
        "seed": own.seed,
        "order": own.order.word(),
        "runs_count": properties.runs,
        "trials_count": properties.trials,
        "replicates_count": own.replicates,
        "blocks_count": properties.blocks,
        "warmup_count": own.warmup,
        "factors": study.factors().iter().enumerate().map(|(position, factor)| json!({
            "letter": Factors::letter(position).map(String::from),
            "name": factor.name,
            "type": factor.kind.word(),
            "scale": (factor.kind == FactorType::Numeric).then(|| factor.scale.word()),
            "levels": factor.levels.iter().map(level_json).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "resolution": properties.resolution,
        "generators": words(&generators, factors),
        "defining_relation": properties.defining_relation,
        "word_length_pattern": properties.word_length_pattern,
        "block_generators": words(&properties.block_generators, factors),
        "balanced": properties.balanced,
        "orthogonal": properties.is_orthogonal(),
        "greatest_correlation": properties.greatest_correlation,
        "aliases": facts.aliases.as_ref().map(|sets| json!({
            "order": facts.alias_order,
            "sets": sets.iter().map(|set| json!({
                "effects": words(&set.effects, factors),
                "with_blocks": set.with_blocks,
            })).collect::<Vec<_>>(),
        })),
        "model": model(facts, factors),
        "biases": facts.biases.as_ref().map(|biases| biases.iter().map(|bias| json!({
            "term": bias.term.name(factors),
            "omitted": bias.omitted.name(factors),
            "coefficient": bias.coefficient,
        })).collect::<Vec<_>>()),
        "effect": facts.wanted.as_ref().map(|wanted| json!({
            "size": wanted.size,
            "noise_sd": wanted.noise_sd,
            "alpha": wanted.alpha,
        })),
        "expected": {
            "run_duration_s": facts.time.as_ref().map(|time| time.seconds),
            "duration_s": facts.duration_s,
            "cost": facts.cost,
        },
    })
}

fn model(facts: &Facts, factors: &Factors) -> Value {
    let terms: Vec<Value> = facts
        .assessment
        .terms
        .iter()
        .map(|term| {
            let partners = term.confounded_with.iter().map(|partner| match partner {
                Partner::Intercept => "mean".to_owned(),
                Partner::Blocks => "blocks".to_owned(),
                Partner::Term(other) => other.name(factors),
            });
            json!({
                "term": term.term.name(factors),
                "df": term.df,
                "estimable": term.estimable,
                "confounded_with": partners.collect::<Vec<_>>(),
                "power": term.power,
            })
        })
        .collect();
    json!({
        "rank": facts.assessment.rank,
        "residual_df": facts.assessment.residual_df,
        "d_efficiency": facts.assessment.d_efficiency,
        "terms": terms,
    })
}

fn run_json(plan: &Plan, position: usize, run: &PlannedRun) -> Value {
    let by_name = |values: Vec<Value>| -> Value {
        let pairs = plan.factors.iter().cloned().zip(values);
        Value::Object(pairs.collect::<Map<_, _>>())
    };
    let trial = &plan.trials[run.trial as usize];
    json!({
        "run": run.id.as_str(),
        "trial": run.trial + 1,
        "replicate": run.replicate + 1,
        "block": run.block + 1,
        "order": position + 1,
        "standard_order": run.standard + 1,
        "seed": run.seed,
        "factors": by_name(trial.levels.iter().map(level_json).collect()),
        "coded": by_name(trial.coded.iter().map(|x| json!(x)).collect()),
    })
}

fn words(words: &[Word], factors: &Factors) -> Vec<String> {
    words.iter().map(|word| word.names(factors)).collect()
}
