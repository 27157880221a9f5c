//! Whatever a person asks to be sent: what is encoded is exactly one request, with the parts that were given.
//!
//! The input is method, target, authority, names and values in turn, and last the body. Between them is a byte
//! that no text can hold.

#![cfg_attr(fuzzing, no_main)]

use loadcurve_fuzz::target;
use loadcurve_wire::{Body, Method, Request, Target, Version};

const SEPARATOR: u8 = 0xff;
/// Header fields that the encoder may add: Host, User-Agent and Content-Length.
const ADDED_FIELDS: usize = 3;

target!(|input: &[u8]| {
    let mut parts: Vec<&[u8]> = input.split(|byte| *byte == SEPARATOR).collect();
    let Some(body) = parts.pop() else { return };
    let texts: Result<Vec<&str>, _> = parts.into_iter().map(str::from_utf8).collect();
    let Ok([method, target, authority, fields @ ..]) = texts.as_deref() else { return };
    let headers: Vec<(&str, &str)> = fields.chunks_exact(2).map(|field| (field[0], field[1])).collect();
    let Ok(method) = Method::new(method) else { return };
    for version in [Version::Http10, Version::Http11] {
        let (headers, body, fixed) = (&headers, Body::Bytes(body), Target::Fixed(target));
        let request = Request { version, method, target: fixed, authority, headers, body, is_chunked: false };
        if let Ok(bytes) = request.encode() {
            check(&request, target, &bytes);
        }
    }
});

/// Reads the bytes as a server does, and compares every part with the one that was given.
fn check(request: &Request, target: &str, bytes: &[u8]) {
    let Body::Bytes(body) = request.body else { panic!("the body is given") };
    let mut fields = vec![httparse::EMPTY_HEADER; request.headers.len() + ADDED_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let Ok(httparse::Status::Complete(header_bytes)) = parsed.parse(bytes) else {
        panic!("not a whole request: {}", bytes.escape_ascii());
    };
    assert_eq!(parsed.method, Some(request.method.as_str()));
    assert_eq!(parsed.path, Some(target));
    assert_eq!(parsed.version, Some(u8::from(request.version == Version::Http11)));
    assert_eq!(&bytes[header_bytes..], body);

    let mut added: Vec<&httparse::Header> = parsed.headers.iter().collect();
    for (name, value) in request.headers {
        let place = added.iter().position(|field| field.name == *name).expect("a given field is sent");
        assert_eq!(added.remove(place).value, trimmed(value.as_bytes()));
    }
    for field in added {
        assert!(["Host", "User-Agent", "Content-Length"].contains(&field.name), "added: {}", field.name);
    }
    assert_eq!(values(parsed.headers, "Host").len(), 1);
    assert!(values(parsed.headers, "Transfer-Encoding").is_empty());
    let length = body.len().to_string();
    match values(parsed.headers, "Content-Length")[..] {
        [] => assert!(body.is_empty(), "the length of the body is announced"),
        [stated] => assert_eq!(stated, length.as_bytes()),
        _ => panic!("several lengths are announced"),
    }
}

fn values<'a>(headers: &'a [httparse::Header], name: &str) -> Vec<&'a [u8]> {
    let is_named = |header: &&httparse::Header| header.name.eq_ignore_ascii_case(name);
    headers.iter().filter(is_named).map(|header| trimmed(header.value)).collect()
}

/// Without the spaces and tabs around it, which are no part of a field value (RFC 9110 §5.5).
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
