//! Parsed data sets, kept for the next time.
//!
//! An entry is named by a hash of everything that determines it: the content
//! of the source files and the choices that were made in reading them. It is
//! written under a temporary name and renamed into place, and it is believed
//! only if its checksums hold; otherwise it is built again.

mod entry;
mod key;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_files::{AtomicFile, WriteError};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use crate::dataset::DataSet;
use crate::mapped::Map;

pub(crate) use key::{Key, Stamp};

/// A directory of parsed data sets. Several processes may share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
    limit_bytes: u64,
}

/// Why a data set is not in the cache although it should be.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// An entry cannot be believed. It is built again.
    #[error("cache entry {} is damaged: {what}", path.display())]
    Damaged {
        /// The entry.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An entry could not be read.
    #[error("cannot read cache entry {}: {source}", path.display())]
    Read {
        /// The entry.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An entry could not be written. The data set is used without it.
    #[error("cannot write cache entry {}: {source}", path.display())]
    Write {
        /// The entry.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

const EXTENSION: &str = "rows";
const TEMPORARY: &str = "tmp";

impl Cache {
    /// What a cache may hold unless told otherwise: 16 GiB.
    pub const DEFAULT_LIMIT_BYTES: u64 = 16 << 30;

    /// A cache in a directory, which is created when it is first needed. When
    /// its entries exceed the limit, those used longest ago are removed; one
    /// entry always stays.
    pub fn new(directory: impl Into<PathBuf>, limit_bytes: u64) -> Self {
        Self {
            directory: directory.into(),
            limit_bytes,
        }
    }

    /// Where the entries are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn entry(&self, key: Key) -> PathBuf {
        self.directory.join(format!("{key}.{EXTENSION}"))
    }

    /// The data sets of an entry, if there is one.
    pub(crate) fn load(&self, key: Key) -> Result<Option<Vec<DataSet>>, CacheError> {
        let path = self.entry(key);
        let failed = |source| CacheError::Read {
            path: path.clone(),
            source,
        };
        let file = match paceline_files::open_regular(&path, u64::MAX) {
            Ok(file) => file,
            Err(error) if error.is_absent() => return Ok(None),
            Err(error) => return Err(failed(error.into_io())),
        };
        let map = Arc::new(Map::open(&file).map_err(failed)?);
        let sets = entry::decode(&map, key).map_err(|what| CacheError::Damaged {
            path: path.clone(),
            what,
        })?;
        mark_used(&file);
        Ok(Some(sets))
    }

    /// Writes an entry and makes room for it.
    pub(crate) fn store(&self, key: Key, sets: &[DataSet]) -> Result<(), CacheError> {
        let path = self.entry(key);
        let failed = |source| CacheError::Write {
            path: path.clone(),
            source,
        };
        self.write(key, &path, sets)?;
        self.make_room(&path).map_err(failed)
    }

    fn write(&self, key: Key, path: &Path, sets: &[DataSet]) -> Result<(), CacheError> {
        let failed = |source| CacheError::Write {
            path: path.to_owned(),
            source,
        };
        let refused = |error: WriteError| match error {
            WriteError::NoSpace { source, .. } | WriteError::Io { source, .. } => failed(source),
            WriteError::Directory { .. } => failed(io::ErrorKind::IsADirectory.into()),
        };
        paceline_files::create_directory(&self.directory).map_err(failed)?;
        let mut file = AtomicFile::create(path).map_err(refused)?;
        entry::encode(&mut file, key, sets).map_err(failed)?;
        // Not synced: after a power failure the checksums do not hold and the
        // entry is built again.
        file.commit_unsynced().map_err(refused)
    }

    /// Removes temporary files that no one writes any more and, beyond the
    /// limit, the entries used longest ago, but never the one just written.
    fn make_room(&self, written: &Path) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut total = 0;
        for item in fs::read_dir(&self.directory)? {
            let path = item?.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            match extension {
                Some(EXTENSION) => {
                    // Another process may have removed it meanwhile.
                    if let Ok(metadata) = fs::metadata(&path) {
                        total += metadata.len();
                        entries.push((metadata.modified()?, metadata.len(), path));
                    }
                }
                Some(TEMPORARY) => remove_if_abandoned(&path),
                _ => {}
            }
        }
        entries.sort();
        for (_, length, path) in entries {
            if total <= self.limit_bytes {
                break;
            }
            if path != written {
                fs::remove_file(&path)?;
                total -= length;
            }
        }
        Ok(())
    }
}

/// Sets the entry's time to now, by which the oldest is chosen for removal.
fn mark_used(file: &File) {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    // On a read-only file system the entry merely looks older than it is.
    let _ = rustix::fs::futimens(file, &times);
}

fn remove_if_abandoned(path: &Path) {
    if let Ok(file) = File::open(path)
        && file.try_lock().is_ok()
    {
        // Whoever fails to remove it leaves it to the next.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Law, Logistic};
    use crate::text::TextOptions;
    use crate::{Csr, DataSpec, Features, Options, open};

    fn rows(seed: u64, entries: Option<usize>) -> DataSet {
        let law = Logistic {
            rows: 100,
            test_rows: 1,
            width: 10,
            entries,
            signal: 1.0,
            law: Law::Bernoulli,
            seed,
        };
        law.generate(1).unwrap().split.train
    }

    fn key(number: u64) -> Key {
        let mut key = Key::builder();
        key.text(&number.to_string());
        key.finish()
    }

    fn cache(limit_bytes: u64) -> (tempfile::TempDir, Cache) {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path().join("deep/er"), limit_bytes);
        (directory, cache)
    }

    fn same(a: &DataSet, b: &DataSet) {
        assert_eq!(a.name(), b.name());
        assert_eq!(a.features(), b.features());
        assert_eq!(a.labels(), b.labels());
        assert_eq!(a.encoder(), b.encoder());
    }

    #[test]
    fn every_kind_of_features_comes_back_mapped_and_equal() {
        let tweets = |encoding: &str| {
            let options = Options {
                text: encoding.parse::<TextOptions>().unwrap(),
                ..Options::default()
            };
            open(&DataSpec::Tweets, &options).unwrap().test
        };
        let bytes = Features::Bytes {
            values: vec![1, 2, 3, 4].into(),
            width: 2,
            scale: 0.5,
        };
        let labels = rows(1, None).labels().clone();
        let few = crate::Labels::new(labels[..2].to_vec(), labels.names().to_vec()).unwrap();
        let sets = vec![
            rows(1, None),
            rows(1, Some(3)),
            tweets(""),
            tweets("encoding=one-hot,buckets=64"),
            DataSet::new("bytes", bytes, few.clone()).unwrap(),
            DataSet::new(
                "no entries",
                Features::Sparse(Csr::new(vec![0, 0, 0], vec![], vec![], 0).unwrap()),
                few,
            )
            .unwrap(),
        ];
        let (_directory, cache) = cache(u64::MAX);
        assert!(cache.load(key(1)).unwrap().is_none());
        cache.store(key(1), &sets).unwrap();
        let loaded = cache.load(key(1)).unwrap().unwrap();
        assert_eq!(loaded.len(), sets.len());
        for (loaded, set) in loaded.iter().zip(&sets) {
            same(loaded, set);
            assert!(loaded.labels().ids().is_mapped());
        }
    }

    #[test]
    fn no_damaged_or_truncated_entry_is_believed() {
        let (_directory, cache) = cache(u64::MAX);
        cache.store(key(1), &[rows(1, Some(2))]).unwrap();
        let path = cache.entry(key(1));
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(7) {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(cache.load(key(1)).is_err(), "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, &damaged).unwrap();
            match cache.load(key(1)) {
                Err(CacheError::Damaged { .. }) => {}
                // Between the arrays there is padding, which means nothing.
                Ok(Some(sets)) => same(&sets[0], &rows(1, Some(2))),
                other => panic!("byte {at}: {other:?}"),
            }
        }
    }

    #[test]
    fn an_entry_under_another_name_is_not_believed() {
        let (_directory, cache) = cache(u64::MAX);
        cache.store(key(1), &[rows(1, None)]).unwrap();
        fs::rename(cache.entry(key(1)), cache.entry(key(2))).unwrap();
        assert!(matches!(
            cache.load(key(2)),
            Err(CacheError::Damaged { .. })
        ));
    }

    #[test]
    fn the_entry_used_longest_ago_makes_room() {
        let (_directory, cache) = cache(12_000);
        for number in 1..=2 {
            cache.store(key(number), &[rows(number, None)]).unwrap();
            // The order is set by hand: two writes may share a time stamp.
            let file = File::open(cache.entry(key(number))).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(number);
            file.set_modified(time).unwrap();
        }
        cache.load(key(1)).unwrap().unwrap();
        cache.store(key(3), &[rows(3, None)]).unwrap();
        let stays = |number| cache.load(key(number)).unwrap().is_some();
        assert_eq!([stays(1), stays(2), stays(3)], [true, false, true]);
    }

    #[test]
    fn what_an_interrupted_process_left_behind_is_removed() {
        let (_directory, cache) = cache(u64::MAX);
        fs::create_dir_all(cache.directory()).unwrap();
        let left = cache.directory().join("some.tmp");
        fs::write(&left, b"half").unwrap();
        let held = cache.directory().join("held.tmp");
        let holder = File::create(&held).unwrap();
        holder.try_lock().unwrap();
        cache.store(key(1), &[rows(1, None)]).unwrap();
        assert!(!left.exists());
        assert!(held.exists());
    }
}
