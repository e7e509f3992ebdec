//! Tables of runs, in the formats that other tools read.

mod arrow;
mod flatbuffer;
mod json_lines;

use crate::{ExportError, Progress, Source};
use arrow::ArrowWriter;
use json_lines::JsonLinesWriter;
use paceline_records::table::{Chunk, CsvWriter, Field, ParquetWriter, TableSink};
use paceline_records::{TableName, WriteRecordError, write_tables as tables_of};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// RFC 4180.
    Csv,
    /// One JSON object per row and line. JSON has no NaN and no infinity: such
    /// numbers are null.
    JsonLines,
    /// Parquet with Snappy.
    Parquet,
    /// Arrow's IPC file, which Feather is another name of.
    Arrow,
}

impl TableFormat {
    /// What file names end with.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    fn create(
        self,
        path: &Path,
        fields: Vec<Field>,
    ) -> Result<Box<dyn TableSink>, WriteRecordError> {
        Ok(match self {
            Self::Csv => Box::new(CsvWriter::create(path, fields)?),
            Self::JsonLines => Box::new(JsonLinesWriter::create(path, fields)?),
            Self::Parquet => Box::new(ParquetWriter::create(path, fields)?),
            Self::Arrow => Box::new(ArrowWriter::create(path, fields)?),
        })
    }
}

/// Writes the tables of `source` into `dir`, which is created if need be, and
/// returns the files. One run has a table of samples and one of parts per node;
/// a study has `runs`, `samples`, `parts`, `events` and `iterations`, whose rows
/// begin with the run, and samples and parts with the node too.
///
/// # Errors
/// If a record cannot be read or a file cannot be written.
pub fn write_tables(
    source: &Source,
    format: TableFormat,
    dir: &Path,
    progress: &mut Progress<'_>,
) -> Result<Vec<PathBuf>, ExportError> {
    paceline_files::create_directory(dir).map_err(|source| ExportError::Directory {
        path: dir.to_owned(),
        source,
    })?;
    let mut files = Vec::new();
    let Some(study) = &source.study else {
        for run in &source.runs {
            progress(0, 1, &run.id);
            tables_of(&run.open()?, &mut |table, fields| {
                let path = dir.join(table.file(format.ending()));
                files.push(path.clone());
                format.create(&path, fields)
            })?;
        }
        return Ok(files);
    };
    let runs = dir.join(format!("runs.{}", format.ending()));
    let rows = &study.rows;
    rows.write(format.create(&runs, rows.fields())?)?;
    files.push(runs);
    let mut shared = Shared {
        dir,
        format,
        tables: Vec::new(),
    };
    for (done, run) in source.runs.iter().enumerate() {
        progress(done, source.runs.len(), &run.id);
        tables_of(&run.open()?, &mut |table, fields| {
            shared.labelled(&run.id, &table, fields)
        })?;
    }
    for (path, table) in shared.tables {
        let table = table.borrow_mut().take();
        table.expect("each table is finished once").finish()?;
        files.push(path);
    }
    Ok(files)
}

/// The tables that all runs of a study write to.
struct Shared<'a> {
    dir: &'a Path,
    format: TableFormat,
    tables: Vec<(PathBuf, SharedTable)>,
}

type SharedTable = Rc<RefCell<Option<Box<dyn TableSink>>>>;

impl Shared<'_> {
    fn labelled(
        &mut self,
        run: &str,
        table: &TableName,
        fields: Vec<Field>,
    ) -> Result<Box<dyn TableSink>, WriteRecordError> {
        let (name, node) = match table {
            TableName::Samples(node) => ("samples", Some(node)),
            TableName::Parts(node) => ("parts", Some(node)),
            TableName::Events => ("events", None),
            TableName::Iterations => ("iterations", None),
        };
        let path = self.dir.join(format!("{name}.{}", self.format.ending()));
        let known = self.tables.iter().find(|(known, _)| *known == path);
        let table = match known {
            Some((_, table)) => Rc::clone(table),
            None => {
                let labels = [
                    Some(Field::label("run")),
                    node.map(|_| Field::label("node")),
                ];
                let fields = labels.into_iter().flatten().chain(fields).collect();
                let opened = self.format.create(&path, fields)?;
                let table = Rc::new(RefCell::new(Some(opened)));
                self.tables.push((path, Rc::clone(&table)));
                table
            }
        };
        let mut labels = vec![run.to_owned()];
        labels.extend(node.map(ToString::to_string));
        Ok(Box::new(Labelled { table, labels }))
    }
}

/// One run's way into a table of all runs.
struct Labelled {
    table: SharedTable,
    labels: Vec<String>,
}

impl TableSink for Labelled {
    fn write(&mut self, chunk: &mut Chunk) -> Result<(), WriteRecordError> {
        match self.table.borrow_mut().as_mut() {
            Some(table) => table.write(&mut chunk.labelled(&self.labels)),
            None => unreachable!("tables are finished after the last run"),
        }
    }

    /// Other runs follow.
    fn finish(self: Box<Self>) -> Result<(), WriteRecordError> {
        Ok(())
    }
}
