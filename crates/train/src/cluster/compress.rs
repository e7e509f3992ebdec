//! Updates in fewer bytes, without losing what was left out.
//!
//! What an update does not carry is remembered and added to the next one (error
//! feedback), so that over time everything arrives: F. Seide et al., "1-bit
//! stochastic gradient descent and its application to data-parallel distributed
//! training of speech DNNs", Interspeech 2014; S. U. Stich, J.-B. Cordonnier and
//! M. Jaggi, "Sparsified SGD with memory", NeurIPS 2018, who prove that SGD then
//! converges at the rate of the uncompressed one. The choice of the largest
//! values is that of Y. Lin et al., "Deep gradient compression", ICLR 2018,
//! without its further corrections.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use paceline_kernels::{AlignedBuffer, Kernels};
use paceline_wire::Payload;

use super::protocol::TRAILER;

/// How updates travel between processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// Updates and parameters in half precision.
    Half,
    /// Of each update, this share of its values: the largest. Parameters travel
    /// as they are.
    TopK(f64),
}

/// A text that compresses nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no way to compress; write none, fp16, or topk:1% for the largest hundredth")]
pub struct ParseCompressionError(String);

impl FromStr for Compression {
    type Err = ParseCompressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseCompressionError(text.to_owned());
        match text {
            "none" => Ok(Self::None),
            "fp16" => Ok(Self::Half),
            _ => {
                let percent = text
                    .strip_prefix("topk:")
                    .and_then(|share| share.strip_suffix('%'))
                    .ok_or_else(error)?;
                percent
                    .parse()
                    .ok()
                    .filter(|percent: &f64| *percent > 0.0 && *percent <= 100.0)
                    .map(|percent| Self::TopK(percent / 100.0))
                    .ok_or_else(error)
            }
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("none"),
            Self::Half => formatter.write_str("fp16"),
            Self::TopK(share) => {
                // As it was typed: 0.07 of a hundred is not 7.000000000000001.
                let percent = (share * 1e12).round() / 1e10;
                write!(formatter, "topk:{percent}%")
            }
        }
    }
}

/// The largest number of half precision.
const LARGEST_HALF: f32 = 65_504.0;

/// WorkerCompute to half precision. What is too large becomes the largest number there
/// is, never infinite: error feedback carries the rest later.
pub(crate) fn to_half(kernels: Kernels, from: &[f32], to: &mut Vec<u16>, within: &mut Vec<f32>) {
    within.clear();
    within.extend(
        from.iter()
            .map(|value| value.clamp(-LARGEST_HALF, LARGEST_HALF)),
    );
    to.resize(from.len(), 0);
    kernels.to_half(within, to);
}

/// Compresses the dense part of one worker's updates.
pub(crate) struct Compressor {
    kind: Compression,
    kernels: Kernels,
    /// What former updates left out.
    residual: AlignedBuffer,
    /// The update in hand, as halves.
    halves: Vec<u16>,
    /// The update in hand, as places and values.
    places: Vec<u32>,
    values: Vec<f32>,
    /// Room for magnitudes, and for a part on its way.
    room: Vec<f32>,
    staged_halves: Vec<u16>,
    staged_places: Vec<u32>,
}

impl Compressor {
    pub(crate) fn new(kind: Compression, len: usize) -> Self {
        let remembered = if kind == Compression::None { 0 } else { len };
        Self {
            kind,
            kernels: Kernels::detect(),
            residual: AlignedBuffer::zeroed(remembered),
            halves: Vec::new(),
            places: Vec::new(),
            values: Vec::new(),
            room: Vec::new(),
            staged_halves: Vec::new(),
            staged_places: Vec::new(),
        }
    }

    /// Takes an update in hand, with what former ones left out, and remembers
    /// what this one leaves out. `dense` is of no further use.
    pub(crate) fn take(&mut self, dense: &mut [f32]) {
        if self.kind == Compression::None {
            return;
        }
        for (value, left) in dense.iter_mut().zip(self.residual.iter()) {
            *value += left;
        }
        match self.kind {
            Compression::None => {}
            Compression::Half => {
                to_half(self.kernels, dense, &mut self.halves, &mut self.room);
                self.kernels.from_half(&self.halves, &mut self.residual);
                for (left, value) in self.residual.iter_mut().zip(&*dense) {
                    *left = value - *left;
                }
            }
            Compression::TopK(share) => self.choose(dense, share),
        }
    }

