//! Predicting, picking and suggesting on a cluster whose law is known.

mod cluster;
mod epochs;
mod picking;
mod prediction;
mod suggesting;
