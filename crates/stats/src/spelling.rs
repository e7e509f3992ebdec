//! Nearest names for mistyped ones.

/// The candidate closest to `name`, if it is close enough to be a typing error:
/// at most a third of its letters differ, case aside.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    candidates
        .into_iter()
        .map(|candidate| {
            let letters: Vec<char> = candidate.to_lowercase().chars().collect();
            (distance(&wanted, &letters), letters.len(), candidate)
        })
        .filter(|&(distance, length, _)| distance * 3 <= length.max(wanted.len()))
        .min_by_key(|&(distance, ..)| distance)
        .map(|(.., candidate)| candidate)
}

/// Levenshtein's edit distance, with a swap of neighbours counted as one edit.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for (j, cell) in table[..width].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        table[i * width] = i;
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (table[(i - 1) * width + j] + 1)
                .min(table[i * width + j - 1] + 1)
                .min(table[(i - 1) * width + j - 1] + differs);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[(i - 2) * width + j - 2] + 1);
            }
            table[i * width + j] = best;
        }
    }
    table[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_or_a_lost_letter_is_found_and_a_stranger_is_not() {
        let names = ["learning_rate", "batch_size", "nodes"];
        assert_eq!(nearest("learnign_rate", names), Some("learning_rate"));
        assert_eq!(nearest("batchsize", names), Some("batch_size"));
        assert_eq!(nearest("Nodes", names), Some("nodes"));
        assert_eq!(nearest("accuracy", names), None);
    }
}
