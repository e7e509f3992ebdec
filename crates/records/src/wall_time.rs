//! The wall clock, as records write it.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time: microseconds since 1970-01-01T00:00:00 UTC.
///
/// Its text is RFC 3339 in UTC with six decimals, `2026-11-15T22:23:59.000001Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(pub i64);

/// The text is not `YYYY-MM-DDThh:mm:ss.uuuuuuZ`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time like 2026-11-15T22:23:59.000001Z")]
pub struct ParseWallTimeError(String);

const MICROS_PER_DAY: i64 = 86_400_000_000;

impl From<SystemTime> for WallTime {
    fn from(time: SystemTime) -> Self {
        let micros = |d: std::time::Duration| i64::try_from(d.as_micros()).unwrap_or(i64::MAX);
        Self(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => micros(after),
            Err(before) => -micros(before.duration()),
        })
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(MICROS_PER_DAY));
        let micros = self.0.rem_euclid(MICROS_PER_DAY);
        let seconds = micros / 1_000_000;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}Z",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            micros % 1_000_000
        )
    }
}

impl FromStr for WallTime {
    type Err = ParseWallTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParseWallTimeError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<WallTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    // A year beyond 9999 has more digits and one before 0 a sign: the last two
    // hyphens separate month and day whatever stands before them.
    let (rest, day) = date.rsplit_once('-')?;
    let (year, month) = rest.rsplit_once('-')?;
    let (clock, fraction) = time.split_once('.')?;
    let mut clock = clock.split(':');
    let mut field = |limit: i64| number(clock.next()?, 2).filter(|&n| n < limit);
    let (hour, minute, second) = (field(24)?, field(60)?, field(60)?);
    if clock.next().is_some() {
        return None;
    }
    let (month, day) = (number(month, 2)?, number(day, 2)?);
    let year: i64 = year.parse().ok()?;
    // Outside this range the microseconds do not fit 64 bits.
    if !(-290_000..=290_000).contains(&year) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    if civil_from_days(days) != (year, month, day) {
        return None;
    }
    let micros = number(fraction, 6)?;
    let seconds = (hour * 60 + minute) * 60 + second;
    Some(WallTime(
        days * MICROS_PER_DAY + seconds * 1_000_000 + micros,
    ))
}

fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// Days since 1970-01-01 to year, month and day of the proleptic Gregorian
/// calendar, after Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The inverse of [`civil_from_days`], after the same source.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_instants_have_their_known_text() {
        let check = |micros, text: &str| {
            assert_eq!(WallTime(micros).to_string(), text);
            assert_eq!(text.parse(), Ok(WallTime(micros)));
        };
        // `date -u -d @N +%FT%T` of coreutils 9 gives the seconds' text.
        check(0, "1970-01-01T00:00:00.000000Z");
        check(951_782_400_000_001, "2000-02-29T00:00:00.000001Z");
        check(-1, "1969-12-31T23:59:59.999999Z");
        check(4_107_542_399_000_000, "2100-02-28T23:59:59.000000Z");
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in [
            "",
            "2026-11-15",
            "2026-02-29T00:00:00.000000Z",
            "2026-13-01T00:00:00.000000Z",
            "2026-11-15T24:00:00.000000Z",
            "2026-11-15T00:00:00Z",
            "2026-11-15T00:00:00.000000+01:00",
            "99999999999-11-15T00:00:00.000000Z",
        ] {
            assert!(text.parse::<WallTime>().is_err(), "{text} was read");
        }
    }

    proptest! {
        #[test]
        fn text_and_time_are_inverse(micros in -9_000_000_000_000_000_000_i64..9_000_000_000_000_000_000) {
            let time = WallTime(micros);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}
