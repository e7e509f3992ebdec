//! MNIST without its compression, for programs that read plain files.

use crate::bench::peers;
use crate::shell;
use anyhow::{Result, ensure};
use std::fs;

const FILES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// Training images and labels, then those for testing, in the target folder.
pub(crate) fn unpacked() -> Result<Vec<String>> {
    let folder = peers::target().join("bench/mnist");
    fs::create_dir_all(&folder)?;
    FILES
        .iter()
        .map(|name| {
            let path = folder.join(name);
            if !path.exists() {
                let folder = match *name {
                    "train-images-idx3-ubyte" => "crates/mnist/data",
                    _ => "crates/data/data/mnist",
                };
                let packed = format!("{folder}/{name}.gz");
                let output = shell::command("gzip", &["-dc", &packed]).output()?;
                ensure!(output.status.success(), "cannot unpack {packed}");
                fs::write(&path, output.stdout)?;
            }
            Ok(path.to_string_lossy().into_owned())
        })
        .collect()
}
