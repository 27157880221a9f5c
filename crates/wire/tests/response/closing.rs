//! What the end of the input means at each place of a response, and when a connection is idle.

use loadcurve_wire::{ClosedEarly, Limits, RequestKind, ResponseParser};

use crate::reading::{Outcome, read_byte_by_byte, read_whole};

#[test]
fn a_response_that_is_cut_off_is_reported_with_what_had_arrived() {
    let in_header = |received_bytes| ClosedEarly::InHeader { received_bytes };
    let cases: &[(&str, ClosedEarly)] = &[
        ("H", in_header(1)),
        ("HTTP/1.1 200 OK\r\nA: b\r", in_header(22)),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", in_header(23)),
        ("HTTP/1.1 100 Continue\r\n\r\n", in_header(0)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP", in_header(4)),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcd",
            ClosedEarly::InBody { received_bytes: 4, expected_bytes: 9 },
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            ClosedEarly::InChunkedBody { received_bytes: 0 },
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
            ClosedEarly::InChunkedBody { received_bytes: 3 },
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
            ClosedEarly::InChunkedBody { received_bytes: 1 },
        ),
    ];
    for (bytes, expected) in cases {
        let expected = Outcome::ClosedEarly(*expected);
        assert_eq!(read_whole(bytes.as_bytes(), RequestKind::Other), expected, "{bytes:?}");
        assert_eq!(read_byte_by_byte(bytes.as_bytes(), RequestKind::Other), expected, "{bytes:?}");
    }
}

#[test]
fn a_close_without_a_response_under_way_is_no_error() {
    assert_eq!(read_whole(b"", RequestKind::Other), Outcome::Nothing);
}

#[test]
fn a_parser_is_idle_only_between_responses() {
    let response = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let mut parser = ResponseParser::new(Limits::default());
    assert!(parser.is_idle());
    let (last, earlier) = response.split_last().unwrap();
    for byte in earlier {
        parser.feed(&[*byte], RequestKind::Other).unwrap();
        assert!(!parser.is_idle());
    }
    assert!(parser.feed(&[*last], RequestKind::Other).unwrap().response.is_some());
    assert!(parser.is_idle());
}

#[test]
fn after_a_reset_the_parser_reads_as_if_new() {
    let beginnings: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n12",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"\x15\x03\x01",
    ];
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let Outcome::Answered(expected, _) = read_whole(response, RequestKind::Other) else {
        panic!("no answer")
    };
    for beginning in beginnings {
        let mut parser = ResponseParser::new(Limits::default());
        // Some of the beginnings are malformed; a reset forgets that too.
        let _ = parser.feed(beginning, RequestKind::Other);
        parser.reset();
        assert!(parser.is_idle());
        assert_eq!(parser.feed(response, RequestKind::Other).unwrap().response, Some(expected));
    }
}

#[test]
fn pipelined_responses_are_given_one_at_a_time() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let other = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
    let bytes = [head.as_slice(), other].concat();
    let mut parser = ResponseParser::new(Limits::default());
    let first = parser.feed(&bytes, RequestKind::Head).unwrap();
    let second = parser.feed(&bytes[first.consumed..], RequestKind::Other).unwrap();
    assert_eq!((first.consumed, second.consumed), (head.len(), other.len()));
    assert_eq!(first.response.map(|response| response.status), Some(200));
    assert_eq!(second.response.map(|response| response.status), Some(404));
}
