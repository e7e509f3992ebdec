//! Public items that no source file uses.
//!
//! The compiler warns of private code without a caller; a `pub` item of a
//! library could have one elsewhere, so it never does. All callers of these
//! crates are in this repository, hence the check: a name that is defined
//! `pub` and occurs nowhere else in any `src/`, tests and re-exports not
//! counted. It goes by words, so a name that several items share is never
//! reported; what it does report has no caller. `tidy` notes them and does not
//! fail: an item may wait for the command that calls it.

use crate::shell;
use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// Crates whose items are for tests and developers.
const DEVELOPMENT: [&str; 2] = ["crates/testkit/", "crates/xtask/"];

/// The items without a caller, each with its file.
pub(super) fn without_callers() -> Result<Vec<String>> {
    let listed = shell::output(
        "git",
        &["ls-files", "--cached", "--others", "--exclude-standard"],
    )?;
    let mut sources = Vec::new();
    for file in listed.lines().filter(|file| is_product(file)) {
        let text = match std::fs::read_to_string(file) {
            // Deleted, and not yet so in the index.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            text => text.with_context(|| format!("cannot read {file}"))?,
        };
        sources.push((file, text));
    }
    Ok(idle(&sources))
}

fn is_product(file: &str) -> bool {
    file.starts_with("crates/")
        && file.contains("/src/")
        && file.ends_with(".rs")
        && !file.ends_with("/tests.rs")
        && !DEVELOPMENT.iter().any(|folder| file.starts_with(folder))
}

fn idle(sources: &[(&str, String)]) -> Vec<String> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (file, text) in sources {
        let code = product_code(text);
        for name in code.lines().filter_map(definition) {
            defined.entry(name.to_owned()).or_default().push(file);
        }
        for word in words(&without_exports(&code)) {
            *found.entry(word.to_owned()).or_default() += 1;
        }
    }
    defined
        .iter()
        .filter(|(name, files)| found.get(*name).copied().unwrap_or(0) <= files.len())
        .map(|(name, files)| format!("{}: nothing calls `{name}`", files[0]))
        .collect()
}

/// The text without comments and without the tests at its end.
fn product_code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let mut code = String::with_capacity(end);
    for line in text[..end].lines() {
        // Two slashes within a word are part of an address.
        let comment = line.match_indices("//").map(|(at, _)| at).find(|&at| {
            line[..at]
                .chars()
                .next_back()
                .is_none_or(char::is_whitespace)
        });
        code.push_str(&line[..comment.unwrap_or(line.len())]);
        code.push('\n');
    }
    code
}

/// The code without its `pub use` statements.
fn without_exports(code: &str) -> String {
    let mut rest = code;
    let mut left = String::with_capacity(code.len());
    while let Some(at) = rest.find("pub use ") {
        left.push_str(&rest[..at]);
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        rest = &rest[end..];
    }
    left + rest
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The name that a line defines for other crates.
fn definition(line: &str) -> Option<&str> {
    let mut tokens = words(line.trim_start().strip_prefix("pub ")?).peekable();
    loop {
        match tokens.next()? {
            "fn" | "struct" | "enum" | "trait" | "type" | "static" => return tokens.next(),
            "const" if !matches!(tokens.peek(), Some(&("fn" | "unsafe"))) => return tokens.next(),
            "const" | "unsafe" | "async" | "extern" => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_exported_tested_or_spoken_of_has_no_caller() {
        let library = "pub use own::{\n    idle,\n    busy,\n};\n\n/// As [`idle`].\npub fn busy() {}\n\
                       pub const fn idle() {} // idle\n#[cfg(test)]\nmod tests {\n    fn t() { idle() }\n}\n";
        let front = "fn main() { open(\"http://host\", busy()) }\n";
        let sources = [
            ("lib.rs", library.to_owned()),
            ("main.rs", front.to_owned()),
        ];
        assert_eq!(super::idle(&sources), ["lib.rs: nothing calls `idle`"]);
    }

    #[test]
    fn definitions_are_found_whatever_stands_before_them() {
        for (line, name) in [
            ("pub fn a(x: u8) {", Some("a")),
            ("    pub const unsafe fn b<T>() {", Some("b")),
            ("pub const C: u8 = 1;", Some("C")),
            ("pub struct D<'a>(&'a u8);", Some("D")),
            ("pub(crate) fn e() {}", None),
            ("pub mod f;", None),
            ("pub g: u8,", None),
        ] {
            assert_eq!(definition(line), name, "{line}");
        }
    }
}
