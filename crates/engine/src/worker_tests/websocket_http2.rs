//! WebSockets over HTTP/2 on the simulated clock: what is measured of their messages, and how they end.

use std::collections::BTreeMap;

use loadcurve_plan::{Conversation, HttpLoad, HttpVersion, Messages, Nanos, Requests, Stop, WebSocket};
use loadcurve_record::Failure;
use loadcurve_wire::{Http2Settings, WebSocketHttp2};

use super::http2::{PREFACE, SETTINGS_ACKNOWLEDGED};
use super::http2_uploads::frames_of;
use super::peer::{self, Delays, Outcome, Peer};
use super::{Service, closed, ms, open, taking};
use crate::io::Slot;
use crate::requests::websocket_http2_settings;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `SETTINGS_ENABLE_CONNECT_PROTOCOL` = 1 (RFC 8441 §3).
const TAKES_WEBSOCKETS: &[u8] = &[0, 8, 0, 0, 0, 1];
/// `:status: 200`, and 404, as indexes of the static table.
const STATUS_200: &[u8] = &[0x88];
const STATUS_404: &[u8] = &[0x8d];
const TEXT: &[u8] = b"\x81\x03abc";
/// A close with the code 1011.
const CLOSE: &[u8] = b"\x88\x02\x03\xf3";

fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[..], &[kind, flags], &stream, payload].concat()
}

/// What a server does in place of an answer.
#[derive(Clone, Copy)]
enum Otherwise {
    Nothing,
    Close,
    EndStream,
}

/// A server that opens a WebSocket a fixed time after it is asked for, and answers each message when its service says, but for
/// every `per_websocket`-th one of a WebSocket.
pub(super) struct Server {
    opening: Nanos,
    service: Service,
    per_websocket: u64,
    otherwise: Otherwise,
    /// How many are opened; the others are refused.
    opens: usize,
    came: BTreeMap<(Slot, [u8; 4]), u64>,
}

impl Server {
    fn new(opening: Nanos, service_time: Nanos) -> Self {
        Self::serving(opening, Box::new(taking(service_time)))
    }

    pub(super) fn serving(opening: Nanos, service: Service) -> Self {
        Self {
            opening,
            service,
            per_websocket: u64::MAX,
            otherwise: Otherwise::Nothing,
            opens: usize::MAX,
            came: BTreeMap::new(),
        }
    }
}

impl Peer for Server {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        let frames = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        if bytes.starts_with(PREFACE) {
            let settings = frame(SETTINGS, 0, [0; 4], TAKES_WEBSOCKETS);
            answers.push((now, [&settings[..], &SETTINGS_ACKNOWLEDGED].concat()));
        }
        for (kind, flags, stream, payload) in frames_of(frames) {
            match kind {
                HEADERS if self.opens == 0 => {
                    answers.push((
                        now + self.opening,
                        frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_404),
                    ));
                }
                HEADERS => {
                    self.opens -= 1;
                    self.came.insert((slot, stream), 0);
                    answers.push((now + self.opening, frame(HEADERS, END_HEADERS, stream, STATUS_200)));
                }
                // What is closed is not answered.
                DATA if flags & END_STREAM == 0 => {
                    assert!(!payload.is_empty());
                    let came = self.came.get_mut(&(slot, stream)).expect("it is open");
                    *came += 1;
                    let answer = match self.otherwise {
                        _ if !came.is_multiple_of(self.per_websocket) => frame(DATA, 0, stream, TEXT),
                        Otherwise::Nothing => continue,
                        Otherwise::Close => frame(DATA, END_STREAM, stream, CLOSE),
                        Otherwise::EndStream => frame(DATA, END_STREAM, stream, &TEXT[..3]),
                    };
                    answers.extend((self.service)(now).map(|done| (done, answer)));
                }
                _ => {}
            }
        }
        answers
    }
}

