//! ARCHITECTURE.md's crate table against the crates that exist.

use super::metadata::Metadata;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};

const MAP: &str = "ARCHITECTURE.md";

/// Crates for development only: they may use everything and are used by tests.
const DEVELOPMENT: [&str; 3] = ["fuzz", "testkit", "xtask"];

/// Crates that are missing, unknown, or that use more than the map allows.
pub(super) fn problems(metadata: &Metadata) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(MAP).with_context(|| format!("cannot read {MAP}"))?;
    let map = parse(&text);
    let mut problems = Vec::new();
    if map.is_empty() {
        problems.push(format!(
            "{MAP}: no crate table (rows that begin with | `name` |)"
        ));
    }
    let folders: BTreeMap<&str, &str> = metadata
        .workspace()
        .map(|(package, folder)| (package.name.as_str(), folder))
        .collect();
    let existing: BTreeSet<&str> = folders.values().copied().collect();
    for name in map.keys().filter(|name| !existing.contains(name.as_str())) {
        problems.push(format!("{MAP}: crate `{name}` does not exist"));
    }
    for (package, folder) in metadata.workspace() {
        if DEVELOPMENT.contains(&folder) {
            continue;
        }
        let Some(allowed) = map.get(folder) else {
            problems.push(format!("{MAP}: crate `{folder}` is missing from the table"));
            continue;
        };
        if allowed.contains("everything") {
            continue;
        }
        for used in package
            .needs
            .iter()
            .filter_map(|name| folders.get(name.as_str()))
        {
            if *used != "model" && !allowed.contains(*used) {
                problems.push(format!("{MAP}: `{folder}` may not use `{used}`"));
            }
        }
        for unused in allowed
            .iter()
            .filter(|name| existing.contains(name.as_str()))
        {
            let is_used = package
                .needs
                .iter()
                .any(|n| folders.get(n.as_str()) == Some(&unused.as_str()));
            if !is_used {
                problems.push(format!("{MAP}: `{folder}` no longer uses `{unused}`"));
            }
        }
    }
    problems.extend(against_layers(
        &layers(&text, &existing),
        metadata,
        &folders,
    ));
    Ok(problems)
}

/// Crates that the picture lacks, and those that use one of a higher layer.
fn against_layers(
    layers: &BTreeMap<String, usize>,
    metadata: &Metadata,
    folders: &BTreeMap<&str, &str>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (package, folder) in metadata.workspace() {
        if DEVELOPMENT.contains(&folder) {
            continue;
        }
        let Some(own) = layers.get(folder) else {
            problems.push(format!("{MAP}: the picture of layers lacks `{folder}`"));
            continue;
        };
        for used in package
            .needs
            .iter()
            .filter_map(|name| folders.get(name.as_str()))
        {
            if layers.get(*used).is_some_and(|layer| layer < own) {
                problems.push(format!("{MAP}: `{folder}` uses `{used}` of a higher layer"));
            }
        }
    }
    problems
}

/// The picture below `## The layers`: crate → line, counted from the top. The first word
/// of a line is the layer's name.
fn layers(text: &str, existing: &BTreeSet<&str>) -> BTreeMap<String, usize> {
    let picture = text
        .split_once("## The layers")
        .and_then(|(_, rest)| rest.split("```").nth(1))
        .unwrap_or_default();
    let mut layers = BTreeMap::new();
    for (line, words) in picture.lines().enumerate() {
        for name in words.split_whitespace().skip(1) {
            if existing.contains(name) {
                layers.insert(name.to_owned(), line);
            }
        }
    }
    layers
}

/// Rows `| `crate` | what it holds | what it may use | … |`: crate → may use.
fn parse(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    text.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let name = cells.next()?.trim().trim_end_matches('`').to_owned();
            let uses = cells.nth(1)?;
            let names = uses
                .split(',')
                .map(|cell| cell.trim().trim_matches('`').to_owned())
                .filter(|cell| !cell.is_empty() && cell != "nothing");
            Some((name, names.collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_gives_every_crate_its_line() {
        let text = "## The layers\n\n```text\nfront  cli\ncores  stats  sync  what decides\n```\n";
        let layers = layers(text, &BTreeSet::from(["cli", "stats", "sync"]));
        assert!(layers["cli"] < layers["stats"]);
        assert_eq!(layers["stats"], layers["sync"]);
        assert_eq!(layers.len(), 3);
    }

    #[test]
    fn the_table_is_read_and_prose_is_not() {
        let map = parse(
            "| Crate | Holds |\n|---|---|\n| `advise` | laws | `stats`, `learn` | nothing |\n| `model` | words | nothing | nothing |\ntext | `x` | y | z\n",
        );
        assert_eq!(map.len(), 2);
        assert_eq!(
            map["advise"],
            BTreeSet::from(["stats".to_owned(), "learn".to_owned()])
        );
        assert!(map["model"].is_empty());
    }
}
