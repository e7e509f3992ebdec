//! Units: how numbers of a column are said.

use super::wording::short;

/// The unit of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// None is known.
    #[default]
    Unknown,
    /// A symbol after the number, such as `s`.
    Symbol(String),
    /// A share between zero and one, said in percent.
    Share,
    /// Bytes, said with a prefix.
    Bytes,
}

/// What the last part of a name says.
const SUFFIXES: [(&str, &str); 33] = [
    ("_per_s", "/s"),
    ("_per_second", "/s"),
    ("_s", "s"),
    ("_sec", "s"),
    ("_secs", "s"),
    ("_seconds", "s"),
    ("_ms", "ms"),
    ("_us", "µs"),
    ("_ns", "ns"),
    ("_minutes", "min"),
    ("_hours", "h"),
    ("_kb", "kB"),
    ("_mb", "MB"),
    ("_gb", "GB"),
    ("_tb", "TB"),
    ("_kib", "KiB"),
    ("_mib", "MiB"),
    ("_gib", "GiB"),
    ("_mbps", "Mbit/s"),
    ("_gbps", "Gbit/s"),
    ("_hz", "Hz"),
    ("_mhz", "MHz"),
    ("_ghz", "GHz"),
    ("_w", "W"),
    ("_watts", "W"),
    ("_j", "J"),
    ("_joules", "J"),
    ("_wh", "Wh"),
    ("_kwh", "kWh"),
    ("_usd", "USD"),
    ("_eur", "EUR"),
    ("_percent", "%"),
    ("_pct", "%"),
];

/// Names whose values are shares, if they lie between zero and one.
const SHARES: [&str; 9] = [
    "accuracy",
    "acc",
    "precision",
    "recall",
    "f1",
    "auc",
    "share",
    "error_rate",
    "hit_rate",
];

impl Unit {
    /// The unit that somebody wrote: `s`, `bytes`, `share`, `%` and so on.
    pub fn written(text: &str) -> Unit {
        match text.trim() {
            "" => Unit::Unknown,
            "bytes" | "B" => Unit::Bytes,
            "share" | "fraction" => Unit::Share,
            symbol => Unit::Symbol(symbol.to_owned()),
        }
    }

    /// The unit that a column's name says, given the column's range.
    pub fn of_name(name: &str, (low, high): (f64, f64)) -> Unit {
        let name = name.to_ascii_lowercase();
        if name == "bytes" || name.ends_with("_bytes") {
            return Unit::Bytes;
        }
        let last = |known: &&str| name == *known || name.ends_with(&format!("_{known}"));
        if SHARES.iter().any(last) && low >= 0.0 && high <= 1.0 {
            return Unit::Share;
        }
        match SUFFIXES.iter().find(|(suffix, _)| name.ends_with(suffix)) {
            Some((_, symbol)) => Unit::Symbol((*symbol).to_owned()),
            None => Unit::Unknown,
        }
    }

    /// A value: `0.236 s`, `93.4%`, `1.5 GB`.
    pub fn value(&self, value: f64) -> String {
        match self {
            Unit::Unknown => short(value),
            Unit::Symbol(symbol) => joined(&short(value), symbol),
            Unit::Share => format!("{}%", short(100.0 * value)),
            Unit::Bytes => bytes(value),
        }
    }

    /// A value that somebody set, with all its digits where they are few.
    pub(super) fn setting(&self, value: f64) -> String {
        const LONGEST: usize = 10;
        let exact = value.to_string();
        match self {
            Unit::Unknown if exact.len() <= LONGEST => exact,
            Unit::Symbol(symbol) if exact.len() <= LONGEST => joined(&exact, symbol),
            _ => self.value(value),
        }
    }

    /// A difference of two values: shares differ by percentage points.
    pub fn difference(&self, value: f64) -> String {
        match self {
            Unit::Share => format!("{} percentage points", short(100.0 * value)),
            _ => self.value(value),
        }
    }

    /// An interval of differences.
    pub(super) fn differences(&self, low: f64, high: f64) -> String {
        match self {
            Unit::Share => format!("{} to {}", short(100.0 * low), self.difference(high)),
            _ => self.values(low, high),
        }
    }

    /// An interval of values: the unit stands once where both ends have the same.
    pub(super) fn values(&self, low: f64, high: f64) -> String {
        match self {
            Unit::Unknown | Unit::Symbol(_) => format!("{} to {}", short(low), self.value(high)),
            Unit::Share | Unit::Bytes => format!("{} to {}", self.value(low), self.value(high)),
        }
    }

    /// What an axis or a heading writes in brackets.
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Unit::Unknown => None,
            Unit::Symbol(symbol) => Some(symbol),
            Unit::Share => Some("share"),
            Unit::Bytes => Some("bytes"),
        }
    }
}

fn joined(number: &str, symbol: &str) -> String {
    match symbol.starts_with(['%', '/', '°']) {
        true => format!("{number}{symbol}"),
        false => format!("{number} {symbol}"),
    }
}

fn bytes(value: f64) -> String {
    let mut scaled = value;
    for prefix in ["B", "kB", "MB", "GB", "TB"] {
        // Half a unit of the last digit below the next prefix, so that 999.96
        // becomes 1 and not 1000.
        if scaled.abs() < 999.5 {
            return format!("{} {prefix}", short(scaled));
        }
        scaled /= 1000.0;
    }
    format!("{} PB", short(scaled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: f64, expected: &str) {
        let unit = Unit::of_name(name, (value.min(0.0), value));
        assert_eq!(unit.value(value), expected, "{name}");
    }

    #[test]
    fn names_say_their_units() {
        check("duration_s", 0.2361, "0.236 s");
        check("accuracy", 0.9341, "93.4%");
        // An accuracy above one is in percent already, or in something else.
        check("accuracy", 93.41, "93.4");
        check("test_accuracy", 0.5, "50%");
        check("learning_rate", 0.01, "0.01");
        check("mem_peak_bytes", 1.5e9, "1.5 GB");
        check("images_per_s", 412.0, "412/s");
        check("workers", 4.0, "4");
        check("loss", 0.31, "0.31");
    }

    #[test]
    fn shares_differ_by_percentage_points() {
        assert_eq!(Unit::Share.difference(0.0213), "2.13 percentage points");
        assert_eq!(
            Unit::Share.differences(0.01, 0.03),
            "1 to 3 percentage points"
        );
        assert_eq!(Unit::written("s").values(1.0, 2.0), "1 to 2 s");
    }
}
