//! Response-surface designs: central composite and Box–Behnken.

use crate::design::Points;
use crate::factor::{Factors, Setting};
use crate::fraction::Fraction;
use crate::request::{Alpha, CompositeShape};

/// Cube and axial points, without the centre.
///
/// Circumscribed designs put the axial points at ±α and the cube at ±1;
/// inscribed ones divide both by α.
pub(crate) fn central_composite(
    factors: &Factors,
    cube: &Fraction,
    shape: CompositeShape,
    alpha: f64,
) -> Points {
    let (corner, axis) = match shape {
        CompositeShape::Circumscribed => (1.0, alpha),
        CompositeShape::Inscribed => (1.0 / alpha, 1.0),
        CompositeShape::FaceCentred => (1.0, 1.0),
    };
    let mut points = Points::new(factors.len());
    for row in 0..cube.runs() {
        points.push(factors.iter().enumerate().map(|(i, factor)| {
            factor.at(if cube.is_high(row, i) {
                corner
            } else {
                -corner
            })
        }));
    }
    let centre = centre(factors);
    for (i, factor) in factors.iter().enumerate() {
        for side in [-axis, axis] {
            let mut row = centre.clone();
            row[i] = factor.at(side);
            points.push(row);
        }
    }
    points
}

/// The distance of the axial points for `cube` two-level runs, `factors`
/// factors and `total` runs with the centre points.
///
/// Rotatable: α = F^(1/4). Orthogonal: α² = (√(F·N) − F) / 2, which makes the
/// centred quadratic columns orthogonal (Myers, Montgomery and Anderson-Cook,
/// *Response Surface Methodology*, chapter 8).
pub(crate) fn axial_distance(alpha: Alpha, cube: f64, total: f64) -> f64 {
    match alpha {
        Alpha::Rotatable => cube.powf(0.25),
        Alpha::Orthogonal => (((cube * total).sqrt() - cube) / 2.0).sqrt(),
        Alpha::Value(value) => value,
    }
}

/// The numbers of factors for which a Box–Behnken design is known.
pub(crate) const BOX_BEHNKEN_FACTORS: [usize; 7] = [3, 4, 5, 6, 7, 9, 13];

/// The edge points of a Box–Behnken design, without the centre; `None` for a
/// number of factors not in [`BOX_BEHNKEN_FACTORS`].
pub(crate) fn box_behnken(factors: &Factors) -> Option<Points> {
    let groups = groups(factors.len())?;
    let centre = centre(factors);
    let mut points = Points::new(factors.len());
    for group in groups {
        for corner in 0..1_u32 << group.len() {
            let mut row = centre.clone();
            for (bit, position) in group.iter().enumerate() {
                row[*position] = factors[*position].end(corner >> bit & 1 == 1);
            }
            points.push(row);
        }
    }
    Some(points)
}

/// How many centre points the published tables give to a Box–Behnken design.
pub(crate) fn box_behnken_centres(factors: usize) -> u32 {
    match factors {
        0..=4 => 3,
        5..=7 => 6,
        _ => 10,
    }
}

/// The factors that vary together.
///
/// For 3 to 7 factors these are the incomplete block designs of Box and Behnken
/// (1960), "Some new three level designs for the study of quantitative
/// variables", *Technometrics* 2. For 9 and 13 factors they are the lines of the
/// affine and of the projective plane of order three, in which every pair of
/// factors varies together exactly once.
fn groups(factors: usize) -> Option<Vec<Vec<usize>>> {
    let from_one = |table: &[[usize; 3]]| {
        table
            .iter()
            .map(|group| group.iter().map(|i| i - 1).collect())
            .collect()
    };
    Some(match factors {
        3..=5 => (0..factors)
            .flat_map(|i| (i + 1..factors).map(move |j| vec![i, j]))
            .collect(),
        6 => from_one(&[
            [1, 2, 4],
            [2, 3, 5],
            [3, 4, 6],
            [1, 4, 5],
            [2, 5, 6],
            [1, 3, 6],
        ]),
        7 => from_one(&[
            [1, 2, 4],
            [2, 3, 6],
            [1, 3, 5],
            [3, 4, 7],
            [2, 5, 7],
            [1, 6, 7],
            [4, 5, 6],
        ]),
        9 => from_one(&[
            [1, 2, 3],
            [4, 5, 6],
            [7, 8, 9],
            [1, 4, 7],
            [2, 5, 8],
            [3, 6, 9],
            [1, 5, 9],
            [2, 6, 7],
            [3, 4, 8],
            [1, 6, 8],
            [2, 4, 9],
            [3, 5, 7],
        ]),
        // The translates of a perfect difference set modulo 13 (Singer 1938).
        13 => (0..13)
            .map(|i| [0, 1, 3, 9].map(|d| (i + d) % 13).to_vec())
            .collect(),
        _ => return None,
    })
}

fn centre(factors: &Factors) -> Vec<Setting> {
    factors
        .iter()
        .map(|factor| {
            factor
                .centre()
                .expect("response-surface factors were checked to have a middle")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_vary_equally_often_and_every_pair_varies_together() {
        for factors in BOX_BEHNKEN_FACTORS {
            let groups = groups(factors).unwrap();
            let together = |i: usize, j: usize| {
                groups
                    .iter()
                    .filter(|g| g.contains(&i) && g.contains(&j))
                    .count()
            };
            for i in 0..factors {
                assert_eq!(together(i, i), together(0, 0), "{factors} factors");
                for j in 0..i {
                    assert!(together(i, j) > 0, "{factors} factors, pair {i} {j}");
                }
            }
        }
    }
}
