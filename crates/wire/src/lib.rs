//! How the members of a distributed training talk to each other.
//!
//! A member [`Listener::bind`]s an [`Address`] or [`connect`]s to one. Both
//! ends prove that they know the run's [`Token`] without sending it, and who
//! they are; everybody else is refused and counted ([`Refusals`]). What comes
//! out is a [`Connection`] that carries frames: a fixed [`Header`] and a
//! [`Payload`] of numbers that go from the sender's memory to the system and
//! from there into the receiver's, without a copy or an encoding in between.
//! Between processes of one host large payloads stay in memory that both see.
//!
//! ```
//! use paceline_wire::{
//!     Address, Credentials, Deadline, Header, Kind, Listener, Member, Payload, Role, Security,
//!     Settings, Token, connect,
//! };
//! use std::time::Duration;
//!
//! // What a frame says is a number that both ends agree on.
//! const UPDATE: Kind = Kind(1);
//!
//! let member = |role| Member { role, rank: 0, incarnation: 0 };
//! let server = Credentials {
//!     me: member(Role::Server),
//!     token: Token::random()?,
//!     security: Security::Plain,
//! };
//! let worker = Credentials { me: member(Role::Worker), ..server.clone() };
//! let (settings, soon) = (Settings::default(), Deadline::after(Duration::from_secs(10)));
//!
//! let listener = Listener::bind(&Address::loopback(), &server, &settings)?;
//! let mut to_server = connect(listener.address(), &worker, &settings, soon)?;
//! let mut to_worker = listener.accept(soon)?;
//! assert_eq!(to_worker.peer(), worker.me);
//!
//! to_server.send(&Header::new(UPDATE).with_fields([1, 0, 0]), Payload::Dense(&[0.5, -0.5]))?;
//! let update = to_worker.receive(soon)?;
//! assert_eq!(update.header.fields[0], 1);
//! assert_eq!(update.payload()?, Payload::Dense(&[0.5, -0.5]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A server sees to all its workers on one thread: [`wait_any`], then
//! [`ReadHalf::try_receive`] on each; the updates stay where they arrived
//! ([`ReadHalf::hold`]) until it has summed them.
//!
//! Workers without a server form a [`Group`] and [`Group::all_reduce`], or
//! start [`Buckets`] of the gradient while the backward pass goes on; threads
//! of one process do the same in a [`ThreadGroup`], without sockets.
//!
//! Sockets never block by themselves: every wait has a [`Deadline`], every
//! buffer a bound. Threads, not tasks: training is a handful of connections.
//!
//! What this crate deliberately does not do: it gives kinds, flags and fields
//! of frames no meaning (that is the protocol of `train`), it decides nothing about clocks,
//! staleness or members (that is `sync`), it neither restarts nor replaces
//! anybody, it does not resend (a broken connection is an error and the caller
//! knows what state it is in), and it does not compress: encodings carry what
//! the caller has already rounded or selected.

mod address;
mod buckets;
mod connect;
mod connection;
mod deadline;
mod frame;
mod group;
mod handshake;
mod impairment;
mod listener;
mod member;
mod read_half;
mod refusals;
mod settings;
mod shared_memory;
mod socket;
mod staged;
mod stream;
mod thread_group;
mod tls;
mod token;
mod traffic;
mod wait;
mod write_half;

pub use address::{Address, AddressError};
pub use buckets::Buckets;
pub use connect::{ConnectError, connect};
pub use connection::Connection;
pub use deadline::Deadline;
pub use frame::{Encoding, HEADER_BYTES, Header, HeaderError, Kind, Payload, PayloadError};
pub use group::{Algorithm, FormError, Formation, Group, Links, ReduceError};
pub use handshake::{HandshakeError, PROTOCOL_VERSION};
pub use impairment::Impairment;
pub use listener::{AcceptError, BindError, Listener};
pub use member::{Member, Role};
pub use read_half::{Frame, Held, ReadHalf, ReceiveError};
pub use refusals::{Cause, FirstRefusal, Refusals};
pub use settings::{Credentials, Security, Settings};
pub use thread_group::{ThreadGroup, ThreadLost};
pub use token::{RandomnessError, Token, TokenError};
pub use traffic::Traffic;
pub use wait::wait_any;
pub use write_half::{SendError, WriteHalf};
