//! Tables in Parquet files, through the `parquet` crate's own column writers.

use super::{Chunk, Column, Field, FieldKind, TableSink};
use crate::disk::{At, WriteRecordError, sync_dir};
use crate::json::FileJson;
use crate::run::ReadTableError;
use ::parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use ::parquet::column::reader::ColumnReader;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{Type, TypePtr};
use paceline_files::AtomicFile;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes one table: chunk after chunk, each a row group.
pub(crate) struct TableWriter {
    path: PathBuf,
    fields: Vec<Field>,
    writer: SerializedFileWriter<Summed<BufWriter<AtomicFile>>>,
}

/// A table that is made to be passed on, as one file with its name.
pub struct ParquetWriter(TableWriter);

impl ParquetWriter {
    /// Begins the table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path, fields: Vec<Field>) -> Result<Self, WriteRecordError> {
        TableWriter::create_shared(path, fields).map(Self)
    }
}

impl TableSink for ParquetWriter {
    fn write(&mut self, chunk: &mut Chunk) -> Result<(), WriteRecordError> {
        self.0.write(chunk)
    }

    fn finish(self: Box<Self>) -> Result<(), WriteRecordError> {
        let path = self.0.path.clone();
        let mut written = self.0.finish()?;
        written.sync()?;
        written.commit()?;
        sync_dir(path.parent().expect("a table is in a directory"))
    }
}

/// A table that is complete and synced but does not have its name yet.
pub(crate) struct WrittenTable {
    file: AtomicFile,
    sum: FileJson,
}

impl TableWriter {
    /// Begins a table of a record, for its owner alone.
    pub(crate) fn create(path: &Path, fields: Vec<Field>) -> Result<Self, WriteRecordError> {
        Self::new(AtomicFile::create_private(path)?, path, fields)
    }

    /// Begins a table that is made to be passed on.
    pub(crate) fn create_shared(path: &Path, fields: Vec<Field>) -> Result<Self, WriteRecordError> {
        Self::new(AtomicFile::create(path)?, path, fields)
    }

    fn new(file: AtomicFile, path: &Path, fields: Vec<Field>) -> Result<Self, WriteRecordError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            // Statistics per page double the footer and help only readers that
            // skip pages; a row group here is a few pages.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_created_by(format!("paceline {}", env!("CARGO_PKG_VERSION")))
            .build();
        let sink = Summed::new(BufWriter::new(file));
        let writer = SerializedFileWriter::new(sink, schema(&fields), Arc::new(properties))
            .map_err(|error| encode_error(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            fields,
            writer,
        })
    }

    /// Writes the chunk's rows, if it has any, and clears it.
    pub(crate) fn write(&mut self, chunk: &mut Chunk) -> Result<(), WriteRecordError> {
        if chunk.rows() > 0 {
            self.write_row_group(chunk)
                .map_err(|error| encode_error(&self.path, error))?;
            chunk.clear();
        }
        Ok(())
    }

    fn write_row_group(&mut self, chunk: &Chunk) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (field, column) in self.fields.iter().zip(&chunk.columns) {
            let mut writer = group
                .next_column()?
                .expect("the schema has a column per field");
            match column {
                Column::Integers(values) => {
                    write_column::<Int64Type, _>(&mut writer, field, values, |&value| value)?;
                }
                Column::Numbers(values) => {
                    write_column::<DoubleType, _>(&mut writer, field, values, |&value| value)?;
                }
                Column::Texts(values) => {
                    write_column::<ByteArrayType, _>(
                        &mut writer,
                        field,
                        values,
                        |text: &String| ByteArray::from(text.as_str()),
                    )?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the table; its content has reached the kernel, not yet the disk.
    pub(crate) fn finish(self) -> Result<WrittenTable, WriteRecordError> {
        let Self { path, writer, .. } = self;
        let sink = writer
            .into_inner()
            .map_err(|error| encode_error(&path, error))?;
        let (buffered, sum) = sink.finish();
        let file = buffered
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .at(&path)?;
        Ok(WrittenTable { file, sum })
    }
}

impl WrittenTable {
    /// Waits until the content has reached the disk.
    pub(crate) fn sync(&mut self) -> Result<(), WriteRecordError> {
        Ok(self.file.sync()?)
    }

    /// Gives the table its name. The caller syncs the directory.
    pub(crate) fn commit(self) -> Result<FileJson, WriteRecordError> {
        self.file.commit_with_directory_unsynced()?;
        Ok(self.sum)
    }
}

fn write_column<T: DataType, V>(
    writer: &mut SerializedColumnWriter<'_>,
    field: &Field,
    cells: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let values: Vec<T::T> = cells.iter().flatten().map(convert).collect();
    let levels: Option<Vec<i16>> =
        (!field.required).then(|| cells.iter().map(|cell| i16::from(cell.is_some())).collect());
    writer
        .typed::<T>()
        .write_batch(&values, levels.as_deref(), None)?;
    Ok(())
}

fn schema(fields: &[Field]) -> TypePtr {
    let columns = fields
        .iter()
        .map(|field| {
            let (physical, logical) = types(field.kind);
            let repetition = if field.required {
                Repetition::REQUIRED
            } else {
                Repetition::OPTIONAL
            };
            Type::primitive_type_builder(&field.name, physical)
                .with_logical_type(logical)
                .with_repetition(repetition)
                .build()
                .map(Arc::new)
                .expect("every kind of field has a valid pair of types")
        })
        .collect();
    Type::group_type_builder("paceline")
        .with_fields(columns)
        .build()
        .map(Arc::new)
        .expect("a flat group of valid columns is valid")
}

fn types(kind: FieldKind) -> (PhysicalType, Option<LogicalType>) {
    match kind {
        FieldKind::Time => (
            PhysicalType::INT64,
            Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
        ),
        FieldKind::Integer => (PhysicalType::INT64, None),
        FieldKind::Natural => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
        FieldKind::Number => (PhysicalType::DOUBLE, None),
        FieldKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    }
}

/// The encoder passes errors of the file through; they keep their meaning.
fn encode_error(path: &Path, error: ParquetError) -> WriteRecordError {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => WriteRecordError::io(path, *error),
            Err(inner) => WriteRecordError::Encode {
                path: path.to_owned(),
                source: ParquetError::External(inner),
            },
        },
        source => WriteRecordError::Encode {
            path: path.to_owned(),
            source,
        },
    }
}

