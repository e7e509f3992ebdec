//! The wire over real sockets.

mod door;
mod frames;
mod group;
mod support;