    fn choose(&mut self, dense: &[f32], share: f64) {
        self.places.clear();
        self.values.clear();
        self.residual.copy_from_slice(dense);
        let count = (share * dense.len() as f64).ceil() as usize;
        if count == 0 {
            return;
        }
        self.room.clear();
        self.room.extend(dense.iter().map(|value| value.abs()));
        let last = self.room.len() - count.min(self.room.len());
        let (_, least, _) = self.room.select_nth_unstable_by(last, f32::total_cmp);
        let least = *least;
        // Of values that are as large as the least that goes, the first go.
        let larger = dense.iter().filter(|value| value.abs() > least).count();
        let mut equal = count - larger.min(count);
        for (place, value) in (0..).zip(dense) {
            let size = value.abs();
            if size < least || size == 0.0 {
                continue;
            }
            if size == least {
                if equal == 0 {
                    continue;
                }
                equal -= 1;
            }
            self.places.push(place);
            self.values.push(*value);
            self.residual[place as usize] = 0.0;
        }
    }

    /// The part of the update in hand that concerns a server which holds
    /// `range`, with the numbers that go with it; `plain` is the part as it was.
    pub(crate) fn part<'a>(
        &'a mut self,
        range: Range<usize>,
        plain: &'a [f32],
        trailer: &'a [f32; TRAILER],
        staged: &'a mut Vec<f32>,
    ) -> Payload<'a> {
        staged.clear();
        match self.kind {
            Compression::None => Payload::Joined(plain, trailer),
            Compression::Half => {
                let halves = &mut self.staged_halves;
                halves.clear();
                halves.extend_from_slice(&self.halves[range]);
                for number in trailer {
                    let bits = number.to_bits();
                    halves.extend([bits as u16, (bits >> 16) as u16]);
                }
                Payload::Half(halves)
            }
            Compression::TopK(_) => {
                let place = |at: usize| self.places.partition_point(|place| (*place as usize) < at);
                let chosen = place(range.start)..place(range.end);
                let start = u32::try_from(range.start).expect("parameters are counted by 32 bits");
                let end = u32::try_from(range.len()).expect("parameters are counted by 32 bits");
                let places = &mut self.staged_places;
                places.clear();
                places.extend(self.places[chosen.clone()].iter().map(|at| at - start));
                // Places behind the range carry the numbers that go along.
                places.extend((end..).take(TRAILER));
                staged.extend_from_slice(&self.values[chosen]);
                staged.extend_from_slice(trailer);
                Payload::Sparse {
                    indices: places,
                    values: staged,
                }
            }
        }
    }
}

/// Bytes of the dense part of an update.
pub(crate) fn bytes_of(dense: Payload<'_>) -> u64 {
    let bytes = match dense {
        Payload::Bytes(bytes) => bytes.len(),
        Payload::Dense(values) => 4 * values.len(),
        Payload::Joined(first, second) => 4 * (first.len() + second.len()),
        Payload::Half(halves) => 2 * halves.len(),
        Payload::Rows { rows, values, .. } => 4 * (rows.len() + values.len()),
        Payload::Sparse { indices, values } => 4 * (indices.len() + values.len()),
    };
    bytes as u64
}

