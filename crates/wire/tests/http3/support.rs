//! A server's side of a connection, in bytes of its streams.

use loadcurve_wire::h3::{frame, integer, qpack};
use loadcurve_wire::{
    Body, Event, Http3, Http3Settings, Http3Template, Malformed, Method, Received, Request, Tag, Target,
    Version,
};

pub(crate) const DATA: u64 = 0;
pub(crate) const HEADERS: u64 = 1;
pub(crate) const CANCEL_PUSH: u64 = 3;
pub(crate) const SETTINGS: u64 = 4;
pub(crate) const PUSH_PROMISE: u64 = 5;
pub(crate) const GOAWAY: u64 = 7;
pub(crate) const MAX_PUSH_ID: u64 = 0xd;
pub(crate) const PRIORITY_UPDATE: u64 = 0xf_0700;
/// A type that RFC 9114 §7.2.8 reserves for what everybody ignores.
pub(crate) const RESERVED: u64 = 0x1f * 7 + 0x21;

/// The first three unidirectional streams of a server.
pub(crate) const CONTROL: u64 = 3;
pub(crate) const ENCODER: u64 = 7;
pub(crate) const DECODER: u64 = 11;

/// A section that says `:status: 200` by index 25 of the static table.
pub(crate) const STATUS_200: &[u8] = &[0, 0, 0xd9];

pub(crate) fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    integer::write(value, &mut bytes);
    bytes
}

pub(crate) fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(kind, payload, &mut bytes);
    bytes
}

/// An integer behind a prefix (RFC 7541 §5.1).
pub(crate) fn prefixed(value: usize, prefix_bits: u32, pattern: u8) -> Vec<u8> {
    let most = (1 << prefix_bits) - 1;
    if value < most {
        return vec![pattern | u8::try_from(value).unwrap()];
    }
    let mut bytes = vec![pattern | u8::try_from(most).unwrap()];
    let mut rest = value - most;
    while rest >= 0x80 {
        bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    bytes.push(u8::try_from(rest).unwrap());
    bytes
}

/// A section of literals.
pub(crate) fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = vec![0, 0];
    for (name, value) in fields {
        bytes.extend(prefixed(name.len(), 3, 0x20));
        bytes.extend(name.bytes());
        bytes.extend(prefixed(value.len(), 7, 0));
        bytes.extend(value.bytes());
    }
    bytes
}

pub(crate) fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, &section(fields))
}

pub(crate) fn request<'a>(method: &'a str, headers: &'a [(&'a str, &'a str)], body: Body<'a>) -> Request<'a> {
    Request {
        version: Version::Http11,
        method: Method::new(method).unwrap(),
        target: Target::Fixed("/"),
        authority: "localhost",
        headers,
        body,
        is_chunked: false,
    }
}

/// A connection with a request of each of these methods under way, the first one on stream 0 under tag 0.
pub(crate) fn with_requests_and(methods: &[&str], settings: &Http3Settings) -> Http3 {
    let mut http3 = Http3::new(methods.len(), settings);
    http3.open();
    for (tag, method) in methods.iter().enumerate() {
        let template = Http3Template::new(&request(method, &[], Body::Bytes(b""))).unwrap();
        http3.begin(tag, 4 * tag as u64, &template, None, &mut Vec::new());
    }
    http3
}

pub(crate) fn with_requests(methods: &[&str]) -> Http3 {
    with_requests_and(methods, &Http3Settings::default())
}

/// What the bytes of an answer bring, to their end, and how many of them were not consumed.
pub(crate) fn events_and_rest(
    http3: &mut Http3,
    tag: Tag,
    bytes: &[u8],
    is_end: bool,
) -> Result<(Vec<Event>, usize), Malformed> {
    let (mut events, mut rest) = (Vec::new(), bytes);
    loop {
        let Received { consumed, event } = http3.receive(tag, rest, is_end)?;
        rest = &rest[consumed..];
        let Some(event) = event else { return Ok((events, rest.len())) };
        events.push(event);
        if !matches!(event, Event::Begun(_)) {
            return Ok((events, rest.len()));
        }
    }
}

/// What the bytes of an answer bring, but that it has begun.
pub(crate) fn ends(http3: &mut Http3, tag: Tag, bytes: &[u8], is_end: bool) -> Result<Vec<Event>, Malformed> {
    let (events, _) = events_and_rest(http3, tag, bytes, is_end)?;
    Ok(events.into_iter().filter(|event| !matches!(event, Event::Begun(_))).collect())
}

pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The fields of a section of a stream, or nothing where it has to wait.
pub(crate) fn fields_of(
    decoder: &mut qpack::Decoder,
    stream: u64,
    section: &[u8],
) -> Result<Option<Fields>, qpack::QpackError> {
    let mut fields = Fields::new();
    let read = decoder.decode(stream, section, |field| {
        fields.push((field.name.to_vec(), field.value.to_vec()));
    })?;
    Ok((read == qpack::Section::Decoded).then_some(fields))
}

/// What a decoder has to say on its stream.
pub(crate) fn said_by(decoder: &mut qpack::Decoder) -> Vec<u8> {
    let mut bytes = Vec::new();
    decoder.write_output(&mut bytes);
    bytes
}

pub(crate) fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let text = String::from_utf8(digits).unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
