//! One JSON object per row and line.

use paceline_files::AtomicFile;
use paceline_records::table::{Chunk, Column, Field, FieldKind, TableSink};
use paceline_records::{WallTime, WriteRecordError};
use serde_json::{Map, Value};
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

pub(super) struct JsonLinesWriter {
    path: PathBuf,
    fields: Vec<Field>,
    file: BufWriter<AtomicFile>,
}

impl JsonLinesWriter {
    pub(super) fn create(path: &Path, fields: Vec<Field>) -> Result<Self, WriteRecordError> {
        Ok(Self {
            path: path.to_owned(),
            fields,
            file: BufWriter::new(AtomicFile::create(path)?),
        })
    }
}

impl TableSink for JsonLinesWriter {
    fn write(&mut self, chunk: &mut Chunk) -> Result<(), WriteRecordError> {
        for row in 0..chunk.rows() {
            let cells = self.fields.iter().zip(chunk.columns());
            let object: Map<String, Value> = cells
                .map(|(field, column)| (field.name().to_owned(), cell(field.kind(), column, row)))
                .collect();
            writeln!(self.file, "{}", Value::Object(object))
                .map_err(|source| WriteRecordError::io(&self.path, source))?;
        }
        chunk.clear();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), WriteRecordError> {
        let file = self.file.into_inner();
        let file = file.map_err(IntoInnerError::into_error);
        let file = file.map_err(|source| WriteRecordError::io(&self.path, source))?;
        Ok(file.commit()?)
    }
}

fn cell(kind: FieldKind, column: &Column, row: usize) -> Value {
    match column {
        Column::Integers(cells) => cells[row].map_or(Value::Null, |value| match kind {
            FieldKind::Time => WallTime(value).to_string().into(),
            FieldKind::Natural => value.cast_unsigned().into(),
            _ => value.into(),
        }),
        // What is not finite becomes null.
        Column::Numbers(cells) => cells[row].map_or(Value::Null, Value::from),
        Column::Texts(cells) => cells[row].clone().map_or(Value::Null, Value::from),
    }
}
