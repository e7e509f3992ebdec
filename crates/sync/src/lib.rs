//! The rules of distributed training, without I/O: who may start its next
//! iteration, which updates count, and what happens when a worker is lost.
//!
//! A [`Consistency`] is a value a user types (`bsp`, `ssp:3`, `async`,
//! `backup:1`, `dynamic-ssp:1..8`, `local:16`) and therefore a factor of a
//! study. A [`Coordinator`] enforces it for one server: messages of workers and
//! the time go in, [`Action`]s come out, in the manner of a Raft core that does
//! no networking. A [`WorkerClock`] is the other side: which iteration a worker
//! computes next and whether its cached parameters are fresh enough.
//!
//! # A server and two workers
//!
//! ```
//! use paceline_sync::{Action, Clock, Coordinator, Receipt, Sender, Settings, Tick};
//! use std::time::Duration;
//!
//! let settings = Settings::new("ssp:1".parse()?, 2)?.failure_timeout(Duration::from_secs(5));
//! let mut server = Coordinator::new(settings);
//! let mut actions = Vec::new();
//! let (fast, slow) = (Sender::first(0), Sender::first(1));
//! server.join(fast, Tick(0), &mut actions)?;
//! server.join(slow, Tick(0), &mut actions)?;
//! actions.clear();
//!
//! // The fast worker computes iterations 0 and 1: one clock ahead is allowed.
//! for clock in [0, 1] {
//!     server.read(fast, Clock(clock), Tick(10), &mut actions)?;
//!     assert!(matches!(actions.pop(), Some(Action::Proceed { .. })));
//!     let receipt = server.update(fast, Clock(clock), Tick(20), &mut actions)?;
//!     assert_eq!(receipt, Receipt::Counted);
//! }
//! // Iteration 2 would be two ahead of a worker that has completed none.
//! server.read(fast, Clock(2), Tick(30), &mut actions)?;
//! assert!(actions.is_empty());
//! let holdup = server.holdups(fast.worker).next().expect("somebody is slow");
//! assert_eq!(holdup.to_string(), "worker1, last seen at clock 0, starting");
//!
//! // The slow worker's first update lets it go on.
//! server.update(slow, Clock(0), Tick(40), &mut actions)?;
//! assert_eq!(
//!     actions,
//!     [Action::Proceed {
//!         to: fast,
//!         clock: Clock(2),
//!         version: Clock(1),
//!         waited_for: Some(slow.worker),
//!     }]
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a caller does
//!
//! *Behind sockets*, a server calls [`Coordinator::step`] for every message,
//! [`Coordinator::tick`] a few times per failure time-out and
//! [`Coordinator::disconnect`] when a connection breaks. An update is added to
//! what is gathered, or applied, if its receipt is [`Receipt::Counted`], *before*
//! the actions are carried out; the actions follow in their order, so that
//! [`Action::Close`] has changed the parameters before [`Action::Proceed`] sends
//! them.
//!
//! *In shared memory*, the coordinator lives in a mutex and every thread calls
//! [`Coordinator::update_and_read`] once per iteration with a list of actions
//! that it keeps. No call allocates; `cargo run --release --example rules_cost` prints
//! what one costs. Whoever gets [`Action::Close`] applies what was gathered; a
//! thread that did not get its own [`Action::Proceed`] waits until another
//! hands it over. `tests/rules/shared_memory.rs` has the loop in full.
//!
//! # Several servers
//!
//! With the parameters in ranges over several servers, each server runs a
//! coordinator of its own with the same settings, every worker joins all of
//! them, and sends each of them every update message, empty ones included. The
//! servers never talk to each other. This is consistent because a worker starts
//! an iteration only when *every* server lets it ([`WorkerClock::start`]):
//!
//! - The bound of `bsp`, `ssp`, `dynamic-ssp` and `local` holds at every server,
//!   hence for the whole: a worker that starts iteration `c` has from each of
//!   them every update below `c − S`.
//! - Under `bsp`, server A can have closed iteration `c` while server B still
//!   waits for it. No worker can start `c + 1` before B has closed too, so
//!   every iteration is computed from the same version at all servers, and each
//!   server counts the same updates: all of them.
//!
//! Not guaranteed across servers:
//!
//! - Under `backup` each server counts the updates that reach *it* first, so
//!   the ranges of one iteration can come from different workers, and a
//!   straggler can be late at one server and in time at another.
//! - A worker that dies while it sends can have its last updates counted at
//!   some servers only. Its next life starts where the server is that is
//!   furthest behind, and computes those iterations again from parameters whose
//!   ranges can differ in version; servers that have the updates ignore the
//!   repetition, and servers that closed the iteration without them drop them
//!   as late. With one server a `bsp` run with crashes is bit-identical to one
//!   without. With several it is if a worker that is welcomed at different
//!   clocks does not compute, and all servers go back to one version.
//! - Under `ssp`, `dynamic-ssp` and `async` the parameters are a mixture of
//!   versions within the bound, at one server as well as across them.
//! - Servers declare a worker lost each on its own. One that was declared lost
//!   by a single server is refused there and must join all anew.
//! - A server that starts again from an earlier version is behind the others.
//!   Its workers join anew and repeat the iterations it lost; the others ignore
//!   them as duplicates. Only if all go back to one version is a `bsp` run
//!   bit-identical to one without crashes.
//!
//! # What this crate deliberately does not do
//!
//! It reads no clock, starts no thread, opens no socket and holds no parameters:
//! it says that an update counts, never what is in it. It has no retransmission
//! (any message may be repeated, and the caller decides when), does not order
//! the sum of an iteration's updates (for results that are the same bit for bit,
//! add them in the order of the workers), and knows all-reduce and dataflow by
//! name only ([`Strategy`]): they have no server to coordinate.

mod clock;
mod consistency;
mod coordinator;
mod dynamic;
mod loss;
mod member;
mod message;
mod progress;
mod settings;
mod strategy;
mod worker;

pub use clock::{Clock, Incarnation, Sender, Tick};
pub use consistency::{Consistency, StalenessRange, StalenessRangeError, WorkerCountError};
pub use coordinator::Coordinator;
pub use loss::{OnWorkerLoss, ParseOnWorkerLossError};
pub use member::{MemberView, Presence, Tally};
pub use message::{Action, Doing, LossCause, Message, Receipt, Refusal};
pub use settings::{Settings, SettingsError};
pub use strategy::{ParseConsistencyError, Strategy};
pub use worker::{Start, WorkerClock};
