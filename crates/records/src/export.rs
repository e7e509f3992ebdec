//! A record's tables for other tools.

use crate::disk::{At, WriteRecordError};
use crate::run::{ReadTableError, Run};
use crate::table::{
    Chunk, CsvWriter, EventRows, Field, IterationRows, PartRows, SampleRows, TableSink,
};
use paceline_model::NodeName;
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

/// One table of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableName {
    /// One row per sample of a node.
    Samples(NodeName),
    /// One row per core, disk, interface and process, and sample of a node.
    Parts(NodeName),
    /// One row per event.
    Events,
    /// One row per iteration of a training's worker.
    Iterations,
}

/// Passes the samples and parts of every node, the events and, if there are any,
/// the iterations of workers to the sinks that `open` makes, with the columns of
/// the Parquet files and a bounded number of rows at a time.
///
/// # Errors
/// If a table cannot be read or a sink refuses.
pub fn write_tables(
    run: &Run,
    open: &mut dyn FnMut(TableName, Vec<Field>) -> Result<Box<dyn TableSink>, WriteRecordError>,
) -> Result<(), ExportError> {
    let started = run.manifest().start.started;
    for node in run.nodes()? {
        let mut samples = open(TableName::Samples(node.clone()), SampleRows::fields())?;
        let mut parts = open(TableName::Parts(node.clone()), PartRows::fields())?;
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
    }
    let mut events = open(TableName::Events, EventRows::fields())?;
    let mut rows = Chunk::new(&EventRows::fields());
    for event in run.events()? {
        EventRows::push(&mut rows, started, &event);
        if rows.is_full() {
            events.write(&mut rows)?;
        }
    }
    events.write(&mut rows)?;
    events.finish()?;
    write_iterations(run, open)
}

/// The table begins with its first rows: most runs have none.
fn write_iterations(
    run: &Run,
    open: &mut dyn FnMut(TableName, Vec<Field>) -> Result<Box<dyn TableSink>, WriteRecordError>,
) -> Result<(), ExportError> {
    let started = run.manifest().start.started;
    let mut rows = Chunk::new(&IterationRows::fields());
    let mut table: Option<Box<dyn TableSink>> = None;
    let mut written = Ok(());
    let mut append = |rows: &mut Chunk, table: &mut Option<Box<dyn TableSink>>| {
        let table = match table {
            Some(table) => table,
            None => table.insert(open(TableName::Iterations, IterationRows::fields())?),
        };
        table.write(rows)
    };
    run.each_iteration(|worker, iteration| {
        if written.is_err() {
            return;
        }
        IterationRows::push(&mut rows, started, worker, &iteration);
        if rows.is_full() {
            written = append(&mut rows, &mut table);
        }
    })?;
    written?;
    if rows.rows() > 0 {
        append(&mut rows, &mut table)?;
    }
    table.map_or(Ok(()), |table| Ok(table.finish()?))
}

/// Writes the tables of a run as CSV into `dir`, which is created if need be, under
/// the names of the Parquet files. Each file is whole or absent. Returns the files.
///
/// # Errors
/// If a table cannot be read or a file cannot be written.
pub fn export_csv(run: &Run, dir: &Path) -> Result<Vec<PathBuf>, ExportError> {
    paceline_files::create_directory(dir).at(dir)?;
    let mut files = Vec::new();
    write_tables(run, &mut |table, fields| {
        let path = dir.join(table.file("csv"));
        files.push(path.clone());
        Ok(Box::new(CsvWriter::create(&path, fields)?))
    })?;
    Ok(files)
}

impl TableName {
    /// What a table of one run is called in a directory of its own.
    #[must_use]
    pub fn file(&self, ending: &str) -> String {
        match self {
            Self::Samples(node) => format!("{node}.{ending}"),
            Self::Parts(node) => format!("{node}.parts.{ending}"),
            Self::Events => format!("events.{ending}"),
            Self::Iterations => format!("iterations.{ending}"),
        }
    }
}
