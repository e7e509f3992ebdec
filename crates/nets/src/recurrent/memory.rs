use paceline_kernels::AlignedBuffer;

/// Hands out parts of a scratch buffer, each on a register boundary.
///
/// The same calls on [`Budget`] tell how long the buffer must be, so that the
/// two cannot differ.
pub(super) trait Memory {
    type Part;
    fn take(&mut self, len: usize) -> Self::Part;
}

/// Counts instead of handing out.
#[derive(Default)]
pub(super) struct Budget(pub(super) usize);

impl Memory for Budget {
    type Part = ();

    fn take(&mut self, len: usize) {
        self.0 += AlignedBuffer::padded(len);
    }
}

/// The part of the scratch buffer that is still free.
pub(super) struct Free<'a>(pub(super) &'a mut [f32]);

impl<'a> Memory for Free<'a> {
    type Part = &'a mut [f32];

    fn take(&mut self, len: usize) -> &'a mut [f32] {
        let (part, rest) = std::mem::take(&mut self.0).split_at_mut(AlignedBuffer::padded(len));
        self.0 = rest;
        &mut part[..len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_fill_the_budget() {
        let mut budget = Budget::default();
        for len in [3, 16, 17] {
            budget.take(len);
        }
        assert_eq!(budget.0, 16 + 16 + 32);
        let mut buffer = AlignedBuffer::zeroed(budget.0);
        let mut free = Free(&mut buffer);
        for len in [3, 16, 17] {
            let part = free.take(len);
            assert_eq!(part.len(), len);
            assert_eq!(part.as_ptr() as usize % 64, 0);
        }
        assert!(free.0.is_empty());
    }
}
