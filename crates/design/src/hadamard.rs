//! Hadamard matrices, and the Plackett–Burman designs made from them.
//!
//! Orders up to 100 come from Paley's two constructions (1933, "On orthogonal
//! matrices", *Journal of Mathematics and Physics* 12), Sylvester's doubling,
//! and for 92 the matrix of Baumert, Golomb and Hall (1962, *Bulletin of the
//! AMS* 68).

use crate::design::Points;
use crate::factor::{Factors, Setting};

/// The most runs of a Plackett–Burman design.
pub(crate) const MAX_RUNS: u32 = 100;

/// A square matrix of ±1 whose rows are orthogonal.
type Signs = Vec<Vec<i8>>;

/// The Plackett–Burman design for the factors in so many runs, a multiple of
/// four greater than the number of factors and at most [`MAX_RUNS`].
///
/// As in Plackett and Burman (1946), the last run has every factor low.
pub(crate) fn plackett_burman(factors: &Factors, runs: usize) -> Points {
    let mut matrix = matrix(runs);
    // Rows are scaled so that the first column is the intercept, then columns
    // so that the first row is low throughout; neither breaks orthogonality.
    for row in &mut matrix {
        let sign = row[0];
        row.iter_mut().for_each(|x| *x *= sign);
    }
    let first = matrix[0].clone();
    for row in &mut matrix {
        row.iter_mut()
            .zip(&first)
            .skip(1)
            .for_each(|(x, sign)| *x *= -sign);
    }
    matrix.rotate_left(1);
    let columns = column_order(runs);
    let ends: Vec<[Setting; 2]> = factors
        .iter()
        .map(|f| [f.end(false), f.end(true)])
        .collect();
    let mut points = Points::with_capacity(factors.len(), runs);
    for row in &matrix {
        points.push((0..factors.len()).map(|i| ends[i][usize::from(row[columns[i]] > 0)]));
    }
    points
}

/// The order in which factors take columns. The second half of a doubled
/// matrix is a fold-over, so its columns keep main effects clear of two-factor
/// interactions for as long as they last.
fn column_order(order: usize) -> Vec<usize> {
    let doubled = matches!(construction(order), Construction::Doubled);
    let start = if doubled { order / 2 } else { 1 };
    (start..order).chain(1..start).collect()
}

enum Construction {
    Trivial,
    PaleyFirst,
    PaleySecond,
    Williamson,
    Doubled,
}

fn construction(order: usize) -> Construction {
    match order {
        1 | 2 => Construction::Trivial,
        92 => Construction::Williamson,
        _ if order.is_multiple_of(4) && is_prime(order - 1) => Construction::PaleyFirst,
        _ if Field::of(order / 2 - 1).is_some() && (order / 2 - 1) % 4 == 1 => {
            Construction::PaleySecond
        }
        _ => Construction::Doubled,
    }
}

fn matrix(order: usize) -> Signs {
    match construction(order) {
        Construction::Trivial if order == 1 => vec![vec![1]],
        Construction::Trivial => vec![vec![1, 1], vec![1, -1]],
        Construction::PaleyFirst => paley_first(order),
        Construction::PaleySecond => paley_second(order),
        Construction::Williamson => williamson(),
        Construction::Doubled => doubled(&matrix(order / 2)),
    }
}

/// H = I + S with S skew, for q = order − 1 a prime of the form 4t + 3.
fn paley_first(order: usize) -> Signs {
    let mut matrix = bordered(order - 1, -1);
    for (i, row) in matrix.iter_mut().enumerate() {
        row[i] += 1;
    }
    matrix
}

/// The conference matrix C of order q + 1, q of the form 4t + 1, with each
/// entry replaced by a block: 0 by [1 −1; −1 −1] and ±1 by ±[1 1; 1 −1].
fn paley_second(order: usize) -> Signs {
    let half = order / 2;
    let conference = bordered(half - 1, 1);
    let mut matrix = vec![vec![0; order]; order];
    for i in 0..half {
        for j in 0..half {
            let x = conference[i][j];
            let block = if x == 0 {
                [[1, -1], [-1, -1]]
            } else {
                [[x, x], [x, -x]]
            };
            for a in 0..2 {
                for b in 0..2 {
                    matrix[2 * i + a][2 * j + b] = block[a][b];
                }
            }
        }
    }
    matrix
}

