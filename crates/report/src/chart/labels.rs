//! Placing texts next to points so that they cover each other least.

use super::svg::{Anchor, FONT, Path, Svg, fit_text, text_width};

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Rect {
    fn overlap(&self, other: &Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }
}

/// The texts of one panel, placed when all markers are known.
pub(crate) struct Labels {
    room: Rect,
    markers: Vec<Rect>,
    wanted: Vec<(f64, f64, String)>,
    levels: Vec<(f64, String)>,
}

impl Labels {
    pub(crate) fn within(room: Rect) -> Self {
        Self {
            room,
            markers: Vec::new(),
            wanted: Vec::new(),
            levels: Vec::new(),
        }
    }

    /// Keeps texts away from a marker.
    pub(crate) fn avoid(&mut self, x: f64, y: f64) {
        self.markers.push(Rect {
            left: x - 4.0,
            right: x + 4.0,
            top: y - 4.0,
            bottom: y + 4.0,
        });
    }

    /// Keeps texts away from a line.
    pub(crate) fn avoid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let steps = ((to.0 - from.0).hypot(to.1 - from.1) / 6.0)
            .ceil()
            .min(200.0);
        for i in 0..=steps as u32 {
            let share = f64::from(i) / steps.max(1.0);
            let x = from.0 + share * (to.0 - from.0);
            let y = from.1 + share * (to.1 - from.1);
            self.markers.push(Rect {
                left: x - 3.0,
                right: x + 3.0,
                top: y - 2.0,
                bottom: y + 2.0,
            });
        }
    }

    /// Wants a text next to a point.
    pub(crate) fn near(&mut self, x: f64, y: f64, text: &str) {
        if !text.is_empty() {
            self.wanted.push((x, y, text.to_owned()));
        }
    }

    /// Wants a text above a horizontal line, at its right end.
    pub(crate) fn at_right_end(&mut self, y: f64, text: &str) {
        if !text.is_empty() {
            self.levels.push((y, text.to_owned()));
        }
    }

    pub(crate) fn draw(mut self, svg: &mut Svg) {
        let mut placed: Vec<Rect> = Vec::new();
        for (y, text) in std::mem::take(&mut self.levels) {
            let text = fit_text(&text, self.room.right - self.room.left - 8.0);
            // Above the line, or below it where the panel ends.
            let above = y - self.room.top > FONT + 6.0;
            let baseline = if above { y - 5.0 } else { y + FONT + 2.0 };
            let width = text_width(&text);
            // At the end with fewer markers in the way.
            let spot = |right: bool| {
                let left = if right {
                    self.room.right - width - 2.0
                } else {
                    self.room.left + 6.0
                };
                Rect {
                    left,
                    right: left + width,
                    top: baseline - FONT,
                    bottom: baseline + 3.0,
                }
            };
            let rect = if self.cost(&spot(true), &placed) <= self.cost(&spot(false), &placed) {
                spot(true)
            } else {
                spot(false)
            };
            svg.text("m t", rect.left, baseline, Anchor::Start, &text);
            placed.push(rect);
        }
        // From the right, where the large values of a half-normal plot crowd.
        self.wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (x, y, text) in std::mem::take(&mut self.wanted) {
            let text = fit_text(&text, (self.room.right - self.room.left) * 0.6);
            let rect = self.best(x, y, text_width(&text), &placed);
            let baseline = rect.bottom - 3.0;
            // A text that had to move away is tied to its point.
            let gap_x = (rect.left - x).max(x - rect.right).max(0.0);
            let gap_y = (rect.top - y).max(y - rect.bottom).max(0.0);
            if gap_x.max(gap_y) > 12.0 {
                let end_x = x.clamp(rect.left, rect.right);
                let end_y = y.clamp(rect.top + 2.0, rect.bottom);
                svg.path("x", &Path::segment((x, y), (end_x, end_y)));
            }
            svg.text("t", rect.left, baseline, Anchor::Start, &text);
            placed.push(rect);
        }
    }

    fn best(&self, x: f64, y: f64, width: f64, placed: &[Rect]) -> Rect {
        let height = FONT + 3.0;
        let mut best: Option<(f64, Rect)> = None;
        for (distance, dy) in [0.0, -14.0, 14.0, -28.0, 28.0, -42.0, 42.0]
            .into_iter()
            .enumerate()
        {
            for left in [x + 8.0, x - width - 8.0, x - width / 2.0] {
                let top = y - height / 2.0 + dy;
                let rect = Rect {
                    left,
                    right: left + width,
                    top,
                    bottom: top + height,
                };
                let cost = self.cost(&rect, placed) + distance as f64 * 6.0;
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, rect));
                }
            }
        }
        best.expect("there are candidates").1
    }

    /// The area that a text would cover, what leaves the panel counted tenfold.
    fn cost(&self, rect: &Rect, placed: &[Rect]) -> f64 {
        let area = (rect.right - rect.left) * (rect.bottom - rect.top);
        let outside = area - rect.overlap(&self.room);
        let covered: f64 = placed.iter().map(|p| 4.0 * p.overlap(rect)).sum();
        let markers: f64 = self.markers.iter().map(|m| m.overlap(rect)).sum();
        outside * 10.0 + covered + markers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_texts_do_not_cover_each_other() {
        let labels = Labels::within(Rect {
            left: 0.0,
            right: 300.0,
            top: 0.0,
            bottom: 200.0,
        });
        let mut placed = Vec::new();
        for i in 0..5 {
            let rect = labels.best(150.0 + f64::from(i), 100.0, 80.0, &placed);
            assert!(placed.iter().all(|p| rect.overlap(p) == 0.0));
            placed.push(rect);
        }
    }
}
