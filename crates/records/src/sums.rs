//! What is appended to a file of a living record is announced first.
//!
//! Beside each file there is one of checksums, `live/<name>.sums`: eight bytes,
//! a magic and the format version, then twelve for each append: its length
//! (u32), the CRC-32 of its bytes (u32), and a CRC-32 of these two and of where
//! in the file they begin (u32); all little-endian. They are written before the
//! bytes that they describe, so every byte of the file has a checksum, and a file
//! that is shorter than announced has lost its end. The file itself stays as it
//! is: what a command prints can be read with any pager.
//!
//! A writer that is killed between the two leaves an announcement without its
//! bytes, which is said as a lost end: nobody can tell whether it was written.

use crate::disk::{At, WriteRecordError};
use crate::manifest::Notice;
use paceline_files::{AppendFile, Syncer};
use paceline_model::RunNotice;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

const HEADER: [u8; 8] = *b"PCLSUM\x01\x00";
const ENTRY_BYTES: usize = 12;
/// An append that is longer is announced in pieces.
const MOST_AT_ONCE: usize = 1 << 30;

/// The checksums of a file in `live/`, beside it.
pub(crate) fn sums_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sums");
    PathBuf::from(name)
}

/// A file that only grows, and its checksums.
#[derive(Debug)]
pub(crate) struct SummedFile {
    path: PathBuf,
    file: AppendFile,
    sums_path: PathBuf,
    sums: AppendFile,
    /// Set when a failed write could not be undone: what follows it would be
    /// unreadable.
    torn: bool,
}

impl SummedFile {
    /// Makes both files, which must not exist.
    pub(crate) fn create(path: &Path, sums_path: &Path) -> Result<Self, WriteRecordError> {
        // A file without checksums is one of an earlier version.
        let mut sums = AppendFile::create(sums_path).at(sums_path)?;
        sums.append(&HEADER).at(sums_path)?;
        Ok(Self {
            path: path.to_owned(),
            file: AppendFile::create(path).at(path)?,
            sums_path: sums_path.to_owned(),
            sums,
            torn: false,
        })
    }

    /// Appends the bytes with one `write(2)`, after one that announces them. If it
    /// fails, both files are as before.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), WriteRecordError> {
        if self.torn {
            return Err(WriteRecordError::Closed {
                path: self.path.clone(),
            });
        }
        let (length, announced) = (self.file.length(), self.sums.length());
        let written = bytes
            .chunks(MOST_AT_ONCE)
            .try_for_each(|piece| self.append_piece(piece));
        if written.is_err() {
            // A full disk may have taken a part of either.
            let undone = self
                .file
                .truncate(length)
                .and(self.sums.truncate(announced));
            self.torn = undone.is_err();
        }
        written
    }

    fn append_piece(&mut self, bytes: &[u8]) -> Result<(), WriteRecordError> {
        let length = u32::try_from(bytes.len()).expect("a piece has at most 1 GiB");
        let entry = Entry {
            length,
            sum: crc32fast::hash(bytes),
        };
        self.sums
            .append(&entry.bytes(self.file.length()))
            .at(&self.sums_path)?;
        self.file.append(bytes).at(&self.path)
    }

    /// Waits until what was appended has reached the disk. The checksums are not
    /// waited for: a file that has lost them reads as one that has them.
    pub(crate) fn sync(&self) -> Result<(), WriteRecordError> {
        self.file.sync().at(&self.path)
    }

    pub(crate) fn syncer(&self) -> io::Result<Syncer> {
        self.file.syncer()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    length: u32,
    sum: u32,
}

impl Entry {
    fn bytes(self, offset: u64) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sum.to_le_bytes());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&offset.to_le_bytes());
        hasher.update(&bytes[..8]);
        bytes[8..].copy_from_slice(&hasher.finalize().to_le_bytes());
        bytes
    }

    /// Nothing if the bytes were not written for this place of the file.
    fn parse(bytes: [u8; ENTRY_BYTES], offset: u64) -> Option<Self> {
        let [l0, l1, l2, l3, s0, s1, s2, s3, ..] = bytes;
        let entry = Self {
            length: u32::from_le_bytes([l0, l1, l2, l3]),
            sum: u32::from_le_bytes([s0, s1, s2, s3]),
        };
        (entry.length > 0 && entry.bytes(offset) == bytes).then_some(entry)
    }
}

/// The good entries of a file of checksums, from its beginning.
struct Entries<R> {
    source: R,
    /// Where in the file the next entry's bytes begin.
    offset: u64,
}

impl Entries<BufReader<File>> {
    /// Nothing if there are no checksums: an earlier version wrote the file.
    fn open(sums_path: &Path) -> io::Result<Option<Self>> {
        let file = match paceline_files::open_regular(sums_path, u64::MAX) {
            Ok(file) => file,
            Err(error) if error.is_absent() => return Ok(None),
            Err(error) => return Err(error.into_io()),
        };
        let mut source = BufReader::new(file);
        let mut header = [0; HEADER.len()];
        let whole = read_whole(&mut source, &mut header)? && header == HEADER;
        if !whole {
            // Nothing in it can be believed.
            io::copy(&mut source, &mut io::sink())?;
        }
        Ok(Some(Self { source, offset: 0 }))
    }
}

