//! Comparisons for programs.

use super::{CompareAnswer, Compared, Group, Unit};
use serde_json::{Value, json};

/// The version of the keys below.
const VERSION: u32 = 1;

impl CompareAnswer {
    /// The answer for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let compared =
            |all: &[Compared]| -> Vec<Value> { all.iter().map(|one| self.one_json(one)).collect() };
        json!({
            "version": VERSION,
            "groups": self.groups.iter().map(group_json).collect::<Vec<_>>(),
            "baseline": self.groups[0].label,
            "interval_level": self.level,
            "test": "Welch's t test adjusted by Holm, and the rank sum test, must agree",
            "time": compared(&self.times),
            "moved": compared(&self.others),
            "cautions": self.cautions,
        })
    }

    fn one_json(&self, one: &Compared) -> Value {
        json!({
            "group": self.groups[one.other].label,
            "quantity": one.quantity.key,
            "name": one.quantity.name,
            "kind": one.quantity.kind.word(),
            "unit": match one.quantity.unit {
                Unit::Seconds => Some("s"),
                Unit::Bytes => Some("B"),
                Unit::Joules => Some("J"),
                Unit::Cpus => Some("cpus"),
                Unit::Number => None,
            },
            "counts": [one.counts.0, one.counts.1],
            "means": [one.means.0, one.means.1],
            "standard_deviations": [one.spreads.0, one.spreads.1],
            "difference": one.means.1 - one.means.0,
            "difference_low": one.welch.map(|welch| welch.lower),
            "difference_high": one.welch.map(|welch| welch.upper),
            "ratio": one.change().map(|change| 1.0 + change),
            "ratio_low": one.welch.and_then(|welch| welch.ratio).map(|ratio| ratio.lower),
            "ratio_high": one.welch.and_then(|welch| welch.ratio).map(|ratio| ratio.upper),
            "welch": one.welch.map(|welch| json!({
                "t": welch.statistic,
                "df": welch.df,
                "p": welch.p,
            })),
            "rank_sum": one.ranks.map(|ranks| json!({
                "u": ranks.statistic,
                "superiority": ranks.superiority,
                "p": ranks.p,
                "exact": ranks.exact,
            })),
            "p_adjusted": one.p_adjusted,
            "finding": one.finding.word(),
        })
    }
}

fn group_json(group: &Group) -> Value {
    let runs = group.runs.iter().map(|run| {
        let values = run.values.iter();
        let values = values.map(|(key, (_, value))| (key.clone(), json!(value)));
        json!({
            "run": run.id,
            "outcome": run.outcome,
            "disturbed": run.disturbed,
            "values": Value::Object(values.collect()),
        })
    });
    json!({
        "label": group.label,
        "what": group.what,
        "done": group.done().count(),
        "failed": group.failed(),
        "runs": runs.collect::<Vec<_>>(),
    })
}
