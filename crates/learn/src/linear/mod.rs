//! Linear models with a penalty on their coefficients.

mod centred;
mod lasso;
mod ridge;

pub use lasso::{Lasso, LassoModel, LassoParams};
pub use ridge::{Ridge, RidgeModel, RidgeParams};
