//! Header blocks are judged as by `httparse`, but for the known differences.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/wire/tests/response/reference.rs"]
mod reference;

fuzz_target!(|bytes: &[u8]| {
    if let Err(disagreement) = reference::compare(bytes) {
        panic!("{disagreement}");
    }
});
