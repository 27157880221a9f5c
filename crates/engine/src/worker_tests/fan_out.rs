//! Messages that one connection publishes and others receive, from a server that needs a known time for each subscriber.

use std::collections::BTreeMap;

use loadcurve_plan::{HttpLoad, Messages, Nanos, Requests, Stop, WebSocket};
use loadcurve_record::{Distribution, Failure, FailureCounts, Step};
use loadcurve_wire::websocket::{accept_of, mask};
use loadcurve_wire::{FanOutWebSocket, Marker};

use super::peer::{self, Delays, Outcome, Peer, RUN};
use super::{closed, get, ms, open};
use crate::io::Slot;
use crate::requests::websocket_settings;

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PING: [u8; 2] = [0x89, 0];

/// What a server does with a message for a subscriber: what it sends, each so long after the message has come.
type Sends = fn(subscriber: usize, number: usize, message: &[u8]) -> Vec<(Nanos, Vec<u8>)>;

/// Sends on what the first slots have published to those behind them.
struct Server {
    publishers: usize,
    subscribers: usize,
    sends: Sends,
    /// Slots whose upgrade is refused.
    refuses: Vec<Slot>,
    /// How long after the first message it pings the publisher of it.
    pings_after: Vec<Nanos>,
    messages: usize,
    connected: usize,
    coming: BTreeMap<Nanos, Vec<(Slot, Vec<u8>)>>,
}

impl Peer for Server {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        if bytes.starts_with(b"GET ") {
            if slot < self.publishers {
                assert_eq!(self.connected, self.subscribers, "subscribers are there first");
            }
            if self.refuses.contains(&slot) {
                return vec![(now, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_vec())];
            }
            self.connected += usize::from(slot >= self.publishers);
            return vec![(now, upgrade(std::str::from_utf8(bytes).unwrap()))];
        }
        assert!(slot < self.publishers || bytes[0] == CLOSE, "subscribers send nothing but their close");
        let pings_after = if self.messages == 0 { std::mem::take(&mut self.pings_after) } else { vec![] };
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = usize::from(rest[1] & 0x7f);
            let mut body = rest[6..6 + length].to_vec();
            mask(&mut body, rest[2..6].try_into().unwrap(), 0);
            if rest[0] == TEXT {
                for subscriber in 0..self.subscribers {
                    for (after, frame) in (self.sends)(subscriber, self.messages, &body) {
                        let coming = self.coming.entry(now + after).or_default();
                        coming.push((self.publishers + subscriber, frame));
                    }
                }
                self.messages += 1;
            }
            rest = &rest[6 + length..];
        }
        pings_after.into_iter().map(|after| (now + after, PING.to_vec())).collect()
    }

    fn wakes(&mut self) -> Option<Nanos> {
        self.coming.keys().next().copied()
    }

    fn woken(&mut self, now: Nanos) -> Vec<(Slot, Vec<u8>)> {
        let later = self.coming.split_off(&Nanos(now.0 + 1));
        std::mem::replace(&mut self.coming, later).into_values().flatten().collect()
    }
}

pub(super) fn upgrade(head: &str) -> Vec<u8> {
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    let accept = accept_of(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    )
    .into_bytes()
}

fn text(body: &[u8]) -> Vec<u8> {
    [&[TEXT, u8::try_from(body.len()).unwrap()], body].concat()
}

/// One delivery to each subscriber, so long after the message has come.
fn after(milliseconds: u64, message: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
    vec![(ms(milliseconds), text(message))]
}

/// A load with a timeout of 100 ms for as many subscribers, on a server that is changed so.
fn run_changed(
    load: HttpLoad,
    subscribers: usize,
    sends: Sends,
    delays: Delays,
    change: impl FnOnce(&mut Server),
) -> Outcome {
    let websocket = WebSocket { subscribers: Some(subscribers), ..WebSocket::default() };
    let load = HttpLoad { timeout_s: 0.1, ..load }.with(|http| {
        http.messages = Some(Messages::WebSocket(websocket.clone()));
        http.requests = Requests::Given(vec![get()]);
    });
    load.validate().unwrap();
    let settings = websocket_settings(&load.work, &websocket).unwrap();
    let mut server = Server {
        publishers: load.model.connections(),
        subscribers,
        sends,
        refuses: vec![],
        pings_after: vec![],
        messages: 0,
        connected: 0,
        coming: BTreeMap::new(),
    };
    change(&mut server);
    peer::run::<FanOutWebSocket>(&load, settings, delays, server)
}

