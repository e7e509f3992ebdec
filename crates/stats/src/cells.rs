//! Rows that share the values of every variable: the cells of a design.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::formula::{ModelFrame, VariableData};

/// The rows of a frame grouped by the values of its variables.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    /// The cell of each row.
    pub(crate) of_row: Vec<u32>,
    /// The first row of each cell.
    pub(crate) first_row: Vec<u32>,
    /// How many rows each cell has.
    pub(crate) counts: Vec<u32>,
}

impl Cells {
    /// Groups all rows. Cells are numbered in order of first appearance.
    pub(crate) fn of(frame: &ModelFrame) -> Cells {
        let all: Vec<usize> = (0..frame.variables().len()).collect();
        Cells::by(frame, &all, frame.len())
    }

    /// Groups the rows by some of the variables.
    pub(crate) fn by_variables(frame: &ModelFrame, variables: &[usize]) -> Cells {
        Cells::by(frame, variables, frame.len())
    }

    /// Groups all rows if that leaves at most a quarter as many cells, judging
    /// by the first rows whether trying is worthwhile.
    pub(crate) fn if_repetitive(frame: &ModelFrame) -> Option<Cells> {
        const SAMPLE: usize = 4_096;
        const FEWER: usize = 4;
        if frame.len() < SAMPLE {
            return None;
        }
        let combinations = (0..frame.variables().len())
            .map(|variable| Cells::by(frame, &[variable], SAMPLE).len())
            .fold(1_usize, usize::saturating_mul);
        if combinations > frame.len() / FEWER {
            return None;
        }
        let cells = Cells::of(frame);
        (cells.len() <= frame.len() / FEWER).then_some(cells)
    }

    fn by(frame: &ModelFrame, variables: &[usize], rows: usize) -> Cells {
        let mut of_row = vec![0_u32; rows];
        let mut cells = 1_usize;
        for &variable in variables {
            let mut numbered: HashMap<(u32, u64), u32, QuickHash> = HashMap::default();
            let mut refine = |cell: &mut u32, value: u64| {
                let next = numbered.len() as u32;
                *cell = *numbered.entry((*cell, value)).or_insert(next);
            };
            match frame.variables()[variable].data() {
                VariableData::Numeric { values, .. } => {
                    for (cell, value) in of_row.iter_mut().zip(values) {
                        // Adding zero makes -0.0 and 0.0 one value.
                        refine(cell, (value + 0.0).to_bits());
                    }
                }
                VariableData::Categorical { codes, .. } => {
                    for (cell, &code) in of_row.iter_mut().zip(codes) {
                        refine(cell, u64::from(code));
                    }
                }
            }
            cells = numbered.len();
            // Once every row is its own cell, further variables split nothing.
            if cells == rows {
                break;
            }
        }
        if rows == 0 {
            cells = 0;
        }
        let mut counts = vec![0_u32; cells];
        let mut first_row = vec![u32::MAX; cells];
        for (row, &cell) in of_row.iter().enumerate() {
            let cell = cell as usize;
            counts[cell] += 1;
            first_row[cell] = first_row[cell].min(row as u32);
        }
        Cells {
            of_row,
            first_row,
            counts,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The values of each cell.
    pub(crate) fn groups(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let mut groups: Vec<Vec<f64>> = self
            .counts
            .iter()
            .map(|&count| Vec::with_capacity(count as usize))
            .collect();
        for (&cell, &value) in self.of_row.iter().zip(values) {
            groups[cell as usize].push(value);
        }
        groups
    }
}

/// A multiplicative hash for short keys of our own making; the standard hasher
/// guards against hostile keys at several times the cost.
#[derive(Default)]
pub(crate) struct Mix(u64);

/// Builds [`Mix`] hashers.
pub(crate) type QuickHash = BuildHasherDefault<Mix>;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        // 2^64 divided by the golden ratio, made odd.
        let mixed = (self.0.rotate_left(26) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
