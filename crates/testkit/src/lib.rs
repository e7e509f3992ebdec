//! For Paceline's own tests: processes whose usage is known, a check that a
//! model's gradient is the derivative of its loss, and the habits of all tests.
//!
//! The binary `paceline-load` uses CPU, memory, disk or network in a stated
//! amount and prints, as its last line, what the kernel charged it for. Tests
//! of every crate find it through [`load_binary`]. [`gradient_check`] is what
//! every model passes, [`EngineContract`] what every engine does. A test that has to wait does so for a condition
//! ([`wait_until`]); one that can check nothing on this machine says so ([`skipped`]).
//!
//! This crate is never part of the product, and it deliberately does not
//! measure anything itself: it is what measurements are compared with.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

mod engine_contract;
mod gradient;
mod skip;
mod wait;

pub use engine_contract::{EngineContract, Told};
pub use gradient::{Breach, GradientReport, Mismatch, gradient_check};
pub use skip::{SKIPS, skipped};
pub use wait::{wait_until, wait_within};

/// The path of `paceline-load`, built in the profile of the calling test.
///
/// Cargo builds a package's binaries for its own tests only, so the first call
/// asks it to build this one.
///
/// # Panics
/// If it cannot be built: a test cannot go on without it.
#[must_use]
pub fn load_binary() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let test = std::env::current_exe().expect("a test is an executable file");
        // A test is <target>/<profile>/deps/<name>.
        let profile = test
            .parent()
            .and_then(Path::parent)
            .expect("cargo puts tests two levels below the target directory");
        let target = profile
            .parent()
            .expect("a profile is in a target directory");
        build(target, profile.ends_with("release"));
        profile.join("paceline-load")
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "building a test's own helper is no business of the engine"
)]
fn build(target: &Path, release: bool) {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--package", "paceline-testkit"])
        .args(["--bin", "paceline-load", "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if release {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("cargo built this test, so it runs");
    assert!(status.success(), "paceline-load does not build");
}
