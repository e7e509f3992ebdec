//! The known name nearest to one that was mistyped.

/// The candidate that a person most likely meant by `typed`, if any is near.
///
/// Distance is that of Damerau and Levenshtein in its restricted form (insert,
/// delete, replace, swap neighbours; Boytsov 2011, section 2.1). A candidate is
/// near if at most a third of the longer name differs. Of equally near ones the
/// first wins.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed = fold(typed);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = fold(candidate);
            let limit = typed.len().max(folded.len()).div_ceil(3);
            let distance = distance(&typed, &folded);
            (distance <= limit && distance < folded.len()).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The hint that names the nearest candidate, or lists all of them if none is near.
pub(crate) fn suggestion<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(name) = nearest(typed, candidates.clone()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let all: Vec<_> = candidates.into_iter().map(|c| format!("`{c}`")).collect();
    (!all.is_empty()).then(|| format!("known here: {}", all.join(", ")))
}

/// Case and the choice between `-` and `_` are the commonest slips: free.
fn fold(name: &str) -> Vec<char> {
    // Names are short; a pasted novel must not cost quadratic time.
    name.chars()
        .take(64)
        .map(|c| {
            if c == '-' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, expected: Option<&str>) {
        let known = ["replicates", "seed", "order", "generators", "resolution"];
        assert_eq!(nearest(typed, known), expected, "{typed}");
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        check("replicate", Some("replicates"));
        check("sede", Some("seed"));
        check("Seed", Some("seed"));
        check("genrators", Some("generators"));
    }

    #[test]
    fn a_different_word_finds_nothing() {
        check("colour", None);
        check("", None);
        check("x", None);
    }
}
