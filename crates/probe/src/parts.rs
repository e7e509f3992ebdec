//! Filling the parts of a sample without allocating for those it already has.

use paceline_model::{PartKind, PartReading, PartReadings};

/// Writes parts over those of an earlier sample, name buffers included.
#[derive(Debug)]
pub(crate) struct Parts<'s> {
    list: &'s mut Vec<PartReading>,
    used: usize,
}

impl<'s> Parts<'s> {
    pub(crate) fn over(list: &'s mut Vec<PartReading>) -> Self {
        Self { list, used: 0 }
    }

    /// The next part, empty.
    pub(crate) fn push(&mut self, kind: PartKind, name: &str) -> &mut PartReadings {
        if self.used == self.list.len() {
            self.list.push(PartReading {
                kind,
                name: String::new(),
                readings: PartReadings::default(),
            });
        }
        let part = &mut self.list[self.used];
        self.used += 1;
        part.kind = kind;
        if part.name != name {
            part.name.clear();
            part.name.push_str(name);
        }
        part.readings = PartReadings::default();
        &mut part.readings
    }

    /// Takes back the part that was pushed last.
    pub(crate) fn pop(&mut self) {
        self.used -= 1;
    }

    /// Drops what is left of the earlier sample.
    pub(crate) fn finish(self) {
        self.list.truncate(self.used);
    }
}
