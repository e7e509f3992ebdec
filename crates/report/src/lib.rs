//! How findings look: tables for the terminal, charts as SVG, and the one-file
//! HTML page.
//!
//! - [`number`] writes quantities as people read them.
//! - [`text`] lays out tables, bars and paragraphs in a given width.
//! - [`chart`] draws charts that are legible without colour and carry their
//!   description for those who cannot see them.
//! - [`verdict`] sums up one run; [`workers`], [`members`], [`iterations`] and
//!   [`notices`] say more of a training by several workers, [`processes`] of a run of
//!   several processes, [`nodes`] of one on several nodes.
//! - [`page`] builds a self-contained document that never touches the network.
//! - [`analyze`] shows an analysis of variance in all three ways.
//! - [`trace`] makes a run's samples and events small enough for a page.
//! - [`design`], [`predict`], [`pick`], [`promises`], [`size`] and [`tune`] show the answers of
//!   those names as text.
//! - [`behaviour`] says which runs of a study are alike and which is odd.
//! - [`compare`] shows whether runs differ, as text and page.
//! - [`dossier`] is the whole report on a study or a run.
//!
//! This crate deliberately decides nothing: findings, thresholds and sentences
//! about them come from the crates that computed them. It reads no file, no
//! clock and no environment, and everything it returns is text.

pub mod analyze;
mod base64;
pub mod behaviour;
pub mod chart;
pub mod compare;
pub mod design;
pub mod diagnose;
pub mod dossier;
mod gpus;
mod html;
pub mod iterations;
pub mod members;
pub mod nodes;
pub mod notices;
pub mod number;
pub mod page;
pub mod pick;
pub mod predict;
pub mod processes;
pub mod promises;
pub mod simulate;
pub mod size;
pub mod spark;
pub mod text;
pub mod trace;
pub mod tune;
pub mod verdict;
pub mod workers;
