//! WebSocket from memory (RFC 6455), as a server that echoes: each message goes back as it came, frame by frame.
//!
//! Nothing of a message is held, however long it is: what comes of its body goes back at once, without its mask. One that goes
//! to others instead ([`Echo::apart`]) is held until it is whole, so that it is not in the middle of another one. What a text
//! says is not looked at. Pings are answered, and a close is answered with its code and ends the connection, as does a frame that breaks the
//! rules. Compressed messages go back as they came, too: both sides agree to compress each of them by itself.

use loadcurve_wire::PermessageDeflate;
use loadcurve_wire::websocket::{CONTROL_BYTES_MAX, accept_of, mask};

/// The longest header of a client's frame.
const HEADER_BYTES_MAX: usize = 14;
const PROTOCOL_ERROR: u16 = 1002;
const TOO_BIG: u16 = 1009;
/// How much is held of messages that go to others.
pub const APART_BYTES_MAX: u64 = 1024 * 1024;

const FIN: u8 = 0x80;
/// The message is compressed (RFC 7692 §6); in its first frame.
const COMPRESSED: u8 = 0x40;
const MASKED: u8 = 0x80;
const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// How a request for an upgrade is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgrade {
    /// The head of the answer.
    pub head: String,
    /// Whether messages may come compressed.
    pub is_deflated: bool,
}

/// The answer to the head of a request of HTTP/1.1, where that asks for an upgrade to WebSocket; none for any other one. Where
/// messages may be deflated, the first offer of permessage-deflate is accepted that lets them go back as they come.
#[must_use]
pub fn upgrade(request: &str, may_deflate: bool) -> Option<Upgrade> {
    let mut lines = request.split("\r\n");
    let is_get = lines.next()?.strip_prefix("GET ")?.ends_with(" HTTP/1.1");
    let fields = lines.filter_map(|line| line.split_once(':'));
    let value = |wanted: &str| {
        let mut found = fields.clone().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| value.trim())
    };
    let lists = |name: &str, token: &str| {
        value(name).is_some_and(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case(token)))
    };
    let is_upgrade = is_get
        && lists("Upgrade", "websocket")
        && lists("Connection", "upgrade")
        && value("Sec-WebSocket-Version") == Some("13");
    let key = value("Sec-WebSocket-Key").filter(|_| is_upgrade)?;
    let offers = value("Sec-WebSocket-Extensions").filter(|_| may_deflate).unwrap_or_default();
    let agreed = accepted(offers);
    let extension =
        agreed.map(|agreed| format!("Sec-WebSocket-Extensions: {agreed}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{extension}Sec-WebSocket-Accept: {}\r\n\r\n",
        accept_of(key.as_bytes())
    );
    Some(Upgrade { head, is_deflated: agreed.is_some() })
}

/// The first of these offers of extensions that can be accepted, as it is answered.
pub(crate) fn accepted(offers: &str) -> Option<PermessageDeflate> {
    offers.split(',').find_map(|offer| agreed_on(PermessageDeflate::offer(offer.trim()).ok()?))
}

/// What of an offer lets compressed messages go back as they come: neither side keeps anything from message to message, and the
/// client's window is no larger than the server's may be (RFC 7692 §7.1): a client must then limit it.
fn agreed_on(offer: PermessageDeflate) -> Option<PermessageDeflate> {
    let window_bits = match (offer.server_max_window_bits, offer.client_max_window_bits) {
        (None, _) => None,
        (Some(_), None) => return None,
        (Some(of_server), Some(of_client)) => Some(of_client.map_or(of_server, |own| own.min(of_server))),
    };
    Some(PermessageDeflate {
        server_no_context_takeover: true,
        client_no_context_takeover: true,
        server_max_window_bits: window_bits,
        client_max_window_bits: window_bits.map(Some),
    })
}

/// One connection's end of WebSocket, which echoes.
#[derive(Debug, Default)]
pub struct Echo {
    header: [u8; HEADER_BYTES_MAX],
    have: usize,
    frame: Option<Frame>,
    /// The body of the control frame under way.
    control: Vec<u8>,
    /// Whether a message has begun, and its last frame has not.
    is_in_message: bool,
    is_over: bool,
    /// Whether messages may come compressed.
    is_deflated: bool,
    /// What does not go back to who has sent it; nothing where all of it does.
    apart: Option<Apart>,
}

/// Messages that go to others.
#[derive(Debug, Default)]
struct Apart {
    frames: Vec<u8>,
    /// How much of it are whole messages.
    whole_bytes: usize,
}

/// A frame whose header has come.
#[derive(Debug, Clone, Copy)]
struct Frame {
    opcode: u8,
    key: [u8; 4],
    /// How far its body has come.
    offset: u64,
    length: u64,
}

impl Echo {
    /// One that keeps messages for others: see [`Self::take_messages`].
    #[must_use]
    pub fn apart() -> Self {
        Self { apart: Some(Apart::default()), ..Self::default() }
    }

    /// One whose messages may come compressed, as its [`Upgrade`] says.
    #[must_use]
    pub fn deflated(is_deflated: bool) -> Self {
        Self { is_deflated, ..Self::default() }
    }

    /// Appends the messages that are whole, as frames of a server, to what goes to others; nothing is appended where they go back. A
    /// message that is longer than [`APART_BYTES_MAX`] is refused.
    pub fn take_messages(&mut self, to: &mut Vec<u8>) {
        let Some(apart) = &mut self.apart else { return };
        to.extend_from_slice(&apart.frames[..apart.whole_bytes]);
        apart.frames.drain(..std::mem::take(&mut apart.whole_bytes));
    }

