//! The number of epochs as a variable of the pick.

use super::PickError;
use crate::results::{EpochsTable, Results, RunsTable};
use paceline_advise::curve::OverEpochs;
use serde_json::{Value, json};
use std::fmt;

/// How far beyond the epochs that were run a curve is followed.
pub(super) const REACH: f64 = 3.0;

/// What is known of the epochs.
pub struct FreeEpochs {
    /// The most epochs that are considered.
    pub most: f64,
    /// The most epochs that a run had.
    run: f64,
    silent: usize,
    from_zero: bool,
    /// How each response goes on with the epochs.
    shapes: Vec<(String, OverEpochs)>,
}

impl FreeEpochs {
    /// Reads what runs reported after each epoch. `wanted` is the most epochs to
    /// consider; zero is the most that were run.
    pub(super) fn read(
        results: &Results,
        responses: &[String],
        wanted: u32,
    ) -> Result<(RunsTable, Self), PickError> {
        let table = results.epochs(responses)?;
        let furthest = REACH * table.most;
        let most = match wanted {
            0 => table.most,
            wanted => f64::from(wanted),
        };
        if most > furthest {
            return Err(PickError::TooManyEpochs {
                wanted: most,
                run: table.most,
                furthest,
            });
        }
        let shapes = table.shapes(responses);
        let EpochsTable {
            thin,
            most: run,
            silent,
            from_zero,
            ..
        } = table;
        let epochs = Self {
            most,
            run,
            silent,
            from_zero,
            shapes,
        };
        Ok((thin, epochs))
    }

    /// How each response goes on with the epochs.
    pub(super) fn shapes(&self) -> &[(String, OverEpochs)] {
        &self.shapes
    }

    pub(super) fn json(&self) -> Value {
        let shapes = self.shapes.iter().map(|(name, shape)| {
            let shape = match shape {
                OverEpochs::LevellingOff { rate } => json!({ "levels_off_with_rate": rate }),
                OverEpochs::Growing => json!("grows"),
            };
            (name.clone(), shape)
        });
        json!({
            "considered_up_to": self.most,
            "run_up_to": self.run,
            "runs_without_epochs": self.silent,
            "counted_from_zero_by_runs": self.from_zero,
            "responses": Value::Object(shapes.collect()),
        })
    }
}

impl fmt::Display for FreeEpochs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epochs are free up to {}", self.most)?;
        if self.most > self.run {
            write!(f, "; {} were run at most", self.run)?;
        }
        for (name, shape) in &self.shapes {
            match shape {
                OverEpochs::LevellingOff { rate } => {
                    write!(f, "; {name} levels off like epochs^-{rate:.2}")?;
                }
                OverEpochs::Growing => write!(f, "; {name} grows with them")?,
            }
        }
        if self.from_zero {
            write!(f, "; the runs count from 0, here the first is 1")?;
        }
        if self.silent > 0 {
            write!(f, "; {} runs reported none and are left out", self.silent)?;
        }
        Ok(())
    }
}
