//! How processes become a group: where each stands, and who takes part.

use paceline_wire::{Address, Header, Kind};

use crate::cluster::evaluator::Milestones;
use crate::cluster::frames::{Caption, pack, unpack};

/// Where a worker stands that asks to take part in the next group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standing {
    /// The steps it has completed.
    pub(super) step: u64,
    /// The rows since the last milestone, and the optimizer's steps.
    pub(super) caption: Caption,
    /// Where it listens for the others.
    pub(super) address: Address,
    /// What it was told to train.
    pub(super) identity: String,
}

/// Who forms a group, and from where it goes on.
#[derive(Clone, Debug)]
pub(super) struct Roster {
    /// The group's number, from one.
    pub(super) generation: u32,
    /// The worker whose parameters count.
    pub(super) source: u32,
    /// Its step.
    pub(super) step: u64,
    /// What else is known of its state.
    pub(super) caption: Caption,
    /// The step of the last snapshot that was looked at.
    pub(super) looked: u64,
    /// When something is due: where a checkpoint goes, and thus whether there
    /// is one, only the trainer knows.
    pub(super) milestones: Milestones,
    /// Whether the training is to stop as soon as it can.
    pub(super) stops: bool,
    /// Where everybody listens, by worker.
    pub(super) addresses: Vec<Address>,
}

impl Standing {
    pub(super) fn header(&self) -> Header {
        Header::new(Kind::Join).clock(self.step)
    }

    pub(super) fn pack(&self) -> Vec<u8> {
        let mut bytes = self.caption.pack();
        bytes.extend_from_slice(self.address.to_string().as_bytes());
        // No address that can be bound here has a line's end.
        bytes.push(b'\n');
        bytes.extend_from_slice(self.identity.as_bytes());
        bytes
    }

    /// None if the bytes say nothing of the kind.
    pub(super) fn unpack(header: &Header, bytes: &[u8]) -> Option<Self> {
        let (caption, text) = bytes.split_at_checked(Caption::BYTES)?;
        let (address, identity) = str::from_utf8(text).ok()?.split_once('\n')?;
        Some(Self {
            step: header.clock,
            caption: Caption::unpack(caption)?,
            address: address.parse().ok()?,
            identity: identity.to_owned(),
        })
    }
}

impl Roster {
    pub(super) fn header(&self) -> Header {
        Header::new(Kind::Roster)
            .clock(self.step)
            .sender(self.source)
            .at(u32::from(self.stops), u64::from(self.generation))
    }

    pub(super) fn pack(&self) -> Vec<u8> {
        let mut bytes = self.caption.pack();
        bytes.extend_from_slice(&pack(&[self.looked]));
        bytes.extend_from_slice(&pack(&self.milestones.numbers()));
        let addresses: Vec<String> = self.addresses.iter().map(Address::to_string).collect();
        bytes.extend_from_slice(addresses.join("\n").as_bytes());
        bytes
    }

    /// None if the bytes say nothing of the kind.
    pub(super) fn unpack(header: &Header, bytes: &[u8]) -> Option<Self> {
        let (caption, rest) = bytes.split_at_checked(Caption::BYTES)?;
        let numbers = (1 + Milestones::NUMBERS) * size_of::<u64>();
        let (numbers, addresses) = rest.split_at_checked(numbers)?;
        let numbers = unpack(numbers);
        let (looked, milestones) = numbers.split_first()?;
        let addresses = str::from_utf8(addresses).ok()?;
        Some(Self {
            generation: u32::try_from(header.start).ok()?,
            source: header.sender,
            step: header.clock,
            caption: Caption::unpack(caption)?,
            looked: *looked,
            milestones: Milestones::from_numbers(milestones)?,
            stops: header.shard != 0,
            addresses: addresses
                .split('\n')
                .map(|address| address.parse().ok())
                .collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::evaluator::Due;
    use paceline_nets::Tally;

    fn caption() -> Caption {
        Caption {
            tally: Tally {
                loss: 0.1 + 0.2,
                hits: 3,
                rows: 9,
            },
            optimizer_steps: 17,
            due: Due::default(),
        }
    }

    #[test]
    fn a_standing_survives_its_bytes() {
        let standing = Standing {
            step: 17,
            caption: caption(),
            address: "tcp://[::1]:7077".parse().unwrap(),
            identity: "seed 1\nrows 60\n".to_owned(),
        };
        let bytes = standing.pack();
        let read = Standing::unpack(&standing.header(), &bytes);
        assert_eq!(read, Some(standing.clone()));
        assert_eq!(Standing::unpack(&standing.header(), &bytes[..45]), None);
    }

    #[test]
    fn a_roster_survives_its_bytes() {
        let roster = Roster {
            generation: 3,
            source: 1,
            step: 41,
            caption: caption(),
            looked: 40,
            milestones: Milestones::from_numbers(&[10, 20, 0, 101]).unwrap(),
            stops: true,
            addresses: vec![
                "unix:///tmp/a/worker0.0".parse().unwrap(),
                "unix:///tmp/a/worker1.2".parse().unwrap(),
            ],
        };
        let bytes = roster.pack();
        let read = Roster::unpack(&roster.header(), &bytes).unwrap();
        // Everything shows in what is written of it.
        assert_eq!(format!("{read:?}"), format!("{roster:?}"));
        for length in 0..bytes.len() - "unix:///tmp/a/worker1.2".len() {
            let read = Roster::unpack(&roster.header(), &bytes[..length]);
            assert!(read.is_none_or(|read| read.addresses.len() < 2));
        }
    }
}
