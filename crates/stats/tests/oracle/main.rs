//! Numbers from other software and from NIST, reproduced.

mod linear_models;
mod nist;
mod spark;
mod support;
