//! Answers that are streams of events, on the simulated clock: what each time is, and how a stream ends.

use loadcurve_plan::{Events, HttpLoad, Messages, Nanos, Stop};
use loadcurve_record::{Distribution, Failure, TimeHistogram};
use loadcurve_wire::Http1;

use super::peer::{self, Delays, Outcome, Peer};
use super::{closed, ms};
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
