//! Charts of what the factors do: main effects, interactions, half-normal plot.

use super::Chart;
use super::look::Look;
use super::plot::{Mark, Panel, Plot};
use super::scale::Axis;
use crate::number::significant;

/// The mean response at one level of a factor.
#[derive(Debug, Clone)]
pub struct LevelMean {
    /// The level as the table spells it.
    pub level: String,
    /// The mean of the response.
    pub mean: f64,
    /// The confidence interval of the mean, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// The means of the response over the levels of one factor.
#[derive(Debug, Clone)]
pub struct MainEffect {
    /// The factor's name.
    pub factor: String,
    /// Its levels in their order.
    pub levels: Vec<LevelMean>,
}

/// Small panels, one per factor, on a common scale: a steep line is a strong
/// factor.
#[must_use]
pub fn main_effects(response: &str, effects: &[MainEffect]) -> Chart {
    let strongest = effects
        .iter()
        .max_by(|a, b| spread(a).total_cmp(&spread(b)))
        .map(|effect| {
            format!(
                " The mean changes most over {}, by {}.",
                effect.factor,
                significant(spread(effect), 3)
            )
        })
        .unwrap_or_default();
    let mut plot = Plot::new(
        &format!("Main effects on {response}"),
        &format!(
            "The mean {response} at each level of each factor, with the confidence interval \
             of each mean, on one scale.{strongest}"
        ),
    )
    .shared_y()
    .per_row(effects.len().clamp(1, 3))
    .size(if effects.len() > 1 { 760.0 } else { 420.0 }, 210.0);
    for effect in effects {
        let names = effect.levels.iter().map(|level| level.level.clone());
        let mut panel =
            Panel::new(Axis::names("", names), Axis::linear("")).heading(&effect.factor);
        let means: Vec<_> = (0u32..)
            .zip(&effect.levels)
            .map(|(i, level)| (f64::from(i), level.mean))
            .collect();
        let intervals: Vec<_> = (0u32..)
            .zip(&effect.levels)
            .filter_map(|(i, level)| {
                let (low, high) = level.interval?;
                Some((f64::from(i), low, high))
            })
            .collect();
        let look = Look::Series(0);
        panel = panel
            .mark(Mark::Intervals {
                look: Look::Ink,
                at: intervals,
            })
            .mark(Mark::Line {
                look,
                through: means.clone(),
            })
            .mark(Mark::Points { look, at: means });
        plot = plot.panel(panel);
    }
    plot.draw()
}

fn spread(effect: &MainEffect) -> f64 {
    let means = effect.levels.iter().map(|level| level.mean);
    let (low, high) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
        (low.min(mean), high.max(mean))
    });
    if high >= low { high - low } else { 0.0 }
}

/// The means of the response at the levels of one factor, for one level of
/// another.
#[derive(Debug, Clone)]
pub struct InteractionLine {
    /// The level of the other factor.
    pub level: String,
    /// The mean at each level of the first factor; a combination that was never
    /// run has none.
    pub means: Vec<Option<f64>>,
}

/// Two factors and the means of their combinations.
#[derive(Debug, Clone)]
pub struct Interaction {
    /// The factor along the axis.
    pub along: String,
    /// Its levels.
    pub levels: Vec<String>,
    /// The factor that tells the lines apart.
    pub by: String,
    /// One line per level of it.
    pub lines: Vec<InteractionLine>,
}

/// One panel per pair of factors: lines that are not parallel interact. Each
/// line is named at its right end, so that no colour needs to be told apart.
#[must_use]
pub fn interactions(response: &str, pairs: &[Interaction]) -> Chart {
    let mut plot = Plot::new(
        &format!("Interactions on {response}"),
        &format!(
            "The mean {response} for each combination of two factors, one panel for each pair. \
             Where the lines are parallel the factors act independently; where they cross or \
             spread, the effect of one depends on the other."
        ),
    )
    .shared_y()
    .per_row(pairs.len().clamp(1, 3))
    .size(if pairs.len() > 1 { 760.0 } else { 480.0 }, 230.0);
    for pair in pairs {
        let names = pair.levels.iter().cloned();
        let mut panel = Panel::new(Axis::names(&pair.along, names), Axis::linear(""))
            .heading(&format!("lines: {}", pair.by));
        for (n, line) in pair.lines.iter().enumerate() {
            let look = Look::Series(n);
            let at: Vec<(f64, f64)> = (0u32..)
                .zip(&line.means)
                .map(|(i, mean)| (f64::from(i), mean.unwrap_or(f64::NAN)))
                .collect();
            let end = at.iter().rev().find(|point| point.1.is_finite()).copied();
            panel = panel
                .mark(Mark::Line {
                    look,
                    through: at.clone(),
                })
                .mark(Mark::Points { look, at });
            if let Some(end) = end {
                panel = panel.mark(Mark::Label {
                    at: end,
                    text: line.level.clone(),
                });
            }
        }
        plot = plot.panel(panel);
    }
    plot.draw()
}

/// One effect of a two-level design.
#[derive(Debug, Clone)]
pub struct DanielEffect {
    /// The effect's name, aliases included.
    pub label: String,
    /// The half-normal quantile of its rank.
    pub quantile: f64,
    /// Its absolute size.
    pub size: f64,
    /// Whether it exceeds the margin of error.
    pub active: bool,
}

/// A bound on the size of effects that are only noise.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The size.
    pub size: f64,
    /// Its name, such as "margin of error 95%".
    pub label: String,
}

/// The half-normal plot of Daniel (1959): effects that are only noise lie on a
/// line through the origin, real ones above it. The slope of the line is Lenth's
/// pseudo standard error (1989), since the quantiles are those of a standard
/// half-normal.
#[must_use]
pub fn half_normal(
    response: &str,
    effects: &[DanielEffect],
    pseudo_standard_error: f64,
    limits: &[Limit],
) -> Chart {
    let active: Vec<&str> = effects
        .iter()
        .filter(|effect| effect.active)
        .map(|effect| effect.label.as_str())
        .collect();
    let found = if active.is_empty() {
        "No effect stands out from the noise.".to_owned()
    } else {
        format!("Above the margin of error: {}.", active.join(", "))
    };
    let mut panel = Panel::new(
        Axis::linear("half-normal quantile").including(0.0),
        Axis::linear(&format!("absolute effect on {response}")).including(0.0),
    );
    if pseudo_standard_error.is_finite() {
        panel = panel.mark(Mark::Slope {
            look: Look::Quiet,
            intercept: 0.0,
            slope: pseudo_standard_error,
        });
    }
    for limit in limits {
        panel = panel.mark(Mark::Level {
            look: Look::Ink,
            at: limit.size,
            label: limit.label.clone(),
        });
    }
    let points = |active: bool| {
        effects
            .iter()
            .filter(|effect| effect.active == active)
            .map(|effect| (effect.quantile, effect.size))
            .collect::<Vec<_>>()
    };
    panel = panel
        .mark(Mark::Points {
            look: Look::Quiet,
            at: points(false),
        })
        .mark(Mark::Points {
            look: Look::Series(0),
            at: points(true),
        });
    for effect in effects.iter().filter(|effect| effect.active) {
        panel = panel.mark(Mark::Label {
            at: (effect.quantile, effect.size),
            text: effect.label.clone(),
        });
    }
    Plot::new(
        &format!("Half-normal plot of the effects on {response}"),
        &format!(
            "The absolute size of {} effects against half-normal quantiles. Effects that are \
             only noise lie along the dashed line. {found}",
            effects.len()
        ),
    )
    .panel(panel)
    .size(640.0, 360.0)
    .draw()
}
