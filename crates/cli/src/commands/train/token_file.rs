//! The file that holds a training's token.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use paceline_wire::Token;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A token and its newline, and a little that a person may have added.
const LONGEST: u64 = 256;

/// Reads the token; if there is no such file, makes one that only its owner
/// may read.
pub(super) fn read_or_create(path: &Path) -> Result<Token, Failure> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(mut file) => {
            let token = Token::random()
                .context("cannot make a token")
                .map_err(Failure::world)?;
            writeln!(file, "{}", token.reveal())
                .with_context(|| format!("cannot write {}", path.display()))
                .map_err(Failure::world)?;
            Ok(token)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(Failure::user(
            anyhow!(error).context(format!("cannot make the token file {}", path.display())),
        )),
    }
}

/// Reads the token that a trainer made.
pub(super) fn read(path: &Path) -> Result<Token, Failure> {
    let shown = path.display();
    let file = paceline_files::open_regular(path, LONGEST).map_err(|error| {
        Failure::user(anyhow!(error).context(format!("cannot read the token file {shown}")))
            .hint("the trainer makes it; copy it to every host, for its owner alone")
    })?;
    // Of the open file, not of the path: nobody can exchange it in between.
    let metadata = file
        .metadata()
        .with_context(|| format!("cannot read the token file {shown}"))
        .map_err(Failure::world)?;
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(Failure::user(anyhow!(
            "others may read the token file {shown} (mode {mode:o})"
        ))
        .hint(format!(
            "chmod 600 {shown}; if others had access, use another token"
        )));
    }
    let mut text = String::new();
    file.take(LONGEST)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read the token file {shown}"))
        .map_err(Failure::user)?;
    text.parse().map_err(|error: paceline_wire::TokenError| {
        Failure::user(anyhow!(error).context(format!("the token file {shown} holds no token")))
            .hint("remove it: the trainer makes a new one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_made_once_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        assert!(read(&path).is_err());
        let made = read_or_create(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(read_or_create(&path).unwrap().reveal(), made.reveal());
        assert_eq!(read(&path).unwrap().reveal(), made.reveal());
    }

    #[test]
    fn a_token_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        read_or_create(&path).unwrap();
        for mode in [0o640, 0o604, 0o660] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert!(read(&path).is_err(), "{mode:o}");
            assert!(read_or_create(&path).is_err(), "{mode:o}");
        }
    }

    #[test]
    fn a_file_without_a_token_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        for text in [&b""[..], b"secret", &[0xff; 64], &[b'0'; 300]] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert!(read(&path).is_err());
        }
    }
}
