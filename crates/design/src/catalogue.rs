//! Minimum-aberration generators of regular two-level fractions.
//!
//! Chen, Sun and Wu (1993), "A catalogue of two-level and three-level
//! fractional factorial designs with small runs", *International Statistical
//! Review* 61, give the designs of 8 to 64 runs; Xu (2009), "Algorithmic
//! construction of efficient fractional factorial designs with large run
//! sizes", *Technometrics* 51, enumerates those of 128. The columns below come
//! from our own enumeration, which `tests/designs/catalogue.rs` repeats.

/// The most factors for which the catalogue holds generators.
pub(crate) const MAX_FACTORS: usize = 15;
/// The most runs, as a power of two.
pub(crate) const MAX_POWER: u32 = 7;

/// The columns of the added factors, in Yates numbering: bit `i` of a column
/// says that base factor `i` takes part in the generator.
///
/// `None` when the catalogue has no fraction of `2^power` runs for so many
/// factors.
pub(crate) fn columns(factors: usize, power: u32) -> Option<&'static [u32]> {
    let table: &[&[u32]] = match power {
        2 => &RUNS_4,
        3 => &RUNS_8,
        4 => &RUNS_16,
        5 => &RUNS_32,
        6 => &RUNS_64,
        7 => &RUNS_128,
        _ => return None,
    };
    let added = factors.checked_sub(power as usize)?;
    table.get(added.checked_sub(1)?).copied()
}

const RUNS_4: [&[u32]; 1] = [&[3]];

const RUNS_8: [&[u32]; 4] = [&[7], &[3, 5], &[3, 5, 6], &[3, 5, 6, 7]];

const RUNS_16: [&[u32]; 11] = [
    &[15],
    &[7, 11],
    &[7, 11, 13],
    &[7, 11, 13, 14],
    &[3, 5, 9, 14, 15],
    &[3, 5, 6, 9, 14, 15],
    &[3, 5, 6, 9, 10, 13, 14],
    &[3, 5, 6, 9, 10, 13, 14, 15],
    &[3, 5, 6, 7, 9, 10, 11, 12, 13],
    &[3, 5, 6, 7, 9, 10, 11, 12, 13, 14],
    &[3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15],
];

const RUNS_32: [&[u32]; 10] = [
    &[31],
    &[7, 27],
    &[7, 11, 29],
    &[7, 11, 19, 29],
    &[7, 11, 19, 29, 30],
    &[7, 11, 13, 19, 21, 25],
    &[7, 11, 13, 14, 19, 21, 25],
    &[7, 11, 13, 14, 19, 21, 22, 25],
    &[7, 11, 13, 14, 19, 21, 22, 25, 26],
    &[7, 11, 13, 14, 19, 21, 22, 25, 26, 28],
];

const RUNS_64: [&[u32]; 9] = [
    &[63],
    &[15, 51],
    &[7, 27, 45],
    &[7, 27, 43, 53],
    &[7, 11, 29, 45, 51],
    &[7, 11, 29, 45, 51, 62],
    &[7, 11, 19, 29, 37, 57, 63],
    &[7, 11, 19, 29, 35, 45, 53, 57],
    &[7, 11, 19, 29, 35, 45, 53, 57, 63],
];

const RUNS_128: [&[u32]; 8] = [
    &[127],
    &[31, 103],
    &[15, 51, 85],
    &[15, 51, 85, 106],
    &[7, 57, 90, 108, 119],
    &[7, 27, 43, 77, 113, 127],
    &[7, 27, 43, 53, 77, 115, 126],
    &[7, 25, 42, 53, 76, 86, 112, 127],
];
