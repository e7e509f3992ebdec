//! Rates and times, as people type and read them.

use crate::failure::Failure;
use crate::quantity;
use anyhow::anyhow;
use paceline_advise::queue::Rate;
use paceline_report::number::{duration, significant};

const RATE_HINT: &str = "write how many per time: 3/min, 0.5/s or 120/h";
const TIME_HINT: &str = "write a time above zero: 12s, 2m30s or 250ms";

/// Reads `3/min`, `0.5/s`, `120/h`; `option` is where it was typed.
pub(super) fn rate(option: &str, text: &str) -> Result<Rate, Failure> {
    let per_second = quantity::rate(text)
        .map_err(|error| Failure::user(anyhow!("{option}: {error}")).hint(RATE_HINT))?;
    Rate::new(per_second)
        .map_err(|error| Failure::user(anyhow!("{option}: {error}")).hint(RATE_HINT))
}

/// Reads a mean time above zero, as the rate of what takes it.
pub(super) fn every(option: &str, text: &str) -> Result<Rate, Failure> {
    let seconds = time(option, text)?;
    let refused = |_| {
        Failure::user(anyhow!("{option}: `{text}` must be finite and above zero")).hint(TIME_HINT)
    };
    Rate::every(seconds).map_err(refused)
}

/// Reads a time in seconds; zero is one.
pub(super) fn time(option: &str, text: &str) -> Result<f64, Failure> {
    let time = quantity::duration(text)
        .map_err(|why| Failure::user(anyhow!("{option}: {why}")).hint(TIME_HINT))?;
    Ok(time.as_secs_f64())
}

/// A time with four digits, and in larger units where seconds say little.
pub(super) fn seconds(time: f64) -> String {
    let text = format!("{} s", plain(time));
    if time < 99.95 {
        text
    } else {
        format!("{text} ({})", duration(time))
    }
}

/// `3.1 jobs a minute`: per the shortest time in which there is at least one.
pub(super) fn jobs(rate: f64) -> String {
    per_time(rate, "job")
}

/// As [`jobs`], of anything.
pub(super) fn per_time(rate: f64, noun: &str) -> String {
    let (amount, unit) = match rate {
        per if per >= 0.9995 => (per, "a second"),
        per if per * 60.0 >= 0.9995 => (per * 60.0, "a minute"),
        per if per * 3600.0 >= 0.9995 => (per * 3600.0, "an hour"),
        per => (per * 86_400.0, "a day"),
    };
    let amount = plain(amount);
    let plural = if amount == "1" { "" } else { "s" };
    format!("{amount} {noun}{plural} {unit}")
}

/// Four digits without idle zeros.
pub(super) fn plain(value: f64) -> String {
    let text = significant(value, 4);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_per_any_unit_and_refused_unless_finite_and_above_zero() {
        for (text, per_second) in [("3/min", 0.05), ("0.5/s", 0.5), ("1e2/h", 1.0 / 36.0)] {
            let read = rate("--arrivals", text).unwrap().per_time();
            assert!((read - per_second).abs() < 1e-15, "{text}");
        }
        for text in [
            "", "3", "3/", "/s", "3/parsec", "0/s", "-1/s", "inf/s", "nan/s",
        ] {
            assert!(rate("--arrivals", text).is_err(), "{text}");
        }
        assert!(every("--every", "0s").is_err());
    }

    #[test]
    fn rates_and_times_are_told_in_a_unit_that_fits() {
        assert_eq!(jobs(0.0515), "3.09 jobs a minute");
        assert_eq!(jobs(1.0), "1 job a second");
        assert_eq!(jobs(1.0 / 7200.0), "12 jobs a day");
        assert_eq!(seconds(0.507_46), "0.5075 s");
        assert_eq!(seconds(150.0), "150 s (2 m 30 s)");
    }
}
