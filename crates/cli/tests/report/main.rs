//! `paceline report` on studies and runs, and in a real browser.

#[path = "../support/mod.rs"]
mod support;

mod browser;
mod command;
mod in_browser;
mod synthetic;
