//! What is exported.

use crate::ExportError;
use paceline_answers::results::StudyResults;
use paceline_records::Run;
use paceline_records::study::StudyDir;
use std::path::{Path, PathBuf};

/// One run, or the runs of a study that have a record.
pub struct Source {
    /// What the user calls it.
    pub title: String,
    /// Where it is.
    pub dir: PathBuf,
    /// The runs, in their order.
    pub runs: Vec<SourceRun>,
    /// The study that they are of, if they are of one.
    pub study: Option<StudyResults>,
}

/// A run by its name. Its record is opened when it is needed: a study may have
/// thousands.
pub struct SourceRun {
    /// Its name among the others.
    pub id: String,
    dir: PathBuf,
}

impl SourceRun {
    /// The record.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(&self) -> Result<Run, ExportError> {
        Ok(Run::open(&self.dir)?)
    }
}

impl Source {
    /// What is in `dir`: a study, or else a run.
    ///
    /// # Errors
    /// If there is neither.
    pub fn open(dir: &Path) -> Result<Self, ExportError> {
        if StudyDir::new(dir).plan().exists() {
            let study = StudyResults::open(dir)?;
            let records = study.state.record_dirs();
            let planned = study.state.plan.runs.iter();
            let runs = planned.zip(records).filter_map(|(run, dir)| {
                // A lease whose attempt was never begun has no record.
                let dir = dir.filter(|dir| dir.is_dir())?;
                let id = run.id.to_string();
                Some(SourceRun { id, dir })
            });
            return Ok(Self {
                title: study.title(),
                dir: dir.to_owned(),
                runs: runs.collect(),
                study: Some(study),
            });
        }
        let run = Run::open(dir)?;
        let start = &run.manifest().start;
        let id = start.id.to_string();
        Ok(Self {
            title: start.name.clone().unwrap_or_else(|| id.clone()),
            dir: dir.to_owned(),
            runs: vec![SourceRun {
                id,
                dir: dir.to_owned(),
            }],
            study: None,
        })
    }
}
