//! Files that are none, outputs that must not be replaced: nothing hangs, nothing
//! is lost.

mod support;

use rustix::fs::{CWD, FileType, Mode};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;
use support::{Ran, paceline, run};

const TABLE: &str = "a,y\n1,2\n2,3\n1,2.5\n2,3.5\n";

fn pipe(path: &Path) {
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a pipe can be made");
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let table = dir.path().join("t.csv");
    fs::write(&table, TABLE).expect("the table is written");
    (dir, table)
}

/// Runs a command that must end by itself; what does not is killed and fails.
fn ends(dir: &Path, args: &[&str]) -> Ran {
    let mut child = paceline(dir, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    for _ in 0..1200 {
        if child.try_wait().expect("it can be asked").is_some() {
            return Ran::from(child.wait_with_output().expect("its output is read"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    kill(&mut child);
    panic!("{args:?} did not end within a minute");
}

fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn devices_and_pipes_that_nobody_writes_to_are_refused_wherever_a_file_is_read() {
    let (dir, _) = place();
    let silent = dir.path().join("pipe");
    pipe(&silent);
    for name in ["/dev/zero", "pipe"] {
        let commands: [&[&str]; 9] = [
            &["analyze", name, "--response", "y"],
            &["predict", name, "--response", "y"],
            &["pick", name, "--slo", "y<=3"],
            &["size", "--jobs", "1/min", "--prices", name],
            &["design", name],
            &["study", "run", name],
            &["train", "softmax", "--data", name],
            &["train", "softmax", "--data", "mnist", "--resume", name],
            &[
                "train",
                "softmax",
                "--listen",
                "tcp://127.0.0.1:0",
                "--token-file",
                name,
            ],
        ];
        for args in commands {
            let ran = ends(dir.path(), args);
            assert!(
                matches!(ran.code, Some(2..=4)),
                "{args:?}: {:?} {}",
                ran.code,
                ran.err
            );
            assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
        }
    }
    let ran = ends(dir.path(), &["analyze", "/dev/zero", "--response", "y"]);
    ran.fails(2, "/dev/zero is a device, not a file");
    let ran = ends(dir.path(), &["analyze", "pipe", "--response", "y"]);
    ran.fails(2, "nothing came from the pipe pipe within 5 s");
}

#[test]
fn a_table_comes_through_a_pipe() {
    let (dir, table) = place();
    let expected = run(dir.path(), ["analyze", "t.csv", "--response", "y"]);
    let path = dir.path().join("pipe");
    pipe(&path);
    let writer = std::thread::spawn(move || {
        let text = fs::read(table).expect("the table is there");
        let mut pipe = fs::File::options()
            .write(true)
            .open(path)
            .expect("somebody reads");
        pipe.write_all(&text).expect("somebody reads");
    });
    let ran = ends(dir.path(), &["analyze", "pipe", "--response", "y"]);
    writer.join().expect("the table was read");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, expected.out.replace("t.csv", "pipe"));
}

#[test]
fn outputs_replace_nothing_but_regular_files() {
    let (dir, _) = place();
    let analyze = |out: &str| {
        let args = [
            "analyze",
            "t.csv",
            "--response",
            "y",
            "--format",
            "html",
            "--out",
            out,
        ];
        ends(dir.path(), &args)
    };
    // A directory is refused and stays.
    fs::create_dir(dir.path().join("folder")).unwrap();
    analyze("folder").fails(2, "folder is a directory");
    // A link stays, its target is replaced.
    fs::write(dir.path().join("page.html"), "old").unwrap();
    symlink("page.html", dir.path().join("link")).unwrap();
    assert_eq!(analyze("link").code, Some(0));
    assert!(dir.path().join("link").is_symlink());
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    assert!(page.contains("<html"), "{page}");
    // A pipe is written through.
    let path = dir.path().join("pipe");
    pipe(&path);
    let reader = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut text = String::new();
            let mut pipe = fs::File::open(path).unwrap();
            pipe.read_to_string(&mut text).unwrap();
            text
        }
    });
    assert_eq!(analyze("pipe").code, Some(0));
    assert_eq!(reader.join().unwrap(), page);
    let kind = fs::symlink_metadata(&path).unwrap().file_type();
    assert!(kind.is_fifo());
    // So is what stdout is.
    let ran = analyze("/dev/stdout");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, page);
    // A device of its own: the machine's must not be what is lost here.
    let device = dir.path().join("null");
    let mode = Mode::from_raw_mode(0o600);
    let null = rustix::fs::makedev(1, 3);
    if rustix::fs::mknodat(CWD, &device, FileType::CharacterDevice, mode, null).is_ok() {
        analyze("null");
        let kind = fs::symlink_metadata(&device).unwrap().file_type();
        assert!(kind.is_char_device());
    } else {
        println!("skipped: no device can be made here");
    }
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name.as_encoded_bytes().starts_with(b"."))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
