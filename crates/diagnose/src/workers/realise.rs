//! Options of the built-in trainer that make a what-if real.

use super::what_if::WhatIf;
use paceline_model::{WorkerId, quantity};

/// The words of a training's command with the change made; none if no option makes it.
#[must_use]
pub fn realised(words: &[String], what_if: WhatIf) -> Option<Vec<String>> {
    match what_if {
        WhatIf::Network(times) => {
            let is_delayed = !values(words, "--delay").is_empty();
            let changed = replace(words, "--bandwidth", |rate| {
                let rate = quantity::bytes(rate).ok()? as f64;
                Some(format!("{:.0}B", rate * times))
            })?;
            (!is_delayed && changed != words).then_some(changed)
        }
        WhatIf::NoStraggler(WorkerId(worker)) => {
            let own = format!("worker{worker}:");
            let changed = replace(words, "--slow", |slow| {
                let others = slow.split(',').filter(|one| !one.starts_with(&own));
                Some(others.collect::<Vec<_>>().join(","))
            })?;
            (changed != words).then_some(changed)
        }
        WhatIf::OneMoreCpu { .. } | WhatIf::Compute(_) | WhatIf::NoQueue => None,
    }
}

/// The words without an option and its values.
#[must_use]
pub fn without(words: &[String], option: &str) -> Vec<String> {
    replace(words, option, |_| Some(String::new())).unwrap_or_default()
}

/// The values of an option.
#[must_use]
pub fn values(words: &[String], option: &str) -> Vec<String> {
    let mut found = Vec::new();
    let _ = replace(words, option, |value| {
        found.push(value.to_owned());
        Some(String::new())
    });
    found
}

/// The words with each value of `option` made another; one that becomes empty is left
/// out with its option. None if `change` gives none.
fn replace(
    words: &[String],
    option: &str,
    mut change: impl FnMut(&str) -> Option<String>,
) -> Option<Vec<String>> {
    let mut changed = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let value = match word.strip_prefix(option) {
            Some("") => rest.next().map(String::as_str),
            Some(tail) => tail.strip_prefix('='),
            None => None,
        };
        let Some(value) = value else {
            changed.push(word.clone());
            continue;
        };
        let value = change(value)?;
        if !value.is_empty() {
            changed.push(format!("{option}={value}"));
        }
    }
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, what_if: WhatIf, expected: Option<&str>) {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let changed = realised(&words, what_if).map(|changed| changed.join(" "));
        assert_eq!(changed.as_deref(), expected);
    }

    #[test]
    fn a_change_is_made_by_the_option_that_it_undoes() {
        let network = WhatIf::Network(2.0);
        check(
            "mlp:4 --bandwidth 100kB --workers=2",
            network,
            Some("mlp:4 --bandwidth=200000B --workers=2"),
        );
        check("mlp:4 --workers=2", network, None);
        check("mlp:4 --bandwidth=1MB --delay=5ms", network, None);
        let equal = WhatIf::NoStraggler(WorkerId(1));
        check(
            "mlp:4 --slow worker1:3x --seed 1",
            equal,
            Some("mlp:4 --seed 1"),
        );
        check(
            "mlp:4 --slow=worker0:2x,worker1:3x",
            equal,
            Some("mlp:4 --slow=worker0:2x"),
        );
        check("mlp:4 --slow=worker0:2x", equal, None);
        check("mlp:4 --slower=worker1:3x", equal, None);
        check("mlp:4", WhatIf::NoQueue, None);
    }
}
