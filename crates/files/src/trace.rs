//! Every change to a disk in its order, and what a loss of power leaves of them.
//!
//! [`start`] begins to note down what this crate does to files below a
//! directory; [`Trace::ops`] gives it. [`Disk::after`] applies the first so many
//! changes to an empty disk of which some were synced and some not:
//!
//! - what a file holds lasts once the file was synced; what was written after
//!   that may be there or not, each write on its own, the last one in part, and a
//!   write that is missing before one that is there reads as zeros;
//! - what a directory lists lasts once the directory was synced; each creation,
//!   renaming and removal after that may be there or not.
//!
//! That is what POSIX promises, and less than any common file system keeps.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// An empty file got a name.
    Created(PathBuf),
    /// Bytes were written at an offset.
    Written(PathBuf, u64, Vec<u8>),
    /// The file was cut.
    Truncated(PathBuf, u64),
    /// The file's content reached the disk.
    Synced(PathBuf),
    /// A file or directory got another name.
    Renamed(PathBuf, PathBuf),
    /// A file or an empty directory was removed.
    Removed(PathBuf),
    /// A directory got a name.
    DirectoryCreated(PathBuf),
    /// The directory's list of names reached the disk.
    DirectorySynced(PathBuf),
}

struct Recorder {
    root: PathBuf,
    ops: Vec<Op>,
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

/// Notes down until it is dropped. There is one at a time.
#[derive(Debug)]
pub struct Trace(());

/// Begins to note down what happens below `root`; paths are relative to it.
#[must_use]
pub fn start(root: &Path) -> Trace {
    *RECORDER.lock() = Some(Recorder {
        root: root.to_owned(),
        ops: Vec::new(),
    });
    Trace(())
}

impl Trace {
    /// What happened so far.
    #[must_use]
    pub fn ops(&self) -> Vec<Op> {
        let recorder = RECORDER.lock();
        recorder.as_ref().map_or_else(Vec::new, |it| it.ops.clone())
    }

    /// How many changes there were so far.
    #[must_use]
    pub fn length(&self) -> usize {
        let recorder = RECORDER.lock();
        recorder.as_ref().map_or(0, |it| it.ops.len())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        *RECORDER.lock() = None;
    }
}

fn note(path: &Path, op: impl FnOnce(PathBuf) -> Op) {
    let mut recorder = RECORDER.lock();
    if let Some(recorder) = recorder.as_mut()
        && let Ok(relative) = path.strip_prefix(&recorder.root)
    {
        let op = op(relative.to_owned());
        recorder.ops.push(op);
    }
}

pub(crate) fn created(path: &Path) {
    note(path, Op::Created);
}

pub(crate) fn written(path: &Path, offset: u64, bytes: &[u8]) {
    note(path, |path| Op::Written(path, offset, bytes.to_vec()));
}

pub(crate) fn truncated(path: &Path, length: u64) {
    note(path, |path| Op::Truncated(path, length));
}

pub(crate) fn synced(path: &Path) {
    note(path, Op::Synced);
}

pub(crate) fn renamed(from: &Path, to: &Path) {
    let root = RECORDER
        .lock()
        .as_ref()
        .map(|recorder| recorder.root.clone());
    let Some(root) = root else { return };
    let to = to.strip_prefix(root).unwrap_or(to).to_owned();
    note(from, |from| Op::Renamed(from, to));
}

pub(crate) fn removed(path: &Path) {
    note(path, Op::Removed);
}

pub(crate) fn directory_created(path: &Path) {
    note(path, Op::DirectoryCreated);
}

pub(crate) fn directory_synced(path: &Path) {
    note(path, Op::DirectorySynced);
}

/// A number, the same for the same seed: splitmix64.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall alike for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides.max(1)
    }
}

/// How much of what was not synced survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// All of it: the process was killed, the machine was not.
    All,
    /// None of it.
    None,
    /// Each change with even chances.
    Some,
}

/// The content of a disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    entries: BTreeMap<PathBuf, Entry>,
    contents: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Directory,
    File(usize),
}

/// A file while it is being replayed: its writes since the last sync.
#[derive(Default)]
struct Pending {
    durable: Vec<u8>,
    later: Vec<Change>,
}

enum Change {
    Write(u64, Vec<u8>),
    Cut(u64),
}

