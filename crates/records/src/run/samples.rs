//! The samples of one node, a few at a time.

use super::ReadTableError;
use crate::WallTime;
use crate::json::FileJson;
use crate::table::{Chunk, PartRows, SampleRows, TableReader};
use crate::wal::{SampleCodec, WalReader};
use paceline_model::{Micros, PartReading, Sample};
use std::path::{Path, PathBuf};

/// The samples of one node in the order of their times.
pub struct Samples {
    source: Source,
}

enum Source {
    Log(PathBuf, Box<WalReader<SampleCodec>>),
    Tables(Box<Joined>),
    /// An error ends the iteration.
    Ended,
}

impl Samples {
    pub(super) fn from_log(path: PathBuf, log: WalReader<SampleCodec>) -> Self {
        Self {
            source: Source::Log(path, Box::new(log)),
        }
    }

    pub(super) fn from_tables(
        samples: (&Path, &FileJson),
        parts: (&Path, &FileJson),
        started: WallTime,
    ) -> Result<Self, ReadTableError> {
        let samples = TableReader::open(samples.0, SampleRows::fields(), samples.1)?;
        let parts = TableReader::open(parts.0, PartRows::fields(), parts.1)?;
        Ok(Self {
            source: Source::Tables(Box::new(Joined {
                started,
                samples: Rows::new(samples),
                parts: Rows::new(parts),
                ahead: None,
            })),
        })
    }

    fn next_sample(&mut self) -> Result<Option<Sample>, ReadTableError> {
        match &mut self.source {
            Source::Ended => Ok(None),
            Source::Log(path, log) => log
                .next()
                .map_err(|error| ReadTableError::from_wal(path, error)),
            Source::Tables(joined) => joined.next_sample(),
        }
    }
}

/// Samples and their parts, which are in two tables in the same order.
struct Joined {
    started: WallTime,
    samples: Rows,
    parts: Rows,
    /// The part that was read ahead: the first one of a later sample.
    ahead: Option<(Micros, PartReading)>,
}

impl Joined {
    fn next_sample(&mut self) -> Result<Option<Sample>, ReadTableError> {
        let started = self.started;
        let sample = self
            .samples
            .next(|chunk, row| SampleRows::get(chunk, started, row))?;
        let Some(mut sample) = sample else {
            // Parts that belong to no sample are not what was written.
            return match self.next_part()? {
                None => Ok(None),
                Some(_) => Err(self.parts.bad_column("time")),
            };
        };
        while let Some((at, part)) = self.next_part()? {
            if at != sample.at {
                self.ahead = Some((at, part));
                break;
            }
            sample.parts.push(part);
        }
        Ok(Some(sample))
    }

    fn next_part(&mut self) -> Result<Option<(Micros, PartReading)>, ReadTableError> {
        let started = self.started;
        match self.ahead.take() {
            Some(part) => Ok(Some(part)),
            None => self
                .parts
                .next(|chunk, row| PartRows::get(chunk, started, row)),
        }
    }
}

impl Iterator for Samples {
    type Item = Result<Sample, ReadTableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_sample().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.source = Source::Ended;
        }
        next
    }
}

/// The rows of a table one by one.
struct Rows {
    table: TableReader,
    chunk: Option<Chunk>,
    row: usize,
}

impl Rows {
    fn new(table: TableReader) -> Self {
        Self {
            table,
            chunk: None,
            row: 0,
        }
    }

    fn next<T>(
        &mut self,
        get: impl Fn(&Chunk, usize) -> Result<T, crate::table::BadCell>,
    ) -> Result<Option<T>, ReadTableError> {
        while self
            .chunk
            .as_ref()
            .is_none_or(|chunk| self.row == chunk.rows())
        {
            match self.table.next()? {
                Some(chunk) => self.chunk = Some(chunk),
                None => return Ok(None),
            }
            self.row = 0;
        }
        let chunk = self.chunk.as_ref().expect("the loop ends with a chunk");
        let item = get(chunk, self.row).map_err(|cell| self.bad_column(cell.column))?;
        self.row += 1;
        Ok(Some(item))
    }

    fn bad_column(&self, column: &'static str) -> ReadTableError {
        ReadTableError::Column {
            path: self.table.path().to_owned(),
            column: column.to_owned(),
        }
    }
}
