//! Answers that are streams of events, on the simulated clock: what each time is, and how a stream ends.

use std::cell::RefCell;
use std::rc::Rc;

use loadcurve_plan::{Events, HttpLoad, HttpVersion, Messages, Nanos, Requests, Stop};
use loadcurve_record::{Distribution, Failure, TimeHistogram};
use loadcurve_wire::Http1;

use super::peer::{self, Delays, Outcome, Peer};
use super::{closed, ms, open};
use crate::io::Slot;

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A server that answers each request with events so long after it, and then ends the answer or does not.
struct Streaming {
    events: Vec<Nanos>,
    ends: bool,
}

impl Peer for Streaming {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        assert!(bytes.starts_with(b"GET / "));
        let mut answers = vec![(now, HEAD.to_vec())];
        answers.extend(self.events.iter().map(|after| (now + *after, chunk("data: one\n\n"))));
        if self.ends {
            answers.push((now + *self.events.last().unwrap(), LAST_CHUNK.to_vec()));
        }
        answers
    }
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// This many events, each this time after the one before.
fn every(milliseconds: u64, count: u64) -> Vec<Nanos> {
    (1..=count).map(|number| ms(number * milliseconds)).collect()
}

/// One connection that asks for streams, with a timeout of 100 ms.
fn run(stop: Stop, events: Events, peer: Streaming) -> Outcome {
    let plan = closed(1, stop).with(|http| http.messages = Some(Messages::Events(events)));
    let plan = HttpLoad { timeout_s: 0.1, ..plan };
    peer::run::<Http1>(&plan, (), Delays::default(), peer)
}

fn extremes(times: &TimeHistogram) -> (u64, Option<f64>, Option<f64>) {
    let Distribution { count, min, max, .. } = times.into();
    (count, min, max)
}

#[test]
fn a_stream_longer_than_the_timeout_is_answered_and_shows_its_first_event_and_its_gaps() {
    // At 30, 60 … 300 ms; the longest silence is 30 ms, and all of it takes three timeouts.
    let settings = Events { events_expected: Some(10), ..Events::default() };
    let streaming = Streaming { events: every(30, 10), ends: true };
    let Outcome { recorder, .. } = run(Stop::RequestsTotal(2), settings, streaming);
    assert_eq!((recorder.requests.answered, recorder.failures.total()), (2, 0));
    assert_eq!(recorder.latency().extremes(), Some((ms(300), ms(300))));
    let messages = &recorder.messages;
    assert_eq!(extremes(&messages.first_from_due), (2, Some(30.0), Some(30.0)));
    assert_eq!(extremes(&messages.first_from_sent), (2, Some(30.0), Some(30.0)));
    assert_eq!(extremes(&messages.gap), (18, Some(30.0), Some(30.0)));
    assert_eq!((messages.received, messages.delivered, messages.together), (20, 20, 0));
    assert_eq!(messages.data_bytes, 20 * 3);
}

#[test]
fn a_server_that_stalls_between_two_events_shows_a_gap_as_long_as_its_stall() {
    let mut events = every(10, 3);
    events.extend([ms(30 + 95), ms(30 + 105)]);
    let Outcome { recorder, .. } =
        run(Stop::RequestsTotal(1), Events::default(), Streaming { events, ends: true });
    assert_eq!(recorder.requests.answered, 1);
    let (count, least, greatest) = extremes(&recorder.messages.gap);
    assert_eq!((count, least), (4, Some(10.0)));
    assert!((greatest.unwrap() - 95.0).abs() < 0.2, "{greatest:?}");
}

#[test]
fn events_that_something_on_the_way_has_gathered_arrive_together() {
    let events = vec![ms(90); 10];
    let Outcome { recorder, .. } =
        run(Stop::RequestsTotal(1), Events::default(), Streaming { events, ends: true });
    assert_eq!((recorder.messages.received, recorder.messages.together), (10, 9));
    assert_eq!(extremes(&recorder.messages.gap), (9, Some(0.0), Some(0.0)));
}

#[test]
fn a_stream_that_falls_silent_for_longer_than_the_timeout_has_failed_then() {
    let events = vec![ms(50), ms(90)];
    let Outcome { recorder, .. } =
        run(Stop::RequestsTotal(1), Events::default(), Streaming { events, ends: false });
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Timeout]), (0, 1));
    // The last event came after 90 ms.
    let failed = recorder.slowest.in_order();
    assert_eq!(failed[0].latency, ms(190));
    assert_eq!(recorder.messages.received, 2);
}

