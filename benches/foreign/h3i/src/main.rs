//! `malformed-http3 ADDRESS:PORT`: sends sequences that break the rules of HTTP/3, each on a connection of its own, and prints
//! a line for each: `name<TAB>expected<TAB>outcome`.
//!
//! What is expected is what RFC 9114 and RFC 9204 require: a code by which the server ends the stream (`stream 0x10e`) or the
//! connection (`0x105`), or a response (`answer`).

use std::time::Duration;

use h3i::actions::h3::{Action, ExpectedStreamSendResult, WaitType};
use h3i::client::sync_client;
use h3i::config::Config;

/// How long the server has to react.
const PATIENCE: Duration = Duration::from_millis(500);
const IDLE_MS: u64 = 3_000;
const CONTROL: u64 = 2;
const ENCODER: u64 = 6;
const DECODER: u64 = 10;
const OTHER: u64 = 14;

fn varint(value: u64) -> Vec<u8> {
    match value {
        0..0x40 => vec![value as u8],
        0x40..0x4000 => (value as u16 | 0x4000).to_be_bytes().to_vec(),
        0x4000..0x4000_0000 => (value as u32 | 0x8000_0000).to_be_bytes().to_vec(),
        _ => (value | 0xc000_0000_0000_0000).to_be_bytes().to_vec(),
    }
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    [varint(kind), varint(payload.len() as u64), payload.to_vec()].concat()
}

/// A field as a literal without any table (RFC 9204, section 4.5.6): a length below 7 is in the first byte.
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = match u8::try_from(name.len()).unwrap() {
        length @ 0..7 => vec![0x20 | length],
        length => vec![0x27, length - 7],
    };
    bytes.extend(name.bytes());
    bytes.push(u8::try_from(value.len()).unwrap());
    bytes.extend(value.bytes());
    bytes
}

/// A header block behind its prefix.
fn fields(pairs: &[(&str, &str)]) -> Vec<u8> {
    [vec![0, 0], pairs.iter().flat_map(|(name, value)| field(name, value)).collect()].concat()
}

const GET: &[(&str, &str)] =
    &[(":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", "/")];

fn request(pairs: &[(&str, &str)]) -> Vec<u8> {
    frame(1, &fields(pairs))
}

fn get() -> Vec<u8> {
    request(GET)
}

fn with(more: &[(&str, &str)]) -> Vec<u8> {
    request(&[GET, more].concat())
}

/// What is written on a stream, and whether it ends there.
type Written = (u64, Vec<u8>, bool);

struct Case {
    name: &'static str,
    expected: &'static str,
    written: Vec<Written>,
}

fn settled() -> Written {
    (CONTROL, [vec![0], frame(4, &[])].concat(), false)
}

/// On the stream of a request.
fn of_request(name: &'static str, expected: &'static str, bytes: Vec<u8>) -> Case {
    Case { name, expected, written: vec![settled(), (0, bytes, true)] }
}

/// Behind the settings on the control stream, before a good request.
fn of_control(name: &'static str, expected: &'static str, bytes: Vec<u8>) -> Case {
    let control = [vec![0], frame(4, &[]), bytes].concat();
    Case { name, expected, written: vec![(CONTROL, control, false), (0, get(), true)] }
}

/// On another stream of one way, before a good request.
fn of_other(name: &'static str, expected: &'static str, stream: u64, bytes: Vec<u8>, ends: bool) -> Case {
    Case { name, expected, written: vec![settled(), (stream, bytes, ends), (0, get(), true)] }
}

