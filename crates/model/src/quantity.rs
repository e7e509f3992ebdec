//! Times, sizes and rates as people type them: one grammar for every flag and
//! every file.
//!
//! | | Written | Case |
//! |---|---|---|
//! | number | `300`, `1.5`, `1e3`; a point, never a comma | – |
//! | time | a number of seconds, or parts from large to small, each unit once: `90s`, `2m30s`, `1h 30min`, `1.5d`, `250ms`, `40us` | units are lower case |
//! | size | a number of bytes, or one number and a unit: `8GB`, `8gb`, `1.5k` count in thousands, `2GiB`, `2gi` in 1024s; the `B` may be left out | does not matter |
//! | rate | how many per unit of time: `3/min`, `0.5/s`, `120/h` | units are lower case |
//!
//! What could mean two things is refused and the error says how to write it:
//! `2m30` (thirty what?), `1,5h`, `8Gbit`. Nothing is cut to fit: what exceeds
//! 2⁶³ microseconds or bytes is refused, and so is a size with a part of a byte.

use std::time::Duration;

/// Why a text is no quantity: what was expected and, where it is known, how to
/// write what was probably meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}{}", match why { Some(why) => format!(": {why}"), None => format!(" such as {examples}") })]
pub struct QuantityError {
    text: String,
    what: &'static str,
    examples: &'static str,
    why: Option<String>,
}

impl QuantityError {
    /// What is wrong with this text in particular and how to write it, if that is
    /// more than that it is no quantity at all.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

/// What the text of a time looks like, as a regular expression for schemas. It
/// lets through a little that [`duration`] refuses, and refuses nothing that is
/// read.
pub const TIME_PATTERN: &str = r"^\s*(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*(d|days?|h|hours?|m|min|minutes?|s|sec|seconds?|ms|us|µs|μs)?\s*)+$";

/// As [`TIME_PATTERN`], for [`bytes`].
pub const SIZE_PATTERN: &str =
    r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*([kKmMgGtTpP][iI]?)?[bB]?\s*$";

/// Records and TOML hold signed 64-bit numbers.
const LIMIT: u64 = i64::MAX as u64;

/// The units of time with their microseconds, from large to small.
const TIMES: &[(&[&str], u64)] = &[
    (&["d", "day", "days"], 86_400_000_000),
    (&["h", "hour", "hours"], 3_600_000_000),
    (&["m", "min", "minute", "minutes"], 60_000_000),
    (&["s", "sec", "second", "seconds"], 1_000_000),
    (&["ms"], 1_000),
    (&["us", "µs", "μs"], 1),
];

/// The prefixes of a size, by powers of 1000 or 1024.
const PREFIXES: &[&str] = &["", "k", "m", "g", "t", "p"];

const TIME: Expected = Expected {
    what: "a time",
    examples: "90s, 2m30s, 1.5h or 250ms",
};
const SIZE: Expected = Expected {
    what: "a size",
    examples: "8GB, 512MiB or 4096",
};
const RATE: Expected = Expected {
    what: "a rate",
    examples: "3/min, 0.5/s or 120/h",
};
const AMOUNT: Expected = Expected {
    what: "an amount",
    examples: "0.9, 300s or 8GB",
};

/// Reads a length of time to the microsecond; zero is one.
///
/// ```
/// use paceline_model::quantity::duration;
/// use std::time::Duration;
/// assert_eq!(duration("2m30s"), Ok(Duration::from_secs(150)));
/// assert_eq!(duration("300"), duration("5min"));
/// ```
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    let refuse = |why: &str| Err(TIME.error(text, Some(why.to_owned())));
    let mut rest = TIME.begin(text)?;
    let mut micros = 0_u64;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let (number, after) = number(rest).ok_or_else(|| TIME.error(text, None))?;
        let after = after.trim_start();
        let end = after
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let factor = if unit.is_empty() {
            let is_whole_text = next_unit == 0 && after.is_empty();
            if !is_whole_text {
                return refuse(&format!(
                    "{number} has no unit; write {number}s if it is seconds"
                ));
            }
            next_unit = TIMES.len();
            1_000_000
        } else {
            let at = time_unit(unit).map_err(|why| TIME.error(text, why))?;
            if at < next_unit {
                return refuse("units go from large to small, each at most once, as in 1h30m");
            }
            next_unit = at + 1;
            TIMES[at].1
        };
        let part = scaled(number, factor);
        match part.and_then(|part| micros.checked_add(part.whole())) {
            Some(sum) if sum <= LIMIT => micros = sum,
            _ => return refuse("it is longer than 292,000 years"),
        }
        if part == Some(Scaled::BelowOne) {
            return refuse("it has a part shorter than a microsecond");
        }
        rest = after.trim_start();
    }
    Ok(Duration::from_micros(micros))
}

