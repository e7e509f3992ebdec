//! What Paceline notices about a run that its user should know.

use std::fmt;

/// Something the user should know about a run. The words are its `Display`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunNotice {
    /// Lines were too long to be searched for metrics.
    LongLines {
        /// How many.
        count: u64,
        /// The longest line that is searched, in bytes.
        longest: usize,
    },
    /// The job reported more names than metrics can have.
    TooManyMetrics {
        /// Values that were left out.
        left_out: u64,
        /// How many names are kept.
        most: usize,
    },
    /// A pattern for a metric matched no line.
    PatternUnmatched {
        /// The metric.
        name: String,
    },
    /// The file of reports could not be read to its end.
    ReportsUnreadable {
        /// What the system said.
        error: String,
    },
    /// An event file of TensorBoard's is not what its checksums say.
    EventFileDamaged {
        /// The file.
        file: String,
        /// Where what was not read begins.
        offset: u64,
    },
    /// An event file of TensorBoard's could not be read.
    EventFileUnreadable {
        /// The file.
        file: String,
        /// What the system said.
        error: String,
    },
    /// The job wrote more event files than are followed.
    TooManyEventFiles {
        /// Files that were not read.
        left_out: u64,
        /// How many are followed.
        most: usize,
    },
    /// Processes outlived the command.
    LeftoverProcesses {
        /// How many.
        count: u32,
        /// Numbers and names of the first of them, as far as they are known.
        named: Vec<String>,
    },
    /// The kernel ended processes of the run because it had no memory left.
    OutOfMemory {
        /// What the run was limited to, if it was.
        limit_bytes: Option<u64>,
    },
    /// The run had ended when its recorder was killed.
    ClosedFromLog,
    /// The command was stopped while it ran.
    Suspended {
        /// How often.
        times: u32,
    },
    /// The machine could not be sampled.
    NotSampled,
    /// Several runs were executed at the same time.
    SideBySide {
        /// Up to how many.
        runs: u32,
    },
    /// Paceline itself did not run for a while: it was stopped, or frozen.
    StoodStill {
        /// For how long, in milliseconds.
        millis: u64,
    },
    /// The machine was suspended while the run lasted.
    MachineSlept {
        /// For how long, in milliseconds.
        millis: u64,
    },
    /// The run was ended before its end, because what it had reported told enough.
    StoppedEarly {
        /// What told.
        why: String,
    },
    /// A crash left an incomplete entry at the end of a log.
    CutLog {
        /// The file.
        file: String,
        /// Bytes that were left out.
        bytes: u64,
        /// Where they begin.
        offset: u64,
    },
    /// A log has lost its end: it is shorter than its checksums say.
    ShortLog {
        /// The file.
        file: String,
        /// Bytes that are missing.
        bytes: u64,
        /// Where the file ends.
        offset: u64,
    },
    /// A log holds what was not written into it.
    AlteredLog {
        /// The file.
        file: String,
        /// From the first to the last piece whose checksum is another, in bytes.
        bytes: u64,
        /// Where the first of them begins.
        offset: u64,
    },
    /// A log goes on where its checksums have ended or are damaged.
    UnverifiedLog {
        /// The file.
        file: String,
        /// Bytes without a checksum.
        bytes: u64,
        /// Where they begin.
        offset: u64,
    },
}

impl RunNotice {
    /// The kind of notice, a word that programs can rely on.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::LongLines { .. } => "long_lines",
            Self::TooManyMetrics { .. } => "too_many_metrics",
            Self::PatternUnmatched { .. } => "pattern_unmatched",
            Self::ReportsUnreadable { .. } => "reports_unreadable",
            Self::EventFileDamaged { .. } => "event_file_damaged",
            Self::EventFileUnreadable { .. } => "event_file_unreadable",
            Self::TooManyEventFiles { .. } => "too_many_event_files",
            Self::LeftoverProcesses { .. } => "leftover_processes",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::ClosedFromLog => "closed_from_log",
            Self::Suspended { .. } => "suspended",
            Self::NotSampled => "not_sampled",
            Self::SideBySide { .. } => "side_by_side",
            Self::StoodStill { .. } => "stood_still",
            Self::MachineSlept { .. } => "machine_slept",
            Self::StoppedEarly { .. } => "stopped_early",
            Self::CutLog { .. } => "cut_log",
            Self::ShortLog { .. } => "short_log",
            Self::AlteredLog { .. } => "altered_log",
            Self::UnverifiedLog { .. } => "unverified_log",
        }
    }

    /// What to do about it, or what it means for the numbers.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::TooManyMetrics { .. } => Some("report few names and many steps"),
            Self::EventFileDamaged { .. } => Some("metrics behind that place are missing"),
            Self::TooManyEventFiles { .. } => Some("write from fewer processes or folders"),
            Self::LeftoverProcesses { .. } => {
                Some("what they do after the command's exit is not in this record")
            }
            Self::Suspended { .. } => Some("its duration includes the time it was stopped"),
            Self::NotSampled => Some("`paceline doctor` says what is missing"),
            Self::SideBySide { .. } => {
                Some("they share memory, disks and caches: timings interfere")
            }
            Self::OutOfMemory { .. } => {
                Some("the kernel ended it; allow more with --memory, or use less")
            }
            Self::StoodStill { .. } | Self::MachineSlept { .. } => {
                Some("run it again: what was measured is not the command's alone")
            }
            Self::StoppedEarly { .. } => Some("its results are not those of a whole run"),
            Self::PatternUnmatched { .. } => {
                Some("compare it with the lines in the record's log directory")
            }
            Self::AlteredLog { .. } | Self::UnverifiedLog { .. } => {
                Some("the disk may be failing: do not rely on what stands there")
            }
            Self::LongLines { .. }
            | Self::ShortLog { .. }
            | Self::ReportsUnreadable { .. }
            | Self::EventFileUnreadable { .. }
            | Self::ClosedFromLog
            | Self::CutLog { .. } => None,
        }
    }
}

