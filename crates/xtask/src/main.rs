//! The daily commands of Paceline's developers.
fn main() {}
