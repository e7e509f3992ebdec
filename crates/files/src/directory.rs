//! Changes to directories, and making them last.

use crate::trace;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes a directory and those above it, if they are absent.
///
/// # Errors
/// If the system refuses it.
pub fn create_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        create_directory(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => {
            trace::directory_created(path);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes one directory, which must not exist, for its owner alone.
///
/// # Errors
/// If the system refuses it.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    trace::directory_created(path);
    Ok(())
}

/// Makes what was created, renamed and removed in a directory last through a
/// loss of power.
///
/// # Errors
/// If the disk refuses it.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    trace::directory_synced(path);
    File::open(path).and_then(|directory| directory.sync_all())
}

/// Renames a file or a directory.
///
/// # Errors
/// If the system refuses it.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    trace::renamed(from, to);
    Ok(())
}

/// Removes a file.
///
/// # Errors
/// If the system refuses it.
pub fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    trace::removed(path);
    Ok(())
}

/// Removes a directory and all that is in it.
///
/// # Errors
/// If the system refuses it; a part may be gone.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    // One by one, so that a trace knows what is gone.
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_directory(&entry.path())?;
        } else {
            remove_file(&entry.path())?;
        }
    }
    fs::remove_dir(path)?;
    trace::removed(path);
    Ok(())
}
