//! What the user typed: the file and the arguments beside it.

use crate::document::{self, Entry, Node, Value};
use crate::engine::EngineSettings;
use crate::keys::{self, SectionKeys, Shape};
use crate::problem::{Place, Problem, Problems};
use crate::study::{Capabilities, Study};
use paceline_model::Level;
use paceline_model::spelling::suggestion;
use std::sync::Arc;

/// A study as typed: valid TOML, not yet known to make sense.
#[derive(Debug, Clone)]
pub struct RawStudy {
    file: String,
    entries: Vec<Entry>,
}

impl RawStudy {
    /// Reads the text of a study file; `file` is its name in messages.
    ///
    /// # Errors
    /// Every place where `text` is not TOML.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problems> {
        Ok(Self {
            file: file.to_owned(),
            entries: document::parse(file, text)?,
        })
    }

    /// Replaces or adds what arguments of the command line say.
    ///
    /// `batch_size=64,128` gives a factor its levels and keeps its scale,
    /// `rate=0.001..0.1` makes it a range, `fixed.epochs=3` makes a constant of
    /// it, and `design.replicates=5` sets a key. Later arguments win.
    ///
    /// # Errors
    /// Every argument that has no such meaning.
    pub fn with_arguments<'a>(
        mut self,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Problems> {
        let problems: Vec<Problem> = arguments
            .into_iter()
            .filter_map(|argument| self.apply(argument).err())
            .collect();
        if problems.is_empty() {
            Ok(self)
        } else {
            Err(Problems::new(&self.file, problems))
        }
    }

    /// Checks everything and gives the study its meaning.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn check(&self, capabilities: &Capabilities) -> Result<Study, Problems> {
        Study::check(&self.entries, capabilities)
            .map_err(|problems| Problems::new(&self.file, problems))
    }

    /// Checks `[engine]` alone, for a command that is no study.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn engine(&self) -> Result<EngineSettings, Problems> {
        let mut problems = Vec::new();
        let entry = self.entries.iter().find(|entry| entry.key == "engine");
        match EngineSettings::read(entry, &mut problems) {
            (Some(settings), _) if problems.is_empty() => Ok(settings),
            _ => Err(Problems::new(&self.file, problems)),
        }
    }

    fn apply(&mut self, argument: &str) -> Result<(), Problem> {
        let place = Place::Argument {
            text: Arc::from(argument),
        };
        let Some((path, value)) = argument.split_once('=') else {
            return Err(Problem::new(&place, "there is no `=`")
                .hint("write batch_size=64,128 for a factor or design.replicates=5 for a key"));
        };
        let (path, value) = (path.trim(), value.trim());
        if value.is_empty() {
            return Err(Problem::new(&place, "there is nothing after `=`"));
        }
        match path.split_once('.') {
            None => self.set_factor(path, value, &place),
            Some(("factors", name)) => self.set_factor(name, value, &place),
            Some(("fixed", name)) => {
                self.remove("factors", name);
                self.set("fixed", name, Value::from(Level::parse(value)), &place);
            }
            Some(("responses", name)) => {
                self.set("responses", name, Value::Text(value.to_owned()), &place);
            }
            Some((section, key)) => {
                let value = self.key_value(section, key, value, &place)?;
                self.set(section, key, value, &place);
            }
        }
        Ok(())
    }

    fn set_factor(&mut self, name: &str, text: &str, place: &Place) {
        let node = |value| Node {
            place: place.clone(),
            value,
        };
        let entry = |key: &str, value| Entry {
            key: key.to_owned(),
            place: place.clone(),
            node: node(value),
        };
        let number = |text: &str| Level::parse(text.trim()).as_number().is_some();
        let changed = match text.split_once("..") {
            Some((low, high)) if number(low) && number(high) => vec![
                entry("low", Value::from(Level::parse(low.trim()))),
                entry("high", Value::from(Level::parse(high.trim()))),
            ],
            _ => {
                let levels = text
                    .split(',')
                    .map(|level| node(Value::from(Level::parse(level.trim()))));
                vec![entry("levels", Value::List(levels.collect()))]
            }
        };
        // What the file says about the scale and the type still holds.
        let kept = match self.get("factors", name) {
            Some(Node {
                value: Value::Table(entries),
                ..
            }) => entries
                .iter()
                .filter(|entry| !matches!(entry.key.as_str(), "levels" | "low" | "high" | "steps"))
                .cloned()
                .collect(),
            _ => Vec::new(),
        };
        self.remove("fixed", name);
        let value = Value::Table(changed.into_iter().chain(kept).collect());
        self.set("factors", name, value, place);
    }

    /// Reads `text` as the table of keys wants the value of `section.key`.
    fn key_value(
        &self,
        section: &str,
        key: &str,
        text: &str,
        place: &Place,
    ) -> Result<Value, Problem> {
        let keys: &SectionKeys = match section {
            "design" => &keys::DESIGN,
            "policy" => &keys::POLICY,
            "engine" => &keys::ENGINE,
            "job" => &keys::COMMAND_JOB,
            _ => {
                let known = keys::SECTIONS.iter().map(|(name, _)| *name);
                return Err(Problem::new(place, format!("there is no [{section}]"))
                    .maybe_hint(suggestion(section, known)));
            }
        };
        match keys.key(key).map(|key| key.shape) {
            Some(
                Shape::Text
                | Shape::OneOf(_)
                | Shape::Expression
                | Shape::Command
                | Shape::TextList,
            ) => Ok(Value::Text(text.to_owned())),
            Some(Shape::TextTable | Shape::LevelTable | Shape::Levels) => Err(Problem::new(
                place,
                format!("`{key}` is a table and cannot be set from the command line"),
            )),
            // An option of the trainer, or a mistake that the check reports.
            Some(_) | None => Ok(Value::from(Level::parse(text))),
        }
    }

    fn get(&self, section: &str, key: &str) -> Option<&Node> {
        let section = self.entries.iter().find(|entry| entry.key == section)?;
        match &section.node.value {
            Value::Table(entries) => entries
                .iter()
                .find(|entry| entry.key == key)
                .map(|entry| &entry.node),
            _ => None,
        }
    }

    fn remove(&mut self, section: &str, key: &str) {
        if let Some(section) = self.entries.iter_mut().find(|entry| entry.key == section)
            && let Value::Table(entries) = &mut section.node.value
        {
            entries.retain(|entry| entry.key != key);
        }
    }

    /// Sets a value in place, or appends it, with its section if need be.
    fn set(&mut self, section: &str, key: &str, value: Value, place: &Place) {
        let new = |key: &str, value| Entry {
            key: key.to_owned(),
            place: place.clone(),
            node: Node {
                place: place.clone(),
                value,
            },
        };
        let index = match self.entries.iter().position(|entry| entry.key == section) {
            Some(index) => index,
            None => {
                self.entries.push(new(section, Value::Table(Vec::new())));
                self.entries.len() - 1
            }
        };
        // A section that is not a table is reported by the check.
        if let Value::Table(entries) = &mut self.entries[index].node.value {
            match entries.iter_mut().find(|entry| entry.key == key) {
                Some(entry) => *entry = new(key, value),
                None => entries.push(new(key, value)),
            }
        }
    }
}
