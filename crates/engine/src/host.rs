//! What else Paceline asks of the host it runs on: other programs' answers, its
//! own CPUs and scheduling, processes that are nobody's any more.
//!
//! It is here because starting, ending and placing processes needs the calls that
//! only this crate may make; none of it belongs to a run.

pub use crate::local::{
    answer_of, end_process, find_program, free_ports, output_of, stop_own_job, take_share_of_cpus,
    usable_cpus, use_batch_scheduling,
};
