//! Bringing the program and the data to hosts that share no disk with us: once
//! per content.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories that are nobody's data: repositories and Paceline's own records.
const LEFT_OUT: [&str; 2] = [".git", "runs"];
/// The directories of studies end like this.
const STUDY_SUFFIX: &str = ".study";
/// More than this is not copied without being asked: it is rather a mistake.
pub(super) const MOST_BYTES: u64 = 8 << 30;

/// The files that are copied to nodes.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) base: PathBuf,
    /// Relative to the base, in order.
    files: Vec<PathBuf>,
    /// Hexadecimal digits of what the files are named and hold.
    pub(super) hash: String,
    pub(super) bytes: u64,
}

/// The SHA-256 of a file, shortened: what a cache on a node calls it.
pub(crate) fn hash_of(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    hash_file(path, &mut hasher)?;
    Ok(short(hasher))
}

fn hash_file(path: &Path, hasher: &mut Sha256) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(length),
            n => {
                hasher.update(&piece[..n]);
                length += n as u64;
            }
        }
    }
}

fn short(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Parcel {
    /// Everything below `base`, without repositories and records.
    pub(super) fn of(base: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        collect(base, Path::new(""), &mut files)?;
        files.sort();
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        for file in &files {
            let name = file.as_os_str().as_bytes();
            hasher.update((name.len() as u64).to_le_bytes());
            hasher.update(name);
            let length = hash_file(&base.join(file), &mut hasher)?;
            hasher.update(length.to_le_bytes());
            bytes += length;
        }
        Ok(Self {
            base: base.to_owned(),
            files,
            hash: short(hasher),
            bytes,
        })
    }

    /// The names of all files, each ended by a zero byte, as `tar --null -T` reads.
    pub(super) fn list(&self) -> Vec<u8> {
        let mut list = Vec::new();
        for file in &self.files {
            // A name that begins with a dash would be taken for an option.
            list.extend_from_slice(b"./");
            list.extend_from_slice(file.as_os_str().as_bytes());
            list.push(0);
        }
        list
    }
}

fn collect(base: &Path, below: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(base.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        let relative = below.join(&name);
        // A link to a file is shipped as that file; one to a directory is not
        // followed, for it may lead around in a circle.
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let text = name.to_string_lossy();
            let left_out = LEFT_OUT.contains(&&*text) || text.ends_with(STUDY_SUFFIX);
            if !left_out {
                collect(base, &relative, files)?;
            }
        } else if kind.is_file() || entry.path().is_file() {
            files.push(relative);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(base: &Path, file: &str, text: &str) {
        let path = base.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn records_and_repositories_stay_at_home() {
        let dir = tempfile::tempdir().unwrap();
        for file in [
            "train.py",
            "data/x.csv",
            ".git/HEAD",
            "runs/r/log",
            "a.study/plan.json",
        ] {
            write(dir.path(), file, "1");
        }
        let parcel = Parcel::of(dir.path()).unwrap();
        assert_eq!(parcel.list(), b"./data/x.csv\0./train.py\0");
        assert_eq!(parcel.bytes, 2);
    }

    #[test]
    fn the_hash_follows_names_and_content() {
        let hash = |files: &[(&str, &str)]| {
            let dir = tempfile::tempdir().unwrap();
            for (file, text) in files {
                write(dir.path(), file, text);
            }
            Parcel::of(dir.path()).unwrap().hash
        };
        let one = hash(&[("a", "1"), ("b", "2")]);
        assert_eq!(one, hash(&[("b", "2"), ("a", "1")]));
        assert_ne!(one, hash(&[("a", "2"), ("b", "1")]));
        assert_ne!(one, hash(&[("a", "12"), ("b", "")]));
        assert_ne!(one, hash(&[("ab", "12")]));
    }
}
