//! Licences and origins of the dependencies.
//!
//! This is the part of `cargo deny` that works offline and needs no tool to be
//! built first: a dependency under a licence that we have not agreed to, or
//! from somewhere else than the registry, is an error.

use super::metadata::Metadata;

const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Dependencies that may not be used.
pub(super) fn problems(metadata: &Metadata) -> Vec<String> {
    let foreign = metadata
        .packages
        .iter()
        .filter(|package| package.folder.is_none());
    let mut problems = Vec::new();
    for package in foreign {
        let name = format!("{} {}", package.name, package.version);
        if !package
            .source
            .as_deref()
            .is_some_and(|source| source.starts_with("registry+"))
        {
            problems.push(format!("{name}: does not come from the registry"));
        }
        match package.licence.as_deref() {
            None => problems.push(format!("{name}: states no licence")),
            Some(licence) if !allowed(licence) => {
                problems.push(format!("{name}: licence {licence} is not on our list"));
            }
            Some(_) => {}
        }
    }
    problems
}

/// True if some choice among `OR`s consists of allowed licences joined by `AND`.
fn allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    if let Some(inner) = parenthesised(&expression) {
        // `(A OR B) AND C`: evaluate the parenthesis first.
        let (before, group, after) = inner;
        let value = if allowed(group) { "MIT" } else { "refused" };
        return allowed(&format!("{before}{value}{after}"));
    }
    expression.split(" OR ").any(|choice| {
        choice
            .split(" AND ")
            .all(|licence| ALLOWED.contains(&licence.trim()))
    })
}

fn parenthesised(expression: &str) -> Option<(&str, &str, &str)> {
    let close = expression.find(')')?;
    let open = expression[..close].rfind('(')?;
    Some((
        &expression[..open],
        &expression[open + 1..close],
        &expression[close + 1..],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_allowed_branch_and_a_conjunction_all() {
        for yes in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(allowed(yes), "{yes}");
        }
        for no in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND AGPL-3.0",
            "",
        ] {
            assert!(!allowed(no), "{no}");
        }
    }
}
