//! What is trained: what the members of a training must agree on, and what a
//! checkpoint goes on as.
//!
//! Members that are started by hand on other hosts may be started with other
//! options. A worker with another seed would compute rows that another worker
//! computes too, one with another model gradients of another function, and
//! nobody would notice: every member therefore says what it trains before it
//! takes part.

use std::collections::BTreeMap;
use std::fmt::Write;

use bytemuck::cast_slice;
use paceline_data::{DataSet, Features, Split};

use super::config::Cluster;
use crate::session::Settings;

/// The options that decide what is computed, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingIdentity {
    entries: Vec<(&'static str, String)>,
    /// How many of them members must agree on; the others are a checkpoint's.
    shared: usize,
}

/// The name of the entry that tells data by their content.
const CONTENT: &str = "data_content";

impl TrainingIdentity {
    /// Of a model, by its name, in training on `data`.
    pub fn new(model: &str, data: &Split, settings: &Settings, cluster: Option<&Cluster>) -> Self {
        let clip = settings.clip.map_or("none".to_owned(), |c| c.to_string());
        let mut entries = vec![
            ("model", model.to_owned()),
            ("batch_size", settings.batch_size.to_string()),
            ("seed", settings.seed.to_string()),
            ("optimizer", settings.optimizer.to_string()),
            ("learning_rate", settings.rate.to_string()),
            ("schedule", settings.schedule.to_string()),
            ("weight_decay", settings.decay.to_string()),
            ("clip", clip),
        ];
        if let Some(cluster) = cluster {
            entries.extend([
                ("workers", cluster.workers.to_string()),
                ("servers", cluster.servers.to_string()),
                ("sync", cluster.strategy.to_string()),
                ("compress", cluster.compress.to_string()),
            ]);
        }
        // Last: where an option differs that decides which rows are held out,
        // it is named and not what follows from it.
        entries.push((CONTENT, content(data)));
        Self {
            shared: entries.len(),
            entries,
        }
    }

    /// The same with an option that a checkpoint goes on with, and that may
    /// differ between members: a data file has another path on another host.
    #[must_use]
    pub fn with_local(mut self, name: &'static str, value: String) -> Self {
        self.entries.push((name, value));
        self
    }

    /// Every option under its name, for a checkpoint.
    pub fn words(&self) -> BTreeMap<String, String> {
        let word = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
        self.entries.iter().map(word).collect()
    }

    /// How a checkpoint with these words differs from this: the option, what it
    /// was there, and what it is here. What an older version did not write is
    /// passed over.
    pub fn difference_from(
        &self,
        words: &BTreeMap<String, String>,
    ) -> Option<(&'static str, String, String)> {
        let is_content = |entry: &&(&str, String)| entry.0 == CONTENT;
        let options = self.entries.iter().filter(|entry| !is_content(entry));
        let content = self.entries.iter().filter(is_content);
        options.chain(content).find_map(|(name, own)| {
            let was = match words.get(*name) {
                None if *name == CONTENT => return None,
                // The optimizer is told with what it remembers.
                None if *name == "optimizer" => words.get("paceline.optimizer")?,
                None => "",
                Some(was) => was,
            };
            (was != own).then(|| (*name, was.to_owned(), own.clone()))
        })
    }

    /// What members tell each other: an option a line.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.entries[..self.shared] {
            writeln!(text, "{name} {value}").expect("a string can be written to");
        }
        text
    }

    /// How what another member told differs from this, in words; none if it
    /// does not.
    pub(crate) fn difference(&self, theirs: &str) -> Option<String> {
        let own = self.text();
        if theirs == own {
            return None;
        }
        let differing = own.lines().zip(theirs.lines()).find(|(a, b)| a != b);
        let words = differing.and_then(|(own, other)| {
            let (name, own) = own.split_once(' ')?;
            let (same_name, other) = other.split_once(' ')?;
            let words = match name {
                CONTENT => format!("its data are {other}, not {own}"),
                name => format!("its {name} is {other}, not {own}"),
            };
            (name == same_name).then_some(words)
        });
        Some(words.unwrap_or_else(|| "its options are of another kind".to_owned()))
    }
}

