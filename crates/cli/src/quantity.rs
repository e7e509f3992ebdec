//! Times, sizes and CPUs as people type them.

use paceline_probe::cgroup::CpuSet;
use std::time::Duration;

/// Reads `300s`, `1.5h`, `2m30s`, `250ms`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let unusable = || format!("`{text}` is not a time such as 90s, 2m30s, 1.5h or 250ms");
    let mut seconds = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(unusable());
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let amount: f64 = rest[..end].parse().map_err(|_| unusable())?;
        rest = &rest[end..];
        let end = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        seconds += amount
            * match rest[..end].trim() {
                "ms" => 1e-3,
                "s" | "" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                "d" => 86400.0,
                _ => return Err(unusable()),
            };
        rest = &rest[end..];
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| unusable())
}

/// Reads `8GB` (10⁹), `512MiB` (2²⁰), `4096`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let unusable = || format!("`{text}` is not a size such as 8GB, 512MiB or 4096");
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let amount: f64 = text[..end].parse().map_err(|_| unusable())?;
    let unit = text[end..].trim().to_ascii_lowercase();
    let prefix = unit.strip_suffix('b').unwrap_or(&unit);
    let (letter, base) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, 1024_f64),
        None => (prefix, 1000_f64),
    };
    let power = match letter {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(unusable()),
    };
    let bytes = amount * base.powi(power);
    if !(1.0..9e18).contains(&bytes) {
        Err(unusable())
    } else {
        Ok(bytes as u64)
    }
}

/// CPUs as the user asked for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cpus {
    /// This many, whichever.
    Count(usize),
    /// Exactly these.
    Exactly(CpuSet),
}

/// Reads `2` as two CPUs and `0-3`, `0,2` or `1-1` as exactly those.
pub(crate) fn cpus(text: &str) -> Result<Cpus, String> {
    match text.trim().parse::<usize>() {
        Ok(0) => Err("a command needs at least one cpu".to_owned()),
        Ok(count) => Ok(Cpus::Count(count)),
        Err(_) => CpuSet::parse(text)
            .map(Cpus::Exactly)
            .map_err(|error| error.to_string()),
    }
}

/// Reads `NAME=VALUE`.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        for (text, seconds) in [
            ("300", 300.0),
            ("300s", 300.0),
            ("2m30s", 150.0),
            ("1.5h", 5400.0),
            ("250ms", 0.25),
        ] {
            assert_eq!(
                duration(text),
                Ok(Duration::from_secs_f64(seconds)),
                "{text}"
            );
        }
        for text in ["", "s", "-1s", "1x", "1e999", "nan", "1..2s", "5 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_decimal_unless_they_say_binary() {
        for (text, size) in [
            ("4096", 4096),
            ("8GB", 8_000_000_000),
            ("512MiB", 512 << 20),
            ("1.5k", 1500),
            ("2gi", 2 << 30),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "GB", "-1", "0", "1XB", "9e99", "99999999999TB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_of_cpus_is_a_count_and_a_range_is_a_set() {
        assert_eq!(cpus("2"), Ok(Cpus::Count(2)));
        assert_eq!(
            cpus("0-1"),
            Ok(Cpus::Exactly(CpuSet::parse("0,1").unwrap()))
        );
        assert!(cpus("0").is_err() && cpus("x").is_err());
    }
}
