//! Following the file in which a job reports.

use crate::reports::Lines;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads what is appended to a file, line by line.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    lines: Lines,
    buffer: Vec<u8>,
}

impl Tail {
    /// Makes the file, empty, and follows it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        File::create_new(path)?;
        Ok(Self {
            file: File::open(path)?,
            lines: Lines::default(),
            buffer: vec![0; 16 * 1024],
        })
    }

    /// Gives the lines that were completed since the last call, at most
    /// 1 MiB of them, so that a job that writes without end cannot hold the
    /// reader.
    pub(crate) fn read(&mut self, mut line: impl FnMut(&[u8])) -> io::Result<()> {
        for _ in 0..64 {
            match self.file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(n) => self.lines.push(&self.buffer[..n], &mut line),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives everything that is left, a last line without newline included.
    pub(crate) fn finish(&mut self, mut line: impl FnMut(&[u8])) -> io::Result<()> {
        let mut length = 0;
        // The jobs have ended; a daemon that still writes gets no more than this.
        let limit = self.file.metadata()?.len();
        while length < limit {
            let n = self.file.read(&mut self.buffer)?;
            if n == 0 {
                break;
            }
            length += n as u64;
            self.lines.push(&self.buffer[..n], &mut line);
        }
        self.lines.finish(line);
        Ok(())
    }
}
