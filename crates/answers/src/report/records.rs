//! Reading the records of many runs.

use paceline_diagnose::{Straggler, WorkerCourses, find_straggler};
use paceline_model::{Event, NodeName, Sample};
use paceline_numeric::Threads;
use paceline_records::{Manifest, ReadTableError, Run};
use std::path::PathBuf;

/// What a record holds, in memory.
pub struct Recorded {
    /// Who ran what, where, and how it ended.
    pub manifest: Manifest,
    /// What happened and was measured, or why that cannot be read.
    pub content: Result<Content, ReadTableError>,
}

/// What happened in a run and was measured.
pub struct Content {
    /// The events, in their order.
    pub events: Vec<Event>,
    /// Each node's samples.
    pub samples: Vec<(NodeName, Vec<Sample>)>,
    /// The straggler among its workers, if the test names one.
    pub straggler: Option<Straggler>,
}

/// What the workers of a run did.
///
/// # Errors
/// If the table of iterations cannot be read.
pub fn courses(run: &Run) -> Result<WorkerCourses, ReadTableError> {
    let mut courses = WorkerCourses::default();
    run.each_iteration(|worker, row| courses.add(worker, &row))?;
    Ok(courses)
}

/// Reads one record.
#[must_use]
pub fn read(run: &Run) -> Recorded {
    let content = || {
        Ok(Content {
            events: run.events()?,
            samples: run.samples()?,
            straggler: find_straggler(&courses(run)?),
        })
    };
    Recorded {
        manifest: run.manifest().clone(),
        content: content(),
    }
}

/// Reads many records with as many threads as there are CPUs, and keeps of each
/// what `keep` makes of it, in their order: whole records would not fit into
/// memory together. A place is nothing where a run has no record.
pub fn read_all<M: Sync, T: Send>(
    places: &[Option<(PathBuf, M)>],
    keep: impl Fn(Recorded, &M) -> T + Sync,
) -> Vec<Option<Result<T, paceline_records::OpenRunError>>> {
    Threads::available().map(places.len(), |at| {
        let (dir, mark) = places[at].as_ref()?;
        Some(Run::open(dir).map(|run| keep(read(&run), mark)))
    })
}
