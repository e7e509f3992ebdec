//! Tables as CSV after RFC 4180.
//!
//! Lines end with CR LF. An empty field is a missing value; an empty text is
//! `""`. Numbers have the fewest digits that read back as the same number.

use super::{Chunk, Column, Field, FieldKind, TableSink};
use crate::WallTime;
use crate::disk::{At, WriteRecordError};
use paceline_files::AtomicFile;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes one table. Without [`CsvWriter::finish`] no file is left.
pub struct CsvWriter {
    path: PathBuf,
    fields: Vec<Field>,
    file: BufWriter<AtomicFile>,
}

impl CsvWriter {
    /// Begins the file with its header.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path, fields: Vec<Field>) -> Result<Self, WriteRecordError> {
        let mut file = BufWriter::new(AtomicFile::create(path)?);
        for (i, field) in fields.iter().enumerate() {
            if i > 0 {
                file.write_all(b",").at(path)?;
            }
            write_text(&mut file, &field.name).at(path)?;
        }
        file.write_all(b"\r\n").at(path)?;
        Ok(Self {
            path: path.to_owned(),
            fields,
            file,
        })
    }
}

impl TableSink for CsvWriter {
    fn write(&mut self, chunk: &mut Chunk) -> Result<(), WriteRecordError> {
        for row in 0..chunk.rows() {
            for (i, (field, column)) in self.fields.iter().zip(&chunk.columns).enumerate() {
                if i > 0 {
                    self.file.write_all(b",").at(&self.path)?;
                }
                write_cell(&mut self.file, field.kind, column, row).at(&self.path)?;
            }
            self.file.write_all(b"\r\n").at(&self.path)?;
        }
        chunk.clear();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), WriteRecordError> {
        let file = self
            .file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .at(&self.path)?;
        Ok(file.commit()?)
    }
}

fn write_cell(
    out: &mut impl Write,
    kind: FieldKind,
    column: &Column,
    row: usize,
) -> io::Result<()> {
    match column {
        Column::Integers(cells) => match (cells[row], kind) {
            (None, _) => Ok(()),
            (Some(value), FieldKind::Time) => write!(out, "{}", WallTime(value)),
            (Some(value), FieldKind::Natural) => write!(out, "{}", value.cast_unsigned()),
            (Some(value), _) => write!(out, "{value}"),
        },
        Column::Numbers(cells) => match cells[row] {
            None => Ok(()),
            Some(value) => write!(out, "{value}"),
        },
        Column::Texts(cells) => match &cells[row] {
            None => Ok(()),
            Some(text) => write_text(out, text),
        },
    }
}

fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    if needs_quotes(text) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text.contains(['"', ',', '\r', '\n'])
        || text.starts_with(' ')
        || text.ends_with(' ')
}
