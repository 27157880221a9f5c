//! Whatever a server's encoder says and whatever sections it sends: decoding them does not panic, however the instructions
//! are split, every section says the same when it is read again, and what is counted agrees.
//!
//! Each block of the input follows two bytes: what it is, and its length.

#![cfg_attr(fuzzing, no_main)]

use loadcurve_fuzz::target;
use loadcurve_wire::h3::qpack::{Decoder, Section};

/// Names and values.
type Fields = Vec<(Vec<u8>, Vec<u8>)>;

const TABLE_BYTES: usize = 200;

target!(|input: &[u8]| {
    let (mut decoder, mut other) = (Decoder::new(TABLE_BYTES), Decoder::new(TABLE_BYTES));
    let mut rest = input;
    while let Some((&[kind, length], behind)) = rest.split_first_chunk() {
        let (block, next) = behind.split_at(usize::from(length).min(behind.len()));
        rest = next;
        if kind % 2 == 0 {
            let whole = decoder.receive(block);
            let split = block.chunks(1).try_fold(0, |sum, byte| Ok(sum + other.receive(byte)?));
            assert_eq!(whole, split);
            if whole.is_err() {
                return;
            }
        } else {
            let first = section(&mut decoder, u64::from(kind), block);
            assert_eq!(section(&mut decoder, u64::from(kind), block), first);
            assert_eq!(section(&mut other, u64::from(kind), block), first);
        }
    }
    let entries = decoder.entries();
    let counts = decoder.take_counts();
    assert_eq!(counts.entries, entries);
    assert!(counts.used_bytes <= counts.capacity_bytes && counts.capacity_bytes <= TABLE_BYTES);
    assert!(counts.dropped_entries <= counts.entries);
    let mut output = Vec::new();
    decoder.write_output(&mut output);
    assert!(!decoder.has_output() && output.len() <= 2 * input.len());
});

/// What a section says, or that it waits; nothing of one that cannot be read.
fn section(decoder: &mut Decoder, stream: u64, block: &[u8]) -> Option<(Section, Fields)> {
    let mut fields = Fields::new();
    let read = decoder.decode(stream, block, |field| {
        fields.push((field.name.to_vec(), field.value.to_vec()));
    });
    Some((read.ok()?, fields))
}
