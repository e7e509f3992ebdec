//! A run in few bytes: what its samples and events show, thin enough that a
//! page can carry a thousand of them.
//!
//! Neighbouring samples that would share a pixel become their least and greatest
//! value, so that no peak is lost; what was not read stays absent.

mod curve;
mod detail;
mod resource;

pub use curve::{Curve, curves};
pub use detail::Detail;
pub use resource::{NodeTrace, Resource};
