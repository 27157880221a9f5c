//! The examples of RFC 7541, appendix C, which are expected values from another hand.

use loadcurve_wire::h2::hpack::{Decoder, HpackError};

use crate::support::fields_of;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let text = String::from_utf8(digits).unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Reads the blocks one after the other and compares their fields.
fn assert_read(table_bytes: usize, blocks: &[(&str, &[(&str, &str)])]) {
    let mut decoder = Decoder::new(table_bytes);
    for (block, expected) in blocks {
        let fields = fields_of(&mut decoder, &bytes(block));
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(&fields, expected);
    }
}

#[test]
fn the_four_representations_of_a_field_are_read() {
    // Appendix C.2.
    let key = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    assert_read(4096, &[(key, &[("custom-key", "custom-header")])]);
    assert_read(4096, &[("040c 2f73 616d 706c 652f 7061 7468", &[(":path", "/sample/path")])]);
    assert_read(4096, &[("1008 7061 7373 776f 7264 0673 6563 7265 74", &[("password", "secret")])]);
    assert_read(4096, &[("82", &[(":method", "GET")])]);
}

const FIRST: &[(&str, &str)] =
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
const SECOND: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
    ("cache-control", "no-cache"),
];
const THIRD: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
];

#[test]
fn three_requests_on_one_connection_are_read_with_and_without_huffman_coding() {
    // Appendix C.3 and C.4.
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let coded = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for [first, second, third] in [plain, coded] {
        assert_read(4096, &[(first, FIRST), (second, SECOND), (third, THIRD)]);
    }
}

#[test]
fn three_responses_through_a_table_of_256_bytes_evict_what_has_no_room() {
    // Appendix C.5 and C.6.
    let location = ("location", "https://www.example.com");
    let first: &[_] = &[
        (":status", "302"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        location,
    ];
    let second: &[_] = &[(":status", "307"), first[1], first[2], location];
    let third: &[_] = &[
        (":status", "200"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
        location,
        ("content-encoding", "gzip"),
        ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
    ];
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 \
         474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 \
         666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 \
         3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let coded = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 \
         63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 \
         b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    for blocks in [plain, coded] {
        assert_read(256, &[(blocks[0], first), (blocks[1], second), (blocks[2], third)]);
    }
}

#[test]
fn what_is_no_header_block_is_refused_and_why() {
    let refusals = [
        // Index 0, and one behind the last entry.
        ("80", HpackError::Index { index: 0 }),
        ("be", HpackError::Index { index: 62 }),
        ("7e 00", HpackError::Index { index: 62 }),
        // A string that is longer than the block, and a block that ends within a field.
        ("40 0a 63", HpackError::Truncated),
        ("40", HpackError::Truncated),
        // RFC 7541 §4.2: a change of size is in front of all fields, and keeps to what was agreed.
        ("82 20", HpackError::LateTableSize),
        ("3f e2 1f", HpackError::TableSize { bytes: 4097, most_bytes: 4096 }),
    ];
    for (block, refusal) in refusals {
        assert_eq!(Decoder::new(4096).decode(&bytes(block), |_| ()), Err(refusal), "{block}");
    }
    // RFC 7541 §4.2: two changes in one block are the smallest and the last size.
    assert_eq!(Decoder::new(4096).decode(&bytes("20 3f e1 1f 82"), |_| ()), Ok(()));
}

#[test]
fn a_field_that_is_larger_than_the_table_empties_it() {
    // RFC 7541 §4.4. The table of 64 bytes holds one field of 33 bytes.
    let mut decoder = Decoder::new(64);
    decoder.decode(&bytes("40 01 61 00"), |_| ()).unwrap();
    assert_eq!(fields_of(&mut decoder, &[0xbe]), [("a".to_owned(), String::new())]);
    let larger = [bytes("40 01 62 28").as_slice(), &[b'x'; 40]].concat();
    decoder.decode(&larger, |_| ()).unwrap();
    assert_eq!(decoder.decode(&[0xbe], |_| ()), Err(HpackError::Index { index: 62 }));
}
