//! Numbers from other software and from NIST, reproduced.

mod linear_models;
mod nist;
mod r_models;
mod spark;
mod support;