fn run(load: HttpLoad, subscribers: usize, sends: Sends) -> Outcome {
    run_changed(load, subscribers, sends, Delays::default(), |_| {})
}

#[test]
fn each_delivery_counts_from_due_and_a_message_is_answered_when_the_last_subscriber_has_it() {
    // Due every 10 ms for 1 s; the three subscribers have each message 1, 2 and 6 ms later.
    let sends: Sends = |subscriber, _, message| after([1, 2, 6][subscriber], message);
    let Outcome { recorder, .. } = run(open(1, 100.0, Stop::DurationS(1.0)), 3, sends);
    assert_eq!((recorder.requests.due, recorder.requests.answered), (100, 100));
    assert_eq!(recorder.latency().extremes(), Some((ms(6), ms(6))));
    let deliveries = &recorder.deliveries;
    assert_eq!((deliveries.expected, deliveries.delivered, deliveries.delivered_within), (300, 300, 300));
    let Distribution { count, min, mean, max, .. } = (&deliveries.latency).into();
    assert_eq!((count, min, mean, max), (300, Some(1.0), Some(3.0), Some(6.0)));
    assert_eq!(deliveries.subscribers.opened, 3);
    // From the first delivery they are 0, 1 and 5 ms behind.
    assert_eq!(deliveries.step, Some(Step { ahead: 2, behind: 1, step: ms(4), spread: ms(5) }));
    assert_eq!(deliveries.body_bytes_within, 300 * 51);
    let others = [deliveries.late, deliveries.duplicates, deliveries.earlier, deliveries.of_other_loads];
    assert_eq!((others, deliveries.unmarked, deliveries.to_publishers), ([0; 4], 0, 0));
    assert_eq!(recorder.balance(), Ok(()));
}

#[test]
fn a_publisher_of_a_closed_loop_goes_on_when_everybody_has_its_message() {
    // Two publishers, whose messages are under way for 5 ms: 2 / 0.005 s = 400 messages per second.
    let sends: Sends = |subscriber, _, message| after([5, 3][subscriber], message);
    let Outcome { recorder, .. } = run(closed(2, Stop::RequestsTotal(400)), 2, sends);
    assert_eq!((recorder.requests.due, recorder.requests.answered), (400, 400));
    assert_eq!(recorder.latency().extremes(), Some((ms(5), ms(5))));
    assert_eq!(recorder.deliveries.delivered, 800);
    assert_eq!(recorder.connections.opened, 4);
}

#[test]
fn what_does_not_reach_everybody_in_time_fails_partly_or_as_a_whole() {
    // Of ten messages the second subscriber lacks every second one, and nobody has the last one.
    let sends: Sends = |subscriber, number, message| match (subscriber, number) {
        (_, 9) => vec![],
        (1, number) if number % 2 == 1 => vec![],
        _ => after(1, message),
    };
    let Outcome { recorder, .. } = run(open(1, 10.0, Stop::DurationS(1.0)), 2, sends);
    let failures = FailureCounts::from([(Failure::PartlyDelivered, 4), (Failure::Undelivered, 1)]);
    assert_eq!((recorder.requests.due, recorder.requests.answered, recorder.failures), (10, 5, failures));
    assert_eq!((recorder.deliveries.expected, recorder.deliveries.delivered), (20, 14));
    assert_eq!(recorder.deliveries.latency.extremes(), Some((ms(1), ms(1))));
    assert_eq!(recorder.balance(), Ok(()));
}

#[test]
fn what_comes_beside_the_deliveries_is_counted_apart() {
    let sends: Sends = |subscriber, number, message| match (subscriber, number) {
        // Twice; and another time too late.
        (0, 0) => [after(1, message), after(2, message)].concat(),
        (0, 1) => after(101, message),
        (0, 2) => {
            let other = Marker { run: RUN + 1, number: 0, due_ns: 0 }.write();
            let mut changed = message.to_vec();
            let last = changed.len() - 1;
            changed[last] ^= 1;
            [after(1, &other), after(1, b"welcome"), after(1, &changed), after(1, message)].concat()
        }
        _ => after(1, message),
    };
    let Outcome { recorder, .. } = run(open(1, 100.0, Stop::RequestsTotal(20)), 2, sends);
    let deliveries = &recorder.deliveries;
    assert_eq!((deliveries.expected, deliveries.delivered, deliveries.late), (40, 39, 1));
    assert_eq!((deliveries.duplicates, deliveries.of_other_loads, deliveries.unmarked), (1, 2, 1));
    assert_eq!(recorder.failures, FailureCounts::from([(Failure::PartlyDelivered, 1)]));
}