fn cases() -> Vec<Case> {
    vec![
        of_request("a good request", "answer", get()),
        of_request("an unknown frame before the headers", "answer", [frame(0x21, b"x"), get()].concat()),
        of_request("data before the headers", "0x105", [frame(0, b"x"), get()].concat()),
        of_request("settings in a request", "0x105", [frame(4, &[]), get()].concat()),
        of_request("a frame of HTTP/2", "0x105", [frame(6, &[0; 8]), get()].concat()),
        of_request("a promise of a push by the client", "0x105", [frame(5, &[0, 0, 0]), get()].concat()),
        of_request("a going away in a request", "0x105", [frame(7, &[0]), get()].concat()),
        of_request("a frame that ends early", "0x106", get()[..get().len() - 1].to_vec()),
        of_request("a request without anything", "stream 0x10d", vec![]),
        of_request("a header block with a reference to nothing", "0x200", frame(1, &[2, 0, 0x80])),
        of_request("a header block with no prefix", "0x200", frame(1, &[])),
        of_request("a field name in capitals", "stream 0x10e", with(&[("Name", "x")])),
        of_request("no method", "stream 0x10e", request(&GET[1..])),
        of_request("two methods", "stream 0x10e", with(&[(":method", "GET")])),
        of_request("an unknown pseudo-header", "stream 0x10e", with(&[(":other", "x")])),
        of_request("a status in a request", "stream 0x10e", with(&[(":status", "200")])),
        of_request("a field of connections of HTTP/1.1", "stream 0x10e", with(&[("connection", "close")])),
        of_request(
            "a body shorter than its length",
            "stream 0x10e",
            [with(&[("content-length", "5")]), frame(0, b"four")].concat(),
        ),
        Case {
            name: "a control stream without settings",
            expected: "0x10a",
            written: vec![(CONTROL, [vec![0], frame(7, &[0])].concat(), false), (0, get(), true)],
        },
        of_control("settings twice", "0x105", frame(4, &[])),
        of_control("data on the control stream", "0x105", frame(0, b"x")),
        of_control("headers on the control stream", "0x105", frame(1, &[0, 0])),
        of_control("a frame of HTTP/2 on the control stream", "0x105", frame(8, &[0; 4])),
        of_control("an unknown frame on the control stream", "answer", frame(0x21, b"x")),
        of_control("a push cancelled that nobody promised", "0x108", frame(3, &[5])),
        of_control("fewer pushes than before", "0x108", [frame(13, &[9]), frame(13, &[8])].concat()),
        of_control("a going away with more than its number", "0x106", frame(7, &[0, 0])),
        Case {
            name: "a setting of HTTP/2",
            expected: "0x109",
            written: vec![(CONTROL, [vec![0], frame(4, &[2, 0])].concat(), false), (0, get(), true)],
        },
        Case {
            name: "a setting twice",
            expected: "0x109",
            written: vec![(CONTROL, [vec![0], frame(4, &[6, 1, 6, 1])].concat(), false), (0, get(), true)],
        },
        Case {
            name: "a setting without its value",
            expected: "0x106",
            written: vec![(CONTROL, [vec![0], frame(4, &[6])].concat(), false), (0, get(), true)],
        },
        Case {
            name: "a control stream that ends",
            expected: "0x104",
            written: vec![(CONTROL, [vec![0], frame(4, &[])].concat(), true), (0, get(), true)],
        },
        of_other("a second control stream", "0x103", OTHER, [vec![0], frame(4, &[])].concat(), false),
        of_other("a push by the client", "0x103", OTHER, vec![1, 0], false),
        of_other("a stream of no known kind", "answer", OTHER, vec![0x21, 1, 2, 3], true),
        of_other("a stream without a kind", "answer", OTHER, vec![], true),
        of_other("an encoder stream that ends", "0x104", ENCODER, vec![2], true),
        of_other("a second encoder stream", "0x103", OTHER, vec![2], false).after(ENCODER, vec![2]),
        of_other("a table larger than allowed", "0x201", ENCODER, vec![2, 0x3f, 0xe1, 0xff, 0x7f], false),
        of_other("an insertion that refers to nothing", "0x201", ENCODER, vec![2, 0x85, 1, b'x'], false),
        of_other("an increment of nothing", "0x202", DECODER, vec![3, 0x00], false),
        of_other("an acknowledgement of nothing", "0x202", DECODER, vec![3, 0x80], false),
    ]
}

impl Case {
    fn after(mut self, stream: u64, bytes: Vec<u8>) -> Self {
        self.written.insert(1, (stream, bytes, false));
        self
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (stream_id, bytes, fin_stream) in self.written.clone() {
            actions.push(Action::StreamBytes {
                stream_id,
                fin_stream,
                bytes,
                expected_result: ExpectedStreamSendResult::Ok,
            });
            actions.push(Action::FlushPackets);
        }
        actions.push(Action::Wait { wait_type: WaitType::WaitDuration(PATIENCE) });
        actions.push(Action::ConnectionClose {
            error: quiche::ConnectionError { is_app: true, error_code: 0x100, reason: vec![] },
        });
        actions
    }

    /// What the server did, in the words of `expected`.
    fn outcome(&self, server: &str) -> String {
        let config = Config::new()
            .with_host_port(server.into())
            .with_connect_to(server.into())
            .verify_peer(false)
            .with_idle_timeout(IDLE_MS)
            .build()
            .expect("the settings are good");
        let summary = match sync_client::connect(config, self.actions(), None) {
            Ok(summary) => summary,
            Err(error) => return format!("no connection: {error:?}"),
        };
        if let Some(error) = summary.conn_close_details.peer_error() {
            return format!("{:#x}", error.error_code);
        }
        for frame in summary.stream_map.stream(0) {
            match frame {
                h3i::frame::H3iFrame::Headers(_) => return "answer".into(),
                h3i::frame::H3iFrame::ResetStream(reset) => return format!("stream {:#x}", reset.error_code),
                h3i::frame::H3iFrame::QuicheH3(_) => {}
            }
        }
        "nothing".into()
    }
}

fn main() {
    let server = std::env::args().nth(1).expect("malformed-http3 ADDRESS:PORT");
    for case in cases() {
        println!("{}\t{}\t{}", case.name, case.expected, case.outcome(&server));
    }
}
