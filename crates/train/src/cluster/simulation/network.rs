//! Frames on their way, and chance.

use paceline_wire::{Header, Payload};

/// A frame on its way: everything that a message is, as its frame says it.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    header: Header,
    payload: Owned,
}

#[derive(Clone, Debug)]
enum Owned {
    Bytes(Vec<u8>),
    Dense(Vec<f32>),
    Half(Vec<u16>),
    Rows {
        width: u32,
        rows: Vec<u32>,
        values: Vec<f32>,
    },
    Sparse {
        indices: Vec<u32>,
        values: Vec<f32>,
    },
}

impl Packet {
    pub(super) fn new((header, payload): (Header, Payload<'_>)) -> Self {
        let payload = match payload {
            Payload::Bytes(bytes) => Owned::Bytes(bytes.to_vec()),
            Payload::Dense(values) => Owned::Dense(values.to_vec()),
            Payload::Joined(first, second) => Owned::Dense([first, second].concat()),
            Payload::Half(values) => Owned::Half(values.to_vec()),
            Payload::Rows {
                width,
                rows,
                values,
            } => Owned::Rows {
                width,
                rows: rows.to_vec(),
                values: values.to_vec(),
            },
            Payload::Sparse { indices, values } => Owned::Sparse {
                indices: indices.to_vec(),
                values: values.to_vec(),
            },
        };
        Self { header, payload }
    }

    pub(super) fn parts(&self) -> (&Header, Payload<'_>) {
        let payload = match &self.payload {
            Owned::Bytes(bytes) => Payload::Bytes(bytes),
            Owned::Dense(values) => Payload::Dense(values),
            Owned::Half(values) => Payload::Half(values),
            Owned::Rows {
                width,
                rows,
                values,
            } => Payload::Rows {
                width: *width,
                rows,
                values,
            },
            Owned::Sparse { indices, values } => Payload::Sparse { indices, values },
        };
        (&self.header, payload)
    }
}

/// A generator whose numbers no release of anything changes: Steele's
/// splitmix64.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number from `low` to `high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
