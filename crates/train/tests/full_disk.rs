//! A checkpoint that does not fit on the disk: the old one stays, and the error
//! says what is full.
//!
//! The test starts itself again on a small file system of its own. Where that is
//! not permitted, a limit on the size of files stands in for it.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

use paceline_files::WriteError;
use paceline_train::{Numbers, Tensor, TensorFile, WriteTensorsError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ON_TMPFS: &str = r#"dir=$1; shift
exec unshare --mount sh -c 'mount -t tmpfs -o size=512k none "$0" && exec "$@"' "$dir" "$@""#;
const WITH_LIMIT: &str = r#"shift; trap '' XFSZ; ulimit -f 200; exec "$@""#;

#[expect(
    clippy::disallowed_methods,
    reason = "a small disk needs a process of its own"
)]
fn rerun(script: &str, dir: &Path) -> Output {
    Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(dir)
        .arg(std::env::current_exe().unwrap())
        .args([
            "write_on_a_small_disk",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("PACELINE_SMALL_DISK", dir)
        .output()
        .unwrap()
}

fn file(numbers: usize) -> TensorFile {
    let mut file = TensorFile::default();
    let tensor = Tensor {
        shape: vec![numbers],
        numbers: Numbers::F32(vec![0.5; numbers]),
    };
    file.tensors.insert("w".to_owned(), tensor);
    file
}

#[test]
fn a_checkpoint_that_does_not_fit_leaves_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut output = rerun(ON_TMPFS, dir.path());
    if !String::from_utf8_lossy(&output.stdout).contains("running 1 test") {
        // No privilege to mount: the shell failed before the test began.
        output = rerun(WITH_LIMIT, dir.path());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("1 passed"), "{text}\n{errors}");
}

#[test]
#[ignore = "started by the test above, on a small disk"]
fn write_on_a_small_disk() {
    #[expect(
        clippy::disallowed_methods,
        reason = "told by the test that started it"
    )]
    let dir = PathBuf::from(std::env::var("PACELINE_SMALL_DISK").unwrap());
    let path = dir.join("c.safetensors");
    let small = file(1_000);
    small.write(&path).unwrap();
    let error = file(1_000_000).write(&path).unwrap_err();
    assert!(
        matches!(&error, WriteTensorsError::Disk(WriteError::NoSpace { .. })),
        "{error}"
    );
    assert_eq!(TensorFile::read(&path).unwrap(), small);
    let left = fs::read_dir(&dir).unwrap().count();
    assert_eq!(left, 1, "the part that was written is removed");
    // There is room again for what fits.
    file(2_000).write(&path).unwrap();
    assert_eq!(TensorFile::read(&path).unwrap(), file(2_000));
}
