//! Events in the body of an answer, from any split of its bytes: server-sent events by the HTML standard (section 9.2.5 and
//! 9.2.6), or lines.
//!
//! Nothing of an event is kept but its length, the last `id` and the last `retry`: an event takes no memory, however long it
//! is. What is incomplete when the body ends is no event.

use memchr::{memchr, memchr2};

use crate::grpc::GrpcMessages;

/// More than an `id` has anywhere: a longer one is not kept, as if it had not come.
const ID_BYTES_MAX: usize = 256;
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// What a part of a body brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A part of the data of an event under way, line ends between its lines included.
    Data(&'a [u8]),
    /// The event is complete.
    Event,
}

/// How a body is divided into events.
#[derive(Debug, Clone)]
pub enum EventReader {
    /// As server-sent events.
    Sse(EventStream),
    /// As lines.
    Lines(EventLines),
    /// As messages of gRPC.
    Grpc(GrpcMessages),
}

impl EventReader {
    /// Forgets the body under way, for a new one of the same client: the last `id` and the last `retry` stay.
    pub fn reset(&mut self) {
        match self {
            Self::Sse(stream) => stream.reset(),
            Self::Lines(lines) => *lines = EventLines::default(),
            Self::Grpc(messages) => *messages = GrpcMessages::default(),
        }
    }

    /// Forgets all that came, for a body of another client. The memory is kept.
    pub fn forget(&mut self) {
        if let Self::Sse(stream) = self {
            stream.last_id.clear();
            stream.retry_ms = None;
        }
        self.reset();
    }

    /// The last `id` that an event has made valid; empty where there was none.
    #[must_use]
    pub fn last_id(&self) -> &[u8] {
        match self {
            Self::Sse(stream) => stream.last_id(),
            Self::Lines(_) | Self::Grpc(_) => &[],
        }
    }

    /// How long the server wants a client to wait before it connects again, in milliseconds, where it has said so.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        match self {
            Self::Sse(stream) => stream.retry_ms(),
            Self::Lines(_) | Self::Grpc(_) => None,
        }
    }

    /// Reads the next part of the body.
    pub fn read(&mut self, bytes: &[u8], take: &mut impl FnMut(Piece<'_>)) {
        match self {
            Self::Sse(stream) => stream.read(bytes, take),
            Self::Lines(lines) => lines.read(bytes, take),
            Self::Grpc(messages) => read_messages(messages, bytes, take),
        }
    }

    /// The body is complete: gives the event that this completes, which only a last line without its end does.
    pub fn end(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        if let Self::Lines(lines) = self {
            lines.end(take);
        }
    }
}

fn read_messages(messages: &mut GrpcMessages, mut bytes: &[u8], take: &mut impl FnMut(Piece<'_>)) {
    while !bytes.is_empty() {
        let (read, is_whole) = messages.read_one(bytes, &mut |data| take(Piece::Data(data)));
        bytes = &bytes[read..];
        if is_whole {
            take(Piece::Event);
        }
    }
}

/// Where in a line the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start of the stream, behind this many bytes of a byte order mark.
    Mark(usize),
    /// At the start of a line.
    Start,
    /// In the name of a field.
    Name,
    /// Behind the colon, where one space is no part of the value.
    Colon(Field),
    /// In the value of a field.
    Value(Field),
    /// In a comment, or in a field that says nothing here.
    Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Id,
    Retry,
}

/// A stream of server-sent events.
#[derive(Debug, Clone)]
pub struct EventStream {
    place: Place,
    /// The last byte was a CR, behind which an LF belongs to the same line end.
    is_after_cr: bool,
    name: [u8; 5],
    name_bytes: usize,
    /// Whether the event under way has a line of data.
    has_data: bool,
    /// The `id` under way.
    id: Vec<u8>,
    /// Whether its line makes it none.
    is_no_id: bool,
    /// The last `id` of the event under way, which its end makes valid.
    next_id: Vec<u8>,
    last_id: Vec<u8>,
    /// The `retry` under way; none where it is no number.
    retry: Option<u64>,
    /// How long it is so far.
    retry_bytes: usize,
    retry_ms: Option<u64>,
}

impl Default for EventStream {
    fn default() -> Self {
        Self {
            place: Place::Mark(0),
            is_after_cr: false,
            name: [0; 5],
            name_bytes: 0,
            has_data: false,
            id: Vec::new(),
            is_no_id: false,
            next_id: Vec::new(),
            last_id: Vec::new(),
            retry: None,
            retry_bytes: 0,
            retry_ms: None,
        }
    }
}

impl EventStream {
    /// The last `id` that an event has made valid; empty where there was none.
    #[must_use]
    pub fn last_id(&self) -> &[u8] {
        &self.last_id
    }

