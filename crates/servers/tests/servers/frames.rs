//! A client of HTTP/2 that writes frames as given and keeps what it is answered, to see each of them.

use std::collections::BTreeMap;

use loadcurve_servers::http2::{Connection, Fate, Output, PREFACE, Service};
use loadcurve_servers::reply::{Content, Reply};
use loadcurve_wire::h2::frame::{self, FrameHeader, HEADER_BYTES, flag, kind};
use loadcurve_wire::h2::hpack::Decoder;

/// What one stream was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// `name: value`, as they came.
    pub(crate) fields: Vec<String>,
    pub(crate) body: Vec<u8>,
    pub(crate) has_ended: bool,
    /// The code of its reset.
    pub(crate) reset: Option<u32>,
}

/// Everything that a server has said on one connection.
pub(crate) struct Said {
    decoder: Decoder,
    unread: Vec<u8>,
    pub(crate) streams: BTreeMap<u32, Stream>,
    /// The streams in the order in which they ended.
    pub(crate) ended: Vec<u32>,
    /// The last stream and the code of each GOAWAY.
    pub(crate) go_aways: Vec<(u32, u32)>,
    pub(crate) pongs: Vec<Vec<u8>>,
    /// What the windows grew by, by stream.
    pub(crate) grown: BTreeMap<u32, u64>,
    pub(crate) acknowledged_settings: usize,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(4096),
            unread: Vec::new(),
            streams: BTreeMap::new(),
            ended: Vec::new(),
            go_aways: Vec::new(),
            pongs: Vec::new(),
            grown: BTreeMap::new(),
            acknowledged_settings: 0,
        }
    }
}

impl Said {
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        while let Some(header) = self.unread.first_chunk().map(FrameHeader::parse) {
            if self.unread.len() < HEADER_BYTES + header.length {
                return;
            }
            let rest = self.unread.split_off(HEADER_BYTES + header.length);
            let frame = std::mem::replace(&mut self.unread, rest);
            self.take(header, &frame[HEADER_BYTES..]);
        }
    }

    fn take(&mut self, header: FrameHeader, payload: &[u8]) {
        let number = |at: usize| u32::from_be_bytes(*payload[at..].first_chunk().unwrap());
        match header.kind {
            kind::SETTINGS if header.has(flag::ACK) => self.acknowledged_settings += 1,
            kind::SETTINGS => {}
            kind::PING => self.pongs.push(payload.to_vec()),
            kind::GOAWAY => self.go_aways.push((number(0), number(4))),
            kind::WINDOW_UPDATE => *self.grown.entry(header.stream).or_default() += u64::from(number(0)),
            kind::HEADERS | kind::DATA | kind::RST_STREAM => self.take_answer(header, payload),
            kind => panic!("a frame of type {kind}"),
        }
    }

    fn take_answer(&mut self, header: FrameHeader, payload: &[u8]) {
        let stream = self.streams.entry(header.stream).or_default();
        // What comes on a stream behind its end is answered by a reset, whether it was answered before or not.
        let is_open = !stream.has_ended && stream.reset.is_none();
        assert!(is_open || header.kind == kind::RST_STREAM, "nothing follows on {}", header.stream);
        match header.kind {
            kind::HEADERS => {
                let are_trailers = header.has(flag::END_STREAM);
                assert!(header.has(flag::END_HEADERS) && (stream.fields.is_empty() || are_trailers));
                let taken = self.decoder.decode(payload, |field| {
                    let [name, value] = [field.name, field.value].map(String::from_utf8_lossy);
                    stream.fields.push(format!("{name}: {value}"));
                });
                taken.unwrap();
            }
            kind::DATA => stream.body.extend_from_slice(payload),
            _ => stream.reset = Some(u32::from_be_bytes(*payload.first_chunk().unwrap())),
        }
        if header.kind != kind::RST_STREAM && header.has(flag::END_STREAM) {
            stream.has_ended = true;
            self.ended.push(header.stream);
        }
    }

    pub(crate) fn status(&self, stream: u32) -> &str {
        self.streams[&stream].fields[0].strip_prefix(":status: ").unwrap()
    }
}