/// Reads one table, a row group at a time.
pub(crate) struct TableReader {
    path: PathBuf,
    fields: Vec<Field>,
    /// Where each field is in the file; a measure that an older version did not
    /// have is nowhere.
    positions: Vec<Option<usize>>,
    reader: SerializedFileReader<File>,
    next_group: usize,
}

impl TableReader {
    /// Opens a table after checking that it is the one that `expected` describes.
    pub(crate) fn open(
        path: &Path,
        fields: Vec<Field>,
        expected: &FileJson,
    ) -> Result<Self, ReadTableError> {
        let read_error = |source| ReadTableError::Io {
            path: path.to_owned(),
            source,
        };
        let file = paceline_files::open_regular(path, u64::MAX)
            .map_err(|error| read_error(error.into_io()))?;
        let found = sum_of(&file).map_err(read_error)?;
        if found != *expected {
            return Err(ReadTableError::altered(path, expected, &found));
        }
        let reader = SerializedFileReader::new(file).map_err(|source| ReadTableError::Parquet {
            path: path.to_owned(),
            source,
        })?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let mut positions = Vec::with_capacity(fields.len());
        for field in &fields {
            let position = schema.columns().iter().position(|c| c.name() == field.name);
            let fits = match position {
                Some(i) => {
                    let column = schema.column(i);
                    column.physical_type() == types(field.kind).0
                        && column.max_rep_level() == 0
                        && column.max_def_level() <= 1
                }
                None => !field.required,
            };
            if !fits {
                return Err(ReadTableError::Column {
                    path: path.to_owned(),
                    column: field.name.to_string(),
                });
            }
            positions.push(position);
        }
        Ok(Self {
            path: path.to_owned(),
            fields,
            positions,
            reader,
            next_group: 0,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next rows; nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>, ReadTableError> {
        if self.next_group == self.reader.num_row_groups() {
            return Ok(None);
        }
        let chunk = self
            .read_row_group()
            .map_err(|source| ReadTableError::Parquet {
                path: self.path.clone(),
                source,
            })?;
        self.next_group += 1;
        Ok(Some(chunk))
    }

    fn read_row_group(&self) -> Result<Chunk, ParquetError> {
        let group = self.reader.get_row_group(self.next_group)?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))?;
        let mut chunk = Chunk::new(&self.fields);
        chunk.rows = rows;
        for (column, position) in chunk.columns.iter_mut().zip(&self.positions) {
            let Some(position) = *position else {
                match column {
                    Column::Integers(cells) => cells.resize(rows, None),
                    Column::Numbers(cells) => cells.resize(rows, None),
                    Column::Texts(cells) => cells.resize(rows, None),
                }
                continue;
            };
            match (column, group.get_column_reader(position)?) {
                (Column::Integers(cells), ColumnReader::Int64ColumnReader(reader)) => {
                    *cells = read_column(reader, rows, Ok)?;
                }
                (Column::Numbers(cells), ColumnReader::DoubleColumnReader(reader)) => {
                    *cells = read_column(reader, rows, Ok)?;
                }
                (Column::Texts(cells), ColumnReader::ByteArrayColumnReader(reader)) => {
                    *cells = read_column(reader, rows, |bytes: ByteArray| {
                        bytes.as_utf8().map(str::to_owned)
                    })?;
                }
                _ => unreachable!("the physical types were compared when the file was opened"),
            }
        }
        Ok(chunk)
    }
}

fn read_column<T: DataType, V>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    convert: impl Fn(T::T) -> Result<V, ParquetError>,
) -> Result<Vec<Option<V>>, ParquetError> {
    let mut values = Vec::new();
    let mut levels = Vec::new();
    let mut read = 0;
    while read < rows {
        let (records, _, _) =
            reader.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF(format!("{read} of {rows} rows")));
        }
        read += records;
    }
    let mut values = values.into_iter().map(convert);
    // A required column has no levels: every row has a value.
    if levels.is_empty() {
        return values.map(|value| value.map(Some)).collect();
    }
    levels
        .into_iter()
        .map(|level| match level {
            0 => Ok(None),
            _ => values
                .next()
                .ok_or_else(|| ParquetError::EOF("fewer values than levels".to_owned()))?
                .map(Some),
        })
        .collect()
}

/// Counts and sums what passes through.
struct Summed<W> {
    inner: W,
    hasher: crc32fast::Hasher,
    bytes: u64,
}

impl<W> Summed<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            hasher: crc32fast::Hasher::new(),
            bytes: 0,
        }
    }

    fn finish(self) -> (W, FileJson) {
        let sum = FileJson {
            bytes: self.bytes,
            crc32: format!("{:08x}", self.hasher.finalize()),
        };
        (self.inner, sum)
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.hasher.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The size and checksum of what follows in a file.
pub(crate) fn sum_of(file: &File) -> io::Result<FileJson> {
    let mut sink = Summed::new(io::sink());
    let mut source = BufReader::with_capacity(64 << 10, file);
    io::copy(&mut source.by_ref(), &mut sink)?;
    Ok(sink.finish().1)
}
