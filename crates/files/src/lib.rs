//! Files that are either whole or absent, and reads that end.
//!
//! [`AtomicFile`] is the one way in which Paceline replaces a file: written
//! beside its place under a hidden name that nobody else can have made, synced,
//! renamed, its directory synced. What is no regular file is never replaced:
//! devices, pipes and `/dev/stdout` are written through, a link's target is
//! replaced and not the link, a directory is refused.
//!
//! [`read`] and [`open`] are the one way in which a file that a user names is
//! read: a regular file or a pipe, of a size that the caller states, within a
//! time that this crate states. `/dev/zero` and a pipe that nobody writes to are
//! errors, not waits.
//!
//! [`AppendFile`] is a file that only grows. [`sealed`] is text that carries its
//! own checksum.
//!
//! With the feature `trace`, every change is noted down in its order
//! (`trace::start`), and `trace::Disk` makes the directories that a loss of
//! power at any instant could leave behind.
//!
//! This crate deliberately knows no format and no place: what is in a file, and
//! where files are, is said elsewhere.

mod append;
mod directory;
mod place;
mod read;
mod replace;
pub mod sealed;
#[cfg(feature = "trace")]
pub mod trace;
#[cfg(not(feature = "trace"))]
#[path = "untraced.rs"]
mod trace;

pub use append::{AppendFile, Syncer};
pub use directory::{
    create_directory, create_private_directory, remove_directory, remove_file, rename,
    sync_directory,
};
pub use read::{Input, ReadError, open, open_regular, read, read_regular, read_text};
pub use replace::{AtomicFile, WriteError, write};