/// Runs a load of messages on this number of WebSockets for each connection.
pub(super) fn run(plan: HttpLoad, streams: usize, server: Server) -> Outcome {
    let websocket = WebSocket::default();
    let plan = plan.with(|http| {
        http.http = HttpVersion::Http2;
        http.conversation = Conversation { streams, ..Conversation::default() };
        http.messages = Some(Messages::WebSocket(websocket.clone()));
        let Requests::Given(requests) = &mut http.requests else { panic!("they are given") };
        requests[0].body = loadcurve_plan::Body::Text("hello".into());
    });
    let settings = websocket_http2_settings(&plan.work, &websocket, Http2Settings::default()).unwrap();
    peer::run::<WebSocketHttp2>(&plan, settings, Delays::default(), server)
}

#[test]
fn a_closed_loop_has_a_message_under_way_on_each_websocket_all_the_time() {
    // 2 connections of 4 WebSockets, 5 ms each: 8 / 0.005 s = 1,600 messages in a second.
    let plan = HttpLoad { warmup_s: 0.1, ..closed(2, Stop::DurationS(1.0)) };
    let Outcome { recorder, .. } = run(plan, 4, Server::new(ms(20), ms(5)));
    assert_eq!((recorder.answered_within, recorder.failures.total()), (1_600, 0));
    assert_eq!(recorder.latency().extremes(), Some((ms(5), ms(5))));
    assert_eq!(recorder.connections.opened, 2);
}

#[test]
fn messages_on_a_schedule_count_from_when_they_were_due_whatever_the_server_does() {
    // 100 are due in a second, and two WebSockets take 50 ms for each message: 40 are answered, and the others wait.
    let plan = HttpLoad { timeout_s: 10.0, ..open(1, 100.0, Stop::RequestsTotal(100)) };
    let Outcome { recorder, .. } = run(plan, 2, Server::new(Nanos::ZERO, ms(50)));
    assert_eq!((recorder.requests.due, recorder.requests.answered), (100, 100));
    assert_eq!(recorder.service_time.extremes(), Some((ms(50), ms(50))));
    // The last of fifty on a WebSocket is answered at 2,500 ms or a little later; it was due at 980 or 990 ms.
    let longest = recorder.latency().extremes().unwrap().1;
    assert!(longest >= ms(1_500) && longest <= ms(1_530), "{longest:?}");
}

#[test]
fn a_websocket_that_its_server_ends_fails_the_message_under_way_by_how_it_ends() {
    for (otherwise, failure) in
        [(Otherwise::Close, Failure::ClosedInternalError), (Otherwise::EndStream, Failure::ClosedEarly)]
    {
        let server = Server { per_websocket: 3, otherwise, ..Server::new(ms(1), ms(1)) };
        let Outcome { recorder, .. } = run(closed(1, Stop::RequestsTotal(10)), 1, server);
        // Of three messages in a row the third one fails, and the next one has another connection.
        assert_eq!((recorder.requests.answered, recorder.failures[failure]), (7, 3));
        assert_eq!((recorder.requests.due, recorder.connections.opened), (10, 4));
    }
}

#[test]
fn a_message_that_is_not_answered_in_time_takes_its_websocket_with_it_and_not_the_connection() {
    let server = Server { per_websocket: 3, ..Server::new(ms(1), ms(1)) };
    let plan = HttpLoad { timeout_s: 0.1, ..closed(1, Stop::RequestsTotal(10)) };
    let Outcome { recorder, .. } = run(plan, 1, server);
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Timeout]), (7, 3));
    assert_eq!(recorder.connections.opened, 1);
}

#[test]
fn a_connection_whose_websockets_are_refused_is_none_and_its_messages_fail_by_that() {
    let server = Server { opens: 1, ..Server::new(ms(1), ms(1)) };
    let Outcome { recorder, .. } = run(closed(1, Stop::RequestsTotal(2)), 2, server);
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::UpgradeRefused]), (0, 2));
    assert_eq!(recorder.connections.opened, 0);
}
