//! Numbers as people read them.
//!
//! Every function gives the same text for the terminal, the charts and the
//! page, so that a figure can be searched for from one in the other. A number
//! that does not exist (NaN) is a dash, never a zero.

/// What stands for a number that does not exist.
pub const ABSENT: &str = "–";

/// `value` with so many significant digits: plain between 1e-4 and 1e7, with an
/// exponent outside.
///
/// ```
/// use paceline_report::number::significant;
/// assert_eq!(significant(64.030983, 4), "64.03");
/// assert_eq!(significant(0.00030416, 3), "0.000304");
/// assert_eq!(significant(2.993076e-14, 3), "2.99e-14");
/// assert_eq!(significant(f64::NAN, 3), "–");
/// ```
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    let digits = digits.clamp(1, 17);
    if let Some(text) = not_finite(value) {
        return text;
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding first keeps 9.9996 at four digits from becoming `10.000`.
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = split_exponent(&scientific);
    if !(-4..7).contains(&exponent) {
        return format!("{mantissa}e{exponent}");
    }
    let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
    format!("{value:.decimals$}")
}

/// A probability of being wrong: four decimals down to 0.001, three digits with
/// an exponent below, and a bound where binary floating point ends.
///
/// ```
/// use paceline_report::number::p_value;
/// assert_eq!(p_value(0.04312), "0.0431");
/// assert_eq!(p_value(2.993076e-14), "2.99e-14");
/// assert_eq!(p_value(0.0), "<1e-300");
/// ```
#[must_use]
pub fn p_value(p: f64) -> String {
    if let Some(text) = not_finite(p) {
        text
    } else if p < 1e-300 {
        "<1e-300".to_owned()
    } else if p < 0.001 {
        significant(p, 3)
    } else {
        format!("{p:.4}")
    }
}

/// A fraction as a percentage with one decimal, two below one percent.
///
/// ```
/// use paceline_report::number::percent;
/// assert_eq!(percent(0.13268775), "13.3%");
/// assert_eq!(percent(0.00412), "0.41%");
/// ```
#[must_use]
pub fn percent(fraction: f64) -> String {
    let hundredths = fraction * 100.0;
    if let Some(text) = not_finite(hundredths) {
        return text;
    }
    if hundredths != 0.0 && hundredths.abs() < 0.995 {
        format!("{hundredths:.2}%")
    } else {
        format!("{hundredths:.1}%")
    }
}

/// A whole number with its thousands set apart: `1,000,000`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A length of time given in seconds, in the two largest units that say something.
///
/// ```
/// use paceline_report::number::duration;
/// assert_eq!(duration(0.0041), "4.1 ms");
/// assert_eq!(duration(92.3), "1 m 32 s");
/// assert_eq!(duration(7500.0), "2 h 5 m");
/// ```
#[must_use]
pub fn duration(seconds: f64) -> String {
    if let Some(text) = not_finite(seconds) {
        return text;
    }
    if seconds < 0.0 {
        return format!("-{}", duration(-seconds));
    }
    // Each limit lies half a digit below the unit, so that 59.97 s is `1 m 0 s`
    // and not `60.0 s`.
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    for (limit, factor, unit) in [
        (0.999_5e-6, 1e9, "ns"),
        (0.999_5e-3, 1e6, "µs"),
        (0.999_5, 1e3, "ms"),
        (59.95, 1.0, "s"),
    ] {
        if seconds < limit {
            return format!("{} {unit}", short(seconds * factor));
        }
    }
    let whole = |divisor: f64, outer: &str, inner: &str, per: f64| {
        let units = (seconds / divisor).round();
        format!("{} {outer} {} {inner}", (units / per).floor(), units % per)
    };
    if seconds < 3599.5 {
        whole(1.0, "m", "s", 60.0)
    } else if seconds < 86_370.0 {
        whole(60.0, "h", "m", 60.0)
    } else {
        whole(3600.0, "d", "h", 24.0)
    }
}

/// An amount of data with its SI prefix: `1.4 GB` is 1.4 × 10⁹ bytes.
#[must_use]
pub fn bytes(amount: f64) -> String {
    prefixed(amount, "B")
}

/// An amount per second with its SI prefix: `34 MB/s`, `4.1 k images/s`.
#[must_use]
pub fn rate(amount: f64, unit: &str) -> String {
    format!("{}/s", prefixed(amount, unit))
}

/// One decimal below ten, none above.
fn short(value: f64) -> String {
    let decimals = if value.abs() < 9.95 { 1 } else { 0 };
    let text = format!("{value:.decimals$}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn prefixed(amount: f64, unit: &str) -> String {
    if let Some(text) = not_finite(amount) {
        return text;
    }
    // A word needs a space after its prefix, a symbol does not.
    let gap = if unit.chars().count() > 1 { " " } else { "" };
    let mut scaled = amount;
    for prefix in ["", "k", "M", "G", "T", "P"] {
        if scaled.abs() < 999.5 || prefix == "P" {
            let gap = if prefix.is_empty() { "" } else { gap };
            return format!("{} {prefix}{gap}{unit}", short(scaled));
        }
        scaled /= 1000.0;
    }
    unreachable!("the last prefix returns")
}

fn not_finite(value: f64) -> Option<String> {
    if value.is_nan() {
        Some(ABSENT.to_owned())
    } else if value.is_infinite() {
        Some(if value > 0.0 { "∞" } else { "-∞" }.to_owned())
    } else {
        None
    }
}

fn split_exponent(scientific: &str) -> (&str, i32) {
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("the format `{:e}` writes an exponent");
    let exponent = exponent
        .parse()
        .expect("the format `{:e}` writes a whole exponent");
    (mantissa, exponent)
}

/// A count with its noun: `1 run`, `12,345 runs`.
#[must_use]
pub fn plural(n: usize, noun: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(n as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_does_not_add_a_digit() {
        assert_eq!(significant(9.99996, 4), "10.00");
        assert_eq!(significant(0.0000999999, 3), "0.000100");
        assert_eq!(significant(9_999_999.0, 3), "1.00e7");
        assert_eq!(significant(-123.456, 2), "-123");
    }

    #[test]
    fn probabilities_keep_their_order_at_every_magnitude() {
        assert_eq!(p_value(1.0), "1.0000");
        assert_eq!(p_value(0.00123), "0.0012");
        assert_eq!(p_value(0.000456), "0.000456");
        assert_eq!(p_value(1e-290), "1.00e-290");
        assert_eq!(p_value(f64::NAN), "–");
    }

    #[test]
    fn durations_never_show_sixty_of_a_unit() {
        assert_eq!(duration(0.0), "0 s");
        assert_eq!(duration(59.97), "1 m 0 s");
        assert_eq!(duration(3599.9), "1 h 0 m");
        assert_eq!(duration(86_399.0), "1 d 0 h");
        assert_eq!(duration(0.9999), "1 s");
        assert_eq!(duration(-0.25), "-250 ms");
        assert_eq!(duration(3.2e-7), "320 ns");
    }

    #[test]
    fn amounts_carry_their_prefix() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(999.7), "1 kB");
        assert_eq!(bytes(1.4e9), "1.4 GB");
        assert_eq!(bytes(2.5e18), "2500 PB");
        assert_eq!(rate(34e6, "B"), "34 MB/s");
        assert_eq!(rate(4120.0, "images"), "4.1 k images/s");
        assert_eq!(rate(12.0, "images"), "12 images/s");
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!(count(7), "7");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
    }
}
