//! Which configuration to run, and what is promised of it.

use crate::chart::{Axis, Chart, Look, Mark, Panel, Plot};
use crate::html::Element;
use crate::number::{ABSENT, count, significant};
use crate::page::{Heading, HtmlTable, Section};
use crate::predict::{interval, predicted};
use paceline_advise::pick::{Pick, PickRequest, Picked, Verdict};
use paceline_advise::predict::Prediction;
use paceline_advise::runs::Factors;
use paceline_answers::report::Tradeoff;
use paceline_answers::runs_table::written;

/// What is advised.
pub enum Advice<'a> {
    /// A configuration, or the nearest to what was asked.
    Pick(Recommendation<'a>),
    /// Nothing, for this reason.
    Nothing(String),
}

/// A pick with what a reader needs to judge it.
pub struct Recommendation<'a> {
    /// The answer.
    pub pick: &'a Pick,
    /// The question.
    pub request: &'a PickRequest,
    /// How configurations are written.
    pub factors: &'a Factors,
    /// Why this is called best, in words.
    pub because: String,
    /// The trade-off between two responses.
    pub tradeoff: Option<&'a Tradeoff>,
    /// What makes the advice less certain.
    pub cautions: Vec<String>,
}

impl Recommendation<'_> {
    /// The configuration that is advised, or the nearest.
    fn best(&self) -> &Picked {
        match &self.pick.verdict {
            Verdict::Met { best, .. } => best,
            Verdict::Unmet { nearest, .. } => nearest,
        }
    }

    /// A configuration as people write it.
    fn written(&self, picked: &Picked) -> String {
        written(&self.factors.settings(&picked.configuration))
    }

    fn is_met(&self) -> bool {
        matches!(self.pick.verdict, Verdict::Met { .. })
    }
}

/// The advice in a sentence for the summary.
pub(super) fn sentence(advice: &Advice<'_>) -> String {
    match advice {
        Advice::Nothing(why) => format!("No configuration is recommended: {why}."),
        Advice::Pick(advised) => {
            let best = advised.best();
            let written = advised.written(best);
            let promises: Vec<String> = best
                .predictions
                .iter()
                .map(|(name, p)| format!("{name} {}", value(p)))
                .collect();
            let promises = promises.join(", ");
            let chances = advised.request.constraints.iter().zip(&best.chances);
            let chances: Vec<String> = chances
                .map(|(limit, chance)| {
                    format!(
                        "`{limit}` is kept with a probability of {}",
                        chance_text(*chance)
                    )
                })
                .collect();
            if advised.is_met() {
                let kept = match chances.is_empty() {
                    true => String::new(),
                    false => format!("; {}", chances.join(", ")),
                };
                format!("Run `{written}`: it promises {promises}{kept}.")
            } else {
                format!(
                    "No configuration meets the limits; `{written}` comes nearest, with {promises} \
                     ({}).",
                    chances.join(", ")
                )
            }
        }
    }
}

/// The configuration for a headline, and whether it meets what was asked.
pub(super) fn headline(advice: &Advice<'_>) -> Option<(String, bool)> {
    match advice {
        Advice::Nothing(_) => None,
        Advice::Pick(advised) => Some((advised.written(advised.best()), advised.is_met())),
    }
}

/// A probability that is not quite one does not read as one.
fn chance_text(chance: f64) -> String {
    if chance > 0.999 && chance < 1.0 {
        ">0.999".to_owned()
    } else {
        format!("{chance:.3}")
    }
}

fn value(prediction: &Prediction) -> String {
    prediction
        .value
        .map_or(ABSENT.to_owned(), |value| significant(value, 3))
}

pub(super) fn section(advice: &Advice<'_>) -> Section {
    let section = Section::new("pick", "What to run");
    let advised = match advice {
        Advice::Nothing(why) => {
            return section.paragraph(&format!("No configuration is recommended: {why}."));
        }
        Advice::Pick(advised) => advised,
    };
    let best = advised.best();
    let mut section = section.push(
        Element::new("p")
            .attribute("class", "pick")
            .child(Element::new("code").text(&advised.written(best))),
    );
    section = section.paragraph(&format!(
        "Best means {}: {}.",
        advised.request.objective, advised.because
    ));
    match &advised.pick.verdict {
        Verdict::Unmet { reason, .. } => {
            section = section.paragraph(&format!(
                "Nothing meets the limits, this is only the nearest: {reason}."
            ));
        }
        Verdict::Met {
            runner_up, binding, ..
        } => {
            if let Some(binding) = binding {
                section = section.paragraph(&format!(
                    "`{}` binds: without it the objective could be {} better.",
                    advised.request.constraints[binding.constraint],
                    significant(binding.would_gain, 3)
                ));
            }
            if let Some(runner_up) = runner_up {
                section = section.paragraph(&format!(
                    "The runner-up, `{}`, gives up {} of the objective.",
                    advised.written(&runner_up.picked),
                    significant(runner_up.gives_up, 3)
                ));
            }
        }
    }
    section = section.push(promises(advised, best));
    if !advised.cautions.is_empty() {
        section = section.list(false, &advised.cautions);
    }
    match advised.tradeoff {
        Some(tradeoff) => section
            .subheading(&format!("What more {} costs of {}", tradeoff.y, tradeoff.x))
            .figure(
                &tradeoff_chart(tradeoff),
                "Every configuration that was run, as predicted. Those on the line are beaten by \
                 none in both respects.",
            )
            .push(front_table(tradeoff)),
        None => section,
    }
}

