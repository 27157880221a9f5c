//! Whatever a server sends as header blocks: decoding them does not panic, and where another implementation reads them,
//! too, it reads the same fields.
//!
//! Each block of the input follows its length in one byte.

#![cfg_attr(fuzzing, no_main)]

use loadcurve_fuzz::target;
use loadcurve_wire::h2::hpack::Decoder;

target!(|input: &[u8]| {
    let (mut decoder, mut other) = (Decoder::new(4096), fluke_hpack::Decoder::new());
    let mut rest = input;
    while let Some((&length, behind)) = rest.split_first() {
        let (block, next) = behind.split_at(usize::from(length).min(behind.len()));
        rest = next;
        let mut fields = Vec::new();
        let decoded = decoder.decode(block, |field| fields.push((field.name.to_vec(), field.value.to_vec())));
        // What either of them refuses leaves the tables different; what this one refuses makes the other one panic.
        let Ok(()) = decoded else { return };
        let Ok(others) = other.decode(block) else { return };
        assert_eq!(fields, others);
    }
});