/// What data are, wherever they lie: their shape and a checksum of all rows.
fn content(data: &Split) -> String {
    let (train, test) = (&data.train, &data.test);
    format!(
        "{} and {} rows of {} in {} classes with checksum {:08x}{:08x}",
        train.rows(),
        test.rows(),
        train.width(),
        train.classes(),
        checksum(train),
        checksum(test)
    )
}

/// A checksum of features and labels, in whatever form they are kept.
fn checksum(data: &DataSet) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    match data.features() {
        Features::Bytes {
            values,
            width,
            scale,
        } => {
            sum.update(&(*width as u64).to_le_bytes());
            sum.update(&scale.to_le_bytes());
            sum.update(values);
        }
        Features::Dense { values, width } => {
            sum.update(&(*width as u64).to_le_bytes());
            sum.update(cast_slice::<f32, u8>(values));
        }
        Features::Sparse(matrix) => {
            sum.update(&(matrix.width() as u64).to_le_bytes());
            for row in 0..matrix.rows() {
                let (columns, values) = matrix.row(row);
                sum.update(&(columns.len() as u64).to_le_bytes());
                sum.update(cast_slice::<u32, u8>(columns));
                sum.update(cast_slice::<f32, u8>(values));
            }
        }
        Features::Tokens {
            ids,
            length,
            vocabulary,
        } => {
            sum.update(&(*length as u64).to_le_bytes());
            sum.update(&(*vocabulary as u64).to_le_bytes());
            sum.update(cast_slice::<u32, u8>(ids));
        }
    }
    sum.update(cast_slice::<u32, u8>(data.labels().ids()));
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(entries: &[(&'static str, &str)]) -> TrainingIdentity {
        TrainingIdentity {
            entries: entries
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            shared: entries.len(),
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let own = identity(&[("rows", "400"), ("seed", "1"), ("sync", "bsp")]);
        assert_eq!(own.difference(&own.text()), None);
        let check = |theirs: &str, words: &str| {
            assert_eq!(own.difference(theirs).as_deref(), Some(words));
        };
        check("rows 400\nseed 2\nsync async\n", "its seed is 2, not 1");
        check("rows 400\nspeed 2\n", "its options are of another kind");
        check("", "its options are of another kind");
    }

    #[test]
    fn what_is_local_concerns_a_checkpoint_and_no_member() {
        let own = identity(&[("model", "mlp:8"), (CONTENT, "x")]);
        let here = own.clone().with_local("data", "/here/a.csv".to_owned());
        let there = own.with_local("data", "/there/a.csv".to_owned());
        assert_eq!(here.difference(&there.text()), None);
        assert_eq!(here.difference_from(&here.words()), None);
        let (name, was, is) = here.difference_from(&there.words()).unwrap();
        assert_eq!((name, &*was, &*is), ("data", "/there/a.csv", "/here/a.csv"));
    }

    #[test]
    fn options_are_named_before_what_follows_from_them() {
        let own = identity(&[("seed", "1"), (CONTENT, "x")]);
        let own = own.with_local("data", "a.csv".to_owned());
        let mut words = own.words();
        words.insert(CONTENT.to_owned(), "y".to_owned());
        assert_eq!(own.difference_from(&words).unwrap().0, CONTENT);
        words.insert("data".to_owned(), "b.csv".to_owned());
        assert_eq!(own.difference_from(&words).unwrap().0, "data");
        words.insert("seed".to_owned(), "2".to_owned());
        assert_eq!(own.difference_from(&words).unwrap().0, "seed");
    }

    #[test]
    fn a_checkpoint_from_before_contents_were_told_is_taken() {
        let own = identity(&[("model", "mlp:8"), (CONTENT, "x"), ("optimizer", "sgd")]);
        let mut words = own.words();
        words.remove(CONTENT);
        words.remove("optimizer");
        words.insert("paceline.optimizer".to_owned(), "sgd".to_owned());
        assert_eq!(own.difference_from(&words), None);
        words.insert("paceline.optimizer".to_owned(), "adam".to_owned());
        assert!(own.difference_from(&words).is_some());
    }
}
