//! What a run may use at most.

use std::fmt;

/// Limits of a run. The default limits nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// The cores it may run on.
    pub cpu_set: Option<CpuSet>,
    /// How many cores' worth of time it may use per second, such as 1.5.
    pub cpu_quota: Option<f64>,
    /// How many bytes of memory it may occupy, file cache included. It may not
    /// swap instead, where the kernel can forbid that.
    pub memory_bytes: Option<u64>,
}

/// One of the limits, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::cpu_set`].
    CpuSet,
    /// [`Limits::cpu_quota`].
    CpuQuota,
    /// [`Limits::memory_bytes`].
    Memory,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CpuSet => "CPU set",
            Self::CpuQuota => "CPU quota",
            Self::Memory => "memory limit",
        })
    }
}

/// A set of cores, such as `0-3,6`: never empty, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSet(Vec<u32>);

/// Why a text names no set of cores.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// A part is neither a number nor a range.
    #[error("`{0}` is not a core or a range of cores such as 0-3")]
    Part(String),
    /// A range runs backwards.
    #[error("the range `{0}` runs backwards")]
    Backwards(String),
    /// A number above any machine's.
    #[error("core {0} is beyond the {most} cores that Linux supports", most = CpuSet::MOST)]
    TooLarge(u32),
    /// No core at all.
    #[error("a CPU set needs at least one core")]
    Empty,
}

impl CpuSet {
    /// Above the largest `CONFIG_NR_CPUS` of any architecture.
    const MOST: u32 = 8192;

    /// Reads a list as the kernel writes it.
    ///
    /// # Errors
    /// If `text` is empty, or a part of it is no core or range.
    pub fn parse(text: &str) -> Result<Self, CpuSetError> {
        let mut cores = Vec::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let core = |word: &str| {
                word.trim()
                    .parse::<u32>()
                    .map_err(|_| CpuSetError::Part(part.to_owned()))
            };
            let (first, last) = (core(first)?, core(last)?);
            if first > last {
                return Err(CpuSetError::Backwards(part.to_owned()));
            }
            if last >= Self::MOST {
                return Err(CpuSetError::TooLarge(last));
            }
            cores.extend(first..=last);
        }
        cores.sort_unstable();
        cores.dedup();
        if cores.is_empty() {
            return Err(CpuSetError::Empty);
        }
        Ok(Self(cores))
    }

    /// The cores, ascending.
    #[must_use]
    pub fn cores(&self) -> &[u32] {
        &self.0
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, chunk) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match chunk {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [core] => write!(f, "{comma}{core}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_back_as_it_is_written() {
        for (text, written) in [
            ("0-3,6", "0-3,6"),
            ("3,2,1", "1-3"),
            ("5\n", "5"),
            ("1,1", "1"),
        ] {
            assert_eq!(CpuSet::parse(text).unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_is_no_set_is_refused_by_its_part() {
        assert_eq!(CpuSet::parse(""), Err(CpuSetError::Empty));
        assert_eq!(CpuSet::parse("a"), Err(CpuSetError::Part("a".into())));
        assert_eq!(
            CpuSet::parse("0,3-1"),
            Err(CpuSetError::Backwards("3-1".into()))
        );
        assert_eq!(
            CpuSet::parse("0-4294967295"),
            Err(CpuSetError::TooLarge(u32::MAX))
        );
    }
}
