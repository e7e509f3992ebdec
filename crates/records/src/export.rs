//! A record's tables as CSV.

use crate::disk::{At, WriteRecordError};
use crate::run::{ReadTableError, Run};
use crate::table::{Chunk, CsvWriter, EventRows, IterationRows, PartRows, SampleRows};
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

/// Writes the samples and parts of every node, the events and, if there are any,
/// the iterations of workers as CSV into `dir`,
/// which is created if need be, under the names and with the columns of the
/// Parquet files. Each file is whole or absent. Returns the files.
///
/// # Errors
/// If a table cannot be read or a file cannot be written.
pub fn export_csv(run: &Run, dir: &Path) -> Result<Vec<PathBuf>, ExportError> {
    paceline_files::create_directory(dir).at(dir)?;
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
    files.extend(export_iterations(run, dir)?);
    Ok(files)
}

fn export_iterations(run: &Run, dir: &Path) -> Result<Option<PathBuf>, ExportError> {
    let path = dir.join("iterations.csv");
    let started = run.manifest().start.started;
    let mut rows = Chunk::new(&IterationRows::fields());
    let mut table: Option<CsvWriter> = None;
    let mut written = Ok(());
    run.each_iteration(|worker, iteration| {
        if written.is_err() {
            return;
        }
        IterationRows::push(&mut rows, started, worker, &iteration);
        if rows.is_full() {
            written = append(&mut table, &path, &mut rows);
        }
    })?;
    written?;
    if rows.rows() > 0 {
        append(&mut table, &path, &mut rows)?;
    }
    match table {
        Some(table) => table.finish().map(|()| Some(path)).map_err(Into::into),
        None => Ok(None),
    }
}

/// Writes rows to a table that begins with its first rows.
fn append(
    table: &mut Option<CsvWriter>,
    path: &Path,
    rows: &mut Chunk,
) -> Result<(), WriteRecordError> {
    let table = match table {
        Some(table) => table,
        None => table.insert(CsvWriter::create(path, IterationRows::fields())?),
    };
    table.write(rows)
}
