//! What a client sends (RFC 9113 §3.4, §6.5, §8.2 and §8.3).

use loadcurve_wire::h2::hpack::Decoder;
use loadcurve_wire::{
    Exchange as _, Hpack, Http2, Http2Settings, HttpExchange as _, InvalidRequest, Readiness, Request,
    Scheme, Target,
};

use crate::support::{
    ACK, CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PING, SETTINGS, WINDOW_UPDATE, agreed, agreed_with,
    begin, events_of, fields_of, frame, frames_of, output, request, settings, template,
};

#[test]
fn a_connection_begins_with_the_preface_the_settings_and_the_window() {
    let windows = Http2Settings {
        stream_window_bytes: 100_000,
        connection_window_bytes: 165_535,
        header_bytes: 8_192,
        ..Http2Settings::default()
    };
    let mut exchange = Http2::new(1, &windows);
    exchange.open();
    let sent = output(&mut exchange);
    let rest =
        sent.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice()).expect("the preface of §3.4");
    let frames = frames_of(rest);
    let [(SETTINGS, 0, 0, payload), (WINDOW_UPDATE, 0, 0, increment)] = frames.as_slice() else {
        panic!("{frames:?}")
    };
    // ENABLE_PUSH 0, INITIAL_WINDOW_SIZE and MAX_HEADER_LIST_SIZE (§6.5.2).
    let expected = settings(&[(2, 0), (4, 100_000), (6, 8_192)]);
    assert_eq!(payload, &expected[9..]);
    // Every connection begins with 65,535 (§6.9.2).
    assert_eq!(*increment, 100_000_u32.to_be_bytes());
}

#[test]
fn requests_begin_when_the_settings_of_the_server_have_come_which_are_acknowledged() {
    let mut exchange = Http2::new(1, &Http2Settings::default());
    exchange.open();
    output(&mut exchange);
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    let bytes = settings(&[]);
    events_of(&mut exchange, &bytes[..5]).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    events_of(&mut exchange, &bytes[5..]).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Ready);
    assert_eq!(frames_of(&output(&mut exchange)), [(SETTINGS, ACK, 0, vec![])]);
}

#[test]
fn a_ping_is_answered_with_its_own_payload_and_an_answer_to_one_is_not() {
    let mut exchange = agreed(1, &[]);
    events_of(&mut exchange, &frame(PING, 0, 0, b"01234567")).unwrap();
    assert_eq!(frames_of(&output(&mut exchange)), [(PING, ACK, 0, b"01234567".to_vec())]);
    events_of(&mut exchange, &frame(PING, ACK, 0, b"01234567")).unwrap();
    assert!(!exchange.has_output());
}

fn fields(sent: &[u8], decoder: &mut Decoder) -> Vec<(String, String)> {
    let frames = frames_of(sent);
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].0, frames[0].1), (HEADERS, END_HEADERS | END_STREAM));
    fields_of(decoder, &frames[0].3)
}

fn owned(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const USER_AGENT: (&str, &str) = ("user-agent", concat!("loadcurve/", env!("CARGO_PKG_VERSION")));

#[test]
fn a_request_has_its_pseudo_fields_first_and_all_names_in_lower_case() {
    let mut exchange = agreed(1, &[]);
    let headers = [("Accept", "*/*"), ("Host", "example.com"), ("X-Odd", " value ")];
    let sent = begin(&mut exchange, 0, &template(&request("GET", &headers, b"")).unwrap());
    // §8.3.1: Host becomes :authority.
    let expected = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "example.com"),
        (":path", "/1k.txt"),
        ("accept", "*/*"),
        ("x-odd", "value"),
        USER_AGENT,
    ];
    assert_eq!(fields(&sent, &mut Decoder::new(4096)), owned(&expected));
}

#[test]
fn streams_have_odd_numbers_from_1_on() {
    let mut exchange = agreed(3, &[]);
    let template = template(&request("GET", &[], b"")).unwrap();
    let streams = [2, 0, 1].map(|tag| frames_of(&begin(&mut exchange, tag, &template))[0].2);
    assert_eq!(streams, [1, 3, 5]);
}

#[test]
fn the_scheme_is_that_of_the_connection() {
    let settings = Http2Settings { scheme: Scheme::Https, ..Http2Settings::default() };
    let mut exchange = agreed_with(1, &settings, &[]);
    let sent = begin(&mut exchange, 0, &template(&request("GET", &[], b"")).unwrap());
    assert_eq!(fields(&sent, &mut Decoder::new(4096))[1], (":scheme".into(), "https".into()));
}

/// The lengths of the header blocks of one request, sent four times.
fn block_lengths(hpack: Hpack) -> Vec<usize> {
    let settings = Http2Settings { hpack, ..Http2Settings::default() };
    let mut exchange = agreed_with(4, &settings, &[]);
    let template = template(&request("GET", &[("Accept", "*/*")], b"")).unwrap();
    (0..4).map(|tag| frames_of(&begin(&mut exchange, tag, &template))[0].3.len()).collect()
}

#[test]
fn indexed_fields_cost_a_byte_each_from_the_second_request_on_and_literals_always_the_same() {
    let indexed = block_lengths(Hpack::Indexed);
    // Six fields: :method, :scheme, :authority, :path, accept, user-agent.
    assert_eq!(indexed[1..], [6, 6, 6]);
    let literal = block_lengths(Hpack::Literal);
    assert_eq!(literal, [literal[0]; 4]);
    // Both spell everything out the first time. The names accept (19) and user-agent (58) fit in the six bits of a literal
    // that goes into the table, and take a byte more where four are left (RFC 7541 §6.2).
    assert_eq!(literal[0], indexed[0] + 2);
}

