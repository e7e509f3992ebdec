//! What a caller needs of an error beside its text.

/// Whose fault an error is, and so what a caller does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// What was asked for cannot be.
    User,
    /// The machine, the disk or another program refused.
    World,
    /// A record is unreadable or from a newer version.
    Record,
}

/// An error that says whose it is and what to do about it.
pub trait Explained: std::error::Error {
    /// Whose it is.
    fn fault(&self) -> Fault {
        Fault::User
    }

    /// What to do about it, where that is not obvious.
    fn hint(&self) -> Option<String> {
        None
    }
}

impl Explained for paceline_records::OpenRunError {
    fn fault(&self) -> Fault {
        match self {
            Self::Absent { .. } | Self::NotARun { .. } => Fault::User,
            Self::Io { .. } => Fault::World,
            Self::TooNew { .. }
            | Self::Json { .. }
            | Self::Checksum { .. }
            | Self::Field { .. }
            | Self::Table(_) => Fault::Record,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Absent { .. } => "`paceline ls` lists the runs in ./runs",
            Self::NotARun { .. } => {
                "name the directory that holds manifest.json, or start.json while it runs"
            }
            Self::TooNew { .. } => "open it with the newer version of Paceline that wrote it",
            Self::Io { .. }
            | Self::Json { .. }
            | Self::Checksum { .. }
            | Self::Field { .. }
            | Self::Table(_) => return None,
        };
        Some(hint.to_owned())
    }
}

impl Explained for paceline_records::ReadTableError {
    fn fault(&self) -> Fault {
        Fault::Record
    }
}

impl Explained for paceline_records::series::ReadSeriesError {
    fn fault(&self) -> Fault {
        Fault::Record
    }
}

impl Explained for paceline_records::study::ReadPlanError {
    fn fault(&self) -> Fault {
        Fault::Record
    }
}

impl Explained for paceline_records::journal::ReadJournalError {
    fn fault(&self) -> Fault {
        match self {
            Self::Io { .. } => Fault::World,
            Self::Damaged { .. } | Self::Entry { .. } => Fault::Record,
        }
    }
}

impl Explained for paceline_runner::study::PlanStudyError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Plan(refusal) => Some(refusal.hint().to_string()),
            Self::Request(_) => None,
        }
    }
}
