//! Means of the response by the values of one or more variables: what main
//! effect and interaction plots show.

use crate::cells::Cells;
use crate::formula::{ModelFrame, VariableData};
use crate::lstsq::{mean, sum_of_squares};

/// The response at one combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct CellMean {
    /// The value of each variable, as text.
    pub values: Vec<String>,
    /// How many rows there are.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; `None` for a single row.
    pub sd: Option<f64>,
}

/// The means of a frame's response by some of its variables, ordered by their
/// values, the first variable varying slowest.
///
/// # Panics
///
/// When an index is not below the number of variables.
pub fn cell_means(frame: &ModelFrame, variables: &[usize]) -> Vec<CellMean> {
    Settings::of(frame, &Cells::by_variables(frame, variables)).means(variables)
}

/// Count, mean and spread of the response at each setting of a design, from
/// which the means by any of its variables follow without another look at the
/// rows.
pub(crate) struct Settings {
    /// One row per setting.
    frame: ModelFrame,
    summaries: Vec<Summary>,
}

#[derive(Clone, Copy)]
struct Summary {
    count: usize,
    mean: f64,
    square: f64,
}

impl Settings {
    /// The settings of a frame's cells.
    pub(crate) fn of(frame: &ModelFrame, cells: &Cells) -> Settings {
        let summaries = cells
            .groups(frame.response_values())
            .iter()
            .map(|group| {
                let centre = mean(group);
                Summary {
                    count: group.len(),
                    mean: centre,
                    square: sum_of_squares(group.iter().map(|value| value - centre)),
                }
            })
            .collect();
        Settings {
            frame: frame.pick(&cells.first_row),
            summaries,
        }
    }

    /// The means by some of the variables.
    pub(crate) fn means(&self, variables: &[usize]) -> Vec<CellMean> {
        let cells = Cells::by_variables(&self.frame, variables);
        let mut members: Vec<Vec<Summary>> = vec![Vec::new(); cells.len()];
        for (&cell, &summary) in cells.of_row.iter().zip(&self.summaries) {
            members[cell as usize].push(summary);
        }
        let mut order: Vec<usize> = (0..cells.len()).collect();
        let row = |cell: usize| cells.first_row[cell] as usize;
        order.sort_by(|&a, &b| {
            variables
                .iter()
                .map(|&variable| {
                    let (a, b) = (self.rank(row(a), variable), self.rank(row(b), variable));
                    a.total_cmp(&b)
                })
                .find(|ordering| ordering.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        order
            .into_iter()
            .map(|cell| {
                let values = variables
                    .iter()
                    .map(|&variable| self.value(row(cell), variable))
                    .collect();
                pooled(values, &members[cell])
            })
            .collect()
    }

    fn rank(&self, row: usize, variable: usize) -> f64 {
        match self.frame.variables()[variable].data() {
            VariableData::Numeric { values, .. } => values[row],
            VariableData::Categorical { codes, .. } => f64::from(codes[row]),
        }
    }

    fn value(&self, row: usize, variable: usize) -> String {
        match self.frame.variables()[variable].data() {
            VariableData::Numeric { values, .. } => values[row].to_string(),
            VariableData::Categorical { levels, codes, .. } => levels[codes[row] as usize].clone(),
        }
    }
}

/// Several groups taken as one.
fn pooled(values: Vec<String>, groups: &[Summary]) -> CellMean {
    let count: usize = groups.iter().map(|group| group.count).sum();
    // Relative to one of the means, so that digits they share cost nothing.
    let origin = groups.first().map_or(0.0, |group| group.mean);
    let shift: f64 = groups
        .iter()
        .map(|group| group.count as f64 * (group.mean - origin))
        .sum::<f64>()
        / count.max(1) as f64;
    let square: f64 = groups
        .iter()
        .map(|group| {
            let distance = group.mean - origin - shift;
            group.square + group.count as f64 * distance * distance
        })
        .sum();
    CellMean {
        values,
        count,
        mean: origin + shift,
        sd: (count > 1).then(|| (square / (count - 1) as f64).sqrt()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Formula, FrameOptions};
    use crate::table::{Column, Table};

    #[test]
    fn means_come_in_the_order_of_their_values() {
        let table = Table::new(vec![
            Column::numeric("x", vec![4.0, 1.0, 4.0, 1.0]),
            Column::from_labels("k", &["v", "u", "u", "u"]),
            Column::numeric("y", vec![10.0, 1.0, 6.0, 2.0]),
        ])
        .unwrap();
        let formula = Formula::parse("y ~ x * k").unwrap();
        let frame = formula.frame(&table, &FrameOptions::default()).unwrap();
        let means = cell_means(&frame, &[0]);
        assert_eq!(means[0].values, ["1"]);
        assert_eq!((means[0].mean, means[1].mean), (1.5, 8.0));
        let pairs = cell_means(&frame, &[0, 1]);
        let names: Vec<String> = pairs.iter().map(|cell| cell.values.join(",")).collect();
        assert_eq!(names, ["1,u", "4,u", "4,v"]);
        assert_eq!(pairs[2].sd, None);
        // Pooled from two settings: 10 and 6 around 8.
        let whole = Settings::of(&frame, &Cells::of(&frame)).means(&[0]);
        assert_eq!(whole[1].mean, 8.0);
        assert_eq!(whole[1].sd, Some(8.0_f64.sqrt()));
    }
}
