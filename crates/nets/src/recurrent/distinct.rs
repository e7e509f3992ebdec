/// The distinct tokens of a batch.
///
/// Words repeat, padding most of all. What is computed for a token alone (its
/// share of the gates, its gradient) is computed once for each distinct token.
///
/// Indexes are kept as the bits of floats, because scratch memory is of one
/// kind. Nothing is cleared beforehand: an entry of `slots` counts only if the
/// list names the token at that slot (Briggs & Torczon 1993), so a large
/// vocabulary costs nothing.
pub(super) struct Distinct<'a> {
    /// For each place of the batch, the slot of its token.
    places: &'a [f32],
    /// For each slot, its token.
    tokens: &'a [f32],
}

impl<'a> Distinct<'a> {
    /// Numbers the tokens of `sequence` in the order of their first occurrence.
    /// `slots` has an entry for each token of the vocabulary, `tokens` and
    /// `places` one for each place of the sequence.
    pub(super) fn find(
        sequence: impl Iterator<Item = u32>,
        slots: &mut [f32],
        tokens: &'a mut [f32],
        places: &'a mut [f32],
    ) -> Self {
        let mut count = 0;
        let mut filled = 0;
        for (token, place) in sequence.zip(places.iter_mut()) {
            let entry = &mut slots[token as usize];
            let known = entry.to_bits() as usize;
            let slot = if known < count && tokens[known].to_bits() == token {
                known
            } else {
                tokens[count] = f32::from_bits(token);
                *entry = f32::from_bits(count as u32);
                count += 1;
                count - 1
            };
            *place = f32::from_bits(slot as u32);
            filled += 1;
        }
        Self {
            places: &places[..filled],
            tokens: &tokens[..count],
        }
    }

    /// How many tokens differ.
    pub(super) fn count(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens in the order of their slots.
    pub(super) fn tokens(&self) -> impl Iterator<Item = u32> {
        self.tokens.iter().map(|bits| bits.to_bits())
    }

    /// The slot of each place's token.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.places.iter().map(|bits| bits.to_bits() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_numbered_by_first_occurrence_whatever_the_memory_holds() {
        for rubbish in [0.0, f32::NAN, f32::from_bits(1), f32::from_bits(2)] {
            let mut slots = [rubbish; 10];
            let (mut tokens, mut places) = ([rubbish; 6], [rubbish; 6]);
            let sequence = [0, 9, 0, 4, 9, 0];
            let distinct =
                Distinct::find(sequence.into_iter(), &mut slots, &mut tokens, &mut places);
            assert_eq!(distinct.count(), 3);
            assert_eq!(distinct.tokens().collect::<Vec<_>>(), [0, 9, 4]);
            assert_eq!(distinct.places().collect::<Vec<_>>(), [0, 1, 0, 2, 1, 0]);
        }
    }

    #[test]
    fn an_empty_sequence_has_no_tokens() {
        let (mut tokens, mut places) = ([], []);
        let distinct = Distinct::find(std::iter::empty(), &mut [], &mut tokens, &mut places);
        assert_eq!(distinct.count(), 0);
    }
}
