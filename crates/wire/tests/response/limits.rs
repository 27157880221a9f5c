//! The limit on what a response may make the parser hold.

use loadcurve_wire::{Limits, Malformed, RequestKind, Section};

use crate::reading::{Outcome, read};

fn too_large(section: Section, limit_bytes: usize) -> Outcome {
    Outcome::Malformed(Malformed::TooLarge { section, limit_bytes })
}

/// Reads whole and byte by byte, which must give the same.
fn read_limited(text: &str, header_bytes: usize) -> Outcome {
    let limits = Limits { header_bytes };
    let whole = read([text.as_bytes()], RequestKind::Other, limits);
    assert_eq!(read(text.as_bytes().chunks(1), RequestKind::Other, limits), whole);
    whole
}

#[test]
fn a_header_block_may_be_as_long_as_the_limit_and_no_longer() {
    let head = "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n";
    assert!(matches!(read_limited(head, head.len()), Outcome::Answered(..)));
    for limit_bytes in 1..head.len() {
        assert_eq!(read_limited(head, limit_bytes), too_large(Section::HeaderBlock, limit_bytes));
    }
}

#[test]
fn the_limit_holds_for_each_header_block_alone() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let text = format!("{interim}{interim}HTTP/1.1 204 \r\n\r\n");
    assert!(matches!(read_limited(&text, interim.len()), Outcome::Answered(..)));
}

#[test]
fn a_line_that_never_ends_is_refused_at_the_limit() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let endless = "a".repeat(100);
    let cases = [
        (format!("HTTP/1.1 200 {endless}"), Section::HeaderBlock),
        (format!("HTTP/1.1 200 OK\r\n{endless}"), Section::HeaderBlock),
        (format!("{head}{endless}"), Section::ChunkSizeLine),
        (format!("{head}0\r\n{endless}"), Section::TrailerSection),
        (format!("{head}0\r\n{}", "a: b\r\n".repeat(20)), Section::TrailerSection),
    ];
    for (text, section) in cases {
        assert_eq!(read_limited(&text, 64), too_large(section, 64), "{text:?}");
    }
}

#[test]
fn what_lies_behind_the_limit_is_not_judged() {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: none\r\nA: b\r\n\r\n";
    assert_eq!(read_limited(text, 20), too_large(Section::HeaderBlock, 20));
}

#[test]
fn many_chunks_and_their_data_do_not_count_towards_the_limit() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("64\r\n{}\r\n", "x".repeat(0x64));
    let text = format!("{head}{}0\r\n\r\n", chunk.repeat(50));
    assert!(matches!(read_limited(&text, head.len()), Outcome::Answered(..)));
}
