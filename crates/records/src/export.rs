//! A record's tables as CSV.

use crate::disk::{At, WriteRecordError};
use crate::run::{ReadTableError, Run};
use crate::table::{Chunk, CsvWriter, EventRows, PartRows, SampleRows};
use std::fs;
use std::path::{Path, PathBuf};

/// Why a record could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A table of the record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadTableError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteRecordError),
}

/// Writes the samples and parts of every node and the events as CSV into `dir`,
/// which is created if need be, under the names and with the columns of the
/// Parquet files. Each file is whole or absent. Returns the files.
///
/// # Errors
/// If a table cannot be read or a file cannot be written.
pub fn export_csv(run: &Run, dir: &Path) -> Result<Vec<PathBuf>, ExportError> {
    fs::create_dir_all(dir).at(dir)?;
    let started = run.manifest().start.started;
    let mut files = Vec::new();
    for node in run.nodes()? {
        let samples_path = dir.join(format!("{node}.csv"));
        let parts_path = dir.join(format!("{node}.parts.csv"));
        let mut samples = CsvWriter::create(&samples_path, SampleRows::fields())?;
        let mut parts = CsvWriter::create(&parts_path, PartRows::fields())?;
        let mut sample_rows = Chunk::new(&SampleRows::fields());
        let mut part_rows = Chunk::new(&PartRows::fields());
        for sample in run.samples_of(&node)? {
            let sample = sample?;
            SampleRows::push(&mut sample_rows, started, &sample);
            if sample_rows.is_full() {
                samples.write(&mut sample_rows)?;
            }
            for part in &sample.parts {
                PartRows::push(&mut part_rows, started, sample.at, part);
                if part_rows.is_full() {
                    parts.write(&mut part_rows)?;
                }
            }
        }
        samples.write(&mut sample_rows)?;
        parts.write(&mut part_rows)?;
        samples.finish()?;
        parts.finish()?;
        files.extend([samples_path, parts_path]);
    }
    let events_path = dir.join("events.csv");
    let mut events = CsvWriter::create(&events_path, EventRows::fields())?;
    let mut rows = Chunk::new(&EventRows::fields());
    for event in run.events()? {
        EventRows::push(&mut rows, started, &event);
        if rows.is_full() {
            events.write(&mut rows)?;
        }
    }
    events.write(&mut rows)?;
    events.finish()?;
    files.push(events_path);
    Ok(files)
}
