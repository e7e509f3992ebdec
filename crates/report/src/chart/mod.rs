//! Charts as SVG.
//!
//! Every chart has a title and a description for those who cannot see it,
//! differs by marker and dash as well as by colour, takes its colours from CSS
//! variables so that it follows a light or a dark page, and escapes every text.
//! [`Plot`] is the general chart; the functions below it are the charts that
//! findings need.

mod bars;
mod diagnostic;
mod effect;
mod labels;
mod legend;
mod look;
mod panel;
mod plot;
mod scale;
mod svg;
mod track;

pub use bars::{BarRow, bars};
pub use diagnostic::{
    QqLine, cooks_distance, predicted_and_actual, quantile_quantile, residuals_and_fitted,
};
pub use effect::{
    DanielEffect, Interaction, InteractionLine, LevelMean, Limit, MainEffect, half_normal,
    interactions, main_effects,
};
pub use look::Look;
pub use plot::{Mark, Panel, Plot};
pub use scale::Axis;
pub use track::{Track, tracks};

use crate::html::{Html, escape};
use svg::{Svg, round};

/// The style that charts need, for the page that embeds them.
pub(crate) const CSS: &str = include_str!("chart.css");

/// A finished chart.
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    description: String,
    width: f64,
    height: f64,
    body: Svg,
}

impl Chart {
    fn new(title: &str, description: &str, width: f64, height: f64, body: Svg) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            width,
            height,
            body,
        }
    }

    /// What the chart shows, in a few words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What there is to see, in sentences.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The chart inside a [`crate::page::Page`], which brings the style.
    #[must_use]
    pub fn inline(&self) -> Html {
        Html::trusted(self.markup("", ""))
    }

    /// The chart as a file of its own, light or dark as the reader prefers.
    #[must_use]
    pub fn document(&self) -> String {
        let style =
            format!("<style>{CSS}@media(prefers-color-scheme:dark){{.pl{{{DARK}}}}}</style>");
        self.markup(" xmlns=\"http://www.w3.org/2000/svg\"", &style)
    }

    fn markup(&self, namespace: &str, style: &str) -> String {
        let (width, height) = (round(self.width), round(self.height));
        format!(
            "<svg{namespace} class=\"pl\" role=\"img\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\"><title>{}</title><desc>{}</desc>{style}{}</svg>",
            escape(&self.title),
            escape(&self.description),
            self.body.as_str()
        )
    }
}

/// The colours of a dark background, for the page and for single files.
pub(crate) const DARK: &str = "--paper:#12161c;--ink:#e6e9ee;--muted:#a0aaba;--grid:#2b333f;--axis:#6d7889;\
--s0:#6db3f7;--s1:#f0a35e;--s2:#4fc9a4;--s3:#d992d0;--s4:#d6bd4a;--s5:#f28a96";
