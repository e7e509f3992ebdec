//! How workers and servers talk.
