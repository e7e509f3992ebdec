//! Reading the kernel's texts as bytes, without allocation.

/// The lines of a text, without their ends.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

/// The words of a line, separated by blanks or tabs.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&b| b == b' ' || b == b'\t')
        .filter(|word| !word.is_empty())
}

/// The number a word begins with: `1024` of `1024`, of `1024kB`. `None` if it
/// begins with anything else or does not fit.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().take_while(|b| b.is_ascii_digit());
    let mut value = None;
    for digit in digits {
        value = Some(
            value
                .unwrap_or(0u64)
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?,
        );
    }
    value
}

/// The first number of the line that begins with exactly `key`, which a blank
/// or a colon ends: `MemFree:  12 kB`, `pgfault 12`.
pub(crate) fn value_of(text: &[u8], key: &[u8]) -> Option<u64> {
    lines(text).find_map(|line| {
        let rest = line.strip_prefix(key)?;
        match rest.first()? {
            b':' => words(&rest[1..]).next().and_then(number),
            b' ' | b'\t' => words(rest).next().and_then(number),
            _ => None,
        }
    })
}

/// The numbers of a line as an array. Words that are missing make it `None`.
pub(crate) fn numbers<const N: usize>(words: &mut dyn Iterator<Item = &[u8]>) -> Option<[u64; N]> {
    let mut values = [0; N];
    for value in &mut values {
        *value = number(words.next()?)?;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_does_not_fit_is_no_number() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b"-1"), None);
        assert_eq!(number(b""), None);
        assert_eq!(number(b"12kB"), Some(12));
    }

    #[test]
    fn a_key_is_never_mistaken_for_a_longer_one() {
        let text = b"pgfault_extra 1\npgfault 2\nMem:   3 kB\n";
        assert_eq!(value_of(text, b"pgfault"), Some(2));
        assert_eq!(value_of(text, b"Mem"), Some(3));
        assert_eq!(value_of(text, b"pg"), None);
    }
}
