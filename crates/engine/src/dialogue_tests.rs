//! Dialogues with a server that is arithmetic, on a clock that jumps.

use std::cell::Cell;
use std::iter::once;
use std::rc::Rc;

use loadcurve_plan::{Model, Nanos, Stop};
use loadcurve_record::Failure;
use loadcurve_wire::{Http1, Http2, Http2Settings, HttpExchange, Stream};

use super::{Dialogue, Patience, Unanswered};
use crate::io::{Event, Io, Notify, Slot};
use crate::requests::RequestSource;
use crate::worker_tests::plan;

const START: Nanos = Nanos::from_millis(5_000);
const TIMEOUT: Nanos = Nanos::from_millis(2_000);
/// For as long as 64 KiB take at the least rate.
const COUNTED_BYTES_MAX: u64 = 64 * 1024;
const PART: &[u8] = &[b'x'; 64 * 1024];
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n";

/// What happens to the connection, each with its number of milliseconds after the one before it.
type Step = (u64, Event<'static>);

struct ScriptedIo {
    now: Rc<Cell<Nanos>>,
    script: Box<dyn Iterator<Item = Step>>,
    coming: Option<(Nanos, Event<'static>)>,
}

impl ScriptedIo {
    fn come(&mut self) {
        self.coming = self
            .script
            .next()
            .map(|(pause_ms, event)| (self.now.get() + Nanos::from_millis(pause_ms), event));
    }
}

impl Io for ScriptedIo {
    const NAME: &'static str = "scripted";

    fn connect(&mut self, _: Slot) -> Result<(), Failure> {
        self.come();
        Ok(())
    }

    fn send(&mut self, _: Slot, _: &[u8], _: Notify) -> Result<(), Failure> {
        Ok(())
    }

    fn retransmits(&self, _: Slot) -> Option<u32> {
        None
    }

    fn close(&mut self, _: Slot) {}

    fn now(&self) -> Nanos {
        self.now.get()
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        let next = self.coming.as_ref().map_or(until, |(at, _)| until.min(*at));
        self.now.set(self.now.get().max(next));
        self.now.get()
    }

    fn next(&mut self) -> Option<(Slot, Event<'_>)> {
        let (_, event) = self.coming.take_if(|(at, _)| *at <= self.now.get())?;
        self.come();
        Some((0, event))
    }
}

/// What becomes of a request, the length of the body that comes, and how long it all takes.
fn asked<E: HttpExchange<Carrier = Stream>>(
    settings: &E::Settings,
    script: impl IntoIterator<Item = Step, IntoIter: 'static>,
) -> (Result<u16, Unanswered>, usize, Nanos) {
    let plan = plan(Model::Closed { connections: 1 }, Stop::RequestsTotal(1));
    let requests = RequestSource::<E>::open(&plan).unwrap();
    let now = Rc::new(Cell::new(START));
    let io = ScriptedIo { now: Rc::clone(&now), script: Box::new(script.into_iter()), coming: None };
    let patience = Patience {
        timeout: TIMEOUT,
        counted_bytes_max: COUNTED_BYTES_MAX,
        is_stream: false,
        is_interrupted: &|| false,
    };
    let mut body_bytes = 0;
    let outcome = Dialogue::<_, E>::open(io, settings, patience)
        .and_then(|dialogue| dialogue.ask(requests.template(0), &mut |part| body_bytes += part.len()));
    (outcome.map(|(response, _)| response.status), body_bytes, now.get() - START)
}

fn asked_http1(
    script: impl IntoIterator<Item = Step, IntoIter: 'static>,
) -> (Result<u16, Unanswered>, usize, Nanos) {
    asked::<Http1>(&(), script)
}

fn connected(head: &'static [u8]) -> impl Iterator<Item = Step> {
    [(0, Event::Connected), (1, Event::Received(head))].into_iter()
}

fn dripping(part: &'static [u8], pause_ms: u64) -> impl Iterator<Item = Step> {
    (0..).map(move |_| (pause_ms, Event::Received(part)))
}

fn failed(outcome: Result<u16, Unanswered>) -> (Failure, String) {
    let Unanswered { failure, text } = outcome.expect_err("it is not answered");
    (failure, text)
}

#[test]
fn a_server_that_drips_is_waited_for_no_longer_than_the_timeout() {
    for (head, drip) in [
        (HEAD, b"x".as_slice()),
        (HEAD, b"a: b\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ] {
        let (outcome, body_bytes, took) = asked_http1(connected(head).chain(dripping(drip, 100)));
        assert_eq!(failed(outcome), (Failure::Timeout, "no complete answer within 2.000 s".into()));
        // 64 KiB/s are waited for, and this is a few bytes.
        assert!(body_bytes <= 20 && (2_000.0..2_001.0).contains(&took.as_millis_f64()), "{took:?}");
    }
}

#[test]
fn a_body_that_takes_longer_than_the_timeout_and_is_not_slow_is_read_to_its_end() {
    let rest = [(500, Event::Received(PART)), (2_000, Event::Received(PART)), (0, Event::Closed)];
    let script = connected(b"HTTP/1.1 200 OK\r\n\r\n").chain(rest);
    let (outcome, body_bytes, took) = asked_http1(script);
    assert_eq!((outcome, body_bytes, took), (Ok(200), 2 * PART.len(), Nanos::from_millis(2_501)));
}

#[test]
fn a_body_that_is_far_longer_than_expected_gets_no_time_for_its_length() {
    let (outcome, body_bytes, took) =
        asked_http1(connected(b"HTTP/1.1 200 OK\r\n\r\n").chain(dripping(PART, 10)));
    assert_eq!(failed(outcome).0, Failure::Timeout);
    assert!(body_bytes as u64 > 2 * COUNTED_BYTES_MAX);
    assert!((1_999.0..2_011.0).contains(&took.as_millis_f64()), "{took:?}");
}

#[test]
fn a_body_without_end_gets_time_for_its_first_bytes_alone() {
    let (outcome, _, took) = asked_http1(connected(b"HTTP/1.1 200 OK\r\n\r\n").chain(dripping(PART, 400)));
    assert_eq!(failed(outcome).0, Failure::Timeout);
    // The timeout, and one second for 64 KiB at 64 KiB/s, but for the rounding of the time for a byte.
    assert!((2_999.0..3_001.0).contains(&took.as_millis_f64()), "{took:?}");
}

#[test]
fn a_server_that_cannot_be_reached_or_does_not_begin_to_speak_is_named_as_that() {
    let (outcome, _, took) = asked_http1([]);
    assert_eq!((failed(outcome).0, took), (Failure::ConnectTimeout, TIMEOUT));
    let (outcome, ..) = asked_http1([(1, Event::ConnectFailed(Failure::ConnectRefused))]);
    assert_eq!(failed(outcome).0, Failure::ConnectRefused);
    for (end, text) in [
        (None, "the handshake did not complete within 2.000 s"),
        (Some(Event::Closed), "the server closed the connection before the handshake was complete"),
        (
            Some(Event::Broken(Failure::Reset)),
            "the server reset the connection before the handshake was complete",
        ),
        (
            Some(Event::Received(b"HTTP/1.1 400 Bad Request\r\n")),
            "the server answered in HTTP/1.x; it does not speak HTTP/2 on this port",
        ),
    ] {
        let script = once((0, Event::Connected)).chain(end.map(|event| (5, event)));
        let (outcome, ..) = asked::<Http2>(&Http2Settings::default(), script);
        assert_eq!(failed(outcome).1, text);
    }
}

#[test]
fn an_answer_that_is_cut_off_or_none_is_explained() {
    let cut_off = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel";
    for (bytes, end, failure, part) in [
        (cut_off.as_slice(), Event::Closed, Failure::ClosedEarly, "after 3 of the 5 body bytes"),
        (b"", Event::Closed, Failure::ClosedEarly, "closed the connection before its answer"),
        (HEAD, Event::Broken(Failure::Reset), Failure::Reset, "reset the connection"),
        (b"SSH-2.0-", Event::Closed, Failure::Malformed, "does not begin with \"HTTP/1.\""),
        (
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            Event::Closed,
            Failure::Malformed,
            "switched to another protocol (status 101 Switching Protocols)",
        ),
    ] {
        let (outcome, ..) = asked_http1(connected(bytes).chain(once((1, end))));
        let (class, text) = failed(outcome);
        assert!(class == failure && text.contains(part), "{class:?}: {text}");
    }
}
