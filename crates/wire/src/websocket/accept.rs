//! The proof that a server has read a client's key (RFC 6455 §4.2.2).

/// What makes a key that of a WebSocket.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const BLOCK_BYTES: usize = 64;
const DIGEST_BYTES: usize = 20;
/// Of a key in base64: of 16 bytes.
pub(super) const KEY_BYTES: usize = 24;

/// The Sec-WebSocket-Accept that answers a Sec-WebSocket-Key.
#[must_use]
pub fn accept_of(key: &[u8]) -> String {
    base64(&sha1(&[key, GUID].concat()))
}

/// A key from 16 bytes.
pub(super) fn key_of(bytes: [u8; 16]) -> String {
    base64(&bytes)
}

/// Base64 with padding (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let symbol = ALPHABET[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(symbol) } else { '=' });
        }
    }
    text
}

/// SHA-1 (FIPS 180-4 §6.1), which protects nothing here: it shows that the peer knows WebSocket.
fn sha1(message: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % BLOCK_BYTES != BLOCK_BYTES - 8 {
        padded.push(0);
    }
    padded.extend_from_slice(&(8 * message.len() as u64).to_be_bytes());
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0_u32];
    for block in padded.chunks_exact(BLOCK_BYTES) {
        compress(&mut state, block);
    }
    let mut digest = [0; DIGEST_BYTES];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

#[expect(clippy::many_single_char_names, reason = "the standard has these names")]
fn compress(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0_u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..words.len() {
        words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (round, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match round {
            0..20 => (b & c | !b & d, 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let next =
            a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    for (sum, word) in state.iter_mut().zip([a, b, c, d, e]) {
        *sum = sum.wrapping_add(word);
    }
}

#[cfg(test)]
mod tests {
    use super::{accept_of, base64, sha1};

    fn hexadecimal(digest: &[u8]) -> String {
        digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    #[test]
    fn sha1_gives_what_fips_180_gives_in_its_examples() {
        for (message, digest) in [
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            ),
            (&"a".repeat(1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ] {
            assert_eq!(hexadecimal(&sha1(message.as_bytes())), digest);
        }
    }

    #[test]
    fn base64_gives_what_rfc_4648_gives_in_its_examples() {
        let text = "foobar";
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(std::array::from_fn(|length| base64(&text.as_bytes()[..length])), expected);
    }

    #[test]
    fn the_key_of_rfc_6455_is_accepted_as_there() {
        assert_eq!(accept_of(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
