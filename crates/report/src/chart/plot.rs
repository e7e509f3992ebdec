//! The general chart: panels with two axes and marks.

use super::look::Look;
use super::scale::{Axis, Kind};
use super::svg::Svg;
use super::{Chart, panel};

/// A chart of one or more panels, drawn in rows of equal panels.
#[derive(Debug, Clone)]
pub struct Plot {
    title: String,
    description: String,
    panels: Vec<Panel>,
    legend: Vec<(Look, String)>,
    per_row: usize,
    width: f64,
    panel_height: f64,
    shared_y: bool,
}

/// Two axes and what is drawn between them.
#[derive(Debug, Clone)]
pub struct Panel {
    pub(crate) heading: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) marks: Vec<Mark>,
}

/// One thing drawn in a panel, in the units of its axes. A coordinate that is
/// not finite is not drawn, and interrupts a line.
#[derive(Debug, Clone)]
pub enum Mark {
    /// A marker at each point.
    Points {
        /// How they look.
        look: Look,
        /// Where they are.
        at: Vec<(f64, f64)>,
    },
    /// A line from point to point.
    Line {
        /// How it looks.
        look: Look,
        /// Its points, from left to right.
        through: Vec<(f64, f64)>,
    },
    /// A line that keeps each value until the next point.
    Steps {
        /// How it looks.
        look: Look,
        /// Its points, from left to right.
        through: Vec<(f64, f64)>,
    },
    /// The area between a lower and an upper bound: `(x, low, high)`.
    Band {
        /// How it looks.
        look: Look,
        /// Its bounds, from left to right.
        between: Vec<(f64, f64, f64)>,
    },
    /// Vertical intervals with ends: `(x, low, high)`.
    Intervals {
        /// How they look.
        look: Look,
        /// Where they are.
        at: Vec<(f64, f64, f64)>,
    },
    /// Vertical lines from zero with a marker at the end.
    Stems {
        /// How they look.
        look: Look,
        /// Their ends.
        at: Vec<(f64, f64)>,
    },
    /// A line across the panel at one value of the y axis, with a text at its
    /// right end.
    Level {
        /// How it looks.
        look: Look,
        /// The value on the y axis.
        at: f64,
        /// What it stands for.
        label: String,
    },
    /// A line across the panel at one value of the x axis, with a text at its
    /// top.
    Moment {
        /// How it looks.
        look: Look,
        /// The value on the x axis.
        at: f64,
        /// What it stands for.
        label: String,
    },
    /// The straight line `y = intercept + slope · x` across the panel. It does
    /// not widen the axes.
    Slope {
        /// How it looks.
        look: Look,
        /// The value at x = 0.
        intercept: f64,
        /// The rise for each unit of x.
        slope: f64,
    },
    /// A text next to a point, placed where it covers least.
    Label {
        /// The point.
        at: (f64, f64),
        /// The text.
        text: String,
    },
}

impl Panel {
    /// An empty panel.
    #[must_use]
    pub fn new(x: Axis, y: Axis) -> Self {
        Self {
            heading: String::new(),
            x,
            y,
            marks: Vec::new(),
        }
    }

    /// A line of text above the panel.
    #[must_use]
    pub fn heading(mut self, heading: &str) -> Self {
        self.heading = heading.to_owned();
        self
    }

    /// Draws `mark` above those before it.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

impl Plot {
    /// A chart without panels. The title and the description are what a screen
    /// reader says, so the description tells what there is to see.
    #[must_use]
    pub fn new(title: &str, description: &str) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            panels: Vec::new(),
            legend: Vec::new(),
            per_row: 1,
            width: 640.0,
            panel_height: 300.0,
            shared_y: false,
        }
    }

    /// Adds a panel.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Says what a look stands for, above the panels.
    #[must_use]
    pub fn legend(mut self, look: Look, text: &str) -> Self {
        self.legend.push((look, text.to_owned()));
        self
    }

    /// Lays the panels out in rows of so many.
    #[must_use]
    pub fn per_row(mut self, panels: usize) -> Self {
        self.per_row = panels.max(1);
        self
    }

    /// The width of the chart and the height of each panel's row, in pixels.
    #[must_use]
    pub fn size(mut self, width: f64, panel_height: f64) -> Self {
        self.width = width;
        self.panel_height = panel_height;
        self
    }

    /// Gives every panel the y axis of all, so that heights can be compared.
    #[must_use]
    pub fn shared_y(mut self) -> Self {
        self.shared_y = true;
        self
    }

    /// Draws the chart.
    #[must_use]
    pub fn draw(&self) -> Chart {
        let mut svg = Svg::default();
        let top = super::legend::draw(&mut svg, &self.legend, self.width);
        let common: Vec<f64> = if self.shared_y {
            self.panels.iter().flat_map(panel::y_values).collect()
        } else {
            Vec::new()
        };
        let rows = self.panels.len().div_ceil(self.per_row);
        let cell = self.width / self.per_row.min(self.panels.len().max(1)) as f64;
        for (i, drawn) in self.panels.iter().enumerate() {
            let (row, column) = (i / self.per_row, i % self.per_row);
            let frame = panel::Frame {
                x: column as f64 * cell,
                y: top + row as f64 * self.panel_height,
                width: cell,
                height: self.panel_height,
            };
            panel::draw(&mut svg, drawn, frame, &common);
        }
        Chart::new(
            &self.title,
            &self.description,
            self.width,
            top + rows as f64 * self.panel_height,
            svg,
        )
    }
}

impl Mark {
    /// The values that the x axis must reach.
    pub(crate) fn x_values(&self) -> Vec<f64> {
        match self {
            Self::Points { at, .. } | Self::Stems { at, .. } => at.iter().map(|p| p.0).collect(),
            Self::Line { through, .. } | Self::Steps { through, .. } => {
                through.iter().map(|p| p.0).collect()
            }
            Self::Band { between: at, .. } | Self::Intervals { at, .. } => {
                at.iter().map(|p| p.0).collect()
            }
            Self::Moment { at, .. } => vec![*at],
            Self::Label { at, .. } => vec![at.0],
            Self::Level { .. } | Self::Slope { .. } => Vec::new(),
        }
    }

    /// The values that the y axis must reach.
    pub(crate) fn y_values(&self) -> Vec<f64> {
        match self {
            Self::Points { at, .. } => at.iter().map(|p| p.1).collect(),
            Self::Stems { at, .. } => at.iter().map(|p| p.1).chain([0.0]).collect(),
            Self::Line { through, .. } | Self::Steps { through, .. } => {
                through.iter().map(|p| p.1).collect()
            }
            Self::Band { between: at, .. } | Self::Intervals { at, .. } => {
                at.iter().flat_map(|p| [p.1, p.2]).collect()
            }
            Self::Level { at, .. } => vec![*at],
            Self::Label { at, .. } => vec![at.1],
            Self::Moment { .. } | Self::Slope { .. } => Vec::new(),
        }
    }
}

impl Axis {
    pub(crate) fn is_names(&self) -> bool {
        matches!(self.kind, Kind::Names(_))
    }
}