/// As [`duration`], but zero is refused.
pub fn positive_duration(text: &str) -> Result<Duration, QuantityError> {
    duration(text).and_then(|time| {
        let zero = || TIME.error(text, Some("it must be above zero".to_owned()));
        (!time.is_zero()).then_some(time).ok_or_else(zero)
    })
}

/// Reads an amount of memory or data in whole bytes, at least one.
///
/// ```
/// use paceline_model::quantity::bytes;
/// assert_eq!(bytes("8gb"), Ok(8_000_000_000));
/// assert_eq!(bytes("512MiB"), Ok(512 << 20));
/// ```
pub fn bytes(text: &str) -> Result<u64, QuantityError> {
    let refuse = |why: &str| Err(SIZE.error(text, Some(why.to_owned())));
    let rest = SIZE.begin(text)?;
    let (number, unit) = number(rest).ok_or_else(|| SIZE.error(text, None))?;
    let unit = unit.trim().to_ascii_lowercase();
    if unit.ends_with("bit") || unit.ends_with("bits") {
        return refuse("sizes are in bytes, and a byte has 8 bits");
    }
    let factor = size_unit(&unit).ok_or_else(|| SIZE.error(text, None))?;
    match scaled(number, factor) {
        Some(Scaled::Whole(bytes)) if bytes > 0 && bytes <= LIMIT => Ok(bytes),
        // A unit of more than one byte makes whole bytes of a fraction, nearly.
        Some(Scaled::Rounded(bytes)) if factor > 1 && bytes > 0 && bytes <= LIMIT => Ok(bytes),
        Some(Scaled::Whole(0)) => refuse("it must be above zero"),
        Some(Scaled::Rounded(_) | Scaled::BelowOne) => refuse("it is not a whole number of bytes"),
        Some(Scaled::Whole(_)) | None => refuse("it is more than 2^63 bytes"),
    }
}

/// Reads how often something happens, per second; above zero.
///
/// ```
/// use paceline_model::quantity::rate;
/// assert_eq!(rate("30/min"), Ok(0.5));
/// ```
pub fn rate(text: &str) -> Result<f64, QuantityError> {
    let rest = RATE.begin(text)?;
    let (amount, unit) = rest.split_once('/').ok_or_else(|| RATE.error(text, None))?;
    let amount = amount.trim();
    let (digits, after) = number(amount).ok_or_else(|| RATE.error(text, None))?;
    if !after.is_empty() {
        return Err(RATE.error(text, None));
    }
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(RATE.error(text, None));
    }
    let at = time_unit(unit).map_err(|why| RATE.error(text, why))?;
    let per_second =
        digits.parse::<f64>().map_err(|_| RATE.error(text, None))? * (1e6 / TIMES[at].1 as f64);
    if per_second.is_finite() && per_second > 0.0 {
        Ok(per_second)
    } else {
        let why = "it must be finite and above zero".to_owned();
        Err(RATE.error(text, Some(why)))
    }
}

/// What a number counts, where its column's name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Seconds.
    Time,
    /// Bytes.
    Size,
}

