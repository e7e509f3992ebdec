use std::ops::{Deref, DerefMut};

/// Sixteen floats on a cache line: one AVX-512 register.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; AlignedBuffer::LANES]);

/// `f32` values that start on a 64-byte boundary and are zero at first.
///
/// The storage reaches to the next multiple of [`AlignedBuffer::LANES`] values,
/// so that a kernel may load a whole register at the last value.
pub struct AlignedBuffer {
    lines: Vec<Line>,
    len: usize,
}

impl AlignedBuffer {
    /// How many values the alignment spans.
    pub const LANES: usize = 16;

    /// A buffer of `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        Self {
            lines: vec![Line([0.0; Self::LANES]); len.div_ceil(Self::LANES)],
            len,
        }
    }

    /// `len` rounded up to whole registers.
    pub const fn padded(len: usize) -> usize {
        len.next_multiple_of(Self::LANES)
    }
}

impl Deref for AlignedBuffer {
    type Target = [f32];

    #[expect(unsafe_code, reason = "views the lines as their floats")]
    fn deref(&self) -> &[f32] {
        // SAFETY: a `Line` is `LANES` floats without padding, the vector holds
        // at least `len` of them, and the borrow keeps it alive.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    #[expect(unsafe_code, reason = "views the lines as their floats")]
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`; the exclusive borrow of `self` makes this the
        // only view.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl Clone for AlignedBuffer {
    fn clone(&self) -> Self {
        Self {
            lines: self.lines.clone(),
            len: self.len,
        }
    }
}

impl std::fmt::Debug for AlignedBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "AlignedBuffer({} values)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_on_a_cache_line_and_is_zero() {
        for len in [0, 1, 15, 16, 17, 1000] {
            let buffer = AlignedBuffer::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr() as usize % 64, 0);
            assert!(buffer.iter().all(|value| *value == 0.0));
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_cloned() {
        let mut buffer = AlignedBuffer::zeroed(19);
        buffer[18] = 3.5;
        assert_eq!(buffer.clone()[18], 3.5);
    }
}