#[test]
fn a_subscriber_that_the_server_closes_is_counted_by_its_code_and_nothing_is_expected_of_it_later() {
    // The third message is under way when the second subscriber is closed, 5 ms before it would have come.
    let sends: Sends = |subscriber, number, message| match (subscriber, number) {
        (1, 2) => vec![(ms(5), [&[CLOSE, 2][..], &1008_u16.to_be_bytes()].concat())],
        (1, 3..) => vec![],
        _ => after(1, message),
    };
    let Outcome { recorder, .. } = run(open(1, 10.0, Stop::DurationS(1.0)), 2, sends);
    let deliveries = &recorder.deliveries;
    assert_eq!(deliveries.subscribers.closed, FailureCounts::from([(Failure::ClosedPolicy, 1)]));
    assert_eq!((deliveries.expected, deliveries.delivered), (3 * 2 + 7, 2 * 2 + 8));
    assert_eq!(recorder.failures, FailureCounts::from([(Failure::PartlyDelivered, 1)]));
    // It is known at once that it will not come.
    assert_eq!(recorder.slowest.in_order()[0].latency, ms(5));
}

#[test]
fn a_subscriber_that_is_refused_is_counted_and_the_others_receive() {
    let sends: Sends = |_, _, message| after(1, message);
    let refuse_the_last = |server: &mut Server| {
        server.subscribers -= 1;
        server.refuses.push(3);
    };
    let load = open(1, 10.0, Stop::DurationS(1.0));
    let Outcome { recorder, .. } = run_changed(load, 3, sends, Delays::default(), refuse_the_last);
    let subscribers = &recorder.deliveries.subscribers;
    assert_eq!(subscribers.opened, 2);
    assert_eq!(subscribers.refused, FailureCounts::from([(Failure::UpgradeRefused, 1)]));
    assert_eq!((recorder.deliveries.expected, recorder.deliveries.delivered), (20, 20));
}

#[test]
fn a_stall_of_the_server_shows_in_all_deliveries_that_fell_due_in_it() {
    // What comes between 200 and 260 ms is sent on at 260 ms: the messages due then have 60, 50 … 10 ms, the others 0.
    let sends: Sends = |_, number, message| {
        let at = number as u64 * 10;
        after(if (200..260).contains(&at) { 260 - at } else { 0 }, message)
    };
    let Outcome { recorder, .. } = run(open(1, 100.0, Stop::DurationS(1.0)), 4, sends);
    let Distribution { count, max, mean, .. } = (&recorder.deliveries.latency).into();
    assert_eq!((count, max), (400, Some(60.0)));
    let sum_ms = f64::from((1..=6).map(|step| step * 10).sum::<u32>()) * 4.0;
    super::assert_close(mean.unwrap(), sum_ms / 400.0);
    assert_eq!(recorder.lateness.extremes(), Some((ms(0), ms(0))));
}

#[test]
fn a_message_that_waits_for_an_answer_to_a_ping_has_all_of_its_timeout_whatever_waited_before_it() {
    // Due every 10 ms. A pong takes 15 ms: those of 8 and 98 ms let the messages of 10 and 100 ms wait for 13 ms. From 10 ms on
    // the timeout of 100 ms would end in the middle of the second wait.
    let sends: Sends = |_, _, message| after(1, message);
    let delays = Delays { part: ms(15), ..Delays::default() };
    let load = open(1, 100.0, Stop::DurationS(1.0));
    let ping = |server: &mut Server| server.pings_after = vec![ms(8), ms(98)];
    let Outcome { recorder, .. } = run_changed(load, 2, sends, delays, ping);
    assert_eq!(recorder.failures, FailureCounts::default());
    assert_eq!((recorder.requests.due, recorder.requests.answered), (100, 100));
    assert_eq!(recorder.latency().extremes(), Some((ms(1), ms(14))));
}