impl fmt::Display for RunNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongLines { count, longest } => write!(
                f,
                "{count} lines longer than {longest} bytes were not searched for metrics"
            ),
            Self::TooManyMetrics { left_out, most } => write!(
                f,
                "{left_out} values beyond the first {most} metric names were left out"
            ),
            Self::PatternUnmatched { name } => {
                write!(
                    f,
                    "the pattern of metric {name} matched no line of the output"
                )
            }
            Self::ReportsUnreadable { error } => write!(
                f,
                "the file of reports could not be read to its end: {error}"
            ),
            Self::EventFileDamaged { file, offset } => write!(
                f,
                "the event file {file} is damaged at byte {offset} and was read up to there"
            ),
            Self::EventFileUnreadable { file, error } => {
                write!(f, "the event file {file} could not be read: {error}")
            }
            Self::TooManyEventFiles { left_out, most } => write!(
                f,
                "{left_out} event files beyond the first {most} were not read"
            ),
            Self::LeftoverProcesses { count, named } => {
                write!(f, "{count} processes outlived the command")?;
                if named.is_empty() {
                    return Ok(());
                }
                write!(f, ": {}", named.join(", "))?;
                match (*count as usize).saturating_sub(named.len()) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::OutOfMemory { limit_bytes: None } => {
                f.write_str("out of memory: the limit of the control group")
            }
            Self::OutOfMemory {
                limit_bytes: Some(limit),
            } => {
                let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
                match units.iter().find(|(unit, _)| limit >= unit) {
                    Some((unit, name)) => write!(f, "out of memory: limit {} {name}", limit / unit),
                    None => write!(f, "out of memory: limit {limit} B"),
                }
            }
            Self::ClosedFromLog => f.write_str(
                "the run had ended, and Paceline was ended before it could close the record",
            ),
            Self::Suspended { times: 1 } => {
                f.write_str("the command was stopped once while it ran")
            }
            Self::Suspended { times } => {
                write!(f, "the command was stopped {times} times while it ran")
            }
            Self::NotSampled => f.write_str("the machine could not be sampled"),
            Self::SideBySide { runs } => {
                write!(f, "up to {runs} runs were executed side by side")
            }
            Self::StoodStill { millis } => write!(
                f,
                "Paceline stood still for {:.1} s: times are too long by up to that, and samples \
                 are missing",
                *millis as f64 / 1e3
            ),
            Self::MachineSlept { millis } => write!(
                f,
                "the machine was suspended for {:.1} s: timings are less certain",
                *millis as f64 / 1e3
            ),
            Self::StoppedEarly { why } => f.write_str(why),
            Self::CutLog {
                file,
                bytes,
                offset,
            } => write!(
                f,
                "the last {bytes} bytes of {file}, from byte {offset}, are an incomplete entry and \
                 were left out"
            ),
            Self::ShortLog {
                file,
                bytes,
                offset,
            } => write!(
                f,
                "{file} ends at byte {offset}, and {bytes} more bytes had been recorded"
            ),
            Self::AlteredLog {
                file,
                bytes,
                offset,
            } => write!(
                f,
                "{bytes} bytes of {file}, from byte {offset}, are not what was recorded"
            ),
            Self::UnverifiedLog {
                file,
                bytes,
                offset,
            } => write!(
                f,
                "{bytes} bytes of {file}, from byte {offset}, have no checksum and could not be \
                 verified"
            ),
        }
    }
}
