//! Runs gathered by their settings.

use crate::{Dataset, Features};

/// The distinct rows of a table, each with the mean and the scatter of its
/// targets. Replicates share their mean and their noise, so that everything the
/// process needs of them is in these sums; no approximation is made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells {
    /// Centred by the mean of all rows, replicates counted.
    pub(super) centred: Features,
    /// The mean of each column over all rows.
    pub(super) centre: Vec<f64>,
    /// How many rows each cell has.
    pub(super) counts: Vec<f64>,
    /// The mean target of each cell, in units of [`Cells::unit`].
    pub(super) means: Vec<f64>,
    /// Squared deviations from the mean of the cell, in squared units.
    pub(super) squares: Vec<f64>,
    /// Each row of the data, standardised, with its cell; in the caller's order.
    pub(super) rows: Vec<(usize, f64)>,
    /// The mean of the targets.
    pub(super) mean: f64,
    /// Their standard deviation; zero if all are equal.
    pub(super) unit: f64,
}

impl Cells {
    /// Sorts before it adds up, so that nothing depends on the order of rows.
    pub(super) fn of(data: &Dataset) -> Self {
        let features = data.features();
        let mut order: Vec<usize> = (0..data.rows()).collect();
        order.sort_by(|&a, &b| {
            compare(features.row(a), features.row(b))
                .then(data.target()[a].total_cmp(&data.target()[b]))
        });
        let count = data.rows() as f64;
        let targets = || order.iter().map(|&row| data.target()[row]);
        let mean = targets().sum::<f64>() / count;
        let squares: f64 = targets().map(|y| (y - mean) * (y - mean)).sum();
        let deviation = (squares / count).sqrt();
        // Equal targets differ from their mean by rounding alone.
        let unit = if deviation > 1e-12 * mean.abs() {
            deviation
        } else {
            0.0
        };
        let standard = |y: f64| if unit > 0.0 { (y - mean) / unit } else { 0.0 };
        let centre: Vec<f64> = (0..features.columns())
            .map(|column| {
                let values = order.iter().map(|&row| features.row(row)[column]);
                values.sum::<f64>() / count
            })
            .collect();
        let mut cells = Self {
            centred: Features::from_finite(Vec::new(), features.columns()),
            centre,
            counts: Vec::new(),
            means: Vec::new(),
            squares: Vec::new(),
            rows: vec![(0, 0.0); data.rows()],
            mean,
            unit,
        };
        let mut centred = Vec::new();
        let same = |a: &usize, b: &usize| compare(features.row(*a), features.row(*b)).is_eq();
        for (cell, rows) in order.chunk_by(same).enumerate() {
            let values: Vec<f64> = rows.iter().map(|&r| standard(data.target()[r])).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            cells.counts.push(values.len() as f64);
            cells.means.push(mean);
            let squares = values.iter().map(|y| (y - mean) * (y - mean));
            cells.squares.push(squares.sum());
            centred.extend(cells.shifted(features.row(rows[0])));
            for (&row, &value) in rows.iter().zip(&values) {
                cells.rows[row] = (cell, value);
            }
        }
        cells.centred = Features::from_finite(centred, features.columns());
        cells
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// A row of features as its distance from the centre.
    pub(super) fn shifted<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        row.iter().zip(&self.centre).map(|(x, centre)| x - centre)
    }

    /// The cell that has exactly this centred row.
    pub(super) fn find(&self, centred: &[f64]) -> Option<usize> {
        (0..self.len()).find(|&cell| self.centred.row(cell) == centred)
    }

    /// Every so-manieth cell, at most `most`: cells are sorted, so that the
    /// choice is spread over all factors.
    pub(super) fn thinned(&self, most: usize) -> Self {
        if self.len() <= most {
            return self.clone();
        }
        let kept: Vec<usize> = (0..most).map(|i| i * self.len() / most).collect();
        let of = |values: &[f64]| kept.iter().map(|&cell| values[cell]).collect();
        Self {
            centred: self.centred.select(&kept),
            centre: self.centre.clone(),
            counts: of(&self.counts),
            means: of(&self.means),
            squares: of(&self.squares),
            rows: self
                .rows
                .iter()
                .filter_map(|&(cell, y)| Some((kept.binary_search(&cell).ok()?, y)))
                .collect(),
            mean: self.mean,
            unit: self.unit,
        }
    }
}

fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let columns = a.iter().zip(b);
    // Adding zero makes -0 and 0 the same level.
    let mut differences = columns.map(|(a, b)| (a + 0.0).total_cmp(&(b + 0.0)));
    differences
        .find(|o| o.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}
