//! Servers of messages that stall for a known time: latencies from due are those of arithmetic, like those of requests.

use loadcurve_plan::{Body, Conversation, HttpLoad, Messages, Nanos, Requests, Stop, WebSocket as Asked};
use loadcurve_wire::WebSocket;

use super::peer::{self, Delays, Outcome, Peer};
use super::{STALLS, Service, assert_latency_shows, assert_latency_shows_unsent, open, stalling};
use super::{fan_out, grpc, websocket_http2};
use crate::io::Slot;
use crate::requests::websocket_settings;

const TEXT: &[u8] = b"\x81\x03abc";
/// Opcode, length, mask and body of the message that is sent.
const SENT_BYTES: usize = 2 + 4 + "hello".len();

/// An echo of WebSocket over HTTP/1.1 that answers each message when its service says.
struct Echo(Service);

impl Peer for Echo {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        if bytes.starts_with(b"GET ") {
            return vec![(now, fan_out::upgrade(std::str::from_utf8(bytes).unwrap()))];
        }
        let messages = bytes.chunks(SENT_BYTES).filter(|frame| frame[0] == TEXT[0]);
        messages.filter_map(|_| (self.0)(now)).map(|done| (done, TEXT.to_vec())).collect()
    }
}

fn over_websocket(plan: HttpLoad, pipeline: usize, service: Service) -> Outcome {
    let plan = plan.with(|http| {
        http.conversation = Conversation { pipeline, ..Conversation::default() };
        http.messages = Some(Messages::WebSocket(Asked::default()));
        let Requests::Given(requests) = &mut http.requests else { panic!("they are given") };
        requests[0].body = Body::Text("hello".into());
    });
    let settings = websocket_settings(&plan.work, &Asked::default()).unwrap();
    peer::run::<WebSocket>(&plan, settings, Delays::default(), Echo(service))
}

fn over_websocket_http2(plan: HttpLoad, streams: usize, service: Service) -> Outcome {
    websocket_http2::run(plan, streams, websocket_http2::Server::serving(Nanos::ZERO, service))
}

fn over_grpc(plan: HttpLoad, streams: usize, service: Service) -> Outcome {
    grpc::run_kept(plan, streams, grpc::Answering::serving(service))
}

/// Runs a load on a server with this service, with as many messages under way on a connection.
type Run = fn(HttpLoad, usize, Service) -> Outcome;

const PROTOCOLS: [Run; 3] = [over_websocket, over_websocket_http2, over_grpc];

/// 2,000 messages are due each second for five seconds: on two connections these are fewer bytes than the window that servers
/// of HTTP/2 give at the start.
fn due(connections: usize) -> HttpLoad {
    open(connections, 2_000.0, Stop::DurationS(5.0))
}

#[test]
fn stalls_show_in_the_latency_of_messages_where_every_one_is_sent_when_it_is_due() {
    // During the longer stall 0.3 s · 2000 per second = 600 messages wait: on 7 connections with 100 places, or of 100 calls.
    for (stalls, run) in STALLS.into_iter().flat_map(|stalls| PROTOCOLS.map(|run| (stalls, run))) {
        let Outcome { recorder, .. } = run(due(7), 100, Box::new(stalling(stalls)));
        assert_eq!(recorder.requests.answered, 10_000);
        assert_latency_shows(stalls, &recorder.latency());
        assert_latency_shows(stalls, &recorder.service_time);
        assert_eq!(recorder.lateness.extremes(), Some((Nanos::ZERO, Nanos::ZERO)));
    }
}

#[test]
fn stalls_show_in_the_latency_of_messages_even_where_they_wait_unsent() {
    for (stalls, run) in STALLS.into_iter().flat_map(|stalls| PROTOCOLS.map(|run| (stalls, run))) {
        let Outcome { recorder, .. } = run(due(2), 5, Box::new(stalling(stalls)));
        assert_latency_shows_unsent(stalls, &recorder, 10_000);
    }
}
