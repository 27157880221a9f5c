//! A client that sends back each message of a server, as suites of cases for WebSocket want one.
//!
//! `cargo run --release -p loadcurve-wire --example websocket_echo HOST:PORT` runs all cases of the suite that listens there, such
//! as `kosoku --mode fuzzingserver HOST:PORT` (a Python package). The suite prints what failed. With the offer of an extension behind it,
//! such as `"permessage-deflate; client_max_window_bits"`, the cases of compression are run, too. The exchange of a load judges what
//! comes, answers pings and closes. It awaits an answer to each message of its own, so that
//! the first one is begun and not sent, and each one that is sent back awaits the next.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use loadcurve_wire::{
    Body, Event, Exchange as _, Handshake, HttpExchange as _, InvalidRequest, MessageKind, Method,
    PermessageDeflate, Readiness, Received, Request, Target, Version, WebSocket, WebSocketSettings,
};

type Failure = Box<dyn Error>;

/// How long the suite may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(20);
const AGENT: &str = "loadcurve";

const OPCODE: u8 = 0x0f;
/// In place of a length: it follows in as many bytes.
const TWO_BYTES: u8 = 126;
const EIGHT_BYTES: u8 = 127;

fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("usage: websocket_echo HOST:PORT [OFFER]")?;
    let offer = std::env::args().nth(2).map(|offer| PermessageDeflate::offer(&offer)).transpose()?;
    let count: usize = talk(&address, "/getCaseCount", None, false)?.trim().parse()?;
    for case in 1..=count {
        talk(&address, &format!("/runCase?case={case}&agent={AGENT}"), offer, true)
            .map_err(|failure| format!("case {case} of {count}: {failure}"))?;
    }
    talk(&address, &format!("/updateReports?agent={AGENT}"), None, false)?;
    println!("{count} cases were run; the suite has written what they showed");
    Ok(())
}

/// Talks on one connection until it is over; gives the text of its last message.
fn talk(
    address: &str,
    target: &str,
    offer: Option<PermessageDeflate>,
    sends_back: bool,
) -> Result<String, Failure> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_nodelay(true)?;
    let request = Request {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed(target),
        authority: address,
        headers: &[],
        body: Body::Bytes(b""),
        is_chunked: false,
    };
    let settings = settings(&request, offer)?;
    let mut exchange: WebSocket = WebSocket::new(1, &settings);
    exchange.open();
    let empty = <WebSocket>::template(&request)?;
    exchange.begin(0, &empty, None, &mut Vec::new());
    let mut frames = Frames::default();
    let mut buffer = vec![0; 1 << 16];
    let (mut message, mut last) = (Vec::new(), String::new());
    let mut output = Vec::new();
    loop {
        exchange.write_output(&mut output);
        // The suite may have closed the connection already, which its report says.
        let is_sent = stream.write_all(&output).is_ok();
        output.clear();
        if !is_sent || exchange.readiness() == Readiness::Closed {
            return Ok(last);
        }
        let read = match stream.read(&mut buffer) {
            Ok(0) => return Ok(last),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(last),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = &buffer[..read];
        while !bytes.is_empty() || exchange.has_input() {
            let is_upgraded = exchange.readiness() != Readiness::Handshaking;
            let taken = exchange.receive_with(bytes, &mut |_, _, part| message.extend_from_slice(part));
            let Ok(Received { consumed, event }) = taken else { break };
            if is_upgraded {
                frames.read(&bytes[..consumed]);
            } else if let Some(head) = bytes[..consumed].windows(4).position(|end| end == b"\r\n\r\n") {
                frames.read(&bytes[head + 4..consumed]);
            }
            bytes = &bytes[consumed..];
            if let Some(Event::Answered(..)) = event {
                // Pings in the middle of the message came before its end.
                exchange.write_output(&mut output);
                let back = <WebSocket>::template(&Request { body: Body::Bytes(&message), ..request })?;
                let begin = output.len();
                exchange.begin(0, &back, None, &mut output);
                if sends_back {
                    output[begin] = output[begin] & !OPCODE | frames.kind;
                } else {
                    output.truncate(begin);
                }
                last = String::from_utf8_lossy(&message).into_owned();
                message.clear();
            }
        }
    }
}

/// How WebSocket is spoken, with an offer or without.
fn settings(
    request: &Request<'_>,
    offer: Option<PermessageDeflate>,
) -> Result<WebSocketSettings, InvalidRequest> {
    let handshake = Handshake::new(request)?;
    let handshake = match offer {
        Some(offer) => handshake.offering(offer),
        None => handshake,
    };
    Ok(WebSocketSettings::new(handshake, MessageKind::Text, 1))
}

/// The frames of a server, of which an exchange does not say whether they are text.
#[derive(Debug, Default)]
struct Frames {
    header: Vec<u8>,
    left_bytes: u64,
    /// The opcode of the message that began last.
    kind: u8,
}

impl Frames {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.left_bytes > 0 {
                self.left_bytes -= 1;
                continue;
            }
            self.header.push(*byte);
            let Some(length) = length_of(&self.header) else { continue };
            let opcode = self.header[0] & 0x0f;
            if matches!(opcode, 1 | 2) {
                self.kind = opcode;
            }
            self.left_bytes = length;
            self.header.clear();
        }
    }
}

/// The length of a frame's body, once its header is whole.
fn length_of(header: &[u8]) -> Option<u64> {
    let bytes_at = |count: usize| {
        let length = header.get(2..2 + count)?;
        Some(length.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    match header.get(1)? & 0x7f {
        TWO_BYTES => bytes_at(2),
        EIGHT_BYTES => bytes_at(8),
        length => Some(u64::from(length)),
    }
}