/// Bytes that a client sends.
#[derive(Clone, Default)]
pub(crate) struct Sent(pub(crate) Vec<u8>);

impl Sent {
    /// The beginning of a connection, with these settings.
    pub(crate) fn preface(settings: &[(u16, u32)]) -> Self {
        let mut sent = Self(PREFACE.to_vec());
        sent.settings(settings);
        sent
    }

    pub(crate) fn settings(&mut self, settings: &[(u16, u32)]) {
        let each = |(setting, value): &(u16, u32)| {
            [setting.to_be_bytes().as_slice(), value.to_be_bytes().as_slice()].concat()
        };
        self.frame(kind::SETTINGS, 0, 0, &settings.iter().flat_map(each).collect::<Vec<_>>());
    }

    pub(crate) fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frame::write(kind, flags, stream, payload, &mut self.0);
    }

    pub(crate) fn grow(&mut self, stream: u32, bytes: u32) {
        self.frame(kind::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
    }

    /// A request without a body.
    pub(crate) fn request(&mut self, stream: u32, method: &str, path: &str) {
        let block = block(&[(":method", method), (":scheme", "http"), (":path", path), (":authority", "a")]);
        self.frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, &block);
    }
}

/// A header block of literals that go into no table.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let string = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
}

/// Answers from memory, with fates that are given one by one; those that follow are the usual.
pub(crate) struct Memory {
    pub(crate) content: Content,
    pub(crate) fates: Vec<Fate>,
    /// How often a request was looked at.
    pub(crate) looks: usize,
    /// Whether messages of calls are echoed.
    pub(crate) echoes: bool,
    /// How many messages answer a call that is not echoed.
    pub(crate) messages: usize,
}

impl Memory {
    pub(crate) fn of(files: &[(&str, &[u8])]) -> Self {
        let content = files.iter().map(|(path, body)| ((*path).to_owned(), (*body).into())).collect();
        Self { content, fates: Vec::new(), looks: 0, echoes: false, messages: 1 }
    }
}

impl Service for Memory {
    fn reply(&mut self, method: &[u8], target: &[u8]) -> Reply {
        self.looks += 1;
        Reply::to(method, target, &self.content)
    }

    fn reply_to_call(&mut self) -> Reply {
        if self.echoes { Reply::to_echoed_call() } else { Reply::to_call(self.messages) }
    }

    fn fate(&mut self) -> Fate {
        if self.fates.is_empty() { Fate::default() } else { self.fates.remove(0) }
    }
}

/// A connection in memory: what the server writes is heard at once.
pub(crate) struct Conversation {
    pub(crate) server: Connection,
    pub(crate) memory: Memory,
    pub(crate) said: Said,
    /// The longest output that the server has written at once.
    pub(crate) longest_bytes: usize,
}

impl Conversation {
    pub(crate) fn new(memory: Memory) -> Self {
        let mut begin = Vec::new();
        let server = Connection::open(&mut begin);
        let mut said = Said::default();
        said.hear(&begin);
        Self { server, memory, said, longest_bytes: 0 }
    }

    /// The server receives bytes, and may write at most `most_bytes` at once.
    pub(crate) fn send(&mut self, mut bytes: &[u8], most_bytes: usize) {
        while !bytes.is_empty() {
            let mut written = Vec::new();
            let mut output = Output { bytes: &mut written, most_bytes };
            let consumed = self.server.receive(bytes, &mut self.memory, &mut output);
            bytes = &bytes[consumed..];
            self.hear(&written);
        }
        self.go_on(most_bytes);
    }

    /// The server sends what it can send.
    pub(crate) fn go_on(&mut self, most_bytes: usize) {
        loop {
            let mut written = Vec::new();
            self.server.send(&mut Output { bytes: &mut written, most_bytes });
            if written.is_empty() {
                return;
            }
            self.hear(&written);
        }
    }

    fn hear(&mut self, written: &[u8]) {
        self.longest_bytes = self.longest_bytes.max(written.len());
        self.said.hear(written);
    }
}