impl<R: Read> Entries<R> {
    fn next(&mut self) -> io::Result<Option<Entry>> {
        let mut bytes = [0; ENTRY_BYTES];
        if !read_whole(&mut self.source, &mut bytes)? {
            return Ok(None);
        }
        let entry = Entry::parse(bytes, self.offset);
        self.offset += entry.map_or(0, |entry| u64::from(entry.length));
        Ok(entry)
    }
}

/// How long the checksums say that a file is, as far as they are good; nothing if
/// it has none.
pub(crate) fn announced(sums_path: &Path) -> io::Result<Option<u64>> {
    let Some(mut entries) = Entries::open(sums_path)? else {
        return Ok(None);
    };
    while entries.next()?.is_some() {}
    Ok(Some(entries.offset))
}

/// What is wrong with a file, as people are told: nothing if all of its first
/// `most` bytes are those that were written, or if it has no checksums.
pub(crate) fn verify(path: &Path, sums_path: &Path, most: u64) -> io::Result<Vec<Notice>> {
    let Some(mut entries) = Entries::open(sums_path)? else {
        return Ok(Vec::new());
    };
    let file =
        paceline_files::open_regular(path, u64::MAX).map_err(paceline_files::ReadError::into_io)?;
    let found = file.metadata()?.len().min(most);
    let mut source = BufReader::with_capacity(64 << 10, file);
    let name = path.display().to_string();
    let mut notices = Vec::new();
    let mut altered: Option<(u64, u64)> = None;
    let mut verified = 0;
    while let Some(entry) = entries.next()? {
        if entries.offset > found {
            continue;
        }
        if sum_of_next(&mut source, entry.length)? != entry.sum {
            let (begin, _) = *altered.get_or_insert((verified, 0));
            altered = Some((begin, entries.offset - begin));
        }
        verified = entries.offset;
    }
    let announced = entries.offset;
    if let Some((offset, bytes)) = altered {
        notices.push(RunNotice::AlteredLog {
            file: name.clone(),
            bytes,
            offset,
        });
    }
    if announced > found {
        notices.push(RunNotice::ShortLog {
            file: name,
            bytes: announced - found,
            offset: found,
        });
    } else if announced < found {
        notices.push(RunNotice::UnverifiedLog {
            file: name,
            bytes: found - announced,
            offset: announced,
        });
    }
    Ok(notices.into_iter().map(Notice::from).collect())
}

fn sum_of_next(source: &mut impl io::BufRead, length: u32) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut left = length as usize;
    while left > 0 {
        let piece = source.fill_buf()?;
        let taken = piece.len().min(left);
        if taken == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hasher.update(&piece[..taken]);
        source.consume(taken);
        left -= taken;
    }
    Ok(hasher.finalize())
}

/// False if the file ends before the buffer is full.
fn read_whole(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match source.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PIECES: [&[u8]; 3] = [b"epoch 1\n", b"ep", b"och 2\n"];

    fn written() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let sums = sums_of(&path);
        let mut file = SummedFile::create(&path, &sums).unwrap();
        for piece in PIECES {
            file.append(piece).unwrap();
        }
        (dir, path, sums)
    }

    fn names(path: &Path, sums: &Path) -> Vec<String> {
        let notices = verify(path, sums, u64::MAX).unwrap();
        notices.iter().map(|notice| notice.name.clone()).collect()
    }

    #[test]
    fn what_was_written_is_without_notice() {
        let (_dir, path, sums) = written();
        assert_eq!(fs::read(&path).unwrap(), PIECES.concat());
        assert!(verify(&path, &sums, u64::MAX).unwrap().is_empty());
        assert_eq!(announced(&sums).unwrap(), Some(16));
    }

    #[test]
    fn every_changed_bit_of_the_file_is_said() {
        let (_dir, path, sums) = written();
        let good = fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, bytes).unwrap();
            assert_eq!(names(&path, &sums), ["altered_log"], "bit {bit}");
        }
    }

    #[test]
    fn every_missing_end_of_the_file_is_said() {
        let (_dir, path, sums) = written();
        let good = fs::read(&path).unwrap();
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            assert_eq!(names(&path, &sums), ["short_log"], "{length}");
        }
    }

    #[test]
    fn what_has_lost_its_checksum_is_said() {
        let (_dir, path, sums) = written();
        let good = fs::read(&sums).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&sums, bytes).unwrap();
            assert_eq!(names(&path, &sums), ["unverified_log"], "bit {bit}");
        }
        for length in 0..good.len() {
            fs::write(&sums, &good[..length]).unwrap();
            assert_eq!(names(&path, &sums), ["unverified_log"], "{length}");
        }
        // A record of an earlier version has none, and is as good as it was.
        fs::remove_file(&sums).unwrap();
        assert!(names(&path, &sums).is_empty());
    }

    #[test]
    fn a_piece_that_went_elsewhere_is_not_taken_for_another() {
        let (_dir, path, sums) = written();
        let mut bytes = fs::read(&sums).unwrap();
        // The second announcement is gone, as a lost block would take it.
        bytes.drain(HEADER.len() + ENTRY_BYTES..HEADER.len() + 2 * ENTRY_BYTES);
        fs::write(&sums, bytes).unwrap();
        assert_eq!(names(&path, &sums), ["unverified_log"]);
    }
}