impl Dimension {
    /// The dimension of a column: its unit is last in its name.
    #[must_use]
    pub fn of_column(name: &str) -> Option<Self> {
        let unit = name.rsplit('_').next().unwrap_or(name);
        match unit {
            "s" | "time" | "duration" => Some(Self::Time),
            "bytes" => Some(Self::Size),
            _ => None,
        }
    }
}

/// Reads a plain number, a time in seconds or a size in bytes. `of` is what it
/// is compared with: `5m` are minutes of a time, millions of a size, and refused
/// where neither is known.
pub fn amount(text: &str, of: Option<Dimension>) -> Result<f64, QuantityError> {
    let trimmed = text.trim();
    if let Ok(number) = trimmed.parse::<f64>() {
        return if number.is_finite() {
            Ok(number)
        } else {
            Err(AMOUNT.error(text, None))
        };
    }
    let time = || duration(text).map(|time| time.as_secs_f64());
    let size = || bytes(text).map(|bytes| bytes as f64);
    match of {
        Some(Dimension::Time) => time(),
        Some(Dimension::Size) => size(),
        None => match (time(), size()) {
            (Ok(_), Ok(_)) => {
                let digits = trimmed.trim_end_matches('m').trim_end();
                let why = format!("write {digits}min for minutes or {digits}MB for megabytes");
                Err(AMOUNT.error(text, Some(why)))
            }
            (Ok(number), Err(_)) | (Err(_), Ok(number)) => Ok(number),
            (Err(time), Err(size)) => {
                let why = time.why.or(size.why);
                Err(AMOUNT.error(text, why))
            }
        },
    }
}

/// A number of seconds as a length of time above zero, to the microsecond.
#[must_use]
pub fn seconds(number: f64) -> Option<Duration> {
    let micros = (number * 1e6).round();
    (1.0..LIMIT as f64)
        .contains(&micros)
        .then(|| Duration::from_micros(micros as u64))
}

/// The shortest text in one unit that [`duration`] reads as `time`.
#[must_use]
pub fn format_duration(time: Duration) -> String {
    let micros = time.as_micros();
    match micros {
        _ if micros.is_multiple_of(1_000_000) => format!("{}s", micros / 1_000_000),
        _ if micros.is_multiple_of(1_000) => format!("{}ms", micros / 1_000),
        _ => format!("{micros}us"),
    }
}

/// What a text should have been.
#[derive(Clone, Copy)]
struct Expected {
    what: &'static str,
    examples: &'static str,
}

impl Expected {
    fn error(self, text: &str, why: Option<String>) -> QuantityError {
        // A pasted page must not become an error of its length.
        let mut shown: String = text.chars().take(40).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        QuantityError {
            text: shown,
            what: self.what,
            examples: self.examples,
            why,
        }
    }

    /// The text without the space around it, unless what it begins or is
    /// separated with has a remedy of its own.
    fn begin(self, text: &str) -> Result<&str, QuantityError> {
        let trimmed = text.trim();
        let why = if trimmed.is_empty() {
            None
        } else if trimmed.starts_with(['-', '−']) {
            Some("it is negative".to_owned())
        } else if trimmed.contains(',') {
            Some("write a point for decimals and nothing for thousands, as in 1500 or 1.5".into())
        } else {
            return Ok(trimmed);
        };
        Err(self.error(text, why))
    }
}

/// The number at the beginning of `text`, and what follows it.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len())
    };
    let mut end = digits(text);
    if end == 0 {
        return None;
    }
    // No unit begins with `e`, so a digit after one makes it an exponent.
    if let Some(after) = text[end..].strip_prefix(['e', 'E']) {
        let signed = after.strip_prefix(['-', '+']).unwrap_or(after);
        let length = signed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(signed.len());
        if length > 0 {
            end = text.len() - signed.len() + length;
        }
    }
    let (number, rest) = text.split_at(end);
    number
        .parse::<f64>()
        .is_ok_and(f64::is_finite)
        .then_some((number, rest))
}

