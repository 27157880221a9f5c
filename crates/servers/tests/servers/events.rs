//! Streams of events as `limit` sends them over HTTP/2 and HTTP/3, in memory.

use std::num::NonZeroU64;
use std::time::Duration;

use loadcurve_servers::http2::{Fate, Repeats};

use crate::frames::{Conversation, Memory, Sent};
use crate::streams::{self, request};

const EVENT: &[u8] = b"data: x\n\n";
const EVERY: Duration = Duration::from_millis(20);
const FIRST: Duration = Duration::from_millis(50);
const HEAD: [&str; 2] = [":status: 200", "content-type: text/event-stream"];
const ROOM_BYTES: usize = 64 * 1024;

/// A file that is a stream of this many events, twice.
fn files(count: Option<u64>) -> Memory {
    let events = Some(Repeats { next: FIRST, every: EVERY, left: count.and_then(NonZeroU64::new) });
    let mut memory = Memory::of(&[("/a", EVENT)]);
    memory.fates = vec![Fate { events, ..Fate::default() }; 2];
    memory
}

#[test]
fn over_http2_the_head_comes_at_once_each_event_at_its_time_and_the_end_with_the_last_one() {
    let mut conversation = Conversation::new(files(Some(3)));
    let mut sent = Sent::preface(&[]);
    sent.request(1, "GET", "/a");
    sent.request(3, "GET", "/b");
    sent.request(5, "GET", "/a");
    conversation.send(&sent.0, ROOM_BYTES);
    assert_eq!(conversation.said.streams[&1].fields, HEAD);
    assert_eq!(conversation.said.streams[&3].fields, [":status: 404", "content-length: 0"]);
    // It is the third request, and had no fate of its own.
    assert_eq!(conversation.said.streams[&5].fields, [":status: 200", "content-length: 9"]);
    for count in 1..=3 {
        let stream = &conversation.said.streams[&1];
        assert_eq!((stream.body.len(), stream.has_ended), ((count - 1) * EVENT.len(), false));
        let due = FIRST + EVERY * u32::try_from(count - 1).unwrap();
        assert_eq!(conversation.server.next_due(), Some(due));
        conversation.server.release(due.checked_sub(Duration::from_nanos(1)).unwrap());
        conversation.go_on(ROOM_BYTES);
        assert_eq!(conversation.said.streams[&1].body.len(), (count - 1) * EVENT.len());
        conversation.server.release(due);
        conversation.go_on(ROOM_BYTES);
        assert_eq!(conversation.said.streams[&1].body, EVENT.repeat(count));
    }
    assert!(conversation.said.streams[&1].has_ended);
    assert!(conversation.server.is_idle());
}

#[test]
fn over_http2_an_event_that_no_window_has_room_for_waits_and_the_next_one_is_not_lost() {
    const INITIAL_WINDOW_SIZE: u16 = 4;
    let mut conversation = Conversation::new(files(Some(2)));
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 5)]);
    sent.request(1, "GET", "/a");
    conversation.send(&sent.0, ROOM_BYTES);
    for at in [FIRST, FIRST + EVERY] {
        conversation.server.release(at);
        conversation.go_on(ROOM_BYTES);
        assert_eq!(conversation.said.streams[&1].body, EVENT[..5]);
    }
    let mut more = Sent::default();
    more.grow(1, 100);
    conversation.send(&more.0, ROOM_BYTES);
    conversation.server.release(FIRST + EVERY);
    conversation.go_on(ROOM_BYTES);
    let stream = &conversation.said.streams[&1];
    assert_eq!((&stream.body, stream.has_ended), (&EVENT.repeat(2), true));
}

#[test]
fn over_http3_the_same_holds() {
    let mut conversation = streams::Conversation::new(files(Some(3)));
    conversation.send(0, &request("GET", "/a", &[]), true);
    for count in 1..=3 {
        let (fields, body) = conversation.streams.answered[&0].fields_and_body();
        assert_eq!((fields.as_slice(), body), (&HEAD.map(str::to_owned)[..], EVENT.repeat(count - 1)));
        assert!(!conversation.streams.answered[&0].has_ended);
        let due = FIRST + EVERY * u32::try_from(count - 1).unwrap();
        assert_eq!(conversation.server.next_due(), Some(due));
        conversation.server.release(due, &mut conversation.streams);
    }
    let (_, body) = conversation.streams.answered[&0].fields_and_body();
    assert_eq!(body, EVENT.repeat(3));
    assert!(conversation.streams.answered[&0].has_ended);
    assert!(conversation.server.is_idle());
}

#[test]
fn a_stream_without_a_number_of_events_has_no_end() {
    let mut repeats = Repeats { next: FIRST, every: EVERY, left: None };
    for number in 1..1000 {
        assert!(!repeats.is_last());
        repeats = repeats.after_next().unwrap();
        assert_eq!(repeats.next, FIRST + EVERY * number);
    }
}
