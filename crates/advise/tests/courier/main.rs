//! Predicting, picking and suggesting on a cluster whose law is known.

mod cluster;
mod picking;
mod prediction;
mod suggesting;
