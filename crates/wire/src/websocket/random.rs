//! Keys and masks. They keep what a stranger makes a browser send from looking like a request to a proxy (RFC 6455 §10.3);
//! what a load sends is its user's own, so they are drawn fast, and can be predicted by whoever knows the seed.

/// `SplitMix64`: a sequence that no one confuses with another one of the same load.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

/// What lies between two seeds whose sequences are apart.
pub(super) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of a seed.
    pub(super) fn new(seed: u64) -> Self {
        // Seeds are a step apart, which is also how far a sequence goes each time: mixed, they are not.
        Self(mixed(seed))
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// Four bytes, another four for each frame.
    #[inline]
    pub(super) fn mask(&mut self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.next().to_le_bytes();
        [a, b, c, d]
    }

    /// What a key is made of.
    pub(super) fn nonce(&mut self) -> [u8; 16] {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.next().to_le_bytes());
        nonce[8..].copy_from_slice(&self.next().to_le_bytes());
        nonce
    }
}

#[inline]
fn mixed(state: u64) -> u64 {
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
