//! Lengths of time and amounts of memory as people type them.

use std::time::Duration;

const TIME_UNITS: &[(&str, u64)] = &[
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("min", 60_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Reads `90s`, `1h30m`, `1.5min`, `250ms`. Zero is not a length of time.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut micros = 0_u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let end = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        micros = micros.checked_add(scaled(number, unit, TIME_UNITS)?)?;
        rest = after.trim_start();
    }
    (micros > 0).then(|| Duration::from_micros(micros))
}

/// A number of seconds as a length of time, to the microsecond.
pub(crate) fn seconds(number: f64) -> Option<Duration> {
    let micros = (number * 1e6).round();
    // 2^63 microseconds; beyond it the conversion would saturate silently.
    (1.0..9.2e18)
        .contains(&micros)
        .then(|| Duration::from_micros(micros as u64))
}

/// The shortest text that [`parse_duration`] reads as `duration`.
pub(crate) fn format_duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        _ if micros.is_multiple_of(1_000_000) => format!("{}s", micros / 1_000_000),
        _ if micros.is_multiple_of(1_000) => format!("{}ms", micros / 1_000),
        _ => format!("{micros}us"),
    }
}

/// Reads `4GiB`, `512 MB`, `1.5GB`, `1024` (bytes). Zero is not an amount.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim())?;
    let unit = unit.trim();
    let bytes = scaled(number, if unit.is_empty() { "B" } else { unit }, SIZE_UNITS)?;
    (bytes > 0).then_some(bytes)
}

fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `number` times its unit. Whole numbers stay exact.
fn scaled(number: &str, unit: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    // The record and TOML hold signed 64-bit numbers.
    let limit = i64::MAX as u64;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*factor).filter(|&n| n <= limit);
    }
    let product = (number.parse::<f64>().ok()? * *factor as f64).round();
    (product < limit as f64).then_some(product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_add_their_parts() {
        let read = |text| parse_duration(text).map(|d| d.as_micros());
        assert_eq!(read("90s"), Some(90_000_000));
        assert_eq!(read("1h30m"), Some(5_400_000_000));
        assert_eq!(read("1.5min"), Some(90_000_000));
        assert_eq!(read("250ms"), Some(250_000));
        for wrong in [
            "",
            "5",
            "s",
            "5 parsecs",
            "-5s",
            "0s",
            "1..5s",
            "1e3s",
            "99999999999d",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_formatted_duration_reads_back() {
        for micros in [1, 999, 1_000, 1_500_000, 90_000_000, 5_400_000_001] {
            let duration = Duration::from_micros(micros);
            assert_eq!(parse_duration(&format_duration(duration)), Some(duration));
        }
    }

    #[test]
    fn sizes_tell_powers_of_two_from_powers_of_ten() {
        assert_eq!(parse_size("4GiB"), Some(4 << 30));
        assert_eq!(parse_size("512 MB"), Some(512_000_000));
        assert_eq!(parse_size("1024"), Some(1024));
        for wrong in ["", "GiB", "4 gigs", "-1GB", "0", "99999999TiB"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }
}
