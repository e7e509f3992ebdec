//! Workers that sum their gradients among themselves, without a server: every
//! worker holds all parameters and takes the same steps.
//!
//! On threads they sum by shared memory. As processes they form a group by
//! rendezvous: each tells the trainer's [`controller`] where it listens and how
//! far it is; once all have come, the controller sends everybody the roster, and
//! they connect to each other. From then on the controller only hears: snapshots
//! at milestones from the first worker, totals and status of life from all.
//!
//! A group whose member is lost is of no use to the others. They keep their
//! parameters, ask again, and with a replacement form the next group, which
//! goes on from the last step that any of them has completed: nothing is
//! computed twice but the step that was interrupted.

mod collective;
mod controller_link;
pub(super) mod group_controller;
pub(super) mod inbox;
mod overlap_trial;
pub(super) mod replica;
pub(super) mod status;
mod sum_buffer;
mod threads;
mod worker;
mod worker_slot;

pub(super) use group_controller::train as train_on_processes;
pub(super) use threads::train as train_on_threads;
pub(super) use worker::work;
