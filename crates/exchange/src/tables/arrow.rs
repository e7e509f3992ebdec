//! Arrow's IPC file format: what Feather is, and pandas, polars and DuckDB read.
//!
//! <https://arrow.apache.org/docs/format/Columnar.html>. Each chunk of rows is one
//! record batch. Written by hand, because a record's tables are flat and have four
//! types, and the crate `arrow-ipc` brings six others.

use super::flatbuffer::{Builder, Place, Slot};
use paceline_files::AtomicFile;
use paceline_records::WriteRecordError;
use paceline_records::table::{Chunk, Column, Field, FieldKind, TableSink};
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 6] = b"ARROW1";
/// `MetadataVersion::V5`.
const VERSION: i16 = 4;
/// `MessageHeader::Schema` and `::RecordBatch`.
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;
/// Marks a message; its length follows.
const CONTINUATION: [u8; 4] = [0xff; 4];

pub(super) struct ArrowWriter {
    path: PathBuf,
    fields: Vec<Field>,
    file: BufWriter<AtomicFile>,
    written: i64,
    /// Where each batch is: offset, length of its metadata, length of its body.
    batches: Vec<[i64; 3]>,
}

impl ArrowWriter {
    pub(super) fn create(path: &Path, fields: Vec<Field>) -> Result<Self, WriteRecordError> {
        let mut writer = Self {
            path: path.to_owned(),
            file: BufWriter::new(AtomicFile::create(path)?),
            written: 0,
            batches: Vec::new(),
            fields,
        };
        let begun = writer.begin();
        begun.map_err(|source| WriteRecordError::io(path, source))?;
        Ok(writer)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.put(MAGIC)?;
        self.put(&[0; 2])?;
        let mut builder = Builder::default();
        let schema = schema(&mut builder, &self.fields);
        self.message(message(builder, SCHEMA, schema, 0))?;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += length(bytes.len());
        self.file.write_all(bytes)
    }

    /// Writes metadata with its length before it; gives the length of both.
    fn message(&mut self, metadata: Vec<u8>) -> io::Result<i64> {
        self.put(&CONTINUATION)?;
        let size = i32::try_from(metadata.len()).map_err(io::Error::other)?;
        self.put(&size.to_le_bytes())?;
        self.put(&metadata)?;
        Ok(8 + i64::from(size))
    }

    fn batch(&mut self, chunk: &Chunk) -> io::Result<()> {
        let mut body = Body::default();
        for (field, column) in self.fields.iter().zip(chunk.columns()) {
            body.column(field, column)?;
        }
        let mut builder = Builder::default();
        let nodes = builder.structs(&body.nodes);
        let buffers = builder.structs(&body.buffers);
        let batch = builder.table(&[
            Slot::Long(length(chunk.rows())),
            Slot::To(nodes),
            Slot::To(buffers),
        ]);
        let size = length(body.bytes.len());
        let offset = self.written;
        let metadata = self.message(message(builder, RECORD_BATCH, batch, size))?;
        self.put(&body.bytes)?;
        self.batches.push([offset, metadata, size]);
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.put(&CONTINUATION)?;
        self.put(&[0; 4])?;
        let mut builder = Builder::default();
        let schema = schema(&mut builder, &self.fields);
        let dictionaries = builder.structs::<3>(&[]);
        // The metadata's length is an `i32` followed by four bytes of padding, which
        // is what a small `i64` looks like.
        let batches = builder.structs(&self.batches);
        let footer = builder.table(&[
            Slot::Short(VERSION),
            Slot::To(schema),
            Slot::To(dictionaries),
            Slot::To(batches),
        ]);
        let footer = builder.finish(footer);
        self.put(&footer)?;
        let size = i32::try_from(footer.len()).map_err(io::Error::other)?;
        self.put(&size.to_le_bytes())?;
        self.put(MAGIC)
    }
}

