//! Models that are solved or grown as a whole instead of descended step by
//! step: support vector machines, exact logistic regression and random forests.
//!
//! The solvers are `learn`'s; here they get a name ([`ClassicSpec`]), read a
//! data set and are kept in a file ([`ClassicModel`]).

mod model;
mod rows;
mod spec;
mod stored;

pub use model::{AskClassicError, ClassicModel, FitClassicError, Fitted, Judged, RowsRefused};
pub use spec::{ClassicSpec, Duality, ParseClassicError};
