//! Text for the terminal: tables, bars, sparklines and paragraphs that fit a
//! given width and are legible without colour.

mod bar;
mod columns;
mod interval;
mod page;
mod style;
mod table;
mod track;

pub use bar::{bar, shorten, sparkline};
pub use columns::{columns, paragraph, printable, truncate, wrap, wrap_whole};
pub use interval::interval;
pub use page::Page;
pub use style::Style;
pub use table::{Column, Table};
pub(crate) use track::place;
pub use track::track;
