//! The best cut of a node along one feature.

use super::codes::Code;

/// A row's class and how often it was drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tag {
    pub(super) class: u32,
    pub(super) weight: u32,
}

/// What a feature offers to a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Offer {
    /// All rows have one code.
    Constant,
    /// No cut leaves enough rows on both sides.
    Nothing,
    /// The best cut, the first of equals.
    Cut(CodeCut),
}

/// A cut between two codes that neighbour each other in the node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CodeCut {
    /// The largest code that goes left.
    pub(super) below: usize,
    /// The least code that goes right.
    pub(super) above: usize,
    /// How many rows go left.
    pub(super) left: usize,
    /// Comparable within one node only.
    pub(super) gain: f64,
}

/// Below this many rows a comparison sort is the fastest.
const FEW_ROWS: usize = 48;

/// Finds cuts by the Gini criterion: the least chance that two draws from one
/// side are of different classes (Breiman, Friedman, Olshen and Stone 1984,
/// section 4.3.1).
///
/// Rows are brought into the order of their codes in one of three ways,
/// whichever is the fastest for the size of the node. Class weights are whole
/// numbers, so all three give the same gains to the last bit.
pub(super) struct CutSearch<C> {
    classes: usize,
    min_leaf: usize,
    /// The weight of each class in the node, and the total.
    node: Vec<u64>,
    weight: u64,
    codes: Vec<C>,
    keys: Vec<u64>,
    counts: Vec<u32>,
    sorted: Vec<(u32, Tag)>,
    histogram: Vec<u32>,
    left: Vec<u64>,
}

impl<C: Code> CutSearch<C> {
    pub(super) fn new(classes: usize, min_leaf: usize) -> Self {
        Self {
            classes,
            min_leaf,
            node: vec![0; classes],
            weight: 0,
            codes: Vec::new(),
            keys: Vec::new(),
            counts: Vec::new(),
            sorted: Vec::new(),
            histogram: Vec::new(),
            left: vec![0; classes],
        }
    }

    /// Looks at a node before its features are searched; true if its rows are
    /// all of one class.
    pub(super) fn enter(&mut self, tags: &[Tag]) -> bool {
        self.node.fill(0);
        for tag in tags {
            self.node[tag.class as usize] += u64::from(tag.weight);
        }
        self.weight = self.node.iter().sum();
        self.node.contains(&self.weight)
    }

    /// The best cut of the entered node along one feature, whose codes are in
    /// the order of the tags.
    pub(super) fn best(&mut self, codes: impl Iterator<Item = C>, tags: &[Tag]) -> Offer {
        self.codes.clear();
        self.codes.extend(codes);
        self.best_of_codes(tags)
    }

    fn best_of_codes(&mut self, tags: &[Tag]) -> Offer {
        let rows = tags.len();
        let first = self.codes[0];
        let (mut least, mut most) = (first, first);
        for &code in &self.codes {
            least = least.min(code);
            most = most.max(code);
        }
        if least == most {
            return Offer::Constant;
        }
        let range = most.index() - least.index() + 1;
        let found = if rows < FEW_ROWS || range > 4 * rows {
            self.sort_by_comparison(tags);
            self.scan_sorted()
        } else if range * self.classes > 2 * rows {
            self.sort_by_counting(least.index(), range, tags);
            self.scan_sorted()
        } else {
            self.fill_histogram(least.index(), range, tags);
            self.scan_histogram(least.index(), range)
        };
        found.map_or(Offer::Nothing, Offer::Cut)
    }

    fn sort_by_comparison(&mut self, tags: &[Tag]) {
        self.keys.clear();
        let codes = self.codes.iter().zip(0_u64..);
        self.keys
            .extend(codes.map(|(code, place)| (code.index() as u64) << 32 | place));
        self.keys.sort_unstable();
        self.sorted.clear();
        let keys = self.keys.iter();
        self.sorted
            .extend(keys.map(|&key| ((key >> 32) as u32, tags[(key & 0xffff_ffff) as usize])));
    }

    fn sort_by_counting(&mut self, least: usize, range: usize, tags: &[Tag]) {
        self.counts.clear();
        self.counts.resize(range + 1, 0);
        for code in &self.codes {
            let count = &mut self.counts[code.index() - least + 1];
            *count = count.wrapping_add(1);
        }
        let mut sum = 0_u32;
        for count in &mut self.counts {
            sum = sum.wrapping_add(*count);
            *count = sum;
        }
        self.sorted.resize(self.codes.len(), (0, Tag::default()));
        for (code, &tag) in self.codes.iter().zip(tags) {
            let place = &mut self.counts[code.index() - least];
            self.sorted[*place as usize] = (code.index() as u32, tag);
            *place = place.wrapping_add(1);
        }
    }

