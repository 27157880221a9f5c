//! Header blocks that are valid, odd or damaged, as our parser and as `httparse` judge them.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::reference::{Difference, compare};

fn header_block() -> impl Strategy<Value = Vec<u8>> {
    let version = select(vec!["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.7", "HTTP/2.0", "\r\nHTTP/1.1"]);
    let status = select(vec!["200", "200", "404", "204", "304", "100", "101", "099", "600", "20"]);
    let reason = select(vec![" OK", " ", "", " Not Found", " \tça va"]);
    let name = select(vec![
        "Content-Length",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "connection",
        "Server",
        "X",
        "A b",
        "",
    ]);
    let value = select(vec![
        "5",
        "5",
        "0",
        "5, 5",
        "6",
        "18446744073709551616",
        "x",
        "",
        "chunked",
        "Chunked ",
        "gzip",
        "gzip, chunked",
        "chunked, gzip",
        "gzip;q=1",
        "close",
        "Keep-Alive",
        "keep-alive, close",
        "folded\r\n value",
        "\n chunked",
        "nginx/1.22.1",
    ]);
    let colon = select(vec![":", ": ", ": ", ":\t ", " : "]);
    let line_end = || select(vec!["\r\n", "\r\n", "\r\n", "\n"]);
    let field = (name, colon, value, line_end()).prop_map(|(a, b, c, d)| [a, b, c, d].concat());
    let status_line = (version, status, reason, line_end()).prop_map(|(a, b, c, d)| format!("{a} {b}{c}{d}"));
    (status_line, prop::collection::vec(field, 0..5), line_end(), select(vec!["", "HTTP", " body", "\r\n"]))
        .prop_map(|(status_line, fields, end, rest)| {
            (status_line + &fields.concat() + end + rest).into_bytes()
        })
}

fn damaged(block: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![select(b"\0\t\n\r :;,\"0159aX(H/\x7f\xff".to_vec()), any::<u8>()];
    (block, prop::collection::vec((any::<Index>(), byte, any::<bool>()), 0..4)).prop_map(
        |(mut bytes, edits)| {
            for (place, byte, replaces) in edits {
                let start = place.index(bytes.len());
                bytes.splice(start..start + usize::from(replaces), [byte]);
            }
            bytes
        },
    )
}

#[test]
fn every_known_difference_has_an_example() {
    let cases: &[(&str, Option<Difference>)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", None),
        ("HTTP/1.1 100 Continue\r\n\r\n", None),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", Some(Difference::LeadingBlankLine)),
        ("HTTP/1.1 999 Odd\r\n\r\n", Some(Difference::StatusCode)),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Some(Difference::StatusCode)),
        ("HTTP/1.2 200 OK\r\n\r\n", Some(Difference::MinorVersion)),
    ];
    for (text, expected) in cases {
        assert_eq!(compare(text.as_bytes()), Ok(*expected), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn header_blocks_are_judged_as_by_httparse_but_for_known_differences(bytes in damaged(header_block())) {
        prop_assert!(compare(&bytes).is_ok(), "{}", compare(&bytes).unwrap_err());
    }
}