#[test]
fn of_a_list_only_the_path_is_spelt_out_every_time() {
    let mut exchange = agreed(4, &[]);
    let request = Request { target: Target::Varying, ..request("GET", &[], b"") };
    let template = template(&request).unwrap();
    let mut decoder = Decoder::new(4096);
    for (tag, path) in ["/a", "/b?c=d", "/a", "/long/enough/to/be/coded"].into_iter().enumerate() {
        let mut sent = Vec::new();
        exchange.begin(tag, &template, Some(path.as_bytes()), &mut sent);
        let expected = [
            (":method", "GET"),
            (":scheme", "http"),
            (":authority", "localhost:8080"),
            (":path", path),
            USER_AGENT,
        ];
        assert_eq!(fields(&sent, &mut decoder), owned(&expected));
        let most = if tag == 0 { 100 } else { 4 + 2 + path.len() };
        assert!(sent.len() - 9 <= most, "{} bytes for {path}", sent.len());
    }
}

#[test]
fn what_belongs_to_connections_of_http_1_1_is_refused() {
    // §8.2.2.
    for (name, value) in [
        ("Connection", "keep-alive"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "close"),
        ("Upgrade", "websocket"),
        ("TE", "gzip"),
    ] {
        let refusal = template(&request("GET", &[(name, value)], b"")).unwrap_err();
        assert_eq!(refusal, InvalidRequest::ConnectionField { name: name.to_ascii_lowercase() });
        assert!(refusal.to_string().contains("HTTP/1.1"));
    }
    let refusal = template(&request("GET", &[("Transfer-Encoding", "chunked")], b"")).unwrap_err();
    assert_eq!(refusal, InvalidRequest::TransferEncoding);
    assert!(template(&request("GET", &[("TE", "trailers")], b"")).is_ok());
}

#[test]
fn a_body_in_chunks_has_no_field_for_its_length_or_its_coding() {
    // §8.1: chunked is not used in HTTP/2, where frames carry the body and END_STREAM ends it.
    let names = |is_chunked| {
        let mut exchange = agreed(1, &[]);
        let posted = Request { is_chunked, ..request("POST", &[], b"") };
        let sent = begin(&mut exchange, 0, &template(&posted).unwrap());
        fields(&sent, &mut Decoder::new(4096)).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let pseudo = [":method", ":scheme", ":authority", ":path", "user-agent"];
    assert_eq!(names(false), [&pseudo[..], &["content-length"]].concat());
    assert_eq!(names(true), pseudo);
}

#[test]
fn a_target_that_is_a_url_is_refused_and_an_asterisk_is_not() {
    let url = Request { target: Target::Fixed("http://localhost/"), ..request("GET", &[], b"") };
    assert!(matches!(template(&url), Err(InvalidRequest::AbsoluteTarget { .. })));
    let asterisk = Request { target: Target::Fixed("*"), ..request("OPTIONS", &[], b"") };
    assert!(template(&asterisk).is_ok());
}

#[test]
fn a_header_block_that_is_longer_than_a_frame_goes_on_in_continuations() {
    let mut exchange = agreed(1, &[]);
    // Characters of more than eight bits, so that the literal is no shorter in the Huffman code.
    let value = "\\".repeat(40_000);
    let sent = begin(&mut exchange, 0, &template(&request("GET", &[("x", &value)], b"")).unwrap());
    let frames = frames_of(&sent);
    let kinds: Vec<_> = frames.iter().map(|frame| (frame.0, frame.1, frame.2)).collect();
    assert_eq!(kinds, [(HEADERS, END_STREAM, 1), (CONTINUATION, 0, 1), (CONTINUATION, END_HEADERS, 1)]);
    assert!(frames.iter().all(|frame| frame.3.len() <= 16_384));
    let block: Vec<u8> = frames.into_iter().flat_map(|frame| frame.3).collect();
    let fields = fields_of(&mut Decoder::new(4096), &block);
    assert!(fields.contains(&("x".to_owned(), value)));
}

#[test]
fn a_smaller_table_of_the_server_is_announced_in_front_of_the_next_block() {
    let mut exchange = agreed(3, &[]);
    let template = template(&request("GET", &[], b"")).unwrap();
    let block = |sent: &[u8]| frames_of(sent)[0].3.clone();
    begin(&mut exchange, 0, &template);
    events_of(&mut exchange, &settings(&[(1, 80)])).unwrap();
    // RFC 7541 §4.2 and §6.3: the size 0 empties the table, and the size 80 is 31 + 49.
    let next = block(&begin(&mut exchange, 1, &template));
    assert_eq!(next[..3], [0x20, 0x3f, 49]);
    // Of the three fields one has room.
    let last = block(&begin(&mut exchange, 2, &template));
    assert!(last.len() > 6 && last[0] == 0x82);
}

#[test]
fn a_stream_of_events_is_opened_again_with_the_last_id_behind_the_other_fields() {
    let template = template(&request("GET", &[("accept", "text/event-stream")], b"")).unwrap();
    let mut exchange = agreed(3, &[]);
    let mut decoder = Decoder::new(4096);
    let mut fields_behind = |last_id: &[u8], tag| {
        let mut bytes = Vec::new();
        exchange.reopen(tag, &template, None, last_id, &mut bytes);
        fields(&bytes, &mut decoder)
    };
    let plain = fields_behind(b"", 0);
    assert!(plain.iter().all(|(name, _)| name != "last-event-id"));
    let id = |value: &str| ("last-event-id".to_owned(), value.to_owned());
    assert_eq!(fields_behind("7 \u{e9} ".as_bytes(), 1), [plain.clone(), vec![id("7 \u{e9}")]].concat());
    // None of them goes into the table: the next block is as long as before.
    assert_eq!(fields_behind(b"8", 2), [plain, vec![id("8")]].concat());
}
