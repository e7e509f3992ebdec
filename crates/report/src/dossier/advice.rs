//! Which configuration to run, and what is promised of it.

use crate::chart::{Axis, Chart, Look, Mark, Panel, Plot};
use crate::html::Element;
use crate::number::{ABSENT, count, significant};
use crate::page::{Heading, HtmlTable, Section};
use crate::pick::{spaced, weak_predictor};
use crate::predict::{interval, predicted};
use paceline_advise::pick::{Picked, Verdict};
use paceline_advise::predict::Prediction;
use paceline_answers::pick::{AloneAnswer, Tradeoff};
use paceline_answers::promises::Learned;
use paceline_answers::written;

/// What is advised.
pub enum Advice<'a> {
    /// A configuration, or the nearest to what was asked.
    Pick(&'a AloneAnswer),
    /// Nothing, for this reason.
    Nothing(String),
}

fn name(advised: &AloneAnswer, picked: &Picked) -> String {
    written(&advised.settings(&picked.configuration))
}

/// The advice in a sentence for the summary.
pub(super) fn sentence(advice: &Advice<'_>) -> String {
    match advice {
        Advice::Nothing(why) => format!("No configuration is recommended: {why}."),
        Advice::Pick(advised) => {
            let best = advised.best();
            let written = name(advised, best);
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
        Advice::Pick(advised) => Some((name(advised, advised.best()), advised.is_met())),
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

/// Nothing where nothing is recommended: the summary says why.
pub(super) fn section(advice: &Advice<'_>) -> Option<Section> {
    let section = Section::new("pick", "What to run");
    let advised = match advice {
        Advice::Nothing(_) => return None,
        Advice::Pick(advised) => advised,
    };
    let best = advised.best();
    let mut section = section.push(
        Element::new("p")
            .attribute("class", "pick")
            .child(Element::new("code").text(&name(advised, best))),
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
                    name(advised, &runner_up.picked),
                    significant(runner_up.gives_up, 3)
                ));
            }
        }
    }
    section = section.push(promises(advised, best));
    let learned = advised.setup.learned.iter().map(Learned::sentence);
    let cautions = advised.cautions.iter().map(weak_predictor);
    let said: Vec<String> = learned.chain(cautions).collect();
    if !said.is_empty() {
        section = section.list(false, said);
    }
    Some(match &advised.tradeoff {
        Some(tradeoff) => section
            .subheading(&format!(
                "Trade-off between {} and {}",
                tradeoff.result, tradeoff.time
            ))
            .figure(
                &tradeoff_chart(advised, tradeoff),
                "Every configuration that was run, as predicted. Those on the line are beaten by \
                 none in both respects.",
            )
            .push(front_table(advised, tradeoff)),
        None => section,
    })
}

fn promises(advised: &AloneAnswer, best: &Picked) -> HtmlTable {
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

fn tradeoff_chart(advised: &AloneAnswer, tradeoff: &Tradeoff) -> Chart {
    let point = |i: &usize| (tradeoff.all[*i].1, tradeoff.all[*i].2);
    let front: Vec<(f64, f64)> = tradeoff.front.iter().map(point).collect();
    let mut panel = Panel::new(
        Axis::linear(&format!("predicted {}", tradeoff.time)),
        Axis::linear(&format!("predicted {}", tradeoff.result)),
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
    if let Some(at) = tradeoff.advised {
        let (configuration, x, y) = &tradeoff.all[at];
        let name = written(&advised.settings(configuration));
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
            tradeoff.time,
            significant(*x, 3),
            tradeoff.result,
            significant(*y, 3)
        );
    }
    Plot::new(
        &format!("{} against {}", tradeoff.result, tradeoff.time),
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

fn front_table(advised: &AloneAnswer, tradeoff: &Tradeoff) -> HtmlTable {
    let mut table = HtmlTable::new(
        "The configurations on the line",
        [
            Heading::words("configuration"),
            Heading::numbers(&tradeoff.time),
            Heading::numbers(&tradeoff.result),
            Heading::words(""),
        ],
    );
    for &at in spaced(&tradeoff.front) {
        let (configuration, x, y) = &tradeoff.all[at];
        let mark = if tradeoff.advised == Some(at) {
            "the pick"
        } else {
            ""
        };
        let name = written(&advised.settings(configuration));
        table.row([&name, &significant(*x, 4), &significant(*y, 4), mark]);
    }
    table
}