/// The dense part of a compressed update that arrived, written into `dense`,
/// and the numbers that go with it; none if it is not one of `len` values.
pub(crate) fn unpack_dense(
    kernels: Kernels,
    payload: Payload<'_>,
    len: usize,
    dense: &mut Vec<f32>,
) -> Option<[f32; TRAILER]> {
    match payload {
        Payload::Half(halves) => {
            let (halves, words) = halves.split_last_chunk::<{ 2 * TRAILER }>()?;
            if halves.len() != len {
                return None;
            }
            dense.resize(len, 0.0);
            kernels.from_half(halves, dense);
            Some(std::array::from_fn(|number| {
                let (low, high) = (words[2 * number], words[2 * number + 1]);
                f32::from_bits(u32::from(low) | u32::from(high) << 16)
            }))
        }
        Payload::Sparse { indices, values } => {
            let (places, behind) = indices.split_last_chunk::<TRAILER>()?;
            let (values, trailer) = values.split_last_chunk::<TRAILER>()?;
            let end = u32::try_from(len).ok()?;
            let fits = behind.iter().copied().eq((end..).take(TRAILER))
                && places.is_sorted_by(|one, next| one < next)
                && places.last().is_none_or(|last| *last < end);
            if !fits {
                return None;
            }
            dense.clear();
            dense.resize(len, 0.0);
            for (place, value) in places.iter().zip(values) {
                dense[*place as usize] = *value;
            }
            Some(*trailer)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_compression_is_written_as_it_is_read() {
        for text in [
            "none",
            "fp16",
            "topk:1%",
            "topk:0.07%",
            "topk:12.5%",
            "topk:100%",
        ] {
            assert_eq!(text.parse::<Compression>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "fp8",
            "topk",
            "topk:1",
            "topk:0%",
            "topk:101%",
            "topk:NaN%",
        ] {
            assert!(text.parse::<Compression>().is_err(), "{text}");
        }
    }

    const TAIL: [f32; TRAILER] = [0.5, f32::NAN, -1.0, 2.0, 3.0, 4.0];

    /// What servers that hold `cuts` get of an update.
    fn sent(compressor: &mut Compressor, update: &[f32], cuts: &[usize]) -> (Vec<f32>, usize) {
        let mut plain = update.to_vec();
        compressor.take(&mut plain);
        let (mut all, mut bytes, mut staged) = (Vec::new(), 0, Vec::new());
        for cut in cuts.windows(2) {
            let range = cut[0]..cut[1];
            let payload = compressor.part(range.clone(), &plain[range.clone()], &TAIL, &mut staged);
            bytes += bytes_of(payload) as usize;
            let mut dense = Vec::new();
            if let Payload::Joined(values, _) = payload {
                all.extend_from_slice(values);
                continue;
            }
            let tail = unpack_dense(Kernels::detect(), payload, range.len(), &mut dense);
            let bits = |tail: [f32; TRAILER]| tail.map(f32::to_bits);
            assert_eq!(tail.map(bits), Some(bits(TAIL)));
            all.extend(dense);
        }
        (all, bytes)
    }

    fn updates() -> impl Strategy<Value = Vec<Vec<f32>>> {
        // From what half precision cannot tell from zero to what exceeds it.
        let value = (-1.0_f32..1.0, -30_i32..18).prop_map(|(x, power)| x * 2.0_f32.powi(power));
        let update = proptest::collection::vec(value, 50);
        proptest::collection::vec(update, 1..12)
    }

    proptest! {
        #[test]
        fn what_was_sent_and_what_is_left_is_everything(updates in updates(), share in 0.01_f64..1.0) {
            for kind in [Compression::None, Compression::Half, Compression::TopK(share)] {
                let mut compressor = Compressor::new(kind, 50);
                let mut arrived = vec![0.0_f64; 50];
                let mut wanted = vec![0.0_f64; 50];
                let mut largest = vec![0.0_f64; 50];
                for update in &updates {
                    let (parts, _) = sent(&mut compressor, update, &[0, 16, 16, 48, 50]);
                    for place in 0..50 {
                        arrived[place] += f64::from(parts[place]);
                        wanted[place] += f64::from(update[place]);
                        largest[place] += f64::from(update[place]).abs();
                    }
                }
                for place in 0..50 {
                    let left = compressor.residual.get(place).map_or(0.0, |left| f64::from(*left));
                    let off = (arrived[place] + left - wanted[place]).abs();
                    // The sum of update and residual is rounded once per update.
                    let rounding = updates.len() as f64 * f64::from(f32::EPSILON) * largest[place];
                    prop_assert!(off <= rounding, "{kind}: {off} > {rounding}");
                }
            }
        }

        #[test]
        fn no_payload_makes_unpacking_panic(
            indices in proptest::collection::vec(0_u32..40, 0..20),
            halves: Vec<u16>,
            len in 0_usize..30,
        ) {
            let values = vec![1.0; indices.len()];
            let mut dense = Vec::new();
            for payload in [
                Payload::Dense(&values),
                Payload::Half(&halves),
                Payload::Sparse { indices: &indices, values: &values },
                Payload::Bytes(&[1, 2, 3]),
            ] {
                if unpack_dense(Kernels::detect(), payload, len, &mut dense).is_some() {
                    prop_assert_eq!(dense.len(), len);
                }
            }
        }
    }

    #[test]
    fn the_largest_values_go_and_no_more() {
        let mut compressor = Compressor::new(Compression::TopK(0.3), 10);
        let update = [1.0, -5.0, 0.0, 3.0, -3.0, 3.0, 0.5, 0.0, 0.0, 0.0];
        let (parts, bytes) = sent(&mut compressor, &update, &[0, 10]);
        assert_eq!(parts, [0.0, -5.0, 0.0, 3.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(bytes, 8 * (3 + TRAILER));
        // What stayed behind goes when its turn comes; zeros never do.
        let (parts, bytes) = sent(&mut compressor, &[0.0; 10], &[0, 10]);
        assert_eq!(parts, [1.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.5, 0.0, 0.0, 0.0]);
        assert_eq!(bytes, 8 * (3 + TRAILER));
        let (_, bytes) = sent(&mut compressor, &[0.0; 10], &[0, 10]);
        assert_eq!(bytes, 8 * TRAILER);
    }

    #[test]
    fn half_precision_takes_half_the_bytes_and_never_overflows() {
        let mut compressor = Compressor::new(Compression::Half, 16);
        let mut update = [0.25_f32; 16];
        update[3] = 200_000.0;
        let (parts, bytes) = sent(&mut compressor, &update, &[0, 16]);
        assert_eq!(bytes, 2 * 16 + 4 * TRAILER);
        assert_eq!((parts[0], parts[3]), (0.25, LARGEST_HALF));
        let (parts, _) = sent(&mut compressor, &[0.0; 16], &[0, 16]);
        assert_eq!((parts[0], parts[3]), (0.0, LARGEST_HALF));
    }
}