    /// How long the server wants a client to wait before it connects again, in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn reset(&mut self) {
        self.place = Place::Mark(0);
        self.is_after_cr = false;
        self.has_data = false;
        self.next_id.clone_from(&self.last_id);
    }

    /// Reads the next bytes of the stream.
    pub fn read(&mut self, mut bytes: &[u8], take: &mut impl FnMut(Piece<'_>)) {
        while let Some(first) = bytes.first().copied() {
            if self.is_after_cr {
                self.is_after_cr = false;
                if first == b'\n' {
                    bytes = &bytes[1..];
                    continue;
                }
            }
            let consumed = match self.place {
                Place::Mark(matched) => self.mark(matched, first),
                Place::Start => self.start(first),
                Place::Name => self.name(bytes, take),
                Place::Colon(field) => {
                    self.place = Place::Value(field);
                    usize::from(first == b' ')
                }
                Place::Value(field) => self.value(field, bytes, take),
                Place::Ignored => rest_of_line(bytes),
            };
            bytes = &bytes[consumed..];
            if let Some(end @ (b'\r' | b'\n')) = bytes.first().copied()
                && !matches!(self.place, Place::Mark(_))
            {
                bytes = &bytes[1..];
                self.is_after_cr = end == b'\r';
                self.end_line(take);
            }
        }
    }

    fn mark(&mut self, matched: usize, byte: u8) -> usize {
        if byte == BYTE_ORDER_MARK[matched] {
            let is_whole = matched + 1 == BYTE_ORDER_MARK.len();
            self.place = if is_whole { Place::Start } else { Place::Mark(matched + 1) };
            return 1;
        }
        // Bytes that are no whole mark begin the name of a field that nobody knows.
        self.place = if matched == 0 { Place::Start } else { Place::Ignored };
        0
    }

    fn start(&mut self, byte: u8) -> usize {
        self.name_bytes = 0;
        self.place = match byte {
            b'\r' | b'\n' => Place::Start,
            b':' => Place::Ignored,
            _ => Place::Name,
        };
        0
    }

    fn name(&mut self, bytes: &[u8], take: &mut impl FnMut(Piece<'_>)) -> usize {
        let end = bytes.iter().position(|byte| matches!(byte, b':' | b'\r' | b'\n'));
        let part = &bytes[..end.unwrap_or(bytes.len())];
        for byte in part {
            if let Some(to) = self.name.get_mut(self.name_bytes) {
                *to = *byte;
            }
            self.name_bytes += 1;
        }
        if end.is_some_and(|end| bytes[end] == b':') {
            let field = self.field();
            self.place = field.map_or(Place::Ignored, Place::Colon);
            self.begin_value(field, take);
            return part.len() + 1;
        }
        part.len()
    }

    /// The field whose name has come.
    fn field(&self) -> Option<Field> {
        match self.name.get(..self.name_bytes)? {
            b"data" => Some(Field::Data),
            b"id" => Some(Field::Id),
            b"retry" => Some(Field::Retry),
            _ => None,
        }
    }

    fn begin_value(&mut self, field: Option<Field>, take: &mut impl FnMut(Piece<'_>)) {
        match field {
            Some(Field::Data) if self.has_data => take(Piece::Data(b"\n")),
            Some(Field::Data) => self.has_data = true,
            Some(Field::Id) => {
                self.id.clear();
                self.is_no_id = false;
            }
            Some(Field::Retry) => (self.retry, self.retry_bytes) = (Some(0), 0),
            None => {}
        }
    }

    fn value(&mut self, field: Field, bytes: &[u8], take: &mut impl FnMut(Piece<'_>)) -> usize {
        let consumed = rest_of_line(bytes);
        let part = &bytes[..consumed];
        match field {
            Field::Data if part.is_empty() => {}
            Field::Data => take(Piece::Data(part)),
            Field::Id => {
                self.is_no_id |= self.id.len() + part.len() > ID_BYTES_MAX || memchr(0, part).is_some();
                if !self.is_no_id {
                    self.id.extend_from_slice(part);
                }
            }
            Field::Retry => {
                self.retry_bytes += part.len();
                for byte in part {
                    let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
                    self.retry = self
                        .retry
                        .zip(digit)
                        .map(|(number, digit)| number.saturating_mul(10).saturating_add(digit));
                }
            }
        }
        consumed
    }

    /// A line is complete.
    fn end_line(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        let place = std::mem::replace(&mut self.place, Place::Start);
        match place {
            Place::Start => self.end_event(take),
            Place::Name => {
                // A line without a colon is the name of a field whose value is empty.
                let field = self.field();
                self.begin_value(field, take);
                if let Some(field) = field {
                    self.end_field(field);
                }
            }
            Place::Colon(field) | Place::Value(field) => self.end_field(field),
            Place::Mark(_) | Place::Ignored => {}
        }
    }

    fn end_field(&mut self, field: Field) {
        match field {
            Field::Id if !self.is_no_id => std::mem::swap(&mut self.next_id, &mut self.id),
            Field::Retry if self.retry_bytes > 0 && self.retry.is_some() => self.retry_ms = self.retry,
            Field::Data | Field::Id | Field::Retry => {}
        }
    }

    /// An empty line has come, which ends an event that has data.
    fn end_event(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        self.last_id.clone_from(&self.next_id);
        if std::mem::take(&mut self.has_data) {
            take(Piece::Event);
        }
    }
}

/// Lines: each is an event unless it is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventLines {
    /// Whether the line under way has anything but white space.
    has_data: bool,
}

impl EventLines {
    /// Reads the next bytes.
    pub fn read(&mut self, mut bytes: &[u8], take: &mut impl FnMut(Piece<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.part(&bytes[..end], take);
            self.end(take);
            bytes = &bytes[end + 1..];
        }
        self.part(bytes, take);
    }

    fn part(&mut self, part: &[u8], take: &mut impl FnMut(Piece<'_>)) {
        let part = part.trim_ascii();
        if !part.is_empty() {
            self.has_data = true;
            take(Piece::Data(part));
        }
    }

    /// The line under way is complete.
    fn end(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        if std::mem::take(&mut self.has_data) {
            take(Piece::Event);
        }
    }
}

/// How many bytes there are before the end of the line.
fn rest_of_line(bytes: &[u8]) -> usize {
    memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len())
}
