//! What the numerical crates share.
//!
//! - [`Chance`]: random draws that a seed determines for ever.
//! - [`Threads`]: the independent parts of one call, shared among threads; the
//!   result never depends on how many there are.
//! - [`dot`], [`least_squares`], [`Cholesky`], [`PivotedCholesky`],
//!   [`OrthonormalBasis`]: dense algebra for problems of a few to a few hundred
//!   columns.
//!
//! ```
//! use paceline_numeric::{Chance, least_squares};
//!
//! let mut order = [1, 2, 3, 4];
//! Chance::new(7, 0).shuffle(&mut order);
//!
//! // y = 5 + 2 x at x = 0, 1, 2.
//! let columns = vec![vec![1.0; 3], vec![0.0, 1.0, 2.0]];
//! let line = least_squares(columns, vec![5.0, 7.0, 9.0]).unwrap();
//! assert!((line[0] - 5.0).abs() < 1e-12 && (line[1] - 2.0).abs() < 1e-12);
//! ```
//!
//! It is no library of linear algebra: the analysis of variance has its own
//! least squares to 32 digits (`stats`), the trainer its own matrix products
//! (`kernels`). It reads no clock and no environment; the seed is an argument.

mod chance;
mod cholesky;
mod dot;
mod householder;
mod orthonormal;
mod pivoted_cholesky;
mod splitmix;
mod symmetric;
mod threads;

pub use chance::Chance;
pub use cholesky::Cholesky;
pub use dot::{dot, dot_in_order, norm};
pub use householder::{Dependent, least_squares};
pub use orthonormal::OrthonormalBasis;
pub use pivoted_cholesky::PivotedCholesky;
pub use splitmix::splitmix64;
pub use symmetric::SymmetricMatrix;
pub use threads::Threads;
