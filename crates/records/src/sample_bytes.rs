//! Samples as the bytes that a record's log holds, for whoever sends them to the
//! machine that writes the record.

use crate::wal::{Codec, SampleCodec, UnknownName};
use paceline_model::Sample;

/// Reads samples that a Paceline with a certain dictionary has encoded.
pub struct SampleBytes(SampleCodec);

impl SampleBytes {
    /// The measures, parts and gaps that this version knows: what a reader needs
    /// to understand [`SampleBytes::encode`].
    #[must_use]
    pub fn dictionary() -> Vec<u8> {
        SampleCodec::dictionary()
    }

    /// Appends a sample to `out`.
    pub fn encode(sample: &Sample, out: &mut Vec<u8>) {
        SampleCodec::encode(sample, out);
    }

    /// A reader of what was encoded with `dictionary`. Measures that this version
    /// does not know are left out of what it reads.
    ///
    /// # Errors
    /// If the dictionary has a word without which samples mean something else.
    pub fn reader(dictionary: &[u8]) -> Result<Self, UnknownName> {
        SampleCodec::from_dictionary(dictionary).map(Self)
    }

    /// The sample that was encoded; nothing if the bytes are none.
    #[must_use]
    pub fn decode(&self, bytes: &[u8]) -> Option<Sample> {
        self.0.decode(bytes)
    }
}
