//! Reads end: by size, by kind, by time.

use paceline_files::{ReadError, open_regular, read, read_regular, read_text};
use rustix::fs::{CWD, FileType, Mode};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn pipe(dir: &Path) -> PathBuf {
    let path = dir.join("pipe");
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .expect("a pipe can be made");
    path
}

#[test]
fn a_file_is_read_up_to_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read(&path, 5).unwrap(), b"12345");
    let error = read(&path, 4).unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { .. }), "{error}");
    // A file of the kernel has no size and is bounded all the same.
    assert!(read(Path::new("/proc/self/status"), 1 << 20).is_ok());
    assert!(matches!(
        read(Path::new("/proc/self/status"), 10),
        Err(ReadError::TooLarge { .. })
    ));
}

#[test]
fn a_file_larger_than_its_limit_takes_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = read(&path, 1 << 30).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} has more than 1 GiB", path.display())
    );
}

#[test]
fn devices_and_directories_are_refused_by_name() {
    for (path, kind) in [
        ("/dev/zero", "a device"),
        ("/dev/urandom", "a device"),
        ("/dev/null", "a device"),
        ("/dev", "a directory"),
    ] {
        let error = read(Path::new(path), 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), format!("{path} is {kind}, not a file"));
    }
    assert!(
        read(Path::new("/nowhere/at/all"), 1)
            .unwrap_err()
            .is_absent()
    );
}

#[test]
fn a_pipe_that_nobody_writes_to_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let error = read(&pipe(dir.path()), 1 << 20).unwrap_err();
    assert!(matches!(error, ReadError::Silent { .. }), "{error}");
}

#[test]
fn a_pipe_is_read_to_its_end_and_not_beyond_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = pipe(dir.path());
    let feed = |text: Vec<u8>| {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut pipe = fs::File::options().write(true).open(path).unwrap();
            // The reader may have gone away: then the rest is not wanted.
            let _ = pipe.write_all(&text);
        })
    };
    let writer = feed(b"x,y\n1,2\n".repeat(100_000));
    assert_eq!(read(&path, 1 << 20).unwrap().len(), 800_000);
    writer.join().unwrap();
    let writer = feed(vec![0; 4 << 20]);
    assert!(matches!(
        read(&path, 1 << 20),
        Err(ReadError::TooLarge { .. })
    ));
    writer.join().unwrap();
    // What is read twice cannot be a pipe; and no writer is waited for.
    assert!(matches!(
        open_regular(&path, 1 << 20),
        Err(ReadError::Kind { kind: "a pipe", .. })
    ));
    assert!(read_regular(&path, 1 << 20).is_err());
}

#[test]
fn text_that_is_none_is_named_by_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.toml");
    fs::write(&path, b"one\ntwo \xff\n").unwrap();
    assert!(matches!(
        read_text(&path, 100),
        Err(ReadError::NotText { line: 2, .. })
    ));
}