enum NameChange {
    Add(PathBuf, Entry),
    Move(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl Disk {
    /// What is on the disk if the power fails after the first `count` changes.
    #[must_use]
    pub fn after(ops: &[Op], count: usize, survival: Survival, dice: &mut Dice) -> Self {
        // What the running system sees: files follow their names and renames.
        let mut live: BTreeMap<PathBuf, Entry> = BTreeMap::new();
        let mut files: Vec<Pending> = Vec::new();
        let mut durable: BTreeMap<PathBuf, Entry> = BTreeMap::new();
        let mut names: Vec<(PathBuf, NameChange)> = Vec::new();
        for op in &ops[..count] {
            match op {
                Op::Created(path) => {
                    let entry = Entry::File(files.len());
                    files.push(Pending::default());
                    live.insert(path.clone(), entry);
                    names.push((parent(path), NameChange::Add(path.clone(), entry)));
                }
                Op::DirectoryCreated(path) => {
                    live.insert(path.clone(), Entry::Directory);
                    let add = NameChange::Add(path.clone(), Entry::Directory);
                    names.push((parent(path), add));
                }
                Op::Written(path, offset, bytes) => {
                    if let Some(file) = file_of(&live, &mut files, path) {
                        file.later.push(Change::Write(*offset, bytes.clone()));
                    }
                }
                Op::Truncated(path, length) => {
                    if let Some(file) = file_of(&live, &mut files, path) {
                        file.later.push(Change::Cut(*length));
                    }
                }
                Op::Synced(path) => {
                    if let Some(file) = file_of(&live, &mut files, path) {
                        for change in std::mem::take(&mut file.later) {
                            apply(&mut file.durable, &change);
                        }
                    }
                }
                Op::Renamed(from, to) => {
                    rename_in(&mut live, from, to);
                    follow(&mut names, from, to);
                    names.push((parent(to), NameChange::Move(from.clone(), to.clone())));
                }
                Op::Removed(path) => {
                    live.remove(path);
                    names.push((parent(path), NameChange::Remove(path.clone())));
                }
                Op::DirectorySynced(path) => {
                    // Up to here everything in this directory lasts, in order;
                    // other directories keep what they have not synced.
                    let kept = std::mem::take(&mut names);
                    for (directory, change) in kept {
                        if directory == *path {
                            change_names(&mut durable, &change);
                        } else {
                            names.push((directory, change));
                        }
                    }
                }
            }
        }
        for (_, change) in &names {
            if survives(survival, dice) {
                change_names(&mut durable, change);
            }
        }
        let contents = files
            .into_iter()
            .map(|file| left_of(file, survival, dice))
            .collect();
        Self {
            entries: durable,
            contents,
        }
    }

    /// Writes the disk into an empty directory. What lies in a directory that is
    /// not there is gone with it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_to(&self, root: &Path) -> io::Result<()> {
        for (path, entry) in &self.entries {
            let place = root.join(path);
            if !place.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match entry {
                Entry::Directory => fs::create_dir(&place)?,
                Entry::File(index) => fs::write(&place, &self.contents[*index])?,
            }
        }
        Ok(())
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

fn survives(survival: Survival, dice: &mut Dice) -> bool {
    match survival {
        Survival::All => true,
        Survival::None => false,
        Survival::Some => dice.below(2) == 1,
    }
}

fn file_of<'a>(
    live: &BTreeMap<PathBuf, Entry>,
    files: &'a mut [Pending],
    path: &Path,
) -> Option<&'a mut Pending> {
    match live.get(path)? {
        Entry::File(index) => files.get_mut(*index),
        Entry::Directory => None,
    }
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(offset, bytes) => {
            let start = *offset as usize;
            let end = start + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[start..end].copy_from_slice(bytes);
        }
        Change::Cut(length) => content.resize(*length as usize, 0),
    }
}

fn left_of(file: Pending, survival: Survival, dice: &mut Dice) -> Vec<u8> {
    let mut content = file.durable;
    let last = file.later.len().saturating_sub(1);
    for (index, change) in file.later.iter().enumerate() {
        if !survives(survival, dice) {
            continue;
        }
        match change {
            Change::Write(offset, bytes) if survival == Survival::Some && index == last => {
                let part = dice.below(bytes.len() as u64 + 1) as usize;
                apply(
                    &mut content,
                    &Change::Write(*offset, bytes[..part].to_vec()),
                );
            }
            change => apply(&mut content, change),
        }
    }
    content
}

fn change_names(entries: &mut BTreeMap<PathBuf, Entry>, change: &NameChange) {
    match change {
        NameChange::Add(path, entry) => drop(entries.insert(path.clone(), *entry)),
        NameChange::Move(from, to) => rename_in(entries, from, to),
        NameChange::Remove(path) => drop(entries.remove(path)),
    }
}

/// What is still to reach the disk in a directory goes on under its new name.
fn follow(names: &mut [(PathBuf, NameChange)], from: &Path, to: &Path) {
    let moved = |path: &mut PathBuf| {
        if let Ok(rest) = path.strip_prefix(from) {
            *path = match rest.as_os_str().is_empty() {
                true => to.to_owned(),
                false => to.join(rest),
            };
        }
    };
    for (directory, change) in names {
        // A name of its own that is still to reach the disk stays: it is moved
        // by the renaming.
        if !directory.starts_with(from) {
            continue;
        }
        moved(directory);
        match change {
            NameChange::Add(path, _) | NameChange::Remove(path) => moved(path),
            NameChange::Move(source, target) => {
                moved(source);
                moved(target);
            }
        }
    }
}

/// Moves a name and, if it is a directory's, all that is in it.
fn rename_in(entries: &mut BTreeMap<PathBuf, Entry>, from: &Path, to: &Path) {
    let moved: Vec<PathBuf> = entries
        .keys()
        .filter(|path| path.starts_with(from))
        .cloned()
        .collect();
    for path in moved {
        let rest = path.strip_prefix(from).expect("it starts so");
        let place = match rest.as_os_str().is_empty() {
            true => to.to_owned(),
            false => to.join(rest),
        };
        let entry = entries.remove(&path).expect("it was listed");
        entries.insert(place, entry);
    }
}