#[test]
fn an_endless_stream_that_is_kept_for_a_time_is_answered_at_its_end_and_the_next_one_follows() {
    let settings = Events { stream_for_s: Some(0.2), ..Events::default() };
    let endless = Streaming { events: every(50, 1000), ends: false };
    let Outcome { recorder, .. } = run(Stop::DurationS(1.0), settings, endless);
    // Due at 0, 200 … 800 ms; the last one ends with the load.
    assert_eq!((recorder.requests.due, recorder.requests.answered), (5, 5));
    assert_eq!((recorder.failures.total(), recorder.messages.ended_by_client), (0, 5));
    assert_eq!(recorder.latency().extremes(), Some((ms(200), ms(200))));
    // Over HTTP/1.1 a stream can only be ended with its connection.
    assert_eq!(recorder.connections.opened, 5);
    assert_eq!(extremes(&recorder.messages.gap).2, Some(50.0));
}

#[test]
fn an_endless_stream_ends_a_timeout_after_the_load_and_its_gaps_are_those_of_the_window() {
    let endless = Streaming { events: every(50, 1000), ends: false };
    let Outcome { recorder, .. } = run(Stop::DurationS(1.0), Events::default(), endless);
    assert_eq!((recorder.requests.due, recorder.requests.answered), (1, 1));
    assert_eq!(recorder.messages.ended_by_client, 1);
    assert_eq!(recorder.latency().extremes().unwrap().1, ms(1100));
    // At 50, 100 … 950 ms: what came at 1,000 ms came after the window.
    assert_eq!((recorder.messages.received, recorder.messages.gap.count()), (19, 18));
}

#[test]
fn a_plain_load_counts_no_messages_of_the_same_answers() {
    let streaming = Streaming { events: every(10, 3), ends: true };
    let plan = closed(1, Stop::RequestsTotal(1));
    let Outcome { recorder, .. } = peer::run::<Http1>(&plan, (), Delays::default(), streaming);
    assert_eq!((recorder.requests.answered, recorder.messages.received), (1, 0));
}

/// A server that answers each request by its number with this text in one chunk, and ends or breaks off the answer; it keeps
/// what each request says of the last event.
struct Reopened<F> {
    answer: F,
    last_ids: Rc<RefCell<Vec<Option<String>>>>,
}

/// How such an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Whole,
    /// With the connection, in the middle of the body.
    Broken,
    Never,
}

impl<F: Fn(usize) -> (u16, Ends, &'static str)> Peer for Reopened<F> {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let request = std::str::from_utf8(bytes).unwrap();
        let last_id = request.lines().find_map(|line| line.strip_prefix("Last-Event-ID: "));
        let mut last_ids = self.last_ids.borrow_mut();
        let (status, ends, text) = (self.answer)(last_ids.len());
        last_ids.push(last_id.map(str::to_owned));
        if status == 204 {
            return vec![(now + ms(10), b"HTTP/1.1 204 \r\n\r\n".to_vec())];
        }
        let mut answers = vec![(now, HEAD.to_vec()), (now + ms(10), chunk(text))];
        match ends {
            Ends::Whole => answers.push((now + ms(10), LAST_CHUNK.to_vec())),
            Ends::Broken => answers.push((now + ms(10), Vec::new())),
            Ends::Never => {}
        }
        answers
    }
}

