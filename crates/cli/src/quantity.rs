//! CPUs and variables as people type them; times, sizes and rates are [`model`](paceline_model::quantity)'s.

pub(crate) use paceline_model::quantity::{amount, bytes, duration, positive_duration, rate};
use paceline_probe::cgroup::CpuSet;

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
    fn a_number_of_cpus_is_a_count_and_a_range_is_a_set() {
        assert_eq!(cpus("2"), Ok(Cpus::Count(2)));
        assert_eq!(
            cpus("0-1"),
            Ok(Cpus::Exactly(CpuSet::parse("0,1").unwrap()))
        );
        assert!(cpus("0").is_err() && cpus("x").is_err());
    }
}
