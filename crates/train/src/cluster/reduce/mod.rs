//! Workers that sum their gradients among themselves, without a server: every
//! worker holds all parameters and takes the same steps.
//!
//! On threads they sum by shared memory. As processes they form a group by
//! rendezvous: each tells the trainer's [`convener`] where it listens and how
//! far it is; once all have come, the convener sends everybody the roster, and
//! they connect to each other. From then on the convener only hears: snapshots
//! at milestones from the first worker, accounts and signs of life from all.
//!
//! A group whose member is lost is of no use to the others. They keep their
//! parameters, ask again, and with a replacement form the next group, which
//! goes on from the last step that any of them has completed: nothing is
//! computed twice but the step that was interrupted.

mod circle;
mod convener;
mod line;
mod roster;
mod seat;
mod signs;
mod snapshots;
mod sums;
mod threads;
mod trial;
mod walk;
mod worker;

pub(super) use convener::train as train_on_processes;
pub(super) use threads::train as train_on_threads;
pub(super) use worker::work;
