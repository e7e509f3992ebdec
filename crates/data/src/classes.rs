//! Labels of any spelling to class indexes.

use std::collections::HashMap;

use crate::error::Unexpected;
use crate::number::number;

/// The classes met so far, in the order of their first appearance. Numbers
/// that are equal are one class, however they are written.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    names: Vec<String>,
    spellings: HashMap<Vec<u8>, u32>,
    /// The first few spellings, which are compared before any is hashed: most
    /// data sets have no more.
    first: Vec<(Vec<u8>, u32)>,
}

/// More distinct labels than this mean that the column is no class.
const MOST: usize = 1 << 16;

/// How many spellings are compared before the rest is hashed.
const COMPARED: usize = 16;

impl Classes {
    /// The provisional index of a label.
    pub(crate) fn index(&mut self, label: &[u8]) -> Result<u32, Unexpected> {
        if let Some((_, index)) = self.first.iter().find(|(known, _)| known == label) {
            return Ok(*index);
        }
        if let Some(index) = self.spellings.get(label) {
            return Ok(*index);
        }
        let index = self.learn(label)?;
        if self.first.len() < COMPARED {
            self.first.push((label.to_vec(), index));
        }
        Ok(index)
    }

    fn learn(&mut self, label: &[u8]) -> Result<u32, Unexpected> {
        if label.is_empty() {
            return Err(Unexpected::new("a label", "nothing"));
        }
        let text = String::from_utf8_lossy(label).into_owned();
        let name = match numeric(&text) {
            Some(number) => number.to_string(),
            None => text,
        };
        let index = match self.spellings.get(name.as_bytes()) {
            Some(index) => *index,
            None if self.names.len() == MOST => {
                return Err(
                    Unexpected::new("a class", "the 65,537th distinct label").hint(
                        "labels are classes, not measurements; name the column that holds the class",
                    ),
                );
            }
            None => {
                let index = self.names.len() as u32;
                self.spellings.insert(name.clone().into_bytes(), index);
                self.names.push(name);
                index
            }
        };
        self.spellings.insert(label.to_vec(), index);
        Ok(index)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of a provisional index.
    pub(crate) fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// The names in their final order (numbers ascending, else alphabetical)
    /// and the final index of each provisional one.
    pub(crate) fn ranked(&self) -> (Vec<String>, Vec<u32>) {
        let numbers: Option<Vec<f64>> = self.names.iter().map(|name| numeric(name)).collect();
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        match numbers {
            Some(numbers) => order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b])),
            None => order.sort_by(|a, b| self.names[*a].cmp(&self.names[*b])),
        }
        let mut ranks = vec![0; order.len()];
        for (rank, index) in (0..).zip(&order) {
            ranks[*index] = rank;
        }
        let names = order.into_iter().map(|index| self.names[index].clone());
        (names.collect(), ranks)
    }
}

fn numeric(text: &str) -> Option<f64> {
    // Only what looks like a number: `inf` and `nan` are names.
    let (_, length) = number(text.as_bytes())?;
    // Minus zero is zero.
    (length == text.len()).then(|| text.parse::<f64>().ok().map(|number| number + 0.0))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(labels: &[&str]) -> (Vec<String>, Vec<u32>) {
        let mut classes = Classes::default();
        let provisional: Vec<u32> = labels
            .iter()
            .map(|label| classes.index(label.as_bytes()).unwrap())
            .collect();
        let (names, ranks) = classes.ranked();
        let labels = provisional.iter().map(|label| ranks[*label as usize]);
        (names, labels.collect())
    }

    #[test]
    fn numbers_ascend_and_equal_ones_are_one_class() {
        let (names, labels) = ranked(&["10", "+1", "-1", "1.0", "1e1"]);
        assert_eq!(names, ["-1", "1", "10"]);
        assert_eq!(labels, [2, 1, 0, 1, 2]);
    }

    #[test]
    fn names_are_in_alphabetical_order() {
        let (names, labels) = ranked(&["setosa", "1", "nan", "setosa"]);
        assert_eq!(names, ["1", "nan", "setosa"]);
        assert_eq!(labels, [2, 0, 1, 2]);
    }

    #[test]
    fn measurements_are_no_classes() {
        let mut classes = Classes::default();
        let error = (0..=MOST)
            .find_map(|label| classes.index(label.to_string().as_bytes()).err())
            .unwrap();
        assert!(error.hint.is_some());
    }
}
