//! What is refused, and with which reason.

use loadcurve_wire::{Malformed, RequestKind};

use crate::reading::{Outcome, read_byte_by_byte, read_whole};

const CASES: &[(&str, Malformed)] = &[
    // An alert of TLS: a record of type 21, and its version.
    ("\x15\x03\x01\x00\x02\x02F", Malformed::TlsInsteadOfHttp1),
    // Empty SETTINGS of HTTP/2: no payload, type 4, no flags, stream 0.
    ("\0\0\0\x04\0\0\0\0\0", Malformed::Http2InsteadOfHttp1),
    ("SSH-2.0-OpenSSH_9.2\r\n", Malformed::NotHttp1),
    ("HTTP/2.0 200 OK\r\n\r\n", Malformed::NotHttp1),
    ("http/1.1 200 OK\r\n\r\n", Malformed::NotHttp1),
    ("HTTP\n", Malformed::NotHttp1),
    ("\r\nHTTP/1.1 200 OK\r\n\r\n", Malformed::NotHttp1),
    ("HTTP/1.\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.x 200 OK\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.10 200 OK\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.1\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.1 20 OK\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.1 2000 OK\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.1 200OK\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.1  200 OK\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.1\t200 OK\r\n\r\n", Malformed::StatusLine),
    ("HTTP/1.1 099 Low\r\n\r\n", Malformed::StatusCode { status: 99 }),
    ("HTTP/1.1 600 High\r\n\r\n", Malformed::StatusCode { status: 600 }),
    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", Malformed::UnexpectedUpgrade),
    ("HTTP/1.1 200 O\0K\r\n\r\n", Malformed::ReasonPhrase),
    ("HTTP/1.1 200 O\rK\r\n\r\n", Malformed::ReasonPhrase),
    ("HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", Malformed::WhitespaceBeforeFirstField),
    ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Malformed::FieldName),
    ("HTTP/1.1 200 OK\r\n: no name\r\n\r\n", Malformed::FieldName),
    ("HTTP/1.1 200 OK\r\nSpace : before colon\r\n\r\n", Malformed::FieldName),
    ("HTTP/1.1 200 OK\r\nFolded\r\n : before colon\r\n\r\n", Malformed::FieldName),
    ("HTTP/1.1 200 OK\r\nN\u{e4}me: x\r\n\r\n", Malformed::FieldName),
    ("HTTP/1.1 200 OK\r\nParen(s): x\r\n\r\n", Malformed::FieldName),
    ("HTTP/1.1 200 OK\r\n\rA: x\r\n\r\n", Malformed::FieldName),
    ("HTTP/1.1 200 OK\r\nA: nul\0\r\n\r\n", Malformed::FieldValue),
    ("HTTP/1.1 200 OK\r\nA: lone\rCR\r\n\r\n", Malformed::FieldValue),
    ("HTTP/1.1 200 OK\r\nA: two\r\r\n\r\n", Malformed::FieldValue),
    ("HTTP/1.1 200 OK\r\nA: folded\r\n lone\rCR\r\n\r\n", Malformed::FieldValue),
    ("HTTP/1.1 200 OK\r\nA: delete\x7f, far enough in\r\n\r\n", Malformed::FieldValue),
    ("HTTP/1.1 200 OK\r\nA: far enough in, escape\x1b\r\n\r\n", Malformed::FieldValue),
    ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 5\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n", Malformed::ContentLengthOverflow),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", Malformed::ContentLengthConflict),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 6\r\n\r\n", Malformed::ContentLengthConflict),
    ("HTTP/1.1 204 No Content\r\nContent-Length: none\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n", Malformed::ContentLength),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chun ked\r\n\r\n", Malformed::TransferEncoding),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", Malformed::TransferEncoding),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;a=b\r\n\r\n", Malformed::TransferEncoding),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: ;a=b\r\n\r\n", Malformed::TransferEncoding),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", Malformed::ChunkedTwice),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        Malformed::ChunkedTwice,
    ),
];

/// What follows the header block of a chunked response.
const CHUNKED_CASES: &[(&str, Malformed)] = &[
    ("\r\n", Malformed::ChunkSize),
    ("x\r\n", Malformed::ChunkSize),
    ("-1\r\n", Malformed::ChunkSize),
    (" 1\r\n", Malformed::ChunkSize),
    (";a=b\r\n", Malformed::ChunkSize),
    ("10000000000000000\r\n", Malformed::ChunkSizeOverflow),
    ("0x1\r\n", Malformed::ChunkExtension),
    ("1 1\r\n", Malformed::ChunkExtension),
    ("1;a\0\r\n", Malformed::ChunkExtension),
    ("1;a\r;b\r\n", Malformed::ChunkExtension),
    ("1\x0b;a\r\n", Malformed::ChunkExtension),
    ("1\nx", Malformed::ChunkSizeLineEnd),
    ("2\r\nabc\r\n", Malformed::ChunkDataEnd),
    ("2\r\nab\n0\r\n", Malformed::ChunkDataEnd),
    ("2\r\nab\rX", Malformed::ChunkDataEnd),
    ("0\r\n folded: x\r\n\r\n", Malformed::FieldName),
    ("0\r\nno colon\r\n\r\n", Malformed::FieldName),
    ("0\r\nA: \x01\r\n\r\n", Malformed::FieldValue),
];

fn assert_refused(text: &str, malformed: Malformed) {
    let expected = Outcome::Malformed(malformed);
    assert_eq!(read_whole(text.as_bytes(), RequestKind::Other), expected, "{text:?}");
    assert_eq!(read_byte_by_byte(text.as_bytes(), RequestKind::Other), expected, "{text:?}, byte by byte");
}

#[test]
fn a_malformed_header_block_is_refused_with_its_reason() {
    for (text, malformed) in CASES {
        assert_refused(text, *malformed);
    }
}

#[test]
fn a_malformed_chunked_body_is_refused_with_its_reason() {
    for (body, malformed) in CHUNKED_CASES {
        assert_refused(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"), *malformed);
    }
}

#[test]
fn every_control_character_but_the_tab_is_refused_at_every_place_of_a_value() {
    for byte in (0..=u8::MAX).filter(|byte| !matches!(byte, b'\r' | b'\n')) {
        for place in 0..20 {
            let mut value = [b'v'; 20];
            value[place] = byte;
            let bytes = [b"HTTP/1.1 204 \r\nX-Value: ".as_slice(), &value, b"\r\n\r\n"].concat();
            let is_refused =
                read_whole(&bytes, RequestKind::Other) == Outcome::Malformed(Malformed::FieldValue);
            let is_control = (byte < 0x20 && byte != b'\t') || byte == 0x7f;
            assert_eq!(is_refused, is_control, "byte {byte:#04x} at place {place}");
        }
    }
}

#[test]
fn a_reason_is_reported_in_a_sentence() {
    assert_eq!(
        Malformed::StatusCode { status: 99 }.to_string(),
        "the status code is 099; it must lie between 100 and 599"
    );
    assert_eq!(
        Malformed::ContentLengthConflict.to_string(),
        "the response states two different values of Content-Length"
    );
}
