//! What held the workers of a training back, from their iterations: on what each spent
//! its time, whether one of them is a straggler and why, and what would help.

mod course;
mod realise;
mod straggler;
mod what_if;

pub use course::{Cell, Part, WorkerCourses};
pub use realise::{realised, values, without};
pub use straggler::{Excess, Reason, SLOWER_BY, Side, Straggler, StragglerTest, find_straggler};
pub use what_if::{Gain, Means, WhatIf, gains};
