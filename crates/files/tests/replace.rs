//! Files are replaced whole; what is no regular file is never replaced.

use paceline_files::{AtomicFile, WriteError, write};
use rustix::fs::{CWD, FileType, Mode};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the directory is there");
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_the_old_one_until_it_is_committed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("page.html");
    fs::write(&path, "old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(dir.path()), ["page.html"]);
}

#[test]
fn an_abandoned_file_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = AtomicFile::create(&dir.path().join("a")).unwrap();
    file.write_all(b"half").unwrap();
    drop(file);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn what_a_dead_process_left_is_removed_and_a_living_one_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    fs::write(dir.path().join(".a.tmp"), "left").unwrap();
    let mut first = AtomicFile::create(&path).unwrap();
    assert_eq!(names(dir.path()), [".a.tmp"]);
    let mut second = AtomicFile::create(&path).unwrap();
    assert_eq!(names(dir.path()), [".a.1.tmp", ".a.tmp"]);
    second.write_all(b"second").unwrap();
    first.write_all(b"first").unwrap();
    second.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    first.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(names(dir.path()), ["a"]);
}

#[test]
fn a_link_in_the_place_of_the_temporary_file_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for hidden in [".a.tmp", ".a.1.tmp"] {
        symlink(&victim, dir.path().join(hidden)).unwrap();
    }
    write(&dir.path().join("a"), b"mine").unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"mine");
}

#[test]
fn the_target_of_a_link_is_replaced_and_the_link_stays() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("deep")).unwrap();
    let target = dir.path().join("deep/report.html");
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    symlink("second", &first).unwrap();
    symlink(Path::new("deep").join("report.html"), &second).unwrap();
    // Whether the target exists or not.
    for text in ["one", "two"] {
        write(&first, text.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), text);
        assert!(first.is_symlink() && second.is_symlink());
    }
}

#[test]
fn links_in_a_circle_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    symlink(&b, &a).unwrap();
    symlink(&a, &b).unwrap();
    assert!(matches!(write(&a, b"x"), Err(WriteError::Io { .. })));
    assert_eq!(names(dir.path()), ["a", "b"]);
}

#[test]
fn a_directory_is_refused_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let link = dir.path().join("link");
    symlink(&inner, &link).unwrap();
    for path in [&inner, &link] {
        let error = AtomicFile::create(path).unwrap_err();
        assert!(matches!(error, WriteError::Directory { .. }), "{error}");
    }
    assert!(inner.is_dir());
    assert_eq!(names(dir.path()), ["inner", "link"]);
}

#[test]
fn a_pipe_is_written_through_and_stays_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut text = String::new();
            fs::File::open(path)
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            text
        }
    });
    write(&path, b"through").unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(names(dir.path()), ["pipe"]);
}

/// A node of its own with the numbers of `/dev/null`: the machine's must not be
/// what a wrong program replaces. Only root can make one.
#[test]
fn a_device_is_written_through_and_stays_a_device() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("null");
    let null = rustix::fs::makedev(1, 3);
    let mode = Mode::from_raw_mode(0o600);
    if rustix::fs::mknodat(CWD, &path, FileType::CharacterDevice, mode, null).is_err() {
        println!("skipped: no device can be made here");
        return;
    }
    // Where nodes may be made but not opened, nothing can be written.
    match write(&path, b"gone") {
        Ok(()) | Err(WriteError::Io { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let kind = fs::symlink_metadata(&path).unwrap().file_type();
    assert!(kind.is_char_device());
    assert_eq!(names(dir.path()), ["null"]);
}

#[test]
fn an_open_descriptor_is_written_through_at_its_end() {
    use std::os::fd::AsRawFd;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    fs::write(&path, "before\n").unwrap();
    let open = fs::File::options().append(true).open(&path).unwrap();
    let name = format!("/dev/fd/{}", open.as_raw_fd());
    write(Path::new(&name), b"after\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
    assert_eq!(names(dir.path()), ["log"]);
}

#[test]
fn a_full_device_is_told_apart_and_named() {
    let error = write(Path::new("/dev/full"), b"x").unwrap_err();
    assert!(matches!(error, WriteError::NoSpace { .. }), "{error}");
    assert_eq!(error.to_string(), "no space left to write /dev/full");
}

#[test]
fn permissions_are_kept_and_private_files_are_private() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = dir.path().join("a");
    let private = |path: &Path| AtomicFile::create_private(path).unwrap().commit().unwrap();
    private(&path);
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    write(&path, b"again").unwrap();
    assert_eq!(mode(&path), 0o640);
    private(&path);
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn a_bare_name_and_a_missing_directory_are_fine() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/c");
    write(&path, b"deep").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"deep");
    assert!(write(Path::new("/"), b"x").is_err());
    assert!(write(Path::new(""), b"x").is_err());
}
