//! A client of HTTP/3 in memory: what it writes on streams is handed to the server's end in any pieces, and what each stream is
//! answered is kept.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadcurve_servers::http3::{Connection, Sink};
use loadcurve_wire::h3::Incoming;
use loadcurve_wire::h3::frame::{self, FrameReader, Part, kind};
use loadcurve_wire::h3::qpack::{Decoder, NO_ENTRIES, encode_field};
use loadcurve_wire::{Http3Code, Http3Error};

use crate::frames::Memory;

/// What one stream was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    bytes: Vec<u8>,
    pub(crate) has_ended: bool,
    /// The code with which it was given up.
    pub(crate) code: Option<Http3Code>,
}

impl Answered {
    /// All that was written on it.
    pub(crate) fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// `name: value` of each field, and the body.
    pub(crate) fn fields_and_body(&self) -> (Vec<String>, Vec<u8>) {
        let (mut fields, mut body) = (Vec::new(), Vec::new());
        let (mut reader, mut rest) = (FrameReader::default(), self.bytes.as_slice());
        loop {
            let (taken, part) = reader.next(rest);
            rest = &rest[taken..];
            match part {
                None => break,
                Some(Part::Header(header, _)) if header.kind == kind::HEADERS => reader.keep(header),
                Some(Part::Header(header, _)) => {
                    assert_eq!(header.kind, kind::DATA);
                    reader.pass(header);
                }
                Some(Part::Data(data)) => body.extend_from_slice(data),
                Some(Part::Whole(_, section)) => {
                    let read = Decoder::new(0).decode(0, section, |field| {
                        let [name, value] = [field.name, field.value].map(String::from_utf8_lossy);
                        fields.push(format!("{name}: {value}"));
                    });
                    read.unwrap();
                }
            }
        }
        assert!(!self.has_ended || reader.is_between_frames(), "no frame is cut");
        (fields, body)
    }
}

/// All streams; each takes this many bytes until it is given more room.
pub(crate) struct Streams {
    room_bytes: usize,
    pub(crate) answered: BTreeMap<u64, Answered>,
}

impl Sink for Streams {
    fn write(&mut self, stream: u64, chunks: &mut [Bytes]) {
        let answered = self.answered.entry(stream).or_default();
        assert!(!answered.has_ended && answered.code.is_none(), "nothing follows on {stream}");
        for chunk in chunks {
            let room = self.room_bytes.saturating_sub(answered.bytes.len());
            let taken = chunk.split_to(room.min(chunk.len()));
            answered.bytes.extend_from_slice(&taken);
        }
    }

    fn finish(&mut self, stream: u64) {
        let answered = self.answered.entry(stream).or_default();
        assert!(!std::mem::replace(&mut answered.has_ended, true), "{stream} ends once");
    }

    fn give_up(&mut self, stream: u64, code: Http3Code) {
        let answered = self.answered.entry(stream).or_default();
        assert!(!answered.has_ended && answered.code.is_none(), "{stream} ends once");
        answered.code = Some(code);
    }
}

/// A connection in memory.
pub(crate) struct Conversation {
    pub(crate) server: Connection,
    pub(crate) memory: Memory,
    pub(crate) streams: Streams,
    pub(crate) failed: Option<Http3Error>,
    /// Unidirectional streams that the server does not want to read.
    pub(crate) unwanted: Vec<u64>,
}

impl Conversation {
    pub(crate) fn new(memory: Memory) -> Self {
        Self {
            server: Connection::default(),
            memory,
            streams: Streams { room_bytes: usize::MAX, answered: BTreeMap::new() },
            failed: None,
            unwanted: Vec::new(),
        }
    }

    pub(crate) fn with_room(mut self, room_bytes: usize) -> Self {
        self.streams.room_bytes = room_bytes;
        self
    }

    /// Hands on bytes of a stream, in both directions where four divides its number, as QUIC would: nothing of one that was
    /// given up, and nothing once the connection has failed.
    pub(crate) fn send(&mut self, stream: u64, bytes: &[u8], is_end: bool) {
        let is_unheard = self.streams.answered.get(&stream).is_some_and(|answered| answered.code.is_some())
            || self.unwanted.contains(&stream);
        if self.failed.is_some() || is_unheard {
            return;
        }
        let Self { server, memory, streams, unwanted, .. } = self;
        let taken = if stream.is_multiple_of(4) {
            server.receive(stream, bytes, is_end, memory, streams)
        } else {
            server.receive_incoming(stream, bytes, is_end).map(|incoming| {
                if incoming == Incoming::Unwanted {
                    unwanted.push(stream);
                }
            })
        };
        self.failed = taken.err();
    }

    pub(crate) fn more_room(&mut self, stream: u64, bytes: usize) {
        self.streams.room_bytes = self.streams.room_bytes.saturating_add(bytes);
        self.server.go_on(stream, &mut self.streams);
    }

    /// The status, or the code with which the stream was given up.
    pub(crate) fn end_of(&self, stream: u64) -> String {
        let Some(answered) = self.streams.answered.get(&stream) else { return "nothing".into() };
        match answered.code {
            Some(Http3Code(code)) => format!("{code:#x}"),
            None if answered.has_ended => answered.fields_and_body().0[0].clone(),
            None => "under way".into(),
        }
    }
}

pub(crate) fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::from(NO_ENTRIES);
    for (name, value) in fields {
        encode_field(name.as_bytes(), value.as_bytes(), &mut section);
    }
    section
}

pub(crate) fn framed(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(kind, payload, &mut bytes);
    bytes
}

/// HEADERS of a request with these fields besides.
pub(crate) fn request(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let all = [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path)];
    framed(kind::HEADERS, &section(&[&all, more].concat()))
}
