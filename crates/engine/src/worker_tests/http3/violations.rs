//! Servers that break the rules of HTTP/3 (RFC 9114) or of QPACK (RFC 9204), each in one way. The connection ends with the code of the
//! specification, as the server sees it. An answer that is too long or has wrong fields ends its stream alone.

use std::rc::Rc;

use loadcurve_plan::{HttpLoad, Stop};
use loadcurve_quic::connection::{Connection, Direction, Lost, Then};
use loadcurve_record::Failure;
use loadcurve_wire::Http3Code;

use super::super::{closed, ms, taking};
use super::peer::Outcome;
use super::{ANSWER, Behaviour, CONTROL, MOST_WRITTEN_BYTES, meeting_server, server};

/// What a server sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// For the message of a test that fails.
    name: &'static str,
    /// The bytes of the streams that it opens behind the handshake.
    streams: &'static [(&'static [u8], Ends)],
    /// The answer to each request; `None` where the connection ends without that.
    answer: Option<(&'static [u8], Then)>,
    /// The client ends the connection with this.
    code: Http3Code,
}

/// What follows the bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// Nothing yet.
    Never,
    /// Its end.
    Closed,
    /// It is given up.
    Reset,
}
use Ends::{Closed, Never, Reset};

impl Violation {
    pub(super) fn open_streams(&self, connection: &mut Connection) {
        for (bytes, ends) in self.streams {
            let stream = connection.open(Direction::Out).unwrap();
            let then = if *ends == Closed { Then::End } else { Then::More };
            assert_eq!(connection.write(stream, bytes, then), bytes.len());
            if *ends == Reset {
                connection.abandon(stream, Http3Code::INTERNAL_ERROR.0);
            }
        }
    }

    pub(super) fn answer(&self, connection: &mut Connection, stream: u64) {
        if let Some((bytes, then)) = self.answer {
            connection.write(stream, bytes, then);
        }
    }
}

/// A server with a fault on streams of its own.
const fn on_streams(
    name: &'static str,
    streams: &'static [(&'static [u8], Ends)],
    code: Http3Code,
) -> Violation {
    Violation { name, streams, answer: None, code }
}

/// A server with a fault on its control stream.
macro_rules! on_control {
    ($name:literal, $bytes:expr, $code:ident) => {
        on_streams($name, &[(&$bytes, Never)], Http3Code::$code)
    };
}

/// A server with a fault in its answers, on a connection without others.
macro_rules! in_answer {
    ($name:literal, $bytes:expr, $then:ident, $code:ident) => {
        Violation {
            name: $name,
            streams: &[(CONTROL, Never)],
            answer: Some((&$bytes, Then::$then)),
            code: Http3Code::$code,
        }
    };
}

