//! What a node and a run's own processes use, sampled from the kernel's
//! counters.
//!
//! A [`Probe`] reads `/proc`, `/sys` and the run's cgroup and fills one
//! [`Sample`](paceline_model::Sample) per call: amounts since the call before,
//! and levels as of now. Time is an argument. [`Sampler`] is the thin shell
//! around it that owns a thread and the clock; [`Cadence`] decides when its
//! ticks fall. [`cgroup`] makes a group for a run, [`Capabilities`] says what
//! this machine offers, and [`detect_machine`] what it is.
//!
//! ```
//! use paceline_model::{Measure, Micros};
//! use paceline_probe::{Probe, Target};
//!
//! let mut probe = Probe::new(&Target::default(), Micros::ZERO)?;
//! let sample = probe.sample(Micros(1_000_000));
//! assert!(sample.readings.get(Measure::NodeCpuIdle).is_some());
//! # Ok::<(), paceline_probe::OpenProbeError>(())
//! ```
//!
//! It deliberately does not start processes, keep samples, or judge them:
//! what was not read is absent, nothing is interpolated, and no sample is
//! merged with another. It reads no performance counters of the processor, and
//! it knows Linux alone.

mod budget;
mod cadence;
mod capabilities;
pub mod cgroup;
mod counter;
mod gpu;
mod machine;
mod node;
mod parts;
mod probe;
mod roots;
mod run;
mod sampler;
mod scan;
mod source;
mod target;

pub use cadence::{Cadence, Interval, IntervalError};
pub use capabilities::{Capabilities, Offer};
pub use machine::detect_machine;
pub use probe::{Cost, OpenProbeError, Probe};
pub use roots::Roots;
pub use sampler::{Sampler, SpawnSamplerError, StopSamplerError};
pub use target::{Counted, Processes, Target, become_subreaper};
