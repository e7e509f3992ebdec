//! Results in a CSV file, which may be the table that a study wrote.

use crate::error::{Explained, Fault};
use crate::study_file::STUDY_FILE;
use paceline_files::{Input, ReadError};
use paceline_stats::table::{BuildTableError, Table};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

/// The column of a study's table that says how a run ended.
const OUTCOME: &str = "outcome";
/// How a run ended that counts.
const DONE: &str = "done";

/// The most bytes of a table: it is held in memory, about four times over.
const MAX_BYTES: u64 = 2 << 30;

/// The most columns of a table.
const MAX_COLUMNS: usize = 10_000;

/// A table with what a reader must know of its file.
#[derive(Debug)]
pub struct TableFile {
    /// The file that was read.
    pub path: PathBuf,
    /// The rows that count.
    pub table: Table,
    /// Runs of a study that did not end well and are left out.
    pub left_out: usize,
    /// Columns without a name, which nobody can refer to.
    pub unnamed: usize,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum ReadTableError {
    /// Nothing has this name.
    #[error("there is no file or directory `{}`", .0.display())]
    NotFound(PathBuf),
    /// A directory, which has no rows.
    #[error("`{}` is a directory, not a file", .0.display())]
    Directory(PathBuf),
    /// The file cannot be opened or read.
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No file, or no table's size.
    #[error(transparent)]
    Refused(ReadError),
    /// Not a single byte of header.
    #[error("`{}` is empty", .0.display())]
    Empty(PathBuf),
    /// A header and nothing else.
    #[error("`{}` has a header but no rows", .0.display())]
    NoRows(PathBuf),
    /// Every run failed or was interrupted.
    #[error("none of the {rows} runs in `{}` is done", .path.display())]
    NoneDone {
        /// The file.
        path: PathBuf,
        /// How many rows it has.
        rows: usize,
    },
    /// More columns than anybody can name.
    #[error("`{}` has {columns} columns; the limit is {MAX_COLUMNS}", .path.display())]
    TooManyColumns {
        /// The file.
        path: PathBuf,
        /// How many it has.
        columns: usize,
    },
    /// A name stands over two columns.
    #[error("line 1: column `{0}` appears twice")]
    DuplicateColumn(String),
    /// A row with too few or too many cells.
    #[error("line {line}: {cells} cells where the header has {columns}")]
    Ragged {
        /// The line of the file, counted from one.
        line: u64,
        /// How many cells it has.
        cells: usize,
        /// How many columns the header names.
        columns: usize,
    },
    /// Bytes that are not UTF-8.
    #[error("line {line}: column {column} is not UTF-8 text")]
    NotText {
        /// The line of the file, counted from one.
        line: u64,
        /// The column, counted from one.
        column: usize,
    },
}

impl Explained for ReadTableError {
    fn fault(&self) -> Fault {
        match self {
            Self::Unreadable { .. } => Fault::World,
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoneDone { path, .. } => {
                let study = path.parent().unwrap_or(Path::new("."));
                Some(format!("see paceline study status {}", study.display()))
            }
            Self::Ragged { .. } => {
                Some("a cell that contains a comma or a line break must be in quotes".to_owned())
            }
            Self::NotText { .. } => Some("save the table as UTF-8".to_owned()),
            _ => None,
        }
    }
}

impl TableFile {
    /// Reads a CSV file. Of the table that a study wrote, the runs that are done
    /// are kept, as in the study itself; the others are counted.
    ///
    /// # Errors
    /// If there is no table, or no row of it counts.
    pub fn read(path: &Path) -> Result<Self, ReadTableError> {
        let path = locate(path)?;
        let mut rows = Rows::open(&path)?;
        let named: Vec<usize> = (0..rows.names.len())
            .filter(|&i| !rows.names[i].is_empty())
            .collect();
        if named.is_empty() {
            return Err(ReadTableError::Empty(path));
        }
        if named.len() > MAX_COLUMNS {
            return Err(ReadTableError::TooManyColumns {
                path,
                columns: named.len(),
            });
        }
        let names: Vec<&str> = named.iter().map(|&i| rows.names[i].as_str()).collect();
        if let Some(name) = repeated(&names) {
            return Err(ReadTableError::DuplicateColumn(name.to_owned()));
        }
        let unnamed = rows.names.len() - named.len();
        let mut builder = Table::builder(names);
        while let Some(cells) = rows.next()? {
            // The reader checks the width, so a row always fits.
            let kept = named.iter().map(|&i| &cells[i]);
            builder
                .push_row(kept)
                .expect("a row of checked width has one cell for each name");
        }
        let left_out = rows.left_out;
        match builder.finish() {
            Ok(table) => Ok(Self {
                path,
                table,
                left_out,
                unnamed,
            }),
            Err(BuildTableError::NoRows) if left_out > 0 => Err(ReadTableError::NoneDone {
                path,
                rows: left_out,
            }),
            // Names are checked above and columns grow together, so that only
            // the number of rows is left to be wrong.
            Err(_) => Err(ReadTableError::NoRows(path)),
        }
    }
}

/// The line of the file on which a data row (counted from one) begins.
///
/// Quoted cells may span lines and runs may be left out, so the file is read
/// again up to the row; this happens only on the way to an error.
pub(super) fn line_of(path: &Path, row: usize) -> Option<u64> {
    if !path.is_file() {
        return None; // What came through a pipe is gone.
    }
    let mut rows = Rows::open(path).ok()?;
    for _ in 0..row {
        rows.next().ok()??;
    }
    Some(rows.line)
}

fn locate(path: &Path) -> Result<PathBuf, ReadTableError> {
    if path.is_dir() {
        return Err(ReadTableError::Directory(path.to_owned()));
    }
    match path.exists() {
        true => Ok(path.to_owned()),
        false => Err(ReadTableError::NotFound(path.to_owned())),
    }
}

fn repeated<'a>(names: &[&'a str]) -> Option<&'a str> {
    let mut seen = std::collections::HashSet::new();
    names.iter().copied().find(|name| !seen.insert(*name))
}