/// The place of a unit in [`TIMES`], or what to write instead.
fn time_unit(unit: &str) -> Result<usize, Option<String>> {
    let find = |unit: &str| TIMES.iter().position(|(names, _)| names.contains(&unit));
    find(unit).ok_or_else(|| {
        let lower = unit.to_lowercase();
        let known = find(&lower)?;
        let unit = TIMES[known].0.iter().find(|&&name| name == lower)?;
        Some(format!("units of time are lower case: write `{unit}`"))
    })
}

/// The bytes of a unit in lower case.
fn size_unit(unit: &str) -> Option<u64> {
    let prefix = unit.strip_suffix('b').unwrap_or(unit);
    let (prefix, base) = match prefix.strip_suffix('i') {
        Some("") => return None,
        Some(prefix) => (prefix, 1024_u64),
        None => (prefix, 1000),
    };
    let power = PREFIXES.iter().position(|&known| known == prefix)?;
    Some(base.pow(u32::try_from(power).expect("there are six prefixes")))
}

/// A number times its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scaled {
    /// Exactly.
    Whole(u64),
    /// To the nearest whole, which is not zero.
    Rounded(u64),
    /// Above zero, and zero if it were rounded.
    BelowOne,
}

impl Scaled {
    fn whole(self) -> u64 {
        match self {
            Self::Whole(number) | Self::Rounded(number) => number,
            Self::BelowOne => 0,
        }
    }
}

