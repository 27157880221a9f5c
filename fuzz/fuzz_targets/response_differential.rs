//! Header blocks are judged as by `httparse`, but for the known differences.

#![cfg_attr(fuzzing, no_main)]

use loadcurve_fuzz::target;

#[path = "../../crates/wire/tests/response/reference.rs"]
mod reference;

target!(|bytes: &[u8]| {
    if let Err(disagreement) = reference::compare(bytes) {
        panic!("{disagreement}");
    }
});