fn promises(advised: &Recommendation<'_>, best: &Picked) -> HtmlTable {
    let limited = !advised.request.constraints.is_empty();
    let coverage = (advised.request.coverage * 1e4).round() / 1e2;
    let caption = match limited {
        true => format!(
            "What is promised of one run; {} of {} configurations keep every limit with \
             probability {}",
            count(advised.pick.feasible as u64),
            count(advised.pick.considered as u64),
            advised.request.confidence
        ),
        false => "What is promised of one run".to_owned(),
    };
    let mut headings = vec![
        Heading::words("response"),
        Heading::numbers("predicted"),
        Heading::words(&format!("{coverage}% of runs lie within")),
    ];
    if limited {
        headings.push(Heading::words("limit"));
        headings.push(Heading::numbers("probability of keeping it"));
    }
    let mut table = HtmlTable::new(&caption, headings);
    for (response, prediction) in &best.predictions {
        let limits = advised.request.constraints.iter().zip(&best.chances);
        let limits: Vec<_> = limits
            .filter(|(limit, _)| limit.response == *response)
            .collect();
        let texts: Vec<String> = limits.iter().map(|(limit, _)| limit.to_string()).collect();
        let chances: Vec<String> = limits.iter().map(|(_, c)| chance_text(**c)).collect();
        table.row([
            response.clone(),
            predicted(prediction),
            interval(prediction),
            texts.join(", "),
            chances.join(", "),
        ]);
    }
    table
}

fn tradeoff_chart(tradeoff: &Tradeoff) -> Chart {
    let point = |i: &usize| (tradeoff.all[*i].1, tradeoff.all[*i].2);
    let front: Vec<(f64, f64)> = tradeoff.front.iter().map(point).collect();
    let mut panel = Panel::new(
        Axis::linear(&format!("predicted {}", tradeoff.x)),
        Axis::linear(&format!("predicted {}", tradeoff.y)),
    )
    .mark(Mark::Points {
        look: Look::Quiet,
        at: (0..tradeoff.all.len()).map(|i| point(&i)).collect(),
    })
    .mark(Mark::Line {
        look: Look::Series(0),
        through: front.clone(),
    })
    .mark(Mark::Points {
        look: Look::Series(0),
        at: front,
    });
    let mut described = String::new();
    if let Some(advised) = tradeoff.advised {
        let (name, x, y) = &tradeoff.all[advised];
        panel = panel
            .mark(Mark::Points {
                look: Look::Series(3),
                at: vec![(*x, *y)],
            })
            .mark(Mark::Label {
                at: (*x, *y),
                text: "the pick".to_owned(),
            });
        described = format!(
            " The pick, {name}, has {} {} and {} {}.",
            tradeoff.x,
            significant(*x, 3),
            tradeoff.y,
            significant(*y, 3)
        );
    }
    Plot::new(
        &format!("{} against {}", tradeoff.y, tradeoff.x),
        &format!(
            "{} configurations; {} of them are beaten by none in both respects.{described}",
            count(tradeoff.all.len() as u64),
            tradeoff.front.len()
        ),
    )
    .panel(panel)
    .size(640.0, 340.0)
    .draw()
}

/// The most points of the front in the table.
const FRONT_SHOWN: usize = 12;

fn front_table(tradeoff: &Tradeoff) -> HtmlTable {
    let mut table = HtmlTable::new(
        "The configurations on the line",
        [
            Heading::words("configuration"),
            Heading::numbers(&tradeoff.x),
            Heading::numbers(&tradeoff.y),
            Heading::words(""),
        ],
    );
    let all = &tradeoff.front;
    let shown = all.len().min(FRONT_SHOWN);
    // Evenly spaced, both ends included.
    for at in (0..shown).map(|i| i * (all.len() - 1) / (shown - 1).max(1)) {
        let (name, x, y) = &tradeoff.all[all[at]];
        let mark = if tradeoff.advised == Some(all[at]) {
            "the pick"
        } else {
            ""
        };
        table.row([name, &significant(*x, 4), &significant(*y, 4), mark]);
    }
    table
}
