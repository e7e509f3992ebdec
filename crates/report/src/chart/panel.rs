//! Drawing one panel: frame, ticks, marks, labels.

use super::labels::{Labels, Rect};
use super::look::Look;
use super::plot::{Mark, Panel};
use super::scale::Scale;
use super::svg::{Anchor, FONT, Path, Svg, fit_text, text_width};
use std::collections::HashSet;

/// Above this many points, those that would cover each other are drawn once.
const MANY: usize = 2_000;
/// Texts keep clear of lines with up to this many points; longer ones have no
/// texts near them.
const LABELLED: usize = 50;

/// The room that a panel may use, in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Every value that the panel's y axis must reach.
pub(crate) fn y_values(panel: &Panel) -> Vec<f64> {
    panel.marks.iter().flat_map(Mark::y_values).collect()
}

/// Draws `panel` inside `frame`; its y axis also reaches the `common` values.
pub(crate) fn draw(svg: &mut Svg, panel: &Panel, frame: Frame, common: &[f64]) {
    let ys = y_values(panel).into_iter().chain(common.iter().copied());
    let y = panel.y.scale(ys, (frame.height / 55.0) as usize);
    let xs = panel.marks.iter().flat_map(Mark::x_values);
    let x = panel.x.scale(xs, (frame.width / 90.0) as usize);

    let above = if panel.heading.is_empty() { 10.0 } else { 26.0 };
    let below = 22.0 + if panel.x.label.is_empty() { 4.0 } else { 20.0 };
    let left =
        y.longest_label().min(110.0) + 12.0 + if panel.y.label.is_empty() { 0.0 } else { 20.0 };
    let plot = Area {
        left: frame.x + left,
        right: frame.x + frame.width - 14.0,
        top: frame.y + above,
        bottom: frame.y + frame.height - below,
        x,
        y,
    };
    plot.axes(svg, panel, frame);
    let mut labels = Labels::within(Rect {
        left: plot.left,
        right: plot.right,
        top: plot.top,
        bottom: plot.bottom,
    });
    for mark in &panel.marks {
        plot.mark(svg, mark, &mut labels);
    }
    labels.draw(svg);
}