    /// Whether the last that is said has been said.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.have == 0 && self.frame.is_none() && !self.is_in_message
    }

    /// Takes bytes of a client, and appends what answers them; nothing behind a close is looked at.
    pub fn receive(&mut self, mut bytes: &[u8], to: &mut Vec<u8>) {
        while !self.is_over {
            if self.frame.is_none() {
                bytes = &bytes[self.read_header(bytes)..];
                if self.have < wanted(&self.header, self.have) {
                    return;
                }
                self.have = 0;
                self.begin(to);
                continue;
            }
            let taken = self.read_body(bytes, to);
            bytes = &bytes[taken..];
            if self.frame.is_some() {
                return;
            }
        }
    }

    /// Takes what comes of a header; gives how much it was.
    fn read_header(&mut self, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        loop {
            let missing = wanted(&self.header, self.have) - self.have;
            let taken = missing.min(bytes.len() - consumed);
            if taken == 0 {
                return consumed;
            }
            self.header[self.have..self.have + taken].copy_from_slice(&bytes[consumed..consumed + taken]);
            self.have += taken;
            consumed += taken;
        }
    }

    /// The header is whole: begins to echo what it is of.
    fn begin(&mut self, to: &mut Vec<u8>) {
        let [first, second, ..] = self.header;
        let (opcode, is_last) = (first & OPCODE, first & FIN != 0);
        let end = wanted(&self.header, 2);
        let short = second & !MASKED;
        let length = match short {
            126 | 127 => {
                self.header[2..end - 4].iter().fold(0, |length, byte| length << 8 | u64::from(*byte))
            }
            short => u64::from(short),
        };
        let is_control = opcode >= CLOSE;
        let flags = first & !(FIN | OPCODE);
        let begins_message = matches!(opcode, TEXT | BINARY);
        let is_sound = (flags == 0 || flags == COMPRESSED && self.is_deflated && begins_message)
            && second & MASKED != 0
            && match opcode {
                CONTINUATION => self.is_in_message,
                TEXT | BINARY => !self.is_in_message,
                CLOSE | PING | PONG => is_last && length <= CONTROL_BYTES_MAX as u64,
                _ => false,
            };
        if !is_sound {
            self.close(&PROTOCOL_ERROR.to_be_bytes(), to);
            return;
        }
        let mut key = [0; 4];
        key.copy_from_slice(&self.header[end - 4..end]);
        if !is_control {
            self.is_in_message = !is_last;
            let held = self.apart.as_mut().map(|apart| &mut apart.frames);
            if held.as_ref().is_some_and(|held| held.len() as u64 + length > APART_BYTES_MAX) {
                self.close(&TOO_BIG.to_be_bytes(), to);
                return;
            }
            write_header(first, length, held.unwrap_or(to));
        }
        self.frame = Some(Frame { opcode, key, offset: 0, length });
    }

    /// Takes what comes of a body; gives how much it was.
    fn read_body(&mut self, bytes: &[u8], to: &mut Vec<u8>) -> usize {
        let Some(frame) = &mut self.frame else { return 0 };
        let left = frame.length - frame.offset;
        let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let is_control = frame.opcode >= CLOSE;
        let into = match &mut self.apart {
            _ if is_control => &mut self.control,
            Some(apart) => &mut apart.frames,
            None => &mut *to,
        };
        let begin = into.len();
        into.extend_from_slice(&bytes[..taken]);
        mask(&mut into[begin..], frame.key, frame.offset);
        frame.offset += taken as u64;
        if frame.offset == frame.length {
            let opcode = frame.opcode;
            self.frame = None;
            if is_control {
                self.answer_control(opcode, to);
            } else if let (Some(apart), false) = (&mut self.apart, self.is_in_message) {
                apart.whole_bytes = apart.frames.len();
            }
        }
        taken
    }

    /// A control frame is whole.
    fn answer_control(&mut self, opcode: u8, to: &mut Vec<u8>) {
        let mut body = std::mem::take(&mut self.control);
        match opcode {
            PING => {
                write_header(FIN | PONG, body.len() as u64, to);
                to.extend_from_slice(&body);
            }
            CLOSE => {
                body.truncate(2);
                self.close(&body, to);
            }
            _ => {}
        }
        body.clear();
        self.control = body;
    }

    /// Says the last that is said.
    fn close(&mut self, body: &[u8], to: &mut Vec<u8>) {
        write_header(FIN | CLOSE, body.len() as u64, to);
        to.extend_from_slice(body);
        self.is_over = true;
    }
}

/// How long a header is of which this much has come, as far as that is known.
fn wanted(header: &[u8; HEADER_BYTES_MAX], have: usize) -> usize {
    if have < 2 {
        return 2;
    }
    let length = match header[1] & !MASKED {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    2 + length + 4
}

/// Appends the header of a server's frame.
fn write_header(first: u8, length: u64, to: &mut Vec<u8>) {
    let bytes = length.to_be_bytes();
    match length {
        0..126 => to.extend_from_slice(&[first, bytes[7]]),
        126..0x1_0000 => to.extend_from_slice(&[first, 126, bytes[6], bytes[7]]),
        _ => {
            to.extend_from_slice(&[first, 127]);
            to.extend_from_slice(&bytes);
        }
    }
}
