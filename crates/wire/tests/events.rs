//! Events in the body of an answer: what the HTML standard calls one, from any split of the bytes.

use loadcurve_wire::{EventLines, EventReader, EventStream, Piece};
use proptest::prelude::*;

/// What a stream comes to: the data of its events, the last `id` and the last `retry`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    events: Vec<Vec<u8>>,
    last_id: Vec<u8>,
    retry_ms: Option<u64>,
}

/// The events of a stream that arrives in these pieces.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut stream = EventStream::default();
    let (mut events, mut data) = (Vec::new(), Vec::new());
    for piece in pieces {
        stream.read(piece, &mut |piece| match piece {
            Piece::Data(part) => data.extend_from_slice(part),
            Piece::Event => events.push(std::mem::take(&mut data)),
        });
    }
    Read { events, last_id: stream.last_id().to_vec(), retry_ms: stream.retry_ms() }
}

/// The same by the steps of the standard (9.2.6), word for word, on the whole text.
fn by_the_standard(bytes: &[u8]) -> Read {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let (mut read, mut data, mut id_buffer) = (Read::default(), Vec::new(), Vec::new());
    for line in complete_lines(bytes) {
        if line.is_empty() {
            read.last_id.clone_from(&id_buffer);
            if !data.is_empty() {
                data.pop();
                read.events.push(std::mem::take(&mut data));
            }
            continue;
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                data.extend_from_slice(value);
                data.push(b'\n');
            }
            b"id" if !value.contains(&0) && value.len() <= 256 => id_buffer = value.to_vec(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                read.retry_ms = String::from_utf8(value.to_vec()).unwrap().parse().ok();
            }
            _ => {}
        }
    }
    read
}

/// The lines that have an end: CRLF, LF or CR.
fn complete_lines(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let end_bytes = match &bytes[at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
        if end_bytes > 0 {
            lines.push(&bytes[start..at]);
            start = at + end_bytes;
        }
        at += end_bytes.max(1);
    }
    lines
}

fn data(text: &str) -> Vec<String> {
    let events = read([text.as_bytes()]).events.into_iter();
    events.map(|event| String::from_utf8(event).unwrap()).collect()
}

/// What the event-stream format tests of web-platform-tests (eventsource/format-*.any.js) send and expect.
#[test]
fn the_format_cases_of_web_platform_tests_give_their_events() {
    let cases: &[(&str, &[&str])] = &[
        // format-bom, format-bom-2: one mark is removed, a second one is a part of a name.
        ("\u{FEFF}data:1\n\n\u{FEFF}data:2\n\ndata:3\n\n", &["1", "3"]),
        ("\u{FEFF}\u{FEFF}data:1\n\ndata:2\n\ndata:3\n\n", &["2", "3"]),
        // format-comments, with a comment of 2,048 bytes in place of its long string.
        (
            &format!("data:1\r:\0\n:\r\ndata:2\n:{}\rdata:3\n:data:fail\r:x\rdata:4\n\n", "x".repeat(2048)),
            &["1\n2\n3\n4"],
        ),
        // format-data-before-final-empty-line: what no empty line ends is no event.
        ("retry:1000\ndata:test1\n\nid:test\ndata:test2", &["test1"]),
        // format-field-data: a line of data without a value is an event with empty data.
        ("data:\n\ndata\ndata\n\ndata:test\n\n", &["", "\n", "test"]),
        // format-field-event-empty, format-field-event: a type changes nothing of the data.
        ("event: \ndata:data\n\n", &["data"]),
        ("event:test\ndata:x\n\ndata:x\n\n", &["x", "x"]),
        // format-field-parsing.
        (
            "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
            &["\0\n 2\n1\n3\n\n4"],
        ),
        // format-field-retry-bogus, format-field-unknown.
        ("retry:3000\nretry:1000x\ndata:x\n\n", &["x"]),
        (
            "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n",
            &["test\n\ntest"],
        ),
        // format-leading-space: only one space is removed, and a tab is none.
        ("data:\ttest\rdata: \ndata:test\n\n", &["\ttest\n\ntest"]),
        // format-newlines: each of the three is an end of a line.
        ("data:test\r\ndata\ndata:test\r\n\r", &["test\n\ntest"]),
        // format-null-character, format-utf-8.
        ("data:\0\n\n\n\n", &["\0"]),
        ("data:ok\u{2026}\n\n", &["ok\u{2026}"]),
    ];
    for (stream, expected) in cases {
        assert_eq!(data(stream), *expected, "{stream:?}");
    }
}

