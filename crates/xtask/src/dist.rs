//! `dist`: everything that is given to users, in `target/dist`: a wheel, a tarball, a
//! Debian package, and the crates. `dist --test` installs each and runs the quickstart.
//!
//! The binary is linked against glibc 2.17 by zig, which is on PyPI as `ziglang`, so
//! that one file runs on every distribution of the last decade. No symbol may be newer:
//! that is looked up in the file itself.

use crate::{python, shell};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The oldest C library that the binary runs with.
const GLIBC: (u32, u32) = (2, 17);
const TOOLS: [&str; 3] = ["maturin>=1.8,<2", "ziglang", "cargo-zigbuild"];
/// Crates that are not given to anybody.
const OWN: [&str; 3] = ["paceline-fuzz", "paceline-testkit", "paceline-xtask"];
const SHELLS: [(&str, &str); 3] = [
    ("bash", "paceline.bash"),
    ("zsh", "_paceline"),
    ("fish", "paceline.fish"),
];

/// Builds all, and tests it if `--test` is given. `--unoptimised` tries all of it in a
/// fraction of the time, for nobody's use.
pub(crate) fn dist(words: &[String]) -> Result<()> {
    let (mut build, mut test, mut profile) = (true, false, "dist");
    for word in words {
        match word.as_str() {
            "--test" => test = true,
            "--built" => build = false,
            "--unoptimised" => profile = "dev",
            _ => bail!("`dist` takes --test, --unoptimised, and --built for what was built before"),
        }
    }
    let out = shell::workspace_root()?.join("target/dist");
    if build {
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        fs::create_dir_all(&out)?;
        let wheel = wheel(&out, profile)?;
        let binary = unpacked(&wheel, &out)?;
        portable(&binary)?;
        let tree = tree(&binary, &out)?;
        tarball(&tree, &out)?;
        deb(&tree, &out)?;
        crates()?;
    }
    for file in files(&out)? {
        println!("{:>10} {}", file.metadata()?.len(), file.display());
    }
    if test {
        try_all(&out)?;
    }
    Ok(())
}

/// The wheel: the binary and the Python module.
fn wheel(out: &Path, profile: &str) -> Result<PathBuf> {
    let interpreter = python::interpreter("3.12")
        .or_else(|| python::interpreter("3.11"))
        .context("there is no Python 3.11 or 3.12 to build the wheel with")?;
    let python = python::environment("dist", &interpreter, &TOOLS)?;
    let bin = python.parent().context("a Python lies in a folder")?;
    let (platform, target) = (
        format!("manylinux_{}_{}", GLIBC.0, GLIBC.1),
        format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
    );
    let mut maturin = shell::command(
        &bin.join("maturin").to_string_lossy(),
        &[
            "build",
            "--profile",
            profile,
            "--locked",
            "--zig",
            "--target",
            &target,
            "--compatibility",
            &platform,
            "--out",
            &out.to_string_lossy(),
        ],
    );
    // maturin looks for cargo-zigbuild and zig on the path.
    #[expect(clippy::disallowed_methods, reason = "the path of a developer's shell")]
    let path = std::env::var("PATH").unwrap_or_default();
    maturin.env("PATH", format!("{}:{path}", bin.display()));
    shell::run_with(maturin)?;
    let wheels = files(out)?;
    let mut wheels = wheels.into_iter().filter(|path| is(path, "whl"));
    wheels.next().context("maturin left no wheel")
}

/// The binary within the wheel: all packages hold the same file.
fn unpacked(wheel: &Path, out: &Path) -> Result<PathBuf> {
    let folder = out.join("unpacked");
    let unpack = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    let words = [
        "-c",
        unpack,
        &wheel.to_string_lossy(),
        &folder.to_string_lossy(),
    ];
    shell::run("python3", &words)?;
    let mut inside = folder.read_dir()?.flatten();
    let scripts = inside.find(|entry| entry.file_name().to_string_lossy().ends_with(".data"));
    let binary = scripts
        .context("the wheel has no scripts")?
        .path()
        .join("scripts/paceline");
    shell::run("chmod", &["755", &binary.to_string_lossy()])?;
    Ok(binary)
}

/// Refuses a binary that asks for symbols of a newer C library.
fn portable(binary: &Path) -> Result<()> {
    let symbols = shell::output("objdump", &["-T", &binary.to_string_lossy()])?;
    let newest = newest_glibc(&symbols).context("objdump names no symbol of glibc")?;
    println!("the newest symbol is of glibc {}.{}", newest.0, newest.1);
    ensure!(newest <= GLIBC, "the binary asks for a newer glibc");
    Ok(())
}

fn newest_glibc(symbols: &str) -> Option<(u32, u32)> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let mut parts = rest[..end.unwrap_or(rest.len())].split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    versions.max()
}

/// What is installed below a prefix: binary, completions, manual pages, licences.
fn tree(binary: &Path, out: &Path) -> Result<PathBuf> {
    let tree = out.join(format!("paceline-{}", version()?));
    for folder in [
        "bin",
        "share/man/man1",
        "share/doc/paceline",
        "share/completions",
    ] {
        fs::create_dir_all(tree.join(folder))?;
    }
    fs::copy(binary, tree.join("bin/paceline"))?;
    let program = tree.join("bin/paceline");
    let program = program.to_string_lossy();
    let pages = tree.join("share/man/man1");
    shell::run(&program, &["man", "--out", &pages.to_string_lossy()])?;
    for (shell_name, file) in SHELLS {
        let text = shell::output(&program, &["completions", shell_name])?;
        fs::write(tree.join("share/completions").join(file), text)?;
    }
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(file, tree.join("share/doc/paceline").join(file))?;
    }
    Ok(tree)
}

