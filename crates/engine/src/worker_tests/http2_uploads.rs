//! Long bodies over HTTP/2: how much of them is written at once, what counts as sent, and what a timeout bounds.

use std::collections::BTreeSet;

use loadcurve_plan::{Body, Conversation, HttpLoad, HttpVersion, Nanos, Request, Requests, Stop};
use loadcurve_record::Failure;
use loadcurve_wire::{Http2, Http2Settings};

use super::http2::{PREFACE, SETTINGS_ACKNOWLEDGED};
use super::peer::{self, Delays, Outcome, Peer};
use super::{closed, get, ms};
use crate::io::Slot;
use crate::temporary_file::TemporaryFile;

/// What is written at once of long requests.
const WRITE_BYTES: usize = 64 * 1024;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
/// Much more than all bodies here.
const OPEN_WINDOW: u32 = 1 << 30;

/// A server that answers each request when its body is whole, and gives its windows as `refill` says.
struct Server {
    /// The window of a stream, and of the connection.
    window: u32,
    /// How long after some data the same amount of window is given back; never for none.
    refill: Option<Nanos>,
    /// The slots whose connection has begun.
    begun: BTreeSet<Slot>,
}

impl Server {
    fn with_window(window: u32, refill: Option<Nanos>) -> Self {
        Self { window, refill, begun: BTreeSet::new() }
    }
}

fn window_update(stream: [u8; 4], bytes: u32) -> Vec<u8> {
    [&[0, 0, 4, 8, 0], stream.as_slice(), &bytes.to_be_bytes()].concat()
}

impl Peer for Server {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        let mut frames = bytes;
        if self.begun.insert(slot) {
            frames = bytes.strip_prefix(PREFACE).expect("a connection begins with the preface");
            let settings =
                [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4], self.window.to_be_bytes().as_slice()].concat();
            // The window of the connection is that of one stream, and the one that nobody has to give.
            let more = window_update([0; 4], self.window);
            answers.push((now, [settings, SETTINGS_ACKNOWLEDGED.to_vec(), more].concat()));
        }
        for (kind, flags, stream, payload) in frames_of(frames) {
            let given = u32::try_from(payload.len()).unwrap();
            if let (DATA, Some(refill), 1..) = (kind, self.refill, given) {
                let updates = [window_update([0; 4], given), window_update(stream, given)].concat();
                answers.push((now + refill, updates));
            }
            if (kind == DATA || kind == HEADERS) && flags & 1 != 0 {
                answers.push((now, [&[0, 0, 1, 1, 5], stream.as_slice(), &[0x88]].concat()));
            }
        }
        answers
    }
}

pub(super) type Frame<'a> = (u8, u8, [u8; 4], &'a [u8]);

pub(super) fn frames_of(mut bytes: &[u8]) -> Vec<Frame<'_>> {
    let mut frames = Vec::new();
    while let [l0, l1, l2, kind, flags, s0, s1, s2, s3, behind @ ..] = bytes {
        let (payload, next) = behind.split_at(u32::from_be_bytes([0, *l0, *l1, *l2]) as usize);
        frames.push((*kind, *flags, [*s0, *s1, *s2, *s3], payload));
        bytes = next;
    }
    assert!(bytes.is_empty(), "{bytes:?} is no frame");
    frames
}

/// Posts of a file of this length on one connection, with a timeout of 100 ms.
fn posts(body_bytes: usize, streams: usize, stop: Stop, part: Nanos, server: Server) -> Outcome {
    let file = TemporaryFile::holding(&vec![b'x'; body_bytes]);
    let body = Body::File(file.path().to_owned());
    let request = Request { method: "POST".into(), body, ..get() };
    let plan = HttpLoad { timeout_s: 0.1, ..closed(1, stop) }.with(|http| {
        http.http = HttpVersion::Http2;
        http.requests = Requests::Given(vec![request]);
        http.conversation = Conversation { streams, ..Conversation::default() };
    });
    let delays = Delays { part, ..Delays::default() };
    peer::run::<Http2>(&plan, Http2Settings::default(), delays, server)
}

