//! The frames of an event file: lengths and data, each with its checksum.
//!
//! A record is the length of its data (8 bytes, little-endian), the masked CRC-32C
//! of these 8 bytes, the data, and the masked CRC-32C of the data. TensorFlow writes
//! them so, and everything that writes for TensorBoard follows it.

/// Data larger than this are pictures, graphs or sound, not numbers: skipped.
const LARGEST: u64 = 1 << 20;
const HEAD: usize = 12;
const FOOT: usize = 4;

/// Records out of pieces of a file.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pending: Vec<u8>,
    /// Bytes of a large record that are still to come.
    skip: u64,
    /// Where in the file the pending bytes begin.
    offset: u64,
}

/// A place where a file is not what its checksums say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged {
    /// Where the record begins.
    pub(crate) offset: u64,
}

impl Records {
    /// Takes a piece of the file and calls `record` with the data of each record
    /// that it completes.
    ///
    /// # Errors
    /// If a checksum does not fit. Nothing behind it can be relied on: where the next
    /// record begins is part of what is damaged.
    pub(crate) fn push(
        &mut self,
        mut piece: &[u8],
        mut record: impl FnMut(&[u8]),
    ) -> Result<(), Damaged> {
        let skipped = self.skip.min(piece.len() as u64);
        piece = &piece[skipped as usize..];
        self.skip -= skipped;
        self.offset += skipped;
        self.pending.extend_from_slice(piece);
        let mut taken = 0;
        while let Some((head, rest)) = self.pending[taken..].split_at_checked(HEAD) {
            let damaged = Damaged {
                offset: self.offset + taken as u64,
            };
            let (length, checksum) = head.split_at(8);
            if masked(length) != checksum {
                return Err(damaged);
            }
            let length = u64::from_le_bytes(length.try_into().expect("it has 8 bytes"));
            if length > LARGEST {
                let whole = length.saturating_add(FOOT as u64);
                let here = whole.min(rest.len() as u64);
                taken += HEAD + here as usize;
                self.skip = whole - here;
                continue;
            }
            let length = length as usize;
            if rest.len() < length + FOOT {
                break;
            }
            let (data, rest) = rest.split_at(length);
            if masked(data) != rest[..FOOT] {
                return Err(damaged);
            }
            record(data);
            taken += HEAD + length + FOOT;
        }
        self.pending.drain(..taken);
        self.offset += taken as u64;
        Ok(())
    }
}

/// The masked CRC-32C as it is written: little-endian.
fn masked(bytes: &[u8]) -> [u8; 4] {
    let crc = crc32c(bytes);
    let mask = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    mask.to_le_bytes()
}

/// Castagnoli's polynomial, reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A record as it stands in a file.
    pub(crate) fn frame(data: &[u8]) -> Vec<u8> {
        let length = (data.len() as u64).to_le_bytes();
        [&length[..], &masked(&length), data, &masked(data)].concat()
    }

    fn read(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Result<(), Damaged>) {
        let mut records = Records::default();
        let mut found = Vec::new();
        for piece in pieces {
            if let Err(damaged) = records.push(piece, |data| found.push(data.to_vec())) {
                return (found, Err(damaged));
            }
        }
        (found, Ok(()))
    }

    #[test]
    fn the_checksum_is_castagnoli_s() {
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_large_record_is_skipped_and_the_next_one_read() {
        let large = frame(&vec![7; LARGEST as usize + 1]);
        let after = frame(b"after");
        let file = [frame(b"before"), large, after].concat();
        for size in [1 << 30, 1 << 16, 1_000] {
            let pieces: Vec<&[u8]> = file.chunks(size).collect();
            let (found, end) = read(&pieces);
            assert_eq!(found, [b"before".to_vec(), b"after".to_vec()]);
            assert_eq!(end, Ok(()));
        }
    }

    #[test]
    fn a_length_that_no_file_can_have_holds_nothing_up() {
        let length = u64::MAX.to_le_bytes();
        let head = [&length[..], &masked(&length)].concat();
        let (found, end) = read(&[&frame(b"a"), &head, &[0; 100]]);
        assert_eq!((found.len(), end), (1, Ok(())));
    }

    proptest! {
        #[test]
        fn records_do_not_depend_on_how_the_file_is_cut(
            data in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6),
            size in 1_usize..60,
        ) {
            let file: Vec<u8> = data.iter().flat_map(|data| frame(data)).collect();
            let pieces: Vec<&[u8]> = file.chunks(size).collect();
            let (found, end) = read(&pieces);
            prop_assert_eq!(found, data);
            prop_assert_eq!(end, Ok(()));
        }

        #[test]
        fn every_changed_bit_is_found_at_its_record(at in 0_usize..200, bit in 0_u8..8) {
            let mut file: Vec<u8> = (0..5).flat_map(|n| frame(&[n; 24])).collect();
            file[at] ^= 1 << bit;
            let (found, end) = read(&[&file]);
            prop_assert_eq!(found.len(), at / 40);
            prop_assert_eq!(end, Err(Damaged { offset: (at / 40 * 40) as u64 }));
        }
    }
}