#[test]
fn the_last_id_is_that_of_a_complete_event_and_one_with_a_null_is_none() {
    let last_id = |text: &str| String::from_utf8(read([text.as_bytes()]).last_id).unwrap();
    assert_eq!(last_id("id: 1\ndata: a\n\nid: 2\ndata: b"), "1");
    // format-field-id-null: it is ignored, and the one before stays.
    assert_eq!(last_id("id: 1\n\nid: 2\0\ndata: a\n\n"), "1");
    // An event without data changes it all the same, and an empty one removes it.
    assert_eq!(last_id("id: 1\n\n"), "1");
    assert_eq!(last_id("id: 1\ndata: a\n\nid\n\n"), "");
    assert_eq!(last_id(&format!("id: 1\n\nid: {}\n\n", "x".repeat(257))), "1");
}

#[test]
fn the_id_of_an_event_that_a_broken_stream_has_not_ended_is_forgotten_with_the_stream() {
    let mut stream = EventReader::Sse(EventStream::default());
    stream.read(b"id: 1\ndata: a\n\nid: 2\ndata: b", &mut |_| ());
    stream.reset();
    stream.read(b"data: c\n\n", &mut |_| ());
    assert_eq!(stream.last_id(), b"1");
}

#[test]
fn retry_is_a_number_of_digits_alone() {
    let retry_ms = |text: &str| read([text.as_bytes()]).retry_ms;
    assert_eq!(retry_ms("retry: 1500\n"), Some(1500));
    assert_eq!(retry_ms("retry: 15\nretry: 1x\nretry: -1\nretry\n"), Some(15));
    assert_eq!(retry_ms("data: 1\n\n"), None);
}

#[test]
fn an_endless_event_is_handed_on_in_parts_and_never_kept() {
    let mut stream = EventStream::default();
    let mut bytes = 0;
    let mut take = |piece: Piece<'_>| match piece {
        Piece::Data(part) => bytes += part.len(),
        Piece::Event => panic!("no empty line has come"),
    };
    stream.read(b"data:", &mut take);
    let part = vec![b'x'; 65_536];
    (0..1024).for_each(|_| stream.read(&part, &mut take));
    assert_eq!(bytes, 64 << 20);
}

#[test]
fn lines_are_events_unless_they_are_empty_and_the_last_one_needs_no_end() {
    let mut reader = EventReader::Lines(EventLines::default());
    let (mut events, mut data) = (Vec::new(), String::new());
    let mut take = |piece: Piece<'_>| match piece {
        Piece::Data(part) => data.push_str(std::str::from_utf8(part).unwrap()),
        Piece::Event => events.push(std::mem::take(&mut data)),
    };
    for part in ["{\"a\":1}\r\n\r\n{\"b\"", ":2}\n \n{\"c\":3}"] {
        reader.read(part.as_bytes(), &mut take);
    }
    reader.end(&mut take);
    assert_eq!(events, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
}

const WORDS: &[&str] = &[
    "data",
    "id",
    "retry",
    "event",
    ":",
    " ",
    "\r",
    "\n",
    "\r\n",
    "\n\n",
    "x",
    "7",
    "\0",
    "\u{FEFF}",
    "data: y\n\n",
];

/// Texts in which the marks of the format are frequent.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(WORDS), 0..60).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_split_gives_the_events_of_the_standard(bytes in streams(), lengths in prop::collection::vec(1_usize..9, 1..8)) {
        let expected = by_the_standard(&bytes);
        prop_assert_eq!(&read([&bytes[..]]), &expected);
        prop_assert_eq!(&read(bytes.chunks(1)), &expected);
        let (mut pieces, mut rest) = (Vec::new(), &bytes[..]);
        for length in lengths.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at((*length).min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        prop_assert_eq!(&read(pieces), &expected);
    }
}