fn tarball(tree: &Path, out: &Path) -> Result<()> {
    let name = tree
        .file_name()
        .context("the tree has a name")?
        .to_string_lossy();
    let file = out.join(format!("{name}-{}-linux.tar.gz", std::env::consts::ARCH));
    let words = [
        "--owner=0",
        "--group=0",
        "--sort=name",
        "-C",
        &out.to_string_lossy(),
        "-czf",
        &file.to_string_lossy(),
        &name,
    ];
    shell::run("tar", &words)
}

/// A Debian package, whose folders are where Debian has them.
fn deb(tree: &Path, out: &Path) -> Result<()> {
    let root = out.join("deb");
    let usr = root.join("usr");
    fs::create_dir_all(&usr)?;
    shell::run(
        "cp",
        &[
            "-r",
            &format!("{}/.", tree.display()),
            &usr.to_string_lossy(),
        ],
    )?;
    let share = usr.join("share");
    for (folder, (_, file)) in [
        "bash-completion/completions",
        "zsh/vendor-completions",
        "fish/vendor_completions.d",
    ]
    .iter()
    .zip(SHELLS)
    {
        fs::create_dir_all(share.join(folder))?;
        let name = if file == "paceline.bash" {
            "paceline"
        } else {
            file
        };
        fs::rename(
            share.join("completions").join(file),
            share.join(folder).join(name),
        )?;
    }
    fs::remove_dir(share.join("completions"))?;
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let control = format!(
        "Package: paceline\nVersion: {}\nArchitecture: {architecture}\n\
         Maintainer: The Paceline developers <paceline@localhost>\nDepends: libc6 (>= {}.{})\n\
         Section: science\nPriority: optional\n\
         Description: profiles, explains and tunes distributed model training\n \
         Any command is profiled without a change to its code; designed experiments are\n \
         planned, run and analysed, and a configuration is picked that meets a deadline.\n",
        version()?,
        GLIBC.0,
        GLIBC.1,
    );
    fs::create_dir_all(root.join("DEBIAN"))?;
    fs::write(root.join("DEBIAN/control"), control)?;
    let file = out.join(format!("paceline_{}_{architecture}.deb", version()?));
    let words = [
        "--root-owner-group",
        "--build",
        &root.to_string_lossy(),
        &file.to_string_lossy(),
    ];
    shell::run("dpkg-deb", &words)
}

/// The crates as a registry takes them, in `target/package`.
fn crates() -> Result<()> {
    let mut words = vec![
        "package",
        "--workspace",
        "--no-verify",
        "--locked",
        "--allow-dirty",
    ];
    words.extend(OWN.iter().flat_map(|name| ["--exclude", name]));
    shell::run("cargo", &words)
}

/// Installs each package where nothing else is, and runs the quickstart of each.
fn try_all(out: &Path) -> Result<()> {
    let place = out.join("tried");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let all = files(out)?;
    let one = |ending: &str| {
        let found = all
            .iter()
            .find(|path| path.to_string_lossy().ends_with(ending));
        found.with_context(|| format!("there is no {ending} in {}", out.display()))
    };

    let venv = place.join("venv");
    let interpreter = python::interpreter("3.12")
        .or_else(|| python::interpreter("3.11"))
        .context("there is no Python 3.11 or 3.12")?;
    let words = ["-m", "venv", &venv.to_string_lossy()];
    shell::run(&interpreter.to_string_lossy(), &words)?;
    let python = venv.join("bin/python");
    let wheel = one(".whl")?.to_string_lossy();
    let words = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        &wheel,
    ];
    shell::run(&python.to_string_lossy(), &words)?;
    let script = "import paceline; print(paceline.binary(), paceline.active())";
    shell::run(&python.to_string_lossy(), &["-c", script])?;
    quickstart(&venv.join("bin/paceline"), &place.join("of-wheel"))?;

    let prefix = place.join("tarball");
    fs::create_dir_all(&prefix)?;
    let tarball = one(".tar.gz")?.to_string_lossy();
    let words = [
        "-xzf",
        &tarball,
        "--strip-components=1",
        "-C",
        &prefix.to_string_lossy(),
    ];
    shell::run("tar", &words)?;
    quickstart(&prefix.join("bin/paceline"), &place.join("of-tarball"))?;

    let root = place.join("deb");
    let deb = one(".deb")?.to_string_lossy();
    shell::run("dpkg-deb", &["--extract", &deb, &root.to_string_lossy()])?;
    quickstart(&root.join("usr/bin/paceline"), &place.join("of-deb"))
}

fn quickstart(binary: &Path, out: &Path) -> Result<()> {
    let binary = binary.to_string_lossy();
    shell::run(&binary, &["version"])?;
    shell::run(
        &binary,
        &["quickstart", "--quick", "--out", &out.to_string_lossy()],
    )
}

fn version() -> Result<String> {
    let text = fs::read_to_string("Cargo.toml")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("version = "));
    let version = line.context("the workspace has a version")?;
    Ok(version.trim().trim_matches('"').to_owned())
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own == extension)
}

/// The files in a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| {
        format!(
            "{} cannot be read; `cargo xtask dist` makes it",
            folder.display()
        )
    })?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_is_found_by_number_and_not_by_spelling() {
        let symbols = "0 DF *UND* 0 (GLIBC_2.2.5) free\n0 DF *UND* 0 (GLIBC_2.17) clock_gettime\n\
                       0 DF *UND* 0 GLIBC_2.3.4 regexec";
        assert_eq!(newest_glibc(symbols), Some((2, 17)));
        assert_eq!(newest_glibc("no symbols"), None);
    }
}