/// `number` times `factor`, unless it exceeds 64 bits. Whole numbers stay exact.
fn scaled(number: &str, factor: u64) -> Option<Scaled> {
    if number.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole: u64 = number.parse().ok()?;
        return whole.checked_mul(factor).map(Scaled::Whole);
    }
    let product = number.parse::<f64>().ok()? * factor as f64;
    let rounded = product.round();
    if rounded >= LIMIT as f64 {
        return None;
    }
    Some(if product > 0.0 && rounded == 0.0 {
        Scaled::BelowOne
    } else if product == rounded {
        Scaled::Whole(rounded as u64)
    } else {
        Scaled::Rounded(rounded as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(text: &str) -> Result<u128, String> {
        duration(text)
            .map(|time| time.as_micros())
            .map_err(|error| error.to_string())
    }

    fn size(text: &str) -> Result<u64, String> {
        bytes(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_time_is_seconds_or_parts_from_large_to_small() {
        for (text, expected) in [
            ("300", 300_000_000),
            ("0", 0),
            (" 90s ", 90_000_000),
            ("90 s", 90_000_000),
            ("2m30s", 150_000_000),
            ("1h30m", 5_400_000_000),
            ("1h 30min", 5_400_000_000),
            ("1.5h", 5_400_000_000),
            ("1.5h30m", 7_200_000_000),
            ("1e3s", 1_000_000_000),
            ("1e-3", 1_000),
            (".5s", 500_000),
            ("250ms", 250_000),
            ("40us", 40),
            ("40µs", 40),
            ("1d2h3m4s5ms6us", 93_784_005_006),
            ("2 hours", 7_200_000_000),
            ("9223372036854775807us", i64::MAX as u128),
        ] {
            assert_eq!(micros(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_time_that_could_mean_two_things_or_nothing_is_refused_with_its_remedy() {
        let such = "a time such as 90s, 2m30s, 1.5h or 250ms";
        for (text, expected) in [
            ("", such),
            ("s", such),
            ("soon", such),
            ("5 parsecs", such),
            ("1..2s", such),
            ("nan", such),
            ("inf", such),
            ("½h", such),
            ("2m30", "30 has no unit; write 30s"),
            ("30 5s", "30 has no unit"),
            ("30s2m", "from large to small"),
            ("1s1s", "each at most once"),
            ("-1s", "it is negative"),
            ("1,5h", "write a point"),
            ("5M", "units of time are lower case: write `m`"),
            ("250MS", "units of time are lower case: write `ms`"),
            ("99999999999d", "longer than 292,000 years"),
            ("18446744073709551616", "longer than"),
            ("1e300", "longer than"),
            ("1e999", such),
            ("0.1us", "shorter than a microsecond"),
        ] {
            let error = micros(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(positive_duration("0s").is_err());
        assert!(positive_duration("1us").is_ok());
    }

    #[test]
    fn a_size_is_decimal_unless_it_says_binary_in_any_case() {
        for (text, expected) in [
            ("4096", 4096),
            ("1B", 1),
            ("8GB", 8_000_000_000),
            ("8gb", 8_000_000_000),
            ("8Gb", 8_000_000_000),
            ("8G", 8_000_000_000),
            ("512 MB", 512_000_000),
            ("512MiB", 512 << 20),
            ("512mib", 512 << 20),
            ("2gi", 2 << 30),
            ("1.5k", 1500),
            ("1.5GiB", 3 << 29),
            ("1e3", 1000),
            ("0.3k", 300),
            ("9223372036854775807", i64::MAX as u64),
        ] {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_size_that_is_none_is_refused_with_its_remedy() {
        let such = "a size such as 8GB, 512MiB or 4096";
        for (text, expected) in [
            ("", such),
            ("GB", such),
            ("much", such),
            ("4 gigs", such),
            ("1XB", such),
            ("8i", such),
            ("1GB500MB", such),
            ("8gb/s", such),
            ("8Gbit", "sizes are in bytes"),
            ("-1GB", "it is negative"),
            ("1,5GB", "write a point"),
            ("0", "above zero"),
            ("0.0GB", "above zero"),
            ("1.5", "whole number of bytes"),
            ("0.0001k", "whole number of bytes"),
            ("99999999TiB", "more than 2^63 bytes"),
            ("9e99", "more than 2^63 bytes"),
            ("9223372036854775808", "more than 2^63 bytes"),
        ] {
            let error = size(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_rate_is_a_number_per_unit_of_time() {
        for (text, expected) in [
            ("3/min", 0.05),
            ("0.5/s", 0.5),
            ("1e2/h", 1.0 / 36.0),
            ("2 / day", 2.0 / 86_400.0),
            ("5/ms", 5000.0),
        ] {
            let read = rate(text).unwrap();
            assert!((read / expected - 1.0).abs() < 1e-15, "{text}: {read}");
        }
        for text in [
            "", "3", "3/", "/s", "3/parsec", "0/s", "-1/s", "inf/s", "nan/s", "3/S", "3x/s",
            "3/2s", "1e308/us",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_amount_takes_its_dimension_from_what_it_is_compared_with() {
        let time = Dimension::of_column("train_s");
        let size = Dimension::of_column("mem_peak_bytes");
        assert_eq!(amount("5m", time), Ok(300.0));
        assert_eq!(amount("5m", size), Ok(5e6));
        assert_eq!(amount("-0.5", None), Ok(-0.5));
        assert_eq!(amount("300s", None), Ok(300.0));
        assert_eq!(amount("8GB", None), Ok(8e9));
        assert_eq!(amount("2m30s", None), Ok(150.0));
        let error = amount("5m", None).unwrap_err().to_string();
        assert!(error.contains("5min") && error.contains("5MB"), "{error}");
        assert!(amount("8GB", time).is_err() && amount("5h", size).is_err());
        assert!(amount("nan", None).is_err() && amount("much", None).is_err());
    }

    #[test]
    fn a_formatted_duration_reads_back() {
        for micros in [1, 999, 1_000, 1_500_000, 90_000_000, 5_400_000_001] {
            let time = Duration::from_micros(micros);
            assert_eq!(duration(&format_duration(time)), Ok(time));
        }
    }

    #[test]
    fn an_error_shows_no_more_than_the_beginning_of_a_long_text() {
        let error = duration(&"x".repeat(1_000_000)).unwrap_err().to_string();
        assert!(error.chars().count() < 120, "{error}");
    }
}
