//! Decimal numbers, fast and correctly rounded.

/// The finite number that the bytes begin with, correctly rounded, and how
/// many bytes it takes; nothing if they do not begin with one.
///
/// Most numbers in files are short: their digits fit in 53 bits and their
/// power of ten in 22, so one multiplication or division in double precision
/// is correctly rounded (Clinger 1990, "How to read floating point numbers
/// accurately"). Rounding that to single precision is wrong only when the
/// double lies exactly half-way between two singles; those and all others go
/// to the standard library.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> Option<(f32, usize)> {
    let signed = matches!(bytes.first()?, b'-' | b'+');
    let mut at = usize::from(signed);
    let whole_start = at;
    let mut digits = 0;
    at += take_digits(&bytes[at..], &mut digits);
    let mut count = at - whole_start;
    let mut exponent = 0;
    if bytes.get(at) == Some(&b'.') {
        let taken = take_digits(&bytes[at + 1..], &mut digits);
        at += 1 + taken;
        count += taken;
        exponent = -(taken as i64);
    }
    if count == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let (power, length) = take_exponent(&bytes[at + 1..])?;
        exponent += power;
        at += 1 + length;
    }
    // Nineteen digits never overflow 64 bits.
    let small = count <= 19 && digits <= 1 << 53 && exponent.unsigned_abs() <= 22;
    if !small {
        return slow(bytes, at);
    }
    let power = POWERS[exponent.unsigned_abs() as usize];
    let magnitude = if exponent < 0 {
        digits as f64 / power
    } else {
        digits as f64 * power
    };
    let half_way = magnitude.to_bits() & ((1 << 29) - 1) == 1 << 28;
    let normal = digits == 0 || (f64::from(f32::MIN_POSITIVE)..3.4e38).contains(&magnitude);
    if half_way || !normal {
        return slow(bytes, at);
    }
    let magnitude = magnitude as f32;
    let value = if bytes[0] == b'-' {
        -magnitude
    } else {
        magnitude
    };
    Some((value, at))
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

#[cold]
fn slow(bytes: &[u8], length: usize) -> Option<(f32, usize)> {
    let text = std::str::from_utf8(&bytes[..length]).expect("digits, signs and points are ASCII");
    let value: f32 = text.parse().ok()?;
    value.is_finite().then_some((value, length))
}

/// Appends the leading digits to a number (which may wrap; the caller counts)
/// and returns how many there are.
#[inline]
fn take_digits(bytes: &[u8], number: &mut u64) -> usize {
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk::<8>().and_then(eight_digits) {
        *number = number.wrapping_mul(100_000_000).wrapping_add(eight);
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        *number = number.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    at
}

/// Eight digits at once, by adding up neighbours in one 64-bit word.
#[inline]
fn eight_digits(bytes: &[u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes);
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    // A digit has the high half 3, and still has it after adding 6.
    let halves = (word & HIGH) | ((word.wrapping_add(0x0606_0606_0606_0606) & HIGH) >> 4);
    if halves != 0x3333_3333_3333_3333 {
        return None;
    }
    let ones = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (ones.wrapping_mul(10 * 256 + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 * 65_536 + 1) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000 * 4_294_967_296 + 1) >> 32)
}

fn take_exponent(bytes: &[u8]) -> Option<(i64, usize)> {
    let sign = matches!(bytes.first()?, b'-' | b'+');
    let mut at = usize::from(sign);
    let mut power = 0_i64;
    while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
        // Saturates where every number has long become zero or infinite.
        power = (power * 10 + i64::from(digit - b'0')).min(1 << 40);
        at += 1;
    }
    (at > usize::from(sign)).then_some((if bytes[0] == b'-' { -power } else { power }, at))
}

/// The whole number that the bytes begin with and how many bytes it takes;
/// nothing if they begin with none or it does not fit.
#[inline]
pub(crate) fn whole(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0_u64;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        if value > u64::from(u32::MAX) {
            return None;
        }
        at += 1;
    }
    (at > 0).then_some((value as u32, at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let expected: f32 = text.parse().unwrap();
        let (value, length) = number(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(
            (value.to_bits(), length),
            (expected.to_bits(), text.len()),
            "{text}"
        );
    }

    #[test]
    fn numbers_of_every_form_are_read_as_the_standard_library_does() {
        for text in [
            "0",
            "-0",
            "+1",
            "1.",
            ".5",
            "-.25",
            "1e3",
            "1E-3",
            "1.5e+2",
            "0.1",
            "3.4028235e38",
            "1e-45",
            "1.1754944e-38",
            "123456789",
            "12345678.12345678",
            "0.30000001192092896",
            "1234567890123456789012345",
            "9007199254740993",
            "1e-400",
            "0e999",
            // Half-way between two singles, and next to it.
            "16777217",
            "16777219",
            "1.00000005960464477539",
            "1.000000059604644776",
            "00000000000000000000000000001",
        ] {
            check(text);
        }
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "nan", "inf", "1e39", "x", "--1",
        ] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_number_ends_where_it_ends() {
        assert_eq!(number(b"12,5"), Some((12.0, 2)));
        assert_eq!(number(b"1.5 # x"), Some((1.5, 3)));
        assert_eq!(whole(b"42:7"), Some((42, 2)));
        assert_eq!(whole(b":7"), None);
        assert_eq!(whole(b"4294967296"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn singles_survive_being_written_and_read(bits: u32) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            check(&value.to_string());
            check(&format!("{value:e}"));
            check(&f64::from(value).to_string());
        }

        #[test]
        fn any_digits_are_read_as_the_standard_library_does(text in "[-+]?[0-9]{1,12}(\\.[0-9]{0,12})?(e[-+]?[0-9]{1,2})?") {
            let expected: f32 = text.parse().unwrap();
            match number(text.as_bytes()) {
                Some((value, length)) => {
                    prop_assert_eq!(value.to_bits(), expected.to_bits());
                    prop_assert_eq!(length, text.len());
                }
                None => prop_assert!(expected.is_infinite()),
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = number(&bytes);
            let _ = whole(&bytes);
        }
    }
}