impl TableSink for ArrowWriter {
    fn write(&mut self, chunk: &mut Chunk) -> Result<(), WriteRecordError> {
        if chunk.rows() > 0 {
            self.batch(chunk)
                .map_err(|source| WriteRecordError::io(&self.path, source))?;
            chunk.clear();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteRecordError> {
        let ended = self.end();
        ended.map_err(|source| WriteRecordError::io(&self.path, source))?;
        let file = self.file.into_inner();
        let file = file.map_err(IntoInnerError::into_error);
        let file = file.map_err(|source| WriteRecordError::io(&self.path, source))?;
        Ok(file.commit()?)
    }
}

/// The bytes of a batch, and what its metadata says of them.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// Rows and missing values, by column.
    nodes: Vec<[i64; 2]>,
    /// Offset and length, two or three by column.
    buffers: Vec<[i64; 2]>,
}

impl Body {
    fn column(&mut self, field: &Field, column: &Column) -> io::Result<()> {
        match column {
            Column::Integers(cells) => {
                self.validity(field, cells);
                let values = cells.iter().map(|cell| cell.unwrap_or(0).to_le_bytes());
                self.buffer(values.flatten());
            }
            Column::Numbers(cells) => {
                self.validity(field, cells);
                let values = cells.iter().map(|cell| cell.unwrap_or(0.0).to_le_bytes());
                self.buffer(values.flatten());
            }
            Column::Texts(cells) => {
                self.validity(field, cells);
                let mut ends = vec![0_i32];
                let mut end = 0_i32;
                for text in cells {
                    let size = text.as_ref().map_or(0, String::len);
                    let size = i32::try_from(size).ok();
                    end = size
                        .and_then(|size| end.checked_add(size))
                        .ok_or_else(|| io::Error::other("more than 2 GB of text in one batch"))?;
                    ends.push(end);
                }
                self.buffer(ends.iter().flat_map(|end| end.to_le_bytes()));
                self.buffer(cells.iter().flatten().flat_map(|text| text.bytes()));
            }
        }
        Ok(())
    }

    /// One bit per row, the lowest first; nothing if no value is missing.
    fn validity<T>(&mut self, field: &Field, cells: &[Option<T>]) {
        let missing = cells.iter().filter(|cell| cell.is_none()).count();
        debug_assert!(missing == 0 || !field.is_required());
        self.nodes.push([length(cells.len()), length(missing)]);
        let bits = cells.chunks(8).map(|eight| {
            let set = eight.iter().enumerate().filter(|(_, cell)| cell.is_some());
            set.fold(0_u8, |bits, (place, _)| bits | 1 << place)
        });
        let none = missing == 0;
        self.buffer(bits.take(if none { 0 } else { usize::MAX }));
    }

    fn buffer(&mut self, bytes: impl Iterator<Item = u8>) {
        let begin = self.bytes.len();
        self.bytes.extend(bytes);
        let size = self.bytes.len() - begin;
        self.buffers.push([length(begin), length(size)]);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

fn length(n: usize) -> i64 {
    i64::try_from(n).expect("memory is below 2^63 bytes")
}

fn message(mut builder: Builder, kind: u8, header: Place, body: i64) -> Vec<u8> {
    let message = builder.table(&[
        Slot::Short(VERSION),
        Slot::Byte(kind),
        Slot::To(header),
        Slot::Long(body),
    ]);
    builder.finish(message)
}

fn schema(builder: &mut Builder, fields: &[Field]) -> Place {
    let fields: Vec<Place> = fields.iter().map(|one| field(builder, one)).collect();
    let fields = builder.places(&fields);
    // Little-endian is the default.
    builder.table(&[Slot::Default, Slot::To(fields)])
}

fn field(builder: &mut Builder, field: &Field) -> Place {
    /// Members of the union `Type`.
    const INT: u8 = 2;
    const FLOATING_POINT: u8 = 3;
    const UTF8: u8 = 5;
    const TIMESTAMP: u8 = 10;
    /// `Precision::DOUBLE` and `TimeUnit::MICROSECOND`.
    const DOUBLE: i16 = 2;
    const MICROSECOND: i16 = 2;
    let name = builder.text(field.name());
    let (kind, of) = match field.kind() {
        FieldKind::Time => {
            let zone = builder.text("UTC");
            let slots = [Slot::Short(MICROSECOND), Slot::To(zone)];
            (TIMESTAMP, builder.table(&slots))
        }
        FieldKind::Integer => (INT, builder.table(&[Slot::Int(64), Slot::Byte(1)])),
        FieldKind::Natural => (INT, builder.table(&[Slot::Int(64), Slot::Byte(0)])),
        FieldKind::Number => (FLOATING_POINT, builder.table(&[Slot::Short(DOUBLE)])),
        FieldKind::Text => (UTF8, builder.table(&[])),
    };
    let children = builder.places(&[]);
    builder.table(&[
        Slot::To(name),
        Slot::Byte(u8::from(!field.is_required())),
        Slot::Byte(kind),
        Slot::To(of),
        Slot::Default,
        Slot::To(children),
    ])
}
