//! Frames on their way, and chance.

use paceline_wire::{Header, Kind, Payload};

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

    /// Makes of it what an authenticated member could send that is broken, or
    /// means harm: near to what is right, so that it is not refused at once.
    pub(super) fn garble(&mut self, chance: &mut Chance) {
        match chance.below(6) {
            0 => {
                let direction = chance.between(1, 5) << 8;
                self.header.kind = Kind((direction | chance.below(12)) as u16);
            }
            1 => self.header.flags ^= 1 << chance.below(8),
            2 | 3 => {
                let field = &mut self.header.fields[chance.below(3) as usize];
                *field = match chance.below(4) {
                    0 => field.wrapping_add(1),
                    1 => field.wrapping_sub(1),
                    2 => chance.below(40),
                    _ => chance.pick(&[0, 1, u64::from(u32::MAX), 1 << 32, 1 << 63, u64::MAX]),
                };
            }
            _ => self.payload.garble(chance),
        }
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

impl Owned {
    fn garble(&mut self, chance: &mut Chance) {
        const STRANGE: [f32; 6] = [f32::NAN, f32::INFINITY, f32::MAX, f32::MIN, 1e-45, -0.0];
        let resize = |values: &mut Vec<f32>, chance: &mut Chance| {
            let length = chance.below(2 * values.len() as u64 + 2) as usize;
            values.resize(length, 1.0);
        };
        match self {
            Self::Bytes(bytes) if bytes.is_empty() => {
                *self = match chance.below(3) {
                    0 => Self::Bytes(vec![0xff; chance.below(40) as usize]),
                    1 => Self::Dense(vec![f32::NAN; chance.below(60) as usize]),
                    _ => Self::Sparse {
                        indices: vec![u32::MAX, 0],
                        values: vec![1.0, 2.0],
                    },
                };
            }
            Self::Bytes(bytes) => {
                let at = chance.below(bytes.len() as u64) as usize;
                match chance.below(3) {
                    0 => bytes[at] ^= 1 << chance.below(8),
                    1 => bytes.truncate(at),
                    _ => bytes[at..].fill(chance.pick(&[0, 0xff, 0x80])),
                }
            }
            Self::Dense(values) => match chance.below(4) {
                0 => resize(values, chance),
                1 => {
                    let strange = chance.pick(&STRANGE);
                    values.iter_mut().for_each(|value| *value = strange);
                }
                2 => {
                    *self = Self::Half(vec![0x7c01; values.len()]);
                }
                _ => {
                    let values = std::mem::take(values);
                    let indices = (0..values.len() as u32).rev().collect();
                    *self = match chance.below(2) {
                        0 => Self::Sparse { indices, values },
                        _ => Self::Rows {
                            width: 1,
                            rows: indices,
                            values,
                        },
                    };
                }
            },
            Self::Half(values) => {
                let length = chance.below(2 * values.len() as u64 + 2) as usize;
                values.resize(length, 0x7c01);
            }
            Self::Rows { rows, values, .. } => match chance.below(2) {
                0 => rows.iter_mut().for_each(|row| *row = u32::MAX),
                _ => resize(values, chance),
            },
            Self::Sparse { indices, values } => match chance.below(2) {
                0 => indices.iter_mut().for_each(|index| *index = u32::MAX),
                _ => resize(values, chance),
            },
        }
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
