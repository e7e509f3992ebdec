//! Arrays that many threads read without a copy.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::mapped::Map;

/// An immutable array, owned or part of a memory-mapped file. Clones and
/// slices share the memory, so handing one to every worker costs nothing.
pub struct Shared<T: Element> {
    store: Store<T>,
    range: Range<usize>,
}

/// Bytes, such as the pixels of an image.
pub type Bytes = Shared<u8>;
/// Single-precision numbers.
pub type Floats = Shared<f32>;
/// Indexes of classes, columns or words.
pub type Ids = Shared<u32>;
/// Places in another array.
pub type Offsets = Shared<u64>;

/// A number that is nothing but its bytes, so that a mapped file can hold it.
pub trait Element:
    FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + Sync + fmt::Debug + 'static
{
}

impl Element for u8 {}
impl Element for u32 {}
impl Element for u64 {}
impl Element for f32 {}

enum Store<T: Element> {
    Owned(Arc<Vec<T>>),
    Mapped { map: Arc<Map>, offset: usize },
}

impl<T: Element> Shared<T> {
    /// The part `range` of this array, sharing its memory.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the array.
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.range.len(),
            "a slice lies within its array"
        );
        let start = self.range.start;
        Self {
            store: self.store.clone(),
            range: start + range.start..start + range.end,
        }
    }

    /// `length` numbers that begin `offset` bytes into a mapped file; nothing
    /// if they do not lie within it or are not aligned.
    pub(crate) fn mapped(map: &Arc<Map>, offset: usize, length: usize) -> Option<Self> {
        let end = length.checked_mul(size_of::<T>())?.checked_add(offset)?;
        let bytes = map.bytes().get(offset..end)?;
        <[T]>::ref_from_bytes(bytes).ok()?;
        Some(Self {
            store: Store::Mapped {
                map: Arc::clone(map),
                offset,
            },
            range: 0..length,
        })
    }

    /// Whether the numbers lie in a mapped file rather than on the heap.
    pub fn is_mapped(&self) -> bool {
        matches!(self.store, Store::Mapped { .. })
    }
}

impl<T: Element> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.store {
            Store::Owned(values) => &values[self.range.clone()],
            Store::Mapped { map, offset } => {
                let size = size_of::<T>();
                let bytes = offset + self.range.start * size..offset + self.range.end * size;
                <[T]>::ref_from_bytes(&map.bytes()[bytes])
                    .expect("place and alignment were checked when the map was opened")
            }
        }
    }
}

impl<T: Element> From<Vec<T>> for Shared<T> {
    fn from(values: Vec<T>) -> Self {
        Self {
            range: 0..values.len(),
            store: Store::Owned(Arc::new(values)),
        }
    }
}

impl<T: Element> Clone for Store<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Owned(values) => Self::Owned(Arc::clone(values)),
            Self::Mapped { map, offset } => Self::Mapped {
                map: Arc::clone(map),
                offset: *offset,
            },
        }
    }
}

impl<T: Element> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            range: self.range.clone(),
        }
    }
}

impl<T: Element + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Element> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mapped = if self.is_mapped() { ", mapped" } else { "" };
        write!(f, "[{} numbers{mapped}]", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_a_slice_shares_the_memory_of_the_array() {
        let all: Ids = (0..100).collect::<Vec<u32>>().into();
        let part = all.slice(10..50).slice(5..8);
        assert_eq!(&*part, [15, 16, 17]);
        assert_eq!(part.as_ptr(), all[15..].as_ptr());
    }
}
