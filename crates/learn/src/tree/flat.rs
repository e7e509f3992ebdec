//! Trees as flat arrays, for prediction.

/// A node: rows whose feature is at most the threshold go to `left`, the others
/// to `left + 1`, both counted from the root of the tree. A leaf is its own left child with an infinite threshold, so a
/// walk of fixed length ends in it without a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    threshold: f64,
    feature: u32,
    left: u32,
}

impl Node {
    pub(super) fn leaf(itself: usize) -> Self {
        Self {
            threshold: f64::INFINITY,
            feature: 0,
            left: index(itself),
        }
    }

    pub(super) fn cut(feature: usize, threshold: f64, left: usize) -> Self {
        Self {
            threshold,
            feature: index(feature),
            left: index(left),
        }
    }
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("an ensemble has fewer than 2^32 nodes")
}

/// One tree; the root is node zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    values: Vec<f64>,
}

impl Tree {
    pub(super) fn new(nodes: Vec<Node>, values: Vec<f64>) -> Self {
        Self { nodes, values }
    }

    pub(crate) fn predict(&self, row: &[f64]) -> f64 {
        self.values[walk(&self.nodes, row)]
    }

    pub(crate) fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }
}

/// The leaf that a row ends in, by the nodes of one tree.
fn walk(nodes: &[Node], row: &[f64]) -> usize {
    let mut at = 0;
    loop {
        let next = step(nodes[at], row);
        if next == at {
            return at;
        }
        at = next;
    }
}

fn step(node: Node, row: &[f64]) -> usize {
    let goes_right = row[node.feature as usize] > node.threshold;
    // Indices are below 2^32: there is nothing to overflow.
    (node.left as usize).wrapping_add(usize::from(goes_right))
}

/// How many walks go on side by side. A walk waits for memory at every step;
/// eight of them fill the waiting time and keep their places in registers.
const SIDE_BY_SIDE: usize = 8;

/// Many trees in one array, whose values add up.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ensemble {
    nodes: Vec<Node>,
    values: Vec<f64>,
    roots: Vec<u32>,
}

impl Ensemble {
    pub(crate) fn new(trees: impl IntoIterator<Item = Tree>) -> Self {
        let mut ensemble = Self::default();
        for tree in trees {
            ensemble.push(&tree);
        }
        ensemble
    }

    pub(crate) fn push(&mut self, tree: &Tree) {
        self.roots.push(index(self.nodes.len()));
        self.nodes.extend(&tree.nodes);
        self.values.extend(&tree.values);
    }

    pub(crate) fn trees(&self) -> usize {
        self.roots.len()
    }

    /// The sum of the trees' values for one row.
    pub(crate) fn sum(&self, row: &[f64]) -> f64 {
        self.values_of(row).sum()
    }

    /// The value of each tree for one row.
    pub(crate) fn values_of<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        (0..self.trees()).map(|tree| {
            let (nodes, values) = self.tree(tree);
            values[walk(nodes, row)]
        })
    }

    /// The nodes and values of one tree.
    fn tree(&self, tree: usize) -> (&[Node], &[f64]) {
        let start = self.roots[tree] as usize;
        let next = self.roots.get(tree + 1);
        let end = next.map_or(self.nodes.len(), |&root| root as usize);
        (&self.nodes[start..end], &self.values[start..end])
    }

    /// The thresholds of all cuts with their features.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = (usize, f64)> {
        let cuts = self.nodes.iter().filter(|node| node.threshold.is_finite());
        cuts.map(|node| (node.feature as usize, node.threshold))
    }

    /// Adds the trees' values to `sums` for rows that lie one after another.
    ///
    /// The trees are the outer loop, so that a tree stays in the nearest cache
    /// while the rows pass through it. Every row adds up its trees in the same
    /// order as [`Ensemble::sum`], so both give the same bits.
    pub(crate) fn add_sums(&self, flat_rows: &[f64], columns: usize, sums: &mut [f64]) {
        for tree in 0..self.trees() {
            let (nodes, values) = self.tree(tree);
            let groups = flat_rows.chunks(columns * SIDE_BY_SIDE);
            for (rows, sums) in groups.zip(sums.chunks_mut(SIDE_BY_SIDE)) {
                if sums.len() == SIDE_BY_SIDE {
                    let at = walk_together(nodes, rows, columns);
                    for (sum, at) in sums.iter_mut().zip(at) {
                        *sum += values[at];
                    }
                } else {
                    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(columns)) {
                        *sum += values[walk(nodes, row)];
                    }
                }
            }
        }
    }
}

/// Where eight rows end in one tree.
fn walk_together(nodes: &[Node], rows: &[f64], columns: usize) -> [usize; SIDE_BY_SIDE] {
    let lanes: [&[f64]; SIDE_BY_SIDE] =
        std::array::from_fn(|lane| &rows[lane * columns..(lane + 1) * columns]);
    let mut at = [0; SIDE_BY_SIDE];
    loop {
        let mut moved = 0;
        for (at, row) in at.iter_mut().zip(lanes) {
            let next = step(nodes[*at], row);
            moved |= next ^ *at;
            *at = next;
        }
        if moved == 0 {
            return at;
        }
    }
}