// Streams are of type 0 (control), 1 (push), 2 (encoder) and 3 (decoder); frames 0 DATA, 1 HEADERS, 3 CANCEL_PUSH, 4 SETTINGS,
// 5 PUSH_PROMISE, 7 GOAWAY, 0xd MAX_PUSH_ID; 2, 6, 8 and 9 are reserved since HTTP/2 has them.
const VIOLATIONS: &[Violation] = &[
    // RFC 9114 §6.2.1 and §7.2.4: the control stream and its settings.
    on_control!("DATA on the control stream", [0, 4, 0, 0, 1, b'x'], FRAME_UNEXPECTED),
    on_control!("HEADERS on the control stream", [0, 4, 0, 1, 3, 0, 0, 0xd9], FRAME_UNEXPECTED),
    on_control!("PUSH_PROMISE on the control stream", [0, 4, 0, 5, 3, 0, 0, 0], FRAME_UNEXPECTED),
    on_control!("MAX_PUSH_ID from a server", [0, 4, 0, 0xd, 1, 1], FRAME_UNEXPECTED),
    on_control!("SETTINGS twice", [0, 4, 0, 4, 0], FRAME_UNEXPECTED),
    on_control!("GOAWAY before SETTINGS", [0, 7, 1, 0], MISSING_SETTINGS),
    on_control!("an unknown frame before SETTINGS", [0, 0x21, 0, 4, 0], MISSING_SETTINGS),
    on_control!("a setting of HTTP/2", [0, 4, 2, 2, 0], SETTINGS_ERROR),
    on_control!("a setting twice", [0, 4, 4, 7, 1, 7, 1], SETTINGS_ERROR),
    on_control!("SETTINGS that end within a setting", [0, 4, 1, 7], FRAME_ERROR),
    on_control!("SETTINGS of 5,000 bytes", [0, 4, 0x53, 0x88], EXCESSIVE_LOAD),
    // §7.2.8: the frames of HTTP/2.
    on_control!("PRIORITY of HTTP/2 on the control stream", [0, 4, 0, 2, 0], FRAME_UNEXPECTED),
    on_control!("PING of HTTP/2 on the control stream", [0, 4, 0, 6, 0], FRAME_UNEXPECTED),
    on_control!("WINDOW_UPDATE of HTTP/2 on the control stream", [0, 4, 0, 8, 0], FRAME_UNEXPECTED),
    on_control!("CONTINUATION of HTTP/2 on the control stream", [0, 4, 0, 9, 0], FRAME_UNEXPECTED),
    in_answer!("PRIORITY of HTTP/2 as an answer", [2, 0], More, FRAME_UNEXPECTED),
    in_answer!("PING of HTTP/2 as an answer", [6, 0], More, FRAME_UNEXPECTED),
    in_answer!("WINDOW_UPDATE of HTTP/2 as an answer", [8, 0], More, FRAME_UNEXPECTED),
    in_answer!("CONTINUATION of HTTP/2 as an answer", [9, 0], More, FRAME_UNEXPECTED),
    // §6.2 and RFC 9204 §4.2: streams of which a connection has one, to its end.
    on_streams(
        "a second control stream",
        &[(CONTROL, Never), (CONTROL, Never)],
        Http3Code::STREAM_CREATION_ERROR,
    ),
    on_streams(
        "a second encoder stream",
        &[(CONTROL, Never), (&[2], Never), (&[2], Never)],
        Http3Code::STREAM_CREATION_ERROR,
    ),
    on_streams(
        "a second decoder stream",
        &[(CONTROL, Never), (&[3], Never), (&[3], Never)],
        Http3Code::STREAM_CREATION_ERROR,
    ),
    on_streams("a control stream that is closed", &[(CONTROL, Closed)], Http3Code::CLOSED_CRITICAL_STREAM),
    on_streams(
        "an encoder stream that is closed",
        &[(CONTROL, Never), (&[2], Closed)],
        Http3Code::CLOSED_CRITICAL_STREAM,
    ),
    on_streams(
        "a decoder stream that is closed",
        &[(CONTROL, Never), (&[3], Closed)],
        Http3Code::CLOSED_CRITICAL_STREAM,
    ),
    // §4.6 and §7.2.3: pushes, of which the client allows none.
    on_streams("a stream of a push", &[(CONTROL, Never), (&[1, 0], Never)], Http3Code::ID_ERROR),
    on_control!("CANCEL_PUSH of nothing", [0, 4, 0, 3, 1, 0], ID_ERROR),
    in_answer!("PUSH_PROMISE as an answer", [5, 3, 0, 0, 0], More, ID_ERROR),
    // §5.2: GOAWAY.
    on_control!("GOAWAY that increases", [0, 4, 0, 7, 1, 4, 7, 1, 8], ID_ERROR),
    on_control!("GOAWAY with a stream that carries no request", [0, 4, 0, 7, 1, 3], ID_ERROR),
    on_control!("GOAWAY of two bytes too many", [0, 4, 0, 7, 3, 4, 0, 0], FRAME_ERROR),
    // §4.1 and §7.2: the order of an answer's frames.
    in_answer!("DATA before HEADERS", [0, 1, b'x'], More, FRAME_UNEXPECTED),
    in_answer!("SETTINGS as an answer", [4, 0], More, FRAME_UNEXPECTED),
    in_answer!("GOAWAY as an answer", [7, 1, 0], More, FRAME_UNEXPECTED),
    in_answer!("CANCEL_PUSH as an answer", [3, 1, 0], More, FRAME_UNEXPECTED),
    in_answer!("MAX_PUSH_ID as an answer", [0xd, 1, 1], More, FRAME_UNEXPECTED),
    // Trailers are `a: b` as a literal.
    in_answer!(
        "HEADERS behind trailers",
        [1, 3, 0, 0, 0xd9, 1, 6, 0, 0, 0x21, b'a', 1, b'b', 1, 3, 0, 0, 0xd9],
        More,
        FRAME_UNEXPECTED
    ),
    in_answer!(
        "DATA behind trailers",
        [1, 3, 0, 0, 0xd9, 1, 6, 0, 0, 0x21, b'a', 1, b'b', 0, 1, b'x'],
        More,
        FRAME_UNEXPECTED
    ),
    in_answer!("a stream that ends within HEADERS", [1, 3, 0, 0], End, FRAME_ERROR),
    in_answer!("a stream that ends within DATA", [1, 3, 0, 0, 0xd9, 0, 9, b'x'], End, FRAME_ERROR),
    // RFC 9204 §2.2.3 and §3.1: references into nothing.
    in_answer!("a field of the empty dynamic table", [1, 3, 0, 0, 0x80], More, QPACK_DECOMPRESSION_FAILED),
    in_answer!(
        "field 99 of the static table, which has 99",
        [1, 4, 0, 0, 0xff, 0x24],
        More,
        QPACK_DECOMPRESSION_FAILED
    ),
    in_answer!(
        "more entries than the table can ever have had",
        [1, 4, 0xff, 0x7f, 0, 0x80],
        More,
        QPACK_DECOMPRESSION_FAILED
    ),
    in_answer!(
        "a field behind the base that was never added",
        [1, 3, 0, 0, 0x10],
        More,
        QPACK_DECOMPRESSION_FAILED
    ),
    // §4.3 and §4.4: instructions that cannot be followed. The client offers 4,096 bytes; 4,097 are 0x3f 0xe2 0x1f.
    on_streams(
        "a table larger than was offered",
        &[(CONTROL, Never), (&[2, 0x3f, 0xe2, 0x1f], Never)],
        Http3Code::QPACK_ENCODER_STREAM_ERROR,
    ),
    on_streams(
        "a copy of no entry",
        &[(CONTROL, Never), (&[2, 0x3f, 0xe1, 0x1f, 0x00], Never)],
        Http3Code::QPACK_ENCODER_STREAM_ERROR,
    ),
    on_streams(
        "an entry with the name of no entry",
        &[(CONTROL, Never), (&[2, 0x3f, 0xe1, 0x1f, 0x80, 1, b'x'], Never)],
        Http3Code::QPACK_ENCODER_STREAM_ERROR,
    ),
    on_streams(
        "an entry in a table of no bytes",
        &[(CONTROL, Never), (&[2, 0x41, b'a', 1, b'b'], Never)],
        Http3Code::QPACK_ENCODER_STREAM_ERROR,
    ),
    on_streams(
        "an acknowledgement of a section without entries",
        &[(CONTROL, Never), (&[3, 0x80], Never)],
        Http3Code::QPACK_DECODER_STREAM_ERROR,
    ),
    on_streams(
        "an acknowledgement of an entry that was never sent",
        &[(CONTROL, Never), (&[3, 0x01], Never)],
        Http3Code::QPACK_DECODER_STREAM_ERROR,
    ),
];