/// What one client that opens its streams again after 50 ms does in this time: when each request was sent, and what it said
/// of the last event.
fn reopened(
    seconds: f64,
    stream_for_s: Option<f64>,
    answer: impl Fn(usize) -> (u16, Ends, &'static str),
) -> (Vec<(Nanos, Option<String>)>, Outcome) {
    let settings = Events { reconnect_after_s: Some(0.05), stream_for_s, ..Events::default() };
    let last_ids = Rc::default();
    let plan =
        closed(1, Stop::DurationS(seconds)).with(|http| http.messages = Some(Messages::Events(settings)));
    assert!(plan.validate().is_ok());
    let plan = HttpLoad { timeout_s: 0.1, ..plan };
    let peer = Reopened { answer, last_ids: Rc::clone(&last_ids) };
    let outcome = peer::run::<Http1>(&plan, (), Delays::default(), peer);
    let sent = outcome.written.iter().map(|(sent, _)| *sent);
    (sent.zip(last_ids.take()).collect(), outcome)
}

/// A request that was sent at this millisecond and said this id, or none.
fn said(at: u64, last_id: &str) -> (Nanos, Option<String>) {
    (ms(at), Some(last_id.to_owned()).filter(|last_id| !last_id.is_empty()))
}

#[test]
fn a_stream_that_the_server_has_ended_is_opened_again_behind_its_last_event_and_after_its_retry() {
    // Each takes 10 ms; the first one is opened again after the load's 50 ms, the others after the server's 20 ms.
    let (requests, Outcome { recorder, .. }) = reopened(0.125, None, |number| match number {
        0 => (200, Ends::Whole, "id: 7\ndata: a\n\ndata: b\n\n"),
        1 => (200, Ends::Whole, "retry: 20\nid: 8\ndata: c\n\nid: 9\ndata: lost"),
        _ => (200, Ends::Whole, "data: d\n\n"),
    });
    assert_eq!(requests, [said(0, ""), said(60, "7"), said(90, "8"), said(120, "8")]);
    assert_eq!((recorder.requests.due, recorder.requests.answered, recorder.failures.total()), (4, 4, 0));
    let messages = &recorder.messages;
    assert_eq!((messages.reconnects, messages.reconnects_with_id), (3, 3));
    // The time between two streams is no gap between events, and a request counts from when it was due.
    assert_eq!(extremes(&messages.gap), (1, Some(0.0), Some(0.0)));
    assert_eq!(extremes(&messages.first_from_due), (4, Some(10.0), Some(10.0)));
}

#[test]
fn a_stream_that_breaks_off_has_failed_and_is_opened_again() {
    let (requests, Outcome { recorder, .. }) =
        reopened(0.1, None, |_| (200, Ends::Broken, "retry: 20\nid: 7\ndata: a\n\n"));
    assert_eq!(requests[..3], [said(0, ""), said(30, "7"), said(60, "7")]);
    assert_eq!(recorder.failures[Failure::ClosedEarly], requests.len() as u64);
    assert_eq!(recorder.messages.reconnects, requests.len() as u64 - 1);
}

#[test]
fn a_status_other_than_200_ends_a_client_and_the_next_one_knows_nothing_of_it() {
    let (requests, Outcome { recorder, .. }) = reopened(0.1, None, |number| match number {
        0 => (200, Ends::Whole, "retry: 30\nid: 7\ndata: a\n\n"),
        1 => (204, Ends::Whole, ""),
        _ => (200, Ends::Never, "data: b\n\n"),
    });
    // The second one is answered at 50 ms, and another client comes at once.
    assert_eq!(requests, [said(0, ""), said(40, "7"), said(50, "")]);
    assert_eq!((recorder.messages.reconnects, recorder.messages.reconnects_with_id), (1, 1));
}

#[test]
fn a_client_that_leaves_its_stream_does_not_come_back() {
    let (requests, Outcome { recorder, .. }) =
        reopened(0.1, Some(0.04), |_| (200, Ends::Never, "retry: 20\nid: 7\ndata: a\n\n"));
    assert_eq!(requests, [said(0, ""), said(40, ""), said(80, "")]);
    assert_eq!((recorder.messages.ended_by_client, recorder.messages.reconnects), (3, 0));
}

#[test]
fn a_client_without_an_id_opens_its_stream_again_without_one() {
    // An empty id removes the one before; white space around one is not said, and nothing else of it changes.
    let (requests, Outcome { recorder, .. }) = reopened(0.3, None, |number| match number {
        0 => (200, Ends::Whole, "data: a\n\n"),
        1 => (200, Ends::Whole, "id:  a\u{e9} b \n\n"),
        2 => (200, Ends::Whole, "id\ndata: a\n\n"),
        _ => (200, Ends::Never, "data: a\n\n"),
    });
    assert_eq!(requests, [said(0, ""), said(60, ""), said(120, "a\u{e9} b"), said(180, "")]);
    assert_eq!((recorder.messages.reconnects, recorder.messages.reconnects_with_id), (3, 1));
}

#[test]
fn clients_that_open_streams_again_have_one_each_in_a_closed_loop_and_say_the_last_event_themselves() {
    let settings = Events { reconnect_after_s: Some(3.0), ..Events::default() };
    let plan =
        closed(1, Stop::RequestsTotal(1)).with(|http| http.messages = Some(Messages::Events(settings)));
    let refused = |plan: HttpLoad| plan.validate().unwrap_err().to_string();
    let open = HttpLoad { model: open(1, 1.0, Stop::RequestsTotal(1)).model, ..plan.clone() };
    assert!(refused(open).contains("use a closed loop"));
    let streams = plan.clone().with(|http| {
        http.http = HttpVersion::Http2;
        http.conversation.streams = 2;
    });
    assert!(refused(streams).contains("use no streams"));
    let own = plan.with(|http| {
        let Requests::Given(requests) = &mut http.requests else { panic!("the plan gives its requests") };
        requests[0].headers.push(("last-event-id".into(), "7".into()));
    });
    assert!(refused(own).contains("Last-Event-ID"));
}
