//! Numbers as people read them.

/// Three significant digits, without an exponent where that is short.
pub(super) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    if (-4.0..6.0).contains(&magnitude) {
        let decimals = (2.0 - magnitude).max(0.0) as usize;
        let text = format!("{value:.decimals$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    } else {
        format!("{value:.2e}")
    }
}

/// `p = 0.012`, or `p < 0.001` where more would feign precision.
pub(super) fn p_value(p: f64) -> String {
    match p < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {p:.3}"),
    }
}

/// A percentage as a word in a sentence.
pub(super) fn percent(value: f64) -> String {
    match value.abs() < 9.95 {
        true => format!("{value:.1}%"),
        false => format!("{value:.0}%"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Names in code quotes.
pub(super) fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Vec<String> {
    names
        .into_iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect()
}

/// A fragment as a sentence.
pub(super) fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(0.028_61), "0.0286");
        assert_eq!(short(1234.6), "1235");
        assert_eq!(short(2.0), "2");
        assert_eq!(short(1.5e-9), "1.50e-9");
        assert_eq!(p_value(2e-14), "p < 0.001");
        assert_eq!(p_value(0.0123), "p = 0.012");
        assert_eq!(percent(13.27), "13%");
        assert_eq!(percent(0.168), "0.2%");
    }

    #[test]
    fn lists_read_as_sentences() {
        let names = |n: usize| quoted(["a", "b", "c"].iter().take(n));
        assert_eq!(list(&names(1)), "`a`");
        assert_eq!(list(&names(3)), "`a`, `b` and `c`");
    }
}