/// The Jacobsthal matrix of a field with a border of ones; the left border
/// carries the given sign and the corner is zero.
fn bordered(q: usize, left: i8) -> Signs {
    let field = Field::of(q).expect("the construction was chosen for this field");
    let mut matrix = vec![vec![0; q + 1]; q + 1];
    for i in 0..q {
        matrix[0][i + 1] = 1;
        matrix[i + 1][0] = left;
        for j in 0..q {
            matrix[i + 1][j + 1] = field.character(i, j);
        }
    }
    matrix
}

fn doubled(matrix: &Signs) -> Signs {
    let negated = |row: &[i8]| row.iter().map(|x| -x).collect::<Vec<_>>();
    let top = matrix.iter().map(|row| [row.as_slice(), row].concat());
    let bottom = matrix
        .iter()
        .map(|row| [row.clone(), negated(row)].concat());
    top.chain(bottom).collect()
}

/// Williamson's array over four symmetric circulants of order 23.
fn williamson() -> Signs {
    const FIRST_ROWS: [&[u8; 23]; 4] = [
        b"++---+---+-++-+---+---+",
        b"+-++-++--++++++--++-++-",
        b"+++---++-+-++-+-++---++",
        b"+++-+++-+------+-+++-++",
    ];
    // Which circulant stands in each block, and whether it is negated.
    const ARRAY: [[(usize, i8); 4]; 4] = [
        [(0, 1), (1, 1), (2, 1), (3, 1)],
        [(1, -1), (0, 1), (3, -1), (2, 1)],
        [(2, -1), (3, 1), (0, 1), (1, -1)],
        [(3, -1), (2, -1), (1, 1), (0, 1)],
    ];
    let entry = |i: usize, j: usize| {
        let (which, sign) = ARRAY[i / 23][j / 23];
        let symbol = FIRST_ROWS[which][(j % 23 + 23 - i % 23) % 23];
        if symbol == b'+' { sign } else { -sign }
    };
    (0..92)
        .map(|i| (0..92).map(|j| entry(i, j)).collect())
        .collect()
}

/// A finite field of p or p² elements, p an odd prime, with its squares.
struct Field {
    p: usize,
    q: usize,
    square: Vec<bool>,
}

impl Field {
    fn of(q: usize) -> Option<Self> {
        let root = q.isqrt();
        let p = if is_prime(q) { q } else { root };
        if p < 3 || !is_prime(p) || (p != q && root * root != q) {
            return None;
        }
        // Elements of the field of p² are a + b·√r, r no square modulo p.
        let r = (2..p)
            .find(|r| (1..p).all(|x| x * x % p != *r))
            .unwrap_or(0);
        let mut square = vec![false; q];
        for x in 1..q {
            let (a, b) = (x % p, x / p);
            square[(a * a + r * b * b) % p + p * (2 * a * b % p)] = true;
        }
        Some(Self { p, q, square })
    }

    /// +1 where i − j is a non-zero square, −1 where it is none, 0 where i = j.
    fn character(&self, i: usize, j: usize) -> i8 {
        let p = self.p;
        let low = (i % p + p - j % p) % p;
        let high = if self.q == p {
            0
        } else {
            (i / p + p - j / p) % p
        };
        match low + p * high {
            0 => 0,
            difference if self.square[difference] => 1,
            _ => -1,
        }
    }
}

fn is_prime(n: usize) -> bool {
    n >= 2 && (2..=n.isqrt()).all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_multiple_of_four_up_to_one_hundred_has_orthogonal_rows() {
        for order in (4..=100).step_by(4) {
            let matrix = matrix(order);
            assert_eq!(matrix.len(), order);
            for (i, a) in matrix.iter().enumerate() {
                assert!(a.iter().all(|x| x.abs() == 1), "order {order}");
                for b in &matrix[..i] {
                    let dot: i32 = a.iter().zip(b).map(|(x, y)| i32::from(x * y)).sum();
                    assert_eq!(dot, 0, "order {order}");
                }
            }
        }
    }
}
