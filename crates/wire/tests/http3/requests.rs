//! Requests: their bytes, and what other readers make of them.

use loadcurve_wire::h3::{frame, qpack::Decoder};
use loadcurve_wire::{Body, Http3, Http3Settings, Http3Template, InvalidRequest, Request, Target};

use crate::support::{DATA, HEADERS, bytes, fields_of, frame as frame_of, request};

/// The bytes of a request on a new connection, and how many have to follow.
fn written(request: &Request<'_>, target: Option<&[u8]>) -> (Vec<u8>, u64) {
    let template = Http3Template::new(request).unwrap();
    let mut bytes = b"before".to_vec();
    let following = Http3::new(1, &Http3Settings::default()).begin(0, 0, &template, target, &mut bytes);
    assert!(bytes.starts_with(b"before"));
    (bytes.split_off(6), following)
}

#[test]
fn a_request_is_one_frame_of_indexes_and_coded_literals() {
    // By hand from RFC 9204 appendix A; the Huffman codes are those of RFC 7541 appendix C.4.
    let get = Request {
        authority: "www.example.com",
        ..request(
            "GET",
            &[("Accept", "*/*"), ("User-Agent", "no-cache"), ("Custom-Key", " custom-value ")],
            Body::Bytes(b""),
        )
    };
    let section = "0000 d1 d7 508c f1e3c2e5f23a6ba0ab90f4ff c1 dd 5f50 86a8eb10649cbf \
                   2f01 25a849e95ba97d7f 8925a849e95bb8e8b4bf";
    assert_eq!(written(&get, None), (frame_of(HEADERS, &bytes(section)), 0));
}

#[test]
fn a_target_that_varies_is_put_into_the_section_of_any_length() {
    let varying = Request { target: Target::Varying, ..request("GET", &[("a", "b")], Body::Bytes(b"")) };
    for length in [1, 50, 62, 63, 64, 200, 16_000, 20_000, 70_000] {
        let path = format!("/{}", "~".repeat(length));
        let (bytes, following) = written(&varying, Some(path.as_bytes()));
        let (header, header_bytes) = frame::FrameHeader::parse(&bytes).unwrap();
        assert_eq!((header.kind, header.length), (HEADERS, (bytes.len() - header_bytes) as u64));
        assert_eq!(following, 0);
        let fields = fields_of(&mut Decoder::new(0), 0, &bytes[header_bytes..]).unwrap().unwrap();
        let names: Vec<&[u8]> = fields.iter().map(|(name, _)| name.as_slice()).collect();
        assert_eq!(names, [&b":method"[..], b":scheme", b":authority", b":path", b"a", b"user-agent"]);
        assert_eq!(fields[1].1, b"https");
        assert_eq!(fields[3].1, path.as_bytes());
    }
}

#[test]
fn a_body_is_one_frame_of_data_that_is_kept_or_follows() {
    let (bytes, following) = written(&request("POST", &[], Body::Bytes(b"body")), None);
    assert!(bytes.ends_with(&frame_of(DATA, b"body")));
    assert_eq!(following, 0);
    let (bytes, following) = written(&request("POST", &[], Body::Following(70_000)), None);
    // RFC 9000 §16: 70,000 is 0x11170 in four bytes.
    assert!(bytes.ends_with(&[0, 0x80, 0x01, 0x11, 0x70]));
    assert_eq!(following, 70_000);
}

#[test]
fn what_no_request_of_http_3_can_have_is_refused() {
    let with =
        |headers: &[(&str, &str)]| Http3Template::new(&request("GET", headers, Body::Bytes(b""))).map(|_| ());
    for name in ["Connection", "keep-alive", "Upgrade", "TE"] {
        let refused = with(&[(name, "trailer")]);
        assert_eq!(refused, Err(InvalidRequest::ConnectionField { name: name.to_ascii_lowercase() }));
    }
    assert_eq!(with(&[("te", "trailers")]), Ok(()));
    let absolute = Request { target: Target::Fixed("http://a/"), ..request("GET", &[], Body::Bytes(b"")) };
    let refused = Http3Template::new(&absolute).map(|_| ());
    assert_eq!(refused, Err(InvalidRequest::AbsoluteTarget { target: "http://a/".to_owned() }));
}

#[test]
fn a_priority_is_changed_on_the_control_stream() {
    // RFC 9218 §7.2: type 0xf0700 in four bytes, the length, the stream and the priority.
    let mut bytes = Vec::new();
    frame::write_priority_update(4, "u=1, i", &mut bytes);
    assert_eq!(bytes, b"\x80\x0f\x07\x00\x07\x04u=1, i");
}

#[test]
fn the_control_stream_begins_with_its_type_and_the_settings() {
    let mut bytes = Vec::new();
    Http3::new(1, &Http3Settings::default()).write_control_stream(&mut bytes);
    // 4,096 bytes of table, sections of 65,536 bytes, 100 streams that may wait.
    assert_eq!(bytes, [0, 4, 11, 1, 0x50, 0, 6, 0x80, 1, 0, 0, 7, 0x40, 100]);
}

#[test]
fn a_stream_of_events_is_opened_again_with_the_last_id_behind_the_other_fields() {
    let fixed = request("GET", &[("accept", "text/event-stream")], Body::Bytes(b""));
    let varying = Request { target: Target::Varying, ..fixed };
    for (request, target) in [(fixed, None), (varying, Some(&b"/other"[..]))] {
        let template = Http3Template::new(&request).unwrap();
        let fields = |last_id: &[u8]| {
            let mut bytes = Vec::new();
            Http3::new(1, &Http3Settings::default()).reopen((0, 0), &template, target, last_id, &mut bytes);
            let (header, header_bytes) = frame::FrameHeader::parse(&bytes).unwrap();
            assert_eq!((header.kind, header.length), (HEADERS, (bytes.len() - header_bytes) as u64));
            fields_of(&mut Decoder::new(0), 0, &bytes[header_bytes..]).unwrap().unwrap()
        };
        let plain = fields(b"");
        assert!(plain.iter().all(|(name, _)| name != b"last-event-id"));
        let id = (b"last-event-id".to_vec(), b"7 \xc3\xa9".to_vec());
        assert_eq!(fields(b" 7 \xc3\xa9"), [plain, vec![id]].concat());
    }
}
