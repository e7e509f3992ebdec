//! The known name that a mistyped one was meant to be.

/// The candidate that a person most likely meant by `typed`, if any is near.
///
/// A slip is an inserted, lost or wrong letter, or two neighbours swapped. A
/// candidate is near if at most a third of the longer name, rounded up, are
/// slips. Case, and the choice between `-` and `_`, count as none. Of equally
/// near candidates the first wins.
///
/// ```
/// use paceline_model::spelling::nearest;
/// assert_eq!(nearest("Batch-Sise", ["batch_size", "nodes"]), Some("batch_size"));
/// assert_eq!(nearest("accuracy", ["batch_size", "nodes"]), None);
/// ```
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = fold(typed);
    let typed_length = typed.chars().count();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = fold(candidate);
            let length = folded.chars().count();
            let most = typed_length.max(length).div_ceil(3);
            let slips = strsim::osa_distance(&typed, &folded);
            // Every letter wrong is another word, however short both are.
            (slips <= most && slips < length).then_some((slips, candidate))
        })
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// A hint that names the nearest candidate, or lists all of them if none is near;
/// none without candidates.
pub fn suggestion<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(name) = nearest(typed, candidates.clone()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let all: Vec<_> = candidates.into_iter().map(|c| format!("`{c}`")).collect();
    (!all.is_empty()).then(|| format!("known here: {}", all.join(", ")))
}

fn fold(name: &str) -> String {
    // Names are short; a pasted novel must not cost quadratic time.
    name.chars()
        .take(64)
        .map(|c| if c == '-' { '_' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, expected: Option<&str>) {
        let known = ["replicates", "seed", "order", "learning_rate", "resolution"];
        assert_eq!(nearest(typed, known), expected, "{typed}");
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        check("replicate", Some("replicates"));
        check("sede", Some("seed"));
        check("SEED", Some("seed"));
        check("learnign_rate", Some("learning_rate"));
        check("learning-rate", Some("learning_rate"));
        check("learningrate", Some("learning_rate"));
    }

    #[test]
    fn a_different_word_finds_nothing() {
        check("colour", None);
        check("accuracy", None);
        check("", None);
        check("x", None);
        assert_eq!(nearest("x", ["y"]), None);
    }

    #[test]
    fn a_stranger_is_answered_with_all_that_is_known() {
        let known = ["seed", "order"];
        assert_eq!(
            suggestion("oder", known).as_deref(),
            Some("did you mean `order`?")
        );
        assert_eq!(
            suggestion("colour", known).as_deref(),
            Some("known here: `seed`, `order`")
        );
        assert_eq!(suggestion("colour", []), None);
    }
}
