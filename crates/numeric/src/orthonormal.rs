//! The space spanned by some columns, as an orthonormal basis.

use crate::{dot, norm};

/// An orthonormal basis that grows column by column.
///
/// Built by modified Gram–Schmidt with every projection done twice, which keeps
/// the basis orthogonal to the last digits (Giraud, Langou and Rozložník 2005).
#[derive(Debug, Clone, Default)]
pub struct OrthonormalBasis {
    vectors: Vec<Vec<f64>>,
}

/// A column whose part outside the space so far is smaller than this, relative
/// to the column, adds no dimension.
const DEPENDENT: f64 = 1e-10;

impl OrthonormalBasis {
    /// The space of no columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the dimension of a column of finite numbers, if it adds one.
    pub fn extend(&mut self, column: &[f64]) -> bool {
        // The space does not depend on a column's scale; this one keeps the
        // squares in range.
        let largest = column
            .iter()
            .fold(0.0_f64, |max, value| max.max(value.abs()));
        if largest == 0.0 {
            return false;
        }
        let mut rest: Vec<f64> = column.iter().map(|value| value / largest).collect();
        let before = norm(&rest);
        self.remove_from(&mut rest);
        let after = norm(&rest);
        let adds = after > DEPENDENT * before;
        if adds {
            rest.iter_mut().for_each(|value| *value /= after);
            self.vectors.push(rest);
        }
        adds
    }

    /// The vectors of the basis, as many as the space has dimensions.
    pub fn vectors(&self) -> &[Vec<f64>] {
        &self.vectors
    }

    /// Leaves of `values` what the space does not explain.
    pub fn remove_from(&self, values: &mut [f64]) {
        for _ in 0..2 {
            for direction in &self.vectors {
                let share = dot(direction, values);
                for (value, d) in values.iter_mut().zip(direction) {
                    *value -= share * d;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependent_columns_add_nothing_and_the_basis_is_orthonormal() {
        let mut basis = OrthonormalBasis::new();
        let rows = 30;
        let power = |n: i32| (0..rows).map(|i| f64::from(i).powi(n)).collect::<Vec<_>>();
        for n in 0..5 {
            assert!(basis.extend(&power(n)), "power {n}");
        }
        let mixed: Vec<f64> = (0..rows).map(|i| 3.0 - 2.0 * f64::from(i)).collect();
        assert!(!basis.extend(&mixed));
        assert!(!basis.extend(&vec![0.0; rows as usize]));
        for (i, a) in basis.vectors().iter().enumerate() {
            for (j, b) in basis.vectors().iter().enumerate() {
                let wanted = f64::from(u8::from(i == j));
                assert!((dot(a, b) - wanted).abs() < 1e-14);
            }
        }
        let mut explained = power(3);
        basis.remove_from(&mut explained);
        assert!(norm(&explained) < 1e-9);
    }
}
