//! Numbers from other software and from NIST, reproduced.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod linear_models;
mod margins;
mod nist;
mod r_models;
mod spark;
mod support;
