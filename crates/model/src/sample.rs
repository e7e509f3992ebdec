//! One reading of a node and of the run's own processes.

use crate::{Measure, Micros, PartKind, PartMeasure};
use std::fmt;

macro_rules! readings {
    ($(#[$doc:meta])* $name:ident, $measure:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq)]
        pub struct $name {
            present: u128,
            values: [f64; $measure::ALL.len()],
        }

        const _: () = assert!($measure::ALL.len() <= 128, "the presence mask has 128 bits");

        impl Default for $name {
            fn default() -> Self {
                Self { present: 0, values: [0.0; $measure::ALL.len()] }
            }
        }

        impl $name {
            /// Records that `measure` was read as `value`.
            pub fn set(&mut self, measure: $measure, value: f64) {
                self.present |= 1 << measure as u8;
                self.values[measure as usize] = value;
            }

            /// What was read, or `None` where nothing was: never a zero in disguise.
            #[must_use]
            pub fn get(&self, measure: $measure) -> Option<f64> {
                (self.present >> measure as u8 & 1 == 1).then_some(self.values[measure as usize])
            }

            /// Every measure that was read, in column order.
            pub fn iter(&self) -> impl Iterator<Item = ($measure, f64)> + '_ {
                $measure::ALL.iter().filter_map(|&m| self.get(m).map(|value| (m, value)))
            }

            /// True if nothing was read.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.present == 0
            }
        }

        impl FromIterator<($measure, f64)> for $name {
            fn from_iter<I: IntoIterator<Item = ($measure, f64)>>(pairs: I) -> Self {
                let mut readings = Self::default();
                for (measure, value) in pairs {
                    readings.set(measure, value);
                }
                readings
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_map().entries(self.iter().map(|(m, v)| (m.name(), v))).finish()
            }
        }
    };
}

readings! {
    /// The columns of one sample: a value or nothing for each [`Measure`].
    Readings, Measure
}

readings! {
    /// The columns of one part's reading: a value or nothing for each [`PartMeasure`].
    PartReadings, PartMeasure
}

/// One part of the node, as read at the sample's time.
#[derive(Debug, Clone, PartialEq)]
pub struct PartReading {
    /// Which kind of part.
    pub kind: PartKind,
    /// Its name: `0`, `vda`, `eth0`, `4711 python`.
    pub name: String,
    /// What was read.
    pub readings: PartReadings,
}

/// One row of a node's samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// When the reading was taken, since the start of the run.
    pub at: Micros,
    /// The real time since the reading before, whatever was asked for.
    pub interval: Micros,
    /// Why this row is not an ordinary one.
    pub gap: Option<GapReason>,
    /// The node's and the run's columns.
    pub readings: Readings,
    /// Cores, disks, interfaces, GPUs and processes.
    pub parts: Vec<PartReading>,
}

/// Why a sample is late or lacks values. Amounts are still those of the real
/// interval; nothing is interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// The tick came late (a busy machine, a suspended laptop): the interval is
    /// longer than one and a half of the one asked for.
    Late,
    /// A counter went backwards (reset or wrapped): its amount is missing.
    CounterReset,
    /// A device or cgroup vanished or appeared: its amount is missing.
    DeviceChanged,
    /// A file could not be read: its columns are missing.
    Unreadable,
}

impl GapReason {
    /// Every reason, in the order of the record's dictionary.
    pub const ALL: [Self; 4] = [
        Self::Late,
        Self::CounterReset,
        Self::DeviceChanged,
        Self::Unreadable,
    ];

    /// The name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::CounterReset => "counter_reset",
            Self::DeviceChanged => "device_changed",
            Self::Unreadable => "unreadable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_read_is_absent_and_not_zero() {
        let mut readings = Readings::default();
        assert!(readings.is_empty());
        readings.set(Measure::NodeCpuUser, 0.0);
        assert_eq!(readings.get(Measure::NodeCpuUser), Some(0.0));
        assert_eq!(readings.get(Measure::NodeCpuSystem), None);
        assert_eq!(readings.iter().count(), 1);
    }
}
