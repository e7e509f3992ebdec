//! Nothing is noted down.

use std::path::Path;

pub(crate) fn created(_: &Path) {}
pub(crate) fn written(_: &Path, _: u64, _: &[u8]) {}
pub(crate) fn truncated(_: &Path, _: u64) {}
pub(crate) fn synced(_: &Path) {}
pub(crate) fn renamed(_: &Path, _: &Path) {}
pub(crate) fn removed(_: &Path) {}
pub(crate) fn directory_created(_: &Path) {}
pub(crate) fn directory_synced(_: &Path) {}
