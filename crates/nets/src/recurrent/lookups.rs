/// The rows of the table that a batch looks up.
///
/// Words repeat, padding most of all. What is computed for a token alone (its
/// share of the gates, its gradient) is then computed once for each distinct
/// token. Where hardly any token repeats, spreading and gathering would cost
/// more than that saves, and each place has its own lookup.
///
/// Indexes are kept as the bits of floats, because scratch memory is of one
/// kind. Nothing is cleared beforehand: an entry of `slots` counts only if the
/// list names the token at that slot (Briggs & Torczon 1993), so a large
/// vocabulary costs nothing.
pub(super) struct Lookups<'a> {
    /// For each lookup, its token.
    tokens: &'a [f32],
    /// For each place of the batch, its lookup; none if the two are the same.
    places: Option<&'a [f32]>,
}

/// The most lookups that a sequence of `places` tokens can need.
pub(super) fn most_lookups(places: usize, vocabulary: usize) -> usize {
    // Places have their own lookups only if three quarters of them are distinct.
    places.min(vocabulary + vocabulary.div_ceil(3))
}

impl<'a> Lookups<'a> {
    /// Numbers the tokens of `sequence` in the order of their first occurrence.
    /// `slots` has an entry for each token of the vocabulary, `places` one for
    /// each place of the sequence, `tokens` as many as [`most_lookups`] says.
    pub(super) fn find(
        sequence: impl Iterator<Item = u32> + Clone,
        slots: &mut [f32],
        tokens: &'a mut [f32],
        places: &'a mut [f32],
    ) -> Self {
        let mut count = 0;
        let mut filled = 0;
        for (token, place) in sequence.clone().zip(places.iter_mut()) {
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
        if 4 * count > 3 * filled {
            for (token, lookup) in sequence.zip(tokens.iter_mut()) {
                *lookup = f32::from_bits(token);
            }
            return Self {
                tokens: &tokens[..filled],
                places: None,
            };
        }
        Self {
            tokens: &tokens[..count],
            places: Some(&places[..filled]),
        }
    }

    /// How many lookups there are.
    pub(super) fn count(&self) -> usize {
        self.tokens.len()
    }

    /// The token of each lookup.
    pub(super) fn tokens(&self) -> impl Iterator<Item = u32> {
        self.tokens.iter().map(|bits| bits.to_bits())
    }

    /// The lookup of each place, unless each place has its own.
    pub(super) fn shared(&self) -> Option<impl Iterator<Item = usize>> {
        self.places
            .map(|places| places.iter().map(|bits| bits.to_bits() as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = (Vec<u32>, Option<Vec<usize>>);

    fn find(sequence: &[u32], vocabulary: usize, rubbish: f32) -> Found {
        let most = most_lookups(sequence.len(), vocabulary);
        let (mut tokens, mut places) = (vec![rubbish; most], vec![rubbish; sequence.len()]);
        let lookups = Lookups::find(
            sequence.iter().copied(),
            &mut vec![rubbish; vocabulary],
            &mut tokens,
            &mut places,
        );
        assert_eq!(lookups.count(), lookups.tokens().count());
        (
            lookups.tokens().collect(),
            lookups.shared().map(Iterator::collect),
        )
    }

    #[test]
    fn tokens_are_numbered_by_first_occurrence_whatever_the_memory_holds() {
        for rubbish in [0.0, f32::NAN, f32::from_bits(1), f32::from_bits(2)] {
            assert_eq!(
                find(&[0, 9, 0, 4, 9, 0], 10, rubbish),
                (vec![0, 9, 4], Some(vec![0, 1, 0, 2, 1, 0]))
            );
        }
    }

    #[test]
    fn each_place_has_its_own_lookup_where_few_tokens_repeat() {
        assert_eq!(find(&[5, 3, 5, 1, 2], 6, 0.0), (vec![5, 3, 5, 1, 2], None));
    }

    #[test]
    fn the_memory_suffices_for_any_share_of_repeats() {
        for vocabulary in 1..12_u32 {
            for len in 0..40 {
                let sequence: Vec<u32> = (0..len).map(|place| place % vocabulary).collect();
                let (tokens, _) = find(&sequence, vocabulary as usize, f32::NAN);
                assert_eq!(tokens.is_empty(), len == 0);
            }
        }
    }
}
