//! How workers that sum with their peers become a group.

use std::fmt;

use paceline_nets::Tally;
use paceline_wire::Address;

use super::ProtocolError;
use super::bytes::{Reader, Writer};
use crate::cluster::milestones::Milestones;

/// A worker asks to take part in the next group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JoinRequest {
    /// The steps it has completed.
    pub(crate) step: u64,
    /// The steps that its optimizer has counted.
    pub(crate) optimizer_steps: u64,
    /// The rows since the last milestone.
    pub(crate) tally: Tally,
    /// Where it listens for the others.
    pub(crate) address: Address,
    /// What it trains.
    pub(crate) identity: String,
}

/// Who forms a group, and from where it goes on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roster {
    /// The group's number, from one.
    pub(crate) generation: u32,
    /// The worker whose parameters count.
    pub(crate) source: u32,
    /// Its step.
    pub(crate) step: u64,
    /// The steps that its optimizer has counted.
    pub(crate) optimizer_steps: u64,
    /// Its rows since the last milestone.
    pub(crate) tally: Tally,
    /// The step of the last snapshot that the controller has taken.
    pub(crate) taken: u64,
    /// When something is due: where a checkpoint goes, and thus whether there
    /// is one, only the controller knows.
    pub(crate) milestones: Milestones,
    /// Whether the training is to stop as soon as it can.
    pub(crate) stops: bool,
    /// Where everybody listens, by worker.
    pub(crate) addresses: Vec<Address>,
}

/// What a worker of a group is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It waits until all are there, or it connects to them.
    Joining,
    /// It computes this step.
    Computing(u64),
    /// It sums this step with the others.
    Summing(u64),
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joining => f.write_str("joining the others"),
            Self::Computing(step) => write!(f, "computing step {step}"),
            Self::Summing(step) => write!(f, "summing step {step}"),
        }
    }
}

impl Activity {
    /// As two numbers.
    pub(crate) const fn numbers(self) -> [u64; 2] {
        match self {
            Self::Joining => [0, 0],
            Self::Computing(step) => [1, step],
            Self::Summing(step) => [2, step],
        }
    }

    pub(crate) const fn from_numbers(numbers: [u64; 2]) -> Option<Self> {
        match numbers {
            [0, 0] => Some(Self::Joining),
            [1, step] => Some(Self::Computing(step)),
            [2, step] => Some(Self::Summing(step)),
            _ => None,
        }
    }
}

impl JoinRequest {
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer
            .long(self.step)
            .long(self.optimizer_steps)
            .tally(self.tally)
            .text(&self.address.to_string())
            .text(&self.identity);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            step: reader.count()?,
            optimizer_steps: reader.count()?,
            tally: reader.tally()?,
            address: address(reader)?,
            identity: reader.text()?.to_owned(),
        })
    }
}

impl Roster {
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer
            .long(u64::from(self.generation))
            .long(u64::from(self.source))
            .long(self.step)
            .long(self.optimizer_steps)
            .tally(self.tally)
            .long(self.taken);
        write_milestones(writer, &self.milestones);
        writer.long(u64::from(self.stops));
        writer.long(self.addresses.len() as u64);
        for address in &self.addresses {
            writer.text(&address.to_string());
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            generation: reader.word()?,
            source: reader.word()?,
            step: reader.count()?,
            optimizer_steps: reader.count()?,
            tally: reader.tally()?,
            taken: reader.count()?,
            milestones: read_milestones(reader)?,
            stops: match reader.long()? {
                0 => false,
                1 => true,
                _ => return Err(reader.malformed("a truth is neither zero nor one")),
            },
            addresses: {
                let count = usize::try_from(reader.long()?)
                    .ok()
                    .filter(|count| *count <= reader.numbers_left())
                    .ok_or_else(|| reader.malformed("it is too short"))?;
                (0..count)
                    .map(|_| address(reader))
                    .collect::<Result<_, _>>()?
            },
        })
    }
}

/// An address in the one form in which it is written.
fn address(reader: &mut Reader<'_>) -> Result<Address, ProtocolError> {
    let text = reader.text()?;
    text.parse()
        .ok()
        .filter(|address: &Address| address.to_string() == text)
        .ok_or_else(|| reader.malformed("its address is none"))
}

pub(super) fn write_milestones(writer: &mut Writer<'_>, milestones: &Milestones) {
    for number in milestones.numbers() {
        writer.long(number);
    }
}

pub(super) fn read_milestones(reader: &mut Reader<'_>) -> Result<Milestones, ProtocolError> {
    let mut numbers = [0; Milestones::NUMBERS];
    for number in &mut numbers {
        *number = reader.long()?;
    }
    Milestones::from_numbers(numbers).ok_or_else(|| reader.malformed("its milestones are none"))
}
