//! What a server answers (RFC 9113 §8.1 to §8.3).

use loadcurve_wire::{
    AnswerError, Event, Exchange as _, HttpExchange as _, Malformed, Readiness, Refusal, Response, Tag,
};

use crate::refused_fields::REFUSED_FIELDS;
use crate::support::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_HEADER_BYTES, HEADERS, NEWEST_ENTRY, PADDED, PRIORITY,
    RST_STREAM, STATUS_200, WITH_PRIORITY, data, events_of, frame, frames_of, headers, output, with_requests,
};

fn answered(tag: usize, header_bytes: u64, body_bytes: u64, framing_bytes: u64) -> Event {
    Event::Answered(
        tag,
        Response {
            status: 200,
            header_bytes,
            body_bytes,
            framing_bytes,
            inflated_bytes: None,
            keep_alive: true,
            grpc_status: None,
        },
    )
}

fn ok(flags: u8, stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &[STATUS_200])
}

#[test]
fn answers_end_the_requests_in_any_order() {
    let mut exchange = with_requests(&["GET", "GET", "HEAD"]);
    assert_eq!(exchange.readiness(), Readiness::Busy);
    let bytes =
        [ok(0, 3), ok(END_STREAM, 5), data(0, 3, b"bo"), ok(END_STREAM, 1), data(END_STREAM, 3, b"dy")]
            .concat();
    let events = events_of(&mut exchange, &bytes).unwrap();
    let frame = FRAME_HEADER_BYTES;
    assert_eq!(
        events,
        [Event::Begun(1), answered(2, 1, 0, frame), answered(0, 1, 0, frame), answered(1, 1, 4, 3 * frame)]
    );
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn the_begin_of_an_answer_is_reported_only_where_its_end_is_not_there_yet() {
    let bytes = [ok(0, 1), data(END_STREAM, 1, b"body")].concat();
    let events = events_of(&mut with_requests(&["GET"]), &bytes).unwrap();
    assert_eq!(events, [answered(0, 1, 4, 2 * FRAME_HEADER_BYTES)]);
    let mut exchange = with_requests(&["GET"]);
    assert_eq!(events_of(&mut exchange, &bytes[..bytes.len() - 1]), Ok(vec![Event::Begun(0)]));
}

#[test]
fn padding_priorities_interim_responses_and_trailers_are_framing() {
    let mut exchange = with_requests(&["GET"]);
    let padded_headers = [&[3_u8][..], &[0, 0, 0, 0, 16], &[STATUS_200], &[0; 3]].concat();
    let interim = headers(0, 1, &[(":status", "103"), ("link", "</a>")]);
    let trailers = headers(END_STREAM, 1, &[("x-checksum", "0")]);
    let bytes = [
        interim.clone(),
        frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, 1, &padded_headers),
        frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 16]),
        frame(0xfa, 0xff, 1, b"an unknown type"),
        data(PADDED, 1, b"\x02body\0\0"),
        data(0, 1, b""),
        trailers.clone(),
    ]
    .concat();
    let events = events_of(&mut exchange, &bytes).unwrap();
    let expected = answered(0, 1, 4, bytes.len() as u64 - 5);
    assert_eq!(events, [Event::Begun(0), Event::Begun(0), expected]);
}

#[test]
fn a_header_block_may_come_in_many_frames() {
    let mut exchange = with_requests(&["GET"]);
    let block = [&[STATUS_200][..], &crate::support::block(&[("x", "y")])].concat();
    let bytes = [
        frame(HEADERS, END_STREAM, 1, &block[..2]),
        frame(CONTINUATION, 0, 1, &[]),
        frame(CONTINUATION, END_HEADERS, 1, &block[2..]),
    ]
    .concat();
    assert_eq!(
        events_of(&mut exchange, &bytes),
        Ok(vec![answered(0, block.len() as u64, 0, 3 * FRAME_HEADER_BYTES)])
    );
}

/// The only event of these bytes is that the request alone is refused, and the server is informed.
fn assert_refused(method: &str, bytes: &[u8], problem: Malformed) {
    let mut exchange = with_requests(&[method, "GET"]);
    let mut events = events_of(&mut exchange, bytes).unwrap();
    events.retain(|event| !matches!(event, Event::Begun(_)));
    assert_eq!(events, [Event::Refused(0, Refusal::Malformed(problem))]);
    // PROTOCOL_ERROR is 1.
    assert_eq!(frames_of(&output(&mut exchange)), [(RST_STREAM, 0, 1, vec![0, 0, 0, 1])]);
    // The other stream continues, and what still comes on this one is ignored.
    let events =
        events_of(&mut exchange, &[data(END_STREAM, 1, b"more"), ok(END_STREAM, 3)].concat()).unwrap();
    assert!(matches!(events.as_slice(), [Event::Answered(1, _)]), "{events:?}");
}

#[test]
fn an_answer_with_fields_that_no_response_has_is_refused_alone() {
    for (fields, error) in REFUSED_FIELDS {
        assert_refused("GET", &headers(0, 1, fields), error.into());
    }
}