/// The bytes of frames that carry requests.
fn request_bytes(outcome: &Outcome) -> u64 {
    let mut sum = 0;
    for (_, bytes) in &outcome.written {
        let frames = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        for (kind, _, _, payload) in frames_of(frames) {
            sum += if [DATA, HEADERS].contains(&kind) { 9 + payload.len() as u64 } else { 0 };
        }
    }
    sum
}

#[test]
fn no_more_than_a_part_is_written_at_once_however_large_windows_and_however_many_bodies_are() {
    // 20 bodies of 1 MiB in windows of 1 GiB: 20 MiB in parts that the connection takes in 1 ms each.
    let outcome = posts(1 << 20, 20, Stop::RequestsTotal(20), ms(1), Server::with_window(OPEN_WINDOW, None));
    assert_eq!((outcome.recorder.requests.answered, outcome.recorder.failures.total()), (20, 0));
    let longest = outcome.written.iter().map(|(_, bytes)| bytes.len()).max();
    assert!(longest <= Some(WRITE_BYTES), "{longest:?}");
    // All bodies go on in turn, so they end together, after 320 parts and what frames and headers take beside.
    let (first, last) = outcome.recorder.latency().extremes().unwrap();
    assert!(ms(310) < first && last < ms(330), "{first:?} {last:?}");
}

#[test]
fn all_of_a_body_counts_as_sent_where_it_waits_for_windows() {
    let server = Server::with_window(20_000, Some(ms(1)));
    let outcome = posts(300_000, 4, Stop::RequestsTotal(8), Nanos::ZERO, server);
    assert_eq!((outcome.recorder.requests.answered, outcome.recorder.failures.total()), (8, 0));
    assert!(outcome.recorder.bytes_sent > 8 * 300_000);
    assert_eq!(outcome.recorder.bytes_sent, request_bytes(&outcome));
}

#[test]
fn an_upload_that_goes_on_may_last_longer_than_the_timeout() {
    // A window of 10,000 bytes every 60 ms, for a body of ten: nine waits.
    let server = Server::with_window(10_000, Some(ms(60)));
    let outcome = posts(100_000, 1, Stop::RequestsTotal(1), Nanos::ZERO, server);
    assert_eq!((outcome.recorder.requests.answered, outcome.recorder.failures.total()), (1, 0));
    assert_eq!(outcome.recorder.latency().extremes(), Some((ms(540), ms(540))));
}

#[test]
fn after_the_end_of_the_load_the_timeout_bounds_what_is_left_of_all_uploads() {
    // Both go on by 10,000 bytes every 60 ms, 11 times after the first; the last time before the end is at 180 ms.
    let server = Server::with_window(10_000, Some(ms(60)));
    let outcome = posts(120_000, 2, Stop::DurationS(0.2), Nanos::ZERO, server);
    assert_eq!((outcome.recorder.requests.answered, outcome.recorder.failures[Failure::Timeout]), (0, 2));
    assert_eq!(outcome.latencies(), [ms(280), ms(280)]);
}

#[test]
fn an_upload_times_out_after_its_last_part_and_alone() {
    // No window is given back: of each body 10,000 bytes go out at once and no more. It fails by itself after the timeout,
    // and the connection continues with the next one.
    let server = Server::with_window(10_000, None);
    let outcome = posts(100_000, 1, Stop::RequestsTotal(2), Nanos::ZERO, server);
    assert_eq!(outcome.recorder.failures[Failure::Timeout], 2);
    assert_eq!(outcome.recorder.connections.opened, 1);
    assert_eq!(outcome.latencies(), [ms(100), ms(100)]);
    let is_reset = |(_, bytes): &&peer::Written| bytes.get(3) == Some(&RST_STREAM);
    let resets: Vec<Nanos> = outcome.written.iter().filter(is_reset).map(|(time, _)| *time).collect();
    assert_eq!(resets, [ms(100), ms(200)]);
}
