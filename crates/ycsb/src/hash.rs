//! The hash that scatters numbers over keys.

/// FNV-1a of the eight bytes of a number, the lowest first (Fowler, Noll and Vo), without its sign: what YCSB makes
/// keys of.
pub(crate) fn scattered(number: u64) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = number
        .to_le_bytes()
        .into_iter()
        .fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    // Its sign bit says whether Java takes the number for negative.
    if hash >> 63 == 1 { hash.wrapping_neg() } else { hash }
}

#[cfg(test)]
mod tests {
    use super::scattered;

    #[test]
    fn hashes_are_those_of_ycsbs_keys() {
        // The key of number 0 is known from many published listings of YCSB's tables.
        assert_eq!(scattered(0), 6_284_781_860_667_377_211);
    }

    #[test]
    fn hashes_are_fnv_1a_by_its_definition() {
        // In whole numbers without wrapping: each step is ((h xor byte) × (2^40 + 2^8 + 0xb3)) mod 2^64.
        for number in [1_u64, 255, 256, 65_537, u64::MAX] {
            let mut hash: u128 = 14_695_981_039_346_656_037;
            for place in 0..8 {
                let byte = u128::from(number >> (8 * place)) & 0xff;
                hash = ((hash ^ byte) * ((1 << 40) + (1 << 8) + 0xb3)) % (1 << 64);
            }
            let signed = if hash >= 1 << 63 { (1 << 64) - hash } else { hash };
            assert_eq!(u128::from(scattered(number)), signed, "of {number}");
        }
    }
}