#[test]
fn a_body_of_another_length_than_content_length_is_refused_and_that_of_no_body_is_not() {
    let length = [(":status", "200"), ("content-length", "5")];
    for (body, received_bytes) in [(&b"four"[..], 4), (b"sixsix", 6), (b"", 0)] {
        let bytes = [headers(0, 1, &length), data(END_STREAM, 1, body)].concat();
        // A stream that has ended needs no reset, but a server that thinks otherwise is informed.
        assert_refused("GET", &bytes, AnswerError::ContentLength { stated_bytes: 5, received_bytes }.into());
    }
    let conflict = [(":status", "200"), ("content-length", "5"), ("content-length", "6")];
    assert_refused("GET", &headers(0, 1, &conflict), Malformed::ContentLengthConflict);
    assert_refused(
        "GET",
        &headers(0, 1, &[(":status", "200"), ("content-length", "x")]),
        Malformed::ContentLength,
    );
    // §8.1.1: answers to HEAD, and 304, have the length of what they do not carry.
    for (method, status) in [("HEAD", "200"), ("GET", "304")] {
        let mut exchange = with_requests(&[method]);
        let bytes = headers(END_STREAM, 1, &[(":status", status), ("content-length", "5")]);
        let events = events_of(&mut exchange, &bytes).unwrap();
        assert!(matches!(events.as_slice(), [Event::Answered(0, _)]), "{events:?}");
    }
}

#[test]
fn an_answer_whose_parts_are_out_of_order_is_refused() {
    assert_refused("GET", &data(0, 1, b"x"), AnswerError::NoHeader.into());
    assert_refused("GET", &headers(END_STREAM, 1, &[(":status", "103")]), AnswerError::NoHeader.into());
    assert_refused("GET", &headers(0, 1, &[(":status", "101")]), Malformed::UnexpectedUpgrade);
    assert_refused("HEAD", &[ok(0, 1), data(0, 1, b"x")].concat(), AnswerError::UnexpectedBody.into());
    let trailers_that_go_on = [ok(0, 1), headers(0, 1, &[("a", "b")])].concat();
    assert_refused("GET", &trailers_that_go_on, AnswerError::Trailers.into());
    let status_in_trailers = [ok(0, 1), headers(END_STREAM, 1, &[(":status", "200")])].concat();
    assert_refused("GET", &status_in_trailers, AnswerError::PseudoField.into());
}

#[test]
fn blocks_that_are_equal_say_the_same_and_those_behind_a_change_of_the_table_need_not() {
    let mut exchange = with_requests(&["GET"; 4]);
    // A literal with indexing, `:status: 404`, twice; the newest entry is then 62, and another one later.
    let add = |name: u8, value: &str| [&[0x40 | name, 3], value.as_bytes()].concat();
    let newest = [NEWEST_ENTRY];
    let bytes = [
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &add(8, "410")),
        frame(HEADERS, END_HEADERS | END_STREAM, 3, &newest),
        frame(HEADERS, END_HEADERS | END_STREAM, 5, &add(8, "418")),
        frame(HEADERS, END_HEADERS | END_STREAM, 7, &newest),
    ]
    .concat();
    let statuses: Vec<u16> = events_of(&mut exchange, &bytes)
        .unwrap()
        .into_iter()
        .map(|event| match event {
            Event::Answered(_, response) => response.status,
            event => panic!("{event:?}"),
        })
        .collect();
    assert_eq!(statuses, [410, 410, 418, 418]);
}

#[test]
fn the_parts_of_bodies_are_handed_out_by_request_without_padding_wherever_the_bytes_are_cut() {
    let padded =
        |body: &[u8], padding: u8| [&[padding], body, vec![b'#'; usize::from(padding)].as_slice()].concat();
    let answers = [
        headers(0, 1, &[(":status", "200")]),
        headers(0, 3, &[(":status", "200")]),
        frame(DATA, PADDED, 1, &padded(b"hello ", 3)),
        data(0, 3, b"other"),
        frame(DATA, PADDED, 1, &padded(b"", 2)),
        frame(DATA, PADDED | END_STREAM, 1, &padded(b"world", 0)),
        data(END_STREAM, 3, b""),
    ]
    .concat();
    for cut in 0..=answers.len() {
        let mut exchange = with_requests(&["GET", "GET"]);
        let mut bodies = [Vec::new(), Vec::new()];
        for mut part in [&answers[..cut], &answers[cut..]] {
            while !part.is_empty() {
                let mut take = |tag: Tag, status, bytes: &[u8]| {
                    assert_eq!(status, 200);
                    bodies[tag].extend_from_slice(bytes);
                };
                part = &part[exchange.receive_with(part, &mut take).unwrap().consumed..];
            }
        }
        assert_eq!(bodies, [b"hello world".as_slice(), b"other"], "cut at {cut}");
    }
}

#[test]
fn the_first_redirection_is_kept_over_all_connections() {
    let redirection = |stream, to| headers(END_STREAM, stream, &[(":status", "302"), ("location", to)]);
    let mut exchange = with_requests(&["GET", "GET", "GET"]);
    events_of(&mut exchange, &headers(END_STREAM, 1, &[(":status", "200")])).unwrap();
    assert_eq!(exchange.first_location(), None);
    events_of(&mut exchange, &[redirection(3, "/next"), redirection(5, "/other")].concat()).unwrap();
    exchange.open();
    assert_eq!(exchange.first_location(), Some(b"/next".as_slice()));
}

/// RFC 9110 §10.2.2: of an answer with the status 201 Location is where that is which was made.
#[test]
fn a_location_is_kept_of_redirections_alone() {
    let located = |stream, status, at| headers(END_STREAM, stream, &[(":status", status), ("location", at)]);
    let mut exchange = with_requests(&["POST", "GET", "GET"]);
    let answers = [located(1, "201", "/made"), located(3, "304", "/same"), located(5, "307", "/next")];
    for (answer, expected) in answers.iter().zip([None, None, Some(b"/next".as_slice())]) {
        events_of(&mut exchange, answer).unwrap();
        assert_eq!(exchange.first_location(), expected);
    }
}
