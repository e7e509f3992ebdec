/// Number `place` of the sequence that starts with `seed`, by SplitMix64
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014): well mixed from neighbouring seeds and places.
///
/// For seeds of many small parts of a whole, where a part needs its own number
/// without drawing those before it.
pub fn splitmix64(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