/// Where rows come from.
enum Source {
    File(File),
    /// What came through a pipe.
    Memory(Cursor<Vec<u8>>),
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}

/// The rows of a file that count, one at a time.
struct Rows {
    reader: csv::Reader<Source>,
    path: PathBuf,
    names: Vec<String>,
    /// The outcome's column, in the table of a study.
    outcome: Option<usize>,
    bytes: csv::ByteRecord,
    text: csv::StringRecord,
    line: u64,
    left_out: usize,
}

impl Rows {
    fn open(path: &Path) -> Result<Self, ReadTableError> {
        let unreadable = |source| ReadTableError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let file = match paceline_files::open(path, MAX_BYTES) {
            Ok(Input::Regular(file)) => Source::File(file),
            Ok(Input::Stream(bytes)) => Source::Memory(Cursor::new(bytes)),
            Err(ReadError::Io { source, .. }) => return Err(unreadable(source)),
            Err(error) => return Err(ReadTableError::Refused(error)),
        };
        let mut rows = Self {
            reader: csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .buffer_capacity(1 << 18)
                .from_reader(file),
            path: path.to_owned(),
            names: Vec::new(),
            outcome: None,
            bytes: csv::ByteRecord::new(),
            text: csv::StringRecord::new(),
            line: 1,
            left_out: 0,
        };
        if !rows.advance()? {
            return Err(ReadTableError::Empty(path.to_owned()));
        }
        rows.names = rows
            .text
            .iter()
            .map(|name| name.trim().to_owned())
            .collect();
        let of_study = path
            .parent()
            .is_some_and(|dir| dir.join(STUDY_FILE).exists());
        if of_study {
            rows.outcome = rows.names.iter().position(|name| name == OUTCOME);
        }
        Ok(rows)
    }