/// The rectangle between the axes, with its scales.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Area {
    fn px(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.right - self.left)
    }

    fn py(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - self.top)
    }

    /// The pixel of a point, if it lies in the panel.
    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let (px, py) = (self.px(x), self.py(y));
        let inside = (self.left - 0.5..=self.right + 0.5).contains(&px)
            && (self.top - 0.5..=self.bottom + 0.5).contains(&py);
        inside.then_some((px, py))
    }

    fn axes(&self, svg: &mut Svg, panel: &Panel, frame: Frame) {
        let mut grid = Path::default();
        for (value, label) in &self.y.ticks {
            let y = self.py(*value);
            grid.move_to(self.left, y).line_to(self.right, y);
            let label = fit_text(label, 110.0);
            svg.text("m", self.left - 7.0, y + 4.0, Anchor::End, &label);
        }
        svg.path("g", &grid);
        self.x_ticks(svg, panel);
        let mut axes = Path::default();
        axes.move_to(self.left, self.top)
            .line_to(self.left, self.bottom)
            .line_to(self.right, self.bottom);
        svg.path("x", &axes);
        let centre = (self.left + self.right) / 2.0;
        if !panel.heading.is_empty() {
            let heading = fit_text(&panel.heading, frame.width - 8.0);
            // A long heading starts at the frame rather than leaving it.
            let half = text_width(&heading) / 2.0;
            let x = centre
                .min(frame.x + frame.width - half - 2.0)
                .max(frame.x + half + 2.0);
            svg.text("b", x, frame.y + 16.0, Anchor::Middle, &heading);
        }
        if !panel.x.label.is_empty() {
            let label = fit_text(&panel.x.label, frame.width - 8.0);
            svg.text(
                "",
                centre,
                frame.y + frame.height - 5.0,
                Anchor::Middle,
                &label,
            );
        }
        if !panel.y.label.is_empty() {
            let label = fit_text(&panel.y.label, frame.height - 8.0);
            let middle = (self.top + self.bottom) / 2.0;
            let half = text_width(&label) / 2.0;
            let y = middle
                .min(frame.y + frame.height - half)
                .max(frame.y + half);
            svg.upward_text(frame.x + FONT + 1.0, y, &label);
        }
    }

    fn x_ticks(&self, svg: &mut Svg, panel: &Panel) {
        let ticks = &self.x.ticks;
        let room = (self.right - self.left) / ticks.len().max(1) as f64;
        // Labels that would touch are shown every second, third, … tick.
        let widest = self.x.longest_label().min(140.0) + 8.0;
        let every = if panel.x.is_names() {
            (40.0_f64.min(widest) / room).ceil().max(1.0) as usize
        } else {
            (widest / room).ceil().max(1.0) as usize
        };
        let mut strokes = Path::default();
        for (i, (value, label)) in ticks.iter().enumerate() {
            let x = self.px(*value);
            strokes.move_to(x, self.bottom).relative("v4");
            if i % every == 0 {
                let label = fit_text(label, room * every as f64 - 4.0);
                svg.text("m", x, self.bottom + 17.0, Anchor::Middle, &label);
            }
        }
        svg.path("x", &strokes);
    }

    fn mark(&self, svg: &mut Svg, mark: &Mark, labels: &mut Labels) {
        match mark {
            Mark::Points { look, at } => self.points(svg, *look, at, labels),
            Mark::Line { look, through } => {
                svg.path(&look.line_class(), &self.polyline(through, false));
                if through.len() <= LABELLED {
                    for pair in through.windows(2) {
                        if let (Some(from), Some(to)) = (self.at(pair[0]), self.at(pair[1])) {
                            labels.avoid_line(from, to);
                        }
                    }
                }
            }
            Mark::Steps { look, through } => {
                svg.path(&look.line_class(), &self.polyline(through, true));
            }
            Mark::Band { look, between } => self.band(svg, *look, between),
            Mark::Intervals { look, at } => self.intervals(svg, *look, at),
            Mark::Stems { look, at } => {
                let mut stems = Path::default();
                for (x, y) in at.iter().filter_map(|&p| self.at(p)) {
                    stems.move_to(x, self.py(0.0)).line_to(x, y);
                }
                svg.path(&format!("h {}", look.class()), &stems);
            }
            Mark::Level { look, at, label } => {
                if !(0.0..=1.0).contains(&self.y.place(*at)) {
                    return;
                }
                let y = self.py(*at);
                let line = Path::segment((self.left, y), (self.right, y));
                svg.path(&format!("{} h", look.line_class()), &line);
                labels.at_right_end(y, label);
            }
            Mark::Moment { look, at, label } => {
                if !(0.0..=1.0).contains(&self.x.place(*at)) {
                    return;
                }
                let x = self.px(*at);
                let line = Path::segment((x, self.top), (x, self.bottom));
                svg.path(&format!("{} h", look.line_class()), &line);
                labels.near(x, self.top + 6.0, label);
            }
            Mark::Slope {
                look,
                intercept,
                slope,
            } => self.slope(svg, *look, *intercept, *slope),
            Mark::Label { at, text } => {
                if let Some((x, y)) = self.at(*at) {
                    labels.near(x, y, text);
                }
            }
        }
    }

    fn points(&self, svg: &mut Svg, look: Look, at: &[(f64, f64)], labels: &mut Labels) {
        let mut path = Path::default();
        let many = at.len() > MANY;
        // One marker per cell of a third of its size: what lies there is seen,
        // and a million points take no more room than ten thousand.
        let mut taken = HashSet::new();
        for (x, y) in at.iter().filter_map(|&p| self.at(p)) {
            if many && !taken.insert(((x / 2.5) as i32, (y / 2.5) as i32)) {
                continue;
            }
            if !many {
                labels.avoid(x, y);
            }
            look.mark(&mut path, x, y);
        }
        let crowded = if at.len() > 60 { " many" } else { "" };
        svg.path(&format!("{}{crowded}", look.marker_class()), &path);
    }

    fn polyline(&self, through: &[(f64, f64)], steps: bool) -> Path {
        let mut path = Path::default();
        let mut before: Option<(f64, f64)> = None;
        for &point in through {
            let pixel = self.at(point);
            match (before, pixel) {
                (Some(_), Some((x, y))) if !steps => {
                    path.line_to(x, y);
                }
                (Some((_, old)), Some((x, y))) => {
                    path.line_to(x, old).line_to(x, y);
                }
                (None, Some((x, y))) => {
                    path.move_to(x, y);
                }
                (_, None) => {}
            }
            before = pixel;
        }
        path
    }

    fn band(&self, svg: &mut Svg, look: Look, between: &[(f64, f64, f64)]) {
        let mut path = Path::default();
        let clip = |y: f64| y.clamp(self.top, self.bottom);
        // A gap in the bounds is a gap in the band: nothing is interpolated.
        let known = |(x, low, high): &(f64, f64, f64)| (x + low + high).is_finite();
        for stretch in between.split(|bounds| !known(bounds)) {
            let Some((first, rest)) = stretch.split_first() else {
                continue;
            };
            path.move_to(self.px(first.0), clip(self.py(first.1)));
            for (x, low, _) in rest {
                path.line_to(self.px(*x), clip(self.py(*low)));
            }
            for (x, _, high) in stretch.iter().rev() {
                path.line_to(self.px(*x), clip(self.py(*high)));
            }
            path.close();
        }
        svg.path(&format!("area {}", look.class()), &path);
    }

    fn intervals(&self, svg: &mut Svg, look: Look, at: &[(f64, f64, f64)]) {
        let mut path = Path::default();
        for (x, low, high) in at {
            let (x, low, high) = (self.px(*x), self.py(*low), self.py(*high));
            if !(self.left..=self.right).contains(&x) || low.is_nan() || high.is_nan() {
                continue;
            }
            let [low, high] = [low, high].map(|y| y.clamp(self.top, self.bottom));
            path.move_to(x, low).line_to(x, high);
            path.move_to(x - 3.5, low).relative("h7");
            path.move_to(x - 3.5, high).relative("h7");
        }
        svg.path(&format!("h {}", look.class()), &path);
    }

    fn slope(&self, svg: &mut Svg, look: Look, intercept: f64, slope: f64) {
        // The two ends are where the line enters and leaves the rectangle.
        let line = |x: f64| self.py(intercept + slope * x);
        let steps = 200;
        let inside: Vec<(f64, f64)> = (0..=steps)
            .map(|i| {
                let x = self.x.value(f64::from(i) / f64::from(steps));
                (self.px(x), line(x))
            })
            .filter(|(_, y)| (self.top..=self.bottom).contains(y))
            .collect();
        if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
            svg.path(&look.line_class(), &Path::segment(*first, *last));
        }
    }
}
