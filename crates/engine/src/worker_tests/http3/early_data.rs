//! Requests that leave before the handshake is over.

use std::sync::Arc;

use loadcurve_plan::{Conversation, HttpLoad, HttpVersion, Nanos, Stop, Tls, Verify};
use loadcurve_quic::connection::{Welcome, Windows};
use loadcurve_record::{Failure, QuicHandshakeKind as Kind, Recorder};

use super::super::peer::Outcome;
use super::super::{closed, ms, taking};
use super::{Behaviour, WINDOWS, run, server};

const CONNECTIONS: u64 = 40;

/// One connection after the other, each for this many requests, and as many of them at once as it has streams.
fn plan(requests: u64, calls: u64, streams: usize) -> HttpLoad {
    HttpLoad { timeout_s: 0.2, ..closed(1, Stop::RequestsTotal(requests)) }.with(|http| {
        http.http = HttpVersion::Http3;
        http.conversation = Conversation { calls: Some(calls), streams, ..Conversation::default() };
    })
}

/// Connections go on with a session, and this share of those sends requests early.
fn tls(early_data: f64) -> Tls {
    Tls { verify: Verify::None, full_handshakes: 0.0, early_data, ..Tls::of("localhost") }
}

/// One connection after the other, each for one request and all of them resumed, a share of which sends it early.
fn resuming(early_data: f64, behaviour: Behaviour, is_careful: bool) -> Outcome {
    let mut server = server(behaviour, taking(ms(2)));
    if is_careful {
        let mut careful = rustls::ServerConfig::clone(&server.tls);
        careful.max_early_data_size = 0;
        server.careful = Some(Welcome::new(Arc::new(careful), &WINDOWS).unwrap());
    }
    run(&plan(CONNECTIONS, 1, 1), &tls(early_data), server)
}

fn by_kind(recorder: &Recorder) -> [u64; 5] {
    Kind::ALL.map(|kind| recorder.quic.handshakes_of(kind).count())
}

#[test]
fn as_many_resumed_connections_send_their_request_early_as_were_asked_for() {
    // The first one has no session to go on with.
    for (share, early) in [(0.0, 0), (0.25, 9), (0.5, 19), (1.0, 39)] {
        let recorder = resuming(share, Behaviour::Answers, false).recorder;
        assert_eq!(by_kind(&recorder), [1, CONNECTIONS - 1 - early, early, 0, 0], "{share}");
        assert_eq!((recorder.requests.due, recorder.requests.answered), (CONNECTIONS, CONNECTIONS));
        assert_eq!(recorder.latency().extremes(), Some((ms(2), ms(2))), "{share}");
        assert_eq!(recorder.balance(), Ok(()));
    }
}

#[test]
fn requests_that_the_server_does_not_take_early_are_answered_all_the_same_and_none_is_sent_anew() {
    let recorder = resuming(1.0, Behaviour::Answers, true).recorder;
    // Each connection continues with the newest ticket: that of one on which the server takes nothing early allows nothing early.
    assert_eq!(by_kind(&recorder), [1, CONNECTIONS / 2 - 1, 0, CONNECTIONS / 2, 0]);
    let requests = &recorder.requests;
    assert_eq!((requests.due, requests.sent, requests.answered), (CONNECTIONS, CONNECTIONS, CONNECTIONS));
    assert_eq!(recorder.balance(), Ok(()));
}

#[test]
fn an_early_request_fails_as_its_connection_does() {
    for (behaviour, failure) in [
        (Behaviour::Closes(0x107), Failure::H3ConnectionError),
        (Behaviour::Resets(0x102), Failure::H3InternalError),
    ] {
        let recorder = resuming(1.0, behaviour, false).recorder;
        assert_eq!(recorder.failures[failure], CONNECTIONS, "{behaviour:?}: {:?}", recorder.failures);
        assert_eq!(recorder.balance(), Ok(()));
    }
}

#[test]
fn a_connection_that_ends_with_the_handshake_and_the_answer_in_one_datagram_was_open() {
    let server = server(Behaviour::Retires, taking(Nanos::ZERO));
    // The connection ends with its answer, not because the client has nothing more to ask.
    let recorder = run(&plan(CONNECTIONS, 2, 1), &tls(1.0), server).recorder;
    let connections = &recorder.connections;
    assert_eq!((connections.opened, connections.failed), (CONNECTIONS, 0));
    assert_eq!(recorder.requests.answered, CONNECTIONS);
    // The server offers two sessions behind each full handshake; an early connection has ended before it offers any.
    let full = CONNECTIONS.div_ceil(3);
    assert_eq!(by_kind(&recorder), [full, 0, CONNECTIONS - full, 0, 0]);
    assert_eq!(recorder.balance(), Ok(()));
}

#[test]
fn requests_that_find_no_early_stream_wait_for_one_of_the_open_connection() {
    let mut server = server(Behaviour::Answers, taking(ms(2)));
    server.windows = Windows { requests: 2, ..WINDOWS };
    // Two connections of four requests; the second one sends two early, and the others wait for their answers as on the first.
    let recorder = run(&plan(8, 4, 4), &tls(1.0), server).recorder;
    assert_eq!((recorder.requests.answered, by_kind(&recorder)), (8, [1, 0, 1, 0, 0]));
    let waits = &recorder.multiplexing.stream_wait;
    // The server has room when the client has acknowledged the answers, which it may put off by 25 ms (RFC 9000 §18.2).
    assert_eq!((waits.count(), waits.extremes()), (4, Some((ms(27), ms(27)))));
    assert_eq!(recorder.balance(), Ok(()));
}