fn outcome_of(violation: &'static Violation, requests: u64) -> (Outcome, Vec<Lost>) {
    let plan = HttpLoad { timeout_s: 1.0, ..closed(1, Stop::RequestsTotal(requests)) };
    let server = server(Behaviour::Violates(violation), taking(ms(1)));
    let losses = Rc::clone(&server.losses);
    let outcome = meeting_server(&plan, 2, server);
    let losses = losses.borrow().clone();
    (outcome, losses)
}

#[test]
fn whatever_rule_of_http3_a_server_breaks_the_connection_ends_with_its_code_and_the_record_says_which() {
    const REQUESTS: u64 = 10;
    for violation in VIOLATIONS {
        let Violation { name, code, .. } = violation;
        let (Outcome { recorder, written }, losses) = outcome_of(violation, REQUESTS);
        let failures = &recorder.failures;
        assert_eq!(failures[Failure::H3Fault], REQUESTS, "{name}: {failures:?}");
        assert_eq!((recorder.requests.answered, recorder.balance()), (0, Ok(())), "{name}");
        assert!(!losses.is_empty(), "{name}: the server sees a code");
        for lost in losses {
            assert!(
                matches!(lost, Lost::Application(found, _) if found == code.0),
                "{name}: {lost:?}, not {code}"
            );
        }
        let explanations = recorder.explanations.most_frequent(1);
        assert!(explanations.first().is_some_and(|one| one.text.len() > 20), "{name}: {explanations:?}");
        let bytes: usize = written.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes <= MOST_WRITTEN_BYTES, "{name}: {bytes}");
    }
}

/// Rare, and no fault.
const ALLOWED: &[Violation] = &[
    // Nobody can tell it from one whose control stream comes later.
    Violation {
        name: "no stream of the server's own",
        streams: &[],
        answer: Some((ANSWER, Then::End)),
        code: Http3Code::NO_ERROR,
    },
    Violation {
        name: "unknown settings, frames and streams (§9), and an unknown stream that is given up",
        streams: &[
            (&[0, 4, 2, 0x21, 1, 0x21, 1, b'x'], Never),
            (&[0x21, 1, 2, 3], Never),
            (&[0x21, 1, 2, 3], Closed),
            (&[0x21], Reset),
        ],
        answer: Some((&[0x21, 1, b'x', 1, 3, 0, 0, 0xd9, 0x21, 1, b'x'], Then::End)),
        code: Http3Code::NO_ERROR,
    },
];

#[test]
fn what_a_server_may_leave_out_or_add_is_no_fault() {
    for allowed in ALLOWED {
        let recorder = outcome_of(allowed, 10).0.recorder;
        assert_eq!(recorder.requests.answered, 10, "{}: {:?}", allowed.name, recorder.failures);
    }
}
