//! Records of an event file: length, content, and a checksum of each.

/// One record as it is in the file.
pub(super) fn framed(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(content.len() + 16);
    record.extend(length);
    record.extend(masked(crc32c(&length)).to_le_bytes());
    record.extend(content);
    record.extend(masked(crc32c(content)).to_le_bytes());
    record
}

/// A checksum of bytes that hold checksums is weak; the mask makes it another number.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), the reflected polynomial of RFC 3720, bit by bit in a table.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let step = |crc: u32, &byte: &u8| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
    !bytes.iter().fold(!0, step)
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4.
    #[test]
    fn checksums_are_those_of_the_standard() {
        let ascending: Vec<u8> = (0..32).collect();
        let check = |bytes: &[u8], expected: u32| assert_eq!(crc32c(bytes), expected);
        check(&[0; 32], 0x8a91_36aa);
        check(&[0xff; 32], 0x62a8_ab43);
        check(&ascending, 0x46dd_794e);
        check(b"123456789", 0xe306_9283);
    }

    #[test]
    fn a_record_is_sixteen_bytes_longer_than_its_content() {
        let record = framed(b"abc");
        assert_eq!(record.len(), 19);
        assert_eq!(record[..8], 3_u64.to_le_bytes());
        assert_eq!(&record[12..15], b"abc");
    }
}
