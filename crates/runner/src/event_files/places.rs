//! Where event files may be: the folders below a run's working directory.

use std::collections::{HashMap, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How deep below the working directory is looked.
const DEEPEST: usize = 8;
/// How many folders are looked into, the nearest first.
const MOST_FOLDERS: usize = 1_000;
/// How many entries of one folder are looked at.
const MOST_ENTRIES: usize = 5_000;
/// Folders in which nobody's training writes.
const PASSED: [&str; 3] = ["node_modules", "__pycache__", "site-packages"];
/// Files by which records of runs and studies are known: what is in them is another
/// run's, or exported.
const RECORDS: [&str; 3] = ["manifest.json", "start.json", "plan.json"];

/// The folders below one, read again only when they have changed.
pub(super) struct Places {
    root: PathBuf,
    seen: HashMap<PathBuf, Folder>,
}

#[derive(Clone, Default)]
struct Folder {
    changed: (i64, i64),
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Places {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            seen: HashMap::new(),
        }
    }

    /// The event files there are now, in an order that does not change from one look to
    /// the next; nothing below `but`, and nothing on another file system. Folders whose
    /// time has not changed are not read again unless `afresh`: what came within one
    /// tick of the kernel's clock has the same time.
    pub(super) fn find(&mut self, but: &Path, afresh: bool) -> Vec<PathBuf> {
        let Ok(root) = self.root.metadata() else {
            return Vec::new();
        };
        let device = root.dev();
        let mut before = std::mem::take(&mut self.seen);
        let mut waiting = VecDeque::from([(self.root.clone(), 0)]);
        let mut found = Vec::new();
        while let Some((path, depth)) = waiting.pop_front() {
            if self.seen.len() == MOST_FOLDERS {
                break;
            }
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if metadata.dev() != device || path == but {
                continue;
            }
            let changed = (metadata.mtime(), metadata.mtime_nsec());
            let folder = match before.remove(&path) {
                Some(folder) if folder.changed == changed && !afresh => folder,
                // A folder that cannot be read has nothing that could be read.
                _ => Folder {
                    changed,
                    ..read(&path).unwrap_or_default()
                },
            };
            found.extend(folder.files.iter().cloned());
            if depth < DEEPEST {
                waiting.extend(folder.folders.iter().map(|path| (path.clone(), depth + 1)));
            }
            self.seen.insert(path, folder);
        }
        found
    }
}

fn read(path: &Path) -> std::io::Result<Folder> {
    let mut folder = Folder::default();
    for entry in std::fs::read_dir(path)?.take(MOST_ENTRIES) {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && !PASSED.contains(&&*name) {
            folder.folders.push(entry.path());
        } else if kind.is_file() && name.contains("tfevents.") {
            folder.files.push(entry.path());
        } else if RECORDS.contains(&&*name) && is_record(path) {
            return Ok(Folder::default());
        }
    }
    folder.folders.sort_unstable();
    folder.files.sort_unstable();
    Ok(folder)
}

/// A training may have a `manifest.json` of its own: a record has more than that.
fn is_record(path: &Path) -> bool {
    ["samples", "live", "runs"]
        .iter()
        .any(|name| path.join(name).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn event_files_are_found_where_trainings_write_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let file = "events.out.tfevents.1.host";
        let record = root.join("old.study/runs");
        for folder in ["logs/train", ".git", "runs/a", "node_modules/x"] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join(file), "").unwrap();
        }
        fs::create_dir_all(record.join("r1")).unwrap();
        fs::write(root.join("old.study/plan.json"), "").unwrap();
        fs::write(record.join("r1").join(file), "").unwrap();
        let mut places = Places::new(root);
        let logs = root.join("logs/train").join(file);
        let run = root.join("runs/a").join(file);
        let nowhere = Path::new("/nowhere");
        assert_eq!(places.find(nowhere, false), [logs, run.clone()]);
        assert_eq!(places.find(&root.join("logs"), false), [run]);

        fs::create_dir(root.join("runs/b")).unwrap();
        fs::write(root.join("runs/b").join(file), "").unwrap();
        let found = places.find(nowhere, true);
        assert!(found.contains(&root.join("runs/b").join(file)), "{found:?}");
    }

    #[test]
    fn a_tree_without_end_is_not_walked_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut deep = dir.path().to_owned();
        for _ in 0..DEEPEST + 2 {
            deep.push("x");
        }
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("events.out.tfevents.1"), "").unwrap();
        assert!(
            Places::new(dir.path())
                .find(Path::new("/"), true)
                .is_empty()
        );
    }
}