    /// Maximises `Σ l² / w + Σ r² / (W − w)` over classes, `l` and `r` the
    /// weights of a class on both sides. Moving one row changes one class, so
    /// the two sums of squares are updated in constant time.
    fn scan_sorted(&mut self) -> Option<CodeCut> {
        let mut side = Sides::new(&self.node, &mut self.left, self.weight);
        let mut best: Option<CodeCut> = None;
        let rows = self.sorted.len();
        for (index, pair) in self.sorted.windows(2).enumerate() {
            let (code, tag) = pair[0];
            side.shift(tag.class as usize, u64::from(tag.weight));
            let left = index + 1;
            if pair[1].0 != code && left >= self.min_leaf && rows - left >= self.min_leaf {
                let gain = side.gain();
                if best.is_none_or(|best| gain > best.gain) {
                    best = Some(CodeCut {
                        below: code as usize,
                        above: pair[1].0 as usize,
                        left,
                        gain,
                    });
                }
            }
        }
        best
    }

    fn fill_histogram(&mut self, least: usize, range: usize, tags: &[Tag]) {
        self.counts.clear();
        self.counts.resize(range, 0);
        self.histogram.clear();
        self.histogram.resize(range * self.classes, 0);
        let classes = self.classes;
        for (code, tag) in self.codes.iter().zip(tags) {
            let bin = code.index().wrapping_sub(least);
            let count = &mut self.counts[bin];
            *count = count.wrapping_add(1);
            let at = bin.wrapping_mul(classes).wrapping_add(tag.class as usize);
            let cell = &mut self.histogram[at];
            *cell = cell.wrapping_add(tag.weight);
        }
    }

    fn scan_histogram(&mut self, least: usize, range: usize) -> Option<CodeCut> {
        let mut side = Sides::new(&self.node, &mut self.left, self.weight);
        let mut best: Option<CodeCut> = None;
        let rows = self.codes.len();
        let mut left = self.counts[0] as usize;
        let mut below = 0;
        side.shift_all(&self.histogram[..self.classes]);
        for bin in 1..range {
            let count = self.counts[bin] as usize;
            if count == 0 {
                continue;
            }
            if left >= self.min_leaf && rows - left >= self.min_leaf {
                let gain = side.gain();
                if best.is_none_or(|best| gain > best.gain) {
                    best = Some(CodeCut {
                        below: least + below,
                        above: least + bin,
                        left,
                        gain,
                    });
                }
            }
            side.shift_all(&self.histogram[bin * self.classes..][..self.classes]);
            below = bin;
            left += count;
        }
        best
    }
}

/// The weights on both sides of a cut that moves from left to right.
struct Sides<'a> {
    node: &'a [u64],
    left: &'a mut [u64],
    left_squares: u64,
    right_squares: u64,
    left_weight: u64,
    weight: u64,
}

impl<'a> Sides<'a> {
    fn new(node: &'a [u64], left: &'a mut [u64], weight: u64) -> Self {
        left.fill(0);
        Self {
            right_squares: node.iter().map(|weight| weight * weight).sum(),
            node,
            left,
            left_squares: 0,
            left_weight: 0,
            weight,
        }
    }

    /// Weights are below 2^32, so no square exceeds 64 bits.
    #[inline(always)]
    fn shift(&mut self, class: usize, weight: u64) {
        let on_left = self.left[class];
        let on_right = self.node[class].wrapping_sub(on_left);
        let rise = weight.wrapping_mul(on_left.wrapping_mul(2).wrapping_add(weight));
        let fall = weight.wrapping_mul(on_right.wrapping_mul(2).wrapping_sub(weight));
        self.left_squares = self.left_squares.wrapping_add(rise);
        self.right_squares = self.right_squares.wrapping_sub(fall);
        self.left[class] = on_left.wrapping_add(weight);
        self.left_weight = self.left_weight.wrapping_add(weight);
    }

    #[inline(always)]
    fn shift_all(&mut self, weights: &[u32]) {
        for (class, &weight) in weights.iter().enumerate() {
            self.shift(class, u64::from(weight));
        }
    }

    fn gain(&self) -> f64 {
        let right_weight = self.weight - self.left_weight;
        self.left_squares as f64 / self.left_weight as f64
            + self.right_squares as f64 / right_weight as f64
    }
}
