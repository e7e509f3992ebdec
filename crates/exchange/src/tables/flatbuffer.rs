//! As much of the FlatBuffers format as Arrow's metadata needs.
//!
//! A buffer is built from its end, so bytes are kept in reverse; a place is a
//! distance from the end. <https://flatbuffers.dev/internals/>

/// A buffer under construction.
#[derive(Default)]
pub(super) struct Builder {
    reversed: Vec<u8>,
}

/// Where something that was written begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(usize);

/// One field of a table.
pub(super) enum Slot {
    /// Absent: the reader takes the default.
    Default,
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    To(Place),
}

impl Builder {
    /// Zeros, so that after `size` more bytes the place is a multiple of `align`.
    fn align(&mut self, size: usize, align: usize) {
        while !(self.reversed.len() + size).is_multiple_of(align) {
            self.reversed.push(0);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    /// A reference from here to what was written before.
    fn push_offset(&mut self, to: Place) {
        self.align(4, 4);
        let distance = self.reversed.len() + 4 - to.0;
        self.push(&count(distance).to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) -> Place {
        self.align(text.len() + 1, 4);
        self.push(&[0]);
        self.push(text.as_bytes());
        self.push(&count(text.len()).to_le_bytes());
        Place(self.reversed.len())
    }

    pub(super) fn places(&mut self, places: &[Place]) -> Place {
        self.align(0, 4);
        for &place in places.iter().rev() {
            self.push_offset(place);
        }
        self.push(&count(places.len()).to_le_bytes());
        Place(self.reversed.len())
    }

    /// Structs of whole eight bytes each, as they are in memory.
    pub(super) fn structs<const N: usize>(&mut self, structs: &[[i64; N]]) -> Place {
        self.align(structs.len() * N * 8, 8);
        for number in structs.iter().rev().flat_map(|one| one.iter().rev()) {
            self.push(&number.to_le_bytes());
        }
        self.push(&count(structs.len()).to_le_bytes());
        Place(self.reversed.len())
    }

    pub(super) fn table(&mut self, slots: &[Slot]) -> Place {
        let before = self.reversed.len();
        let mut places = Vec::with_capacity(slots.len());
        for slot in slots {
            match slot {
                Slot::Default => {
                    places.push(None);
                    continue;
                }
                Slot::Byte(value) => self.push(&[*value]),
                Slot::Short(value) => {
                    self.align(2, 2);
                    self.push(&value.to_le_bytes());
                }
                Slot::Int(value) => {
                    self.align(4, 4);
                    self.push(&value.to_le_bytes());
                }
                Slot::Long(value) => {
                    self.align(8, 8);
                    self.push(&value.to_le_bytes());
                }
                Slot::To(place) => self.push_offset(*place),
            }
            places.push(Some(self.reversed.len()));
        }
        self.align(4, 4);
        self.push(&[0; 4]);
        let table = self.reversed.len();
        let short = |n: usize| u16::try_from(n).expect("tables here have a few fields");
        for place in places.iter().rev() {
            let offset = place.map_or(0, |place| table - place);
            self.push(&short(offset).to_le_bytes());
        }
        self.push(&short(table - before).to_le_bytes());
        self.push(&short(4 + 2 * slots.len()).to_le_bytes());
        let distance = count(self.reversed.len() - table);
        for (i, byte) in distance.to_be_bytes().into_iter().enumerate() {
            self.reversed[table - 4 + i] = byte;
        }
        Place(table)
    }

    /// The buffer with its root, a multiple of eight bytes.
    pub(super) fn finish(mut self, root: Place) -> Vec<u8> {
        self.align(4, 8);
        self.push_offset(root);
        self.reversed.reverse();
        self.reversed
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).expect("metadata is far below four gigabytes")
}
