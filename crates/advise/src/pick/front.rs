//! What cannot be improved in one respect without loss in another.

/// The rows that no other row dominates, in order of the first column, best
/// first. Every column is better when larger; equal rows appear once.
#[must_use]
pub fn front(points: &[Vec<f64>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    // After sorting by all columns, a row can only be dominated by an earlier one.
    order.sort_by(|&a, &b| {
        let columns = points[a].iter().zip(&points[b]);
        let difference = columns.map(|(x, y)| y.total_cmp(x)).find(|o| o.is_ne());
        difference.unwrap_or(a.cmp(&b))
    });
    let mut kept: Vec<usize> = Vec::new();
    for row in order {
        let as_good = |other: &usize| points[*other].iter().zip(&points[row]).all(|(x, y)| x >= y);
        if !kept.iter().any(as_good) {
            kept.push(row);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dominated_and_repeated_rows_are_left_out() {
        let points = [
            [3.0, 1.0],
            [2.0, 2.0],
            [2.0, 1.0],
            [1.0, 3.0],
            [3.0, 1.0],
            [0.0, 0.0],
        ];
        let points: Vec<Vec<f64>> = points.iter().map(|p| p.to_vec()).collect();
        assert_eq!(front(&points), [0, 1, 3]);
    }
}
