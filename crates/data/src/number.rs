//! Decimal numbers, fast and correctly rounded.

/// The finite number that the bytes begin with, correctly rounded, and how
/// many bytes it takes; nothing if they do not begin with one.
///
/// Most numbers in files are short: their digits fit in 53 bits and their
/// power of ten in 22. Then one multiplication in double precision, by a power
/// that is itself rounded once, errs by less than two units in the last place,
/// and rounding the product to single precision is right unless it lies that
/// near to the middle between two singles. Those few and all other numbers go
/// to the standard library. (After Clinger 1990, "How to read floating point
/// numbers accurately".)
#[inline]
pub(crate) fn number(bytes: &[u8]) -> Option<(f32, usize)> {
    // A lone digit, which is what most entries of sparse and grey data are.
    match bytes {
        [digit @ b'0'..=b'9', b' ' | b',' | b'\t', ..] => Some(((digit - b'0').into(), 1)),
        _ => any_number(bytes),
    }
}

fn any_number(bytes: &[u8]) -> Option<(f32, usize)> {
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
    let magnitude = digits as f64 * POWERS[(exponent + 22) as usize];
    // A single has 29 bits less than a double: half-way is one, then zeros.
    let beyond_single = magnitude.to_bits() & ((1 << 29) - 1);
    let half_way = beyond_single.abs_diff(1 << 28) <= 4;
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

/// The powers of ten from −22 to 22, each correctly rounded.
const POWERS: [f64; 45] = [
    1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10,
    1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7,
    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
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
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let (count, digits) = leading_digits(u64::from_le_bytes(*eight));
        *number = number
            .wrapping_mul(WHOLE_POWERS[count])
            .wrapping_add(digits);
        at += count;
        if count < 8 {
            return at;
        }
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

const WHOLE_POWERS: [u64; 9] = [
    1,
    10,
    100,
    1000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// How many of eight characters, the first in the lowest byte, are digits
/// before the first other one, and their value. All eight are looked at in one
/// 64-bit word, and neighbours are added up in pairs.
#[inline]
fn leading_digits(word: u64) -> (usize, u64) {
    let values = word ^ 0x3030_3030_3030_3030;
    // The high bit of a byte becomes set where its value exceeds nine. Carries
    // reach only the bytes behind the first such one, which do not count.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // Digits move to the high end; the zeros before them mean nothing.
    let ones = values << (64 - 8 * count);
    let pairs = (ones.wrapping_mul(10 * 256 + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 * 65_536 + 1) >> 16) & 0x0000_ffff_0000_ffff;
    let eight = fours.wrapping_mul(10_000 * 4_294_967_296 + 1) >> 32;
    (count, eight)
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
    let mut value = 0;
    let count = take_digits(bytes, &mut value);
    // More than nineteen digits may have wrapped around.
    if count == 0 || count > 19 {
        return None;
    }
    Some((u32::try_from(value).ok()?, count))
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
