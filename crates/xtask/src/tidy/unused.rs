//! Dependencies that are declared and used by nobody.
//!
//! A dependency is used if its name stands in the crate's sources. That is what
//! `cargo machete` does too; the compiler's own lint sees one target at a time and
//! complains of what another target uses.

use super::metadata::Metadata;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Declared dependencies of members, and entries of the workspace's table, that no
/// source names.
pub(super) fn problems(metadata: &Metadata) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut declared = Vec::new();
    for (package, folder) in metadata.workspace() {
        let sources = sources(&Path::new("crates").join(folder))?;
        for name in &package.declares {
            declared.push(name.as_str());
            if !sources.iter().any(|text| names(text, name)) {
                problems.push(format!(
                    "crates/{folder}/Cargo.toml: `{name}` is declared and used by nobody"
                ));
            }
        }
    }
    let manifest = std::fs::read_to_string("Cargo.toml").context("cannot read Cargo.toml")?;
    for name in table(&manifest) {
        if !declared.contains(&name) {
            problems.push(format!(
                "Cargo.toml: no crate takes `{name}` from the workspace's table"
            ));
        }
    }
    Ok(problems)
}

/// The texts of all Rust files below a crate's folder.
fn sources(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let mut open: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in
            std::fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                texts.push(std::fs::read_to_string(&path)?);
            }
        }
    }
    Ok(texts)
}

/// True if the crate's name stands in the text as a word of its own.
fn names(text: &str, package: &str) -> bool {
    let name = package.replace('-', "_");
    let part_of_word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    text.match_indices(&name).any(|(start, _)| {
        let before = start.checked_sub(1).and_then(|at| bytes.get(at));
        !part_of_word(before) && !part_of_word(bytes.get(start + name.len()))
    })
}

/// Names in `[workspace.dependencies]`.
fn table(manifest: &str) -> impl Iterator<Item = &str> {
    manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| {
            let (name, _) = line.split_once('=')?;
            let name = name.trim();
            (!name.starts_with('#')).then_some(name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_as_a_whole_word_only() {
        assert!(names("use serde_json::Value;", "serde-json"));
        assert!(names("#[serde(default)]", "serde"));
        assert!(!names("use serde_json::Value;", "serde"));
        assert!(!names("let my_csv = 1;", "csv"));
    }

    #[test]
    fn the_workspaces_table_ends_at_the_next_one() {
        let text = "[workspace.dependencies]\na = \"1\"\n# b = \"2\"\nc-d = { path = \"x\" }\n\n[profile.dev]\ne = 1\n";
        assert_eq!(table(text).collect::<Vec<_>>(), ["a", "c-d"]);
    }
}