    /// The next row that counts.
    fn next(&mut self) -> Result<Option<&csv::StringRecord>, ReadTableError> {
        while self.advance()? {
            if self.text.len() != self.names.len() {
                return Err(ReadTableError::Ragged {
                    line: self.line,
                    cells: self.text.len(),
                    columns: self.names.len(),
                });
            }
            if self.outcome.is_some_and(|i| self.text[i].trim() != DONE) {
                self.left_out += 1;
                continue;
            }
            return Ok(Some(&self.text));
        }
        Ok(None)
    }

    fn advance(&mut self) -> Result<bool, ReadTableError> {
        let read = self.reader.read_byte_record(&mut self.bytes);
        // Nothing but input and output can fail: any width and any bytes are
        // accepted here and checked by us, with the line in the message.
        let more = read.map_err(|error| ReadTableError::Unreadable {
            path: self.path.clone(),
            source: error.into(),
        })?;
        if !more {
            return Ok(false);
        }
        self.line = self.bytes.position().map_or(self.line, csv::Position::line);
        // The buffers of both records are used again for the next row.
        let bytes = std::mem::take(&mut self.bytes);
        match csv::StringRecord::from_byte_record(bytes) {
            Ok(text) => {
                let used = std::mem::replace(&mut self.text, text);
                self.bytes = used.into_byte_record();
                Ok(true)
            }
            Err(error) => Err(ReadTableError::NotText {
                line: self.line,
                column: error.utf8_error().field() + 1,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, content: &[u8]) -> Result<TableFile, ReadTableError> {
        let folder = tempfile::tempdir().expect("a temporary directory");
        if name == "table.csv" {
            std::fs::write(folder.path().join(STUDY_FILE), "").expect("the study is written");
        }
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("the table is written");
        TableFile::read(&path)
    }

    fn numbers(file: &TableFile, column: &str) -> Vec<f64> {
        let column = file.table.column(column).expect("the column exists");
        column.as_numeric().expect("it holds numbers").to_vec()
    }

    #[test]
    fn a_mark_carriage_returns_and_quotes_change_nothing() {
        let file = check("a.csv", b"\xef\xbb\xbf\"x\" , y\r\n\"1\",2\r\n3,\"4\"\r\n").unwrap();
        assert_eq!(numbers(&file, "x"), [1.0, 3.0]);
        assert_eq!(numbers(&file, "y"), [2.0, 4.0]);
    }

    #[test]
    fn a_ragged_row_is_named_by_its_line_even_after_a_cell_of_two_lines() {
        let error = check("a.csv", b"x,y\n\"a\nb\",2\n3\n").unwrap_err();
        assert_eq!(error.to_string(), "line 4: 1 cells where the header has 2");
    }

    #[test]
    fn runs_that_are_not_done_are_left_out_of_a_study() {
        let rows = b"x,outcome\n1,done\n2,timed out\n3,done\n";
        let file = check("table.csv", rows).unwrap();
        assert_eq!((file.left_out, numbers(&file, "x")), (1, vec![1.0, 3.0]));
        // The same column in a table that is no study's is only a column.
        assert_eq!(check("a.csv", rows).unwrap().table.rows(), 3);
    }

    #[test]
    fn a_row_that_nobody_named_is_left_out() {
        let file = check("a.csv", b",x\n0,5\n1,6\n").unwrap();
        assert_eq!((file.unnamed, numbers(&file, "x")), (1, vec![5.0, 6.0]));
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_line_and_column() {
        let error = check("a.csv", b"x,y\n1,\xff\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: column 2 is not UTF-8 text");
    }

    #[test]
    fn nothing_to_read_is_said_as_it_is() {
        assert!(matches!(check("a.csv", b""), Err(ReadTableError::Empty(_))));
        assert!(matches!(
            check("a.csv", b"\n\n"),
            Err(ReadTableError::Empty(_))
        ));
        assert!(matches!(
            check("a.csv", b"x,y\n"),
            Err(ReadTableError::NoRows(_))
        ));
        assert!(matches!(
            check("table.csv", b"x,outcome\n1,timed out\n"),
            Err(ReadTableError::NoneDone { rows: 1, .. })
        ));
        assert!(matches!(
            check("a.csv", b"x,x\n1,2\n"),
            Err(ReadTableError::DuplicateColumn(_))
        ));
    }
}
