//! Requests as they are written, checked by hand-written bytes and by `httparse`.

use loadcurve_wire::{
    Body, Exchange as _, Http1, HttpExchange as _, InvalidRequest, Method, Request, RequestKind, Target,
    Version, is_path,
};
use proptest::prelude::*;

const GET: Request<'static> = Request {
    version: Version::Http11,
    method: Method::GET,
    target: Target::Fixed("/"),
    authority: "localhost:8080",
    headers: &[],
    body: Body::Bytes(b""),
    is_chunked: false,
};

const USER_AGENT: &str = concat!("User-Agent: loadcurve/", env!("CARGO_PKG_VERSION"), "\r\n");

fn with_method(name: &str) -> Request<'_> {
    Request { method: Method::new(name).unwrap(), ..GET }
}

fn encoded(request: &Request) -> String {
    String::from_utf8(request.encode().unwrap()).unwrap()
}

#[test]
fn a_body_in_chunks_has_its_size_in_hexadecimal_and_ends_with_an_empty_one() {
    // RFC 9112 §7.1: chunk-size is 1*HEXDIG, and the last chunk and an empty trailer section end the body.
    let fields = format!("Host: localhost:8080\r\n{USER_AGENT}Transfer-Encoding: chunked\r\n\r\n");
    for (body, chunks) in [
        (&[b'x'; 26][..], format!("1a\r\n{}\r\n0\r\n\r\n", "x".repeat(26))),
        (&[][..], "0\r\n\r\n".to_owned()),
    ] {
        let request = Request { body: Body::Bytes(body), is_chunked: true, ..with_method("POST") };
        assert_eq!(encoded(&request), format!("POST / HTTP/1.1\r\n{fields}{chunks}"));
    }
    // A body that follows begins behind the head, and an empty one is over at once.
    for (length, chunks) in [(10, ""), (0, "0\r\n\r\n")] {
        let request = Request { body: Body::Following(length), is_chunked: true, ..with_method("POST") };
        assert_eq!(encoded(&request), format!("POST / HTTP/1.1\r\n{fields}{chunks}"));
    }
}

#[test]
fn chunks_and_a_length_exclude_each_other_and_http_1_0_has_no_chunks() {
    let chunked = Request { is_chunked: true, ..with_method("POST") };
    let old = Request { version: Version::Http10, ..chunked };
    assert_eq!(old.encode(), Err(InvalidRequest::ChunkedInHttp10));
    let with_length = Request { headers: &[("Content-Length", "0")], ..chunked };
    assert_eq!(with_length.encode(), Err(InvalidRequest::ChunkedWithLength));
}

#[test]
fn a_plain_get_has_a_host_and_a_user_agent_only() {
    let expected = format!("GET /1k.txt?a=b HTTP/1.1\r\nHost: localhost:8080\r\n{USER_AGENT}\r\n");
    assert_eq!(encoded(&Request { target: Target::Fixed("/1k.txt?a=b"), ..GET }), expected);
}

#[test]
fn given_headers_are_written_in_order_and_replace_the_added_ones() {
    let headers = &[("accept", "*/*"), ("USER-AGENT", "mine"), ("host", "example.org"), ("Accept", "")];
    let expected =
        "GET / HTTP/1.1\r\naccept: */*\r\nUSER-AGENT: mine\r\nhost: example.org\r\nAccept: \r\n\r\n";
    assert_eq!(encoded(&Request { headers, ..GET }), expected);
}

#[test]
fn a_body_is_announced_with_its_length() {
    let expected =
        format!("DELETE / HTTP/1.1\r\nHost: localhost:8080\r\n{USER_AGENT}Content-Length: 5\r\n\r\na\r\nb\n");
    assert_eq!(encoded(&Request { body: Body::Bytes(b"a\r\nb\n"), ..with_method("DELETE") }), expected);
}

#[test]
fn a_body_that_follows_is_announced_and_not_encoded() {
    let length = 5_000_000_000;
    let expected =
        format!("PUT / HTTP/1.1\r\nHost: localhost:8080\r\n{USER_AGENT}Content-Length: 5000000000\r\n\r\n");
    assert_eq!(encoded(&Request { body: Body::Following(length), ..with_method("PUT") }), expected);
    let wrong = Request { headers: &[("Content-Length", "1")], body: Body::Following(length), ..GET };
    let refusal = InvalidRequest::ContentLength { stated: "1".to_owned(), body_bytes: length };
    assert_eq!(wrong.encode(), Err(refusal));
}

#[test]
fn a_target_that_varies_is_put_where_a_fixed_one_stands() {
    let request = Request { body: Body::Bytes(b"body"), ..with_method("DELETE") };
    let template = Http1::template(&Request { target: Target::Varying, ..request }).unwrap();
    let mut exchange = Http1::new(1, &());
    for target in ["/a", "/another"] {
        let mut bytes = Vec::new();
        exchange.begin(0, &template, Some(target.as_bytes()), &mut bytes);
        let fixed = Request { target: Target::Fixed(target), ..request };
        assert_eq!(String::from_utf8(bytes), Ok(encoded(&fixed)));
    }
}

#[test]
fn a_target_that_varies_stands_behind_what_it_is_said_to() {
    let request = Request { target: Target::VaryingBehind("http://localhost:8080"), ..GET };
    let template = Http1::template(&request).unwrap();
    let mut exchange = Http1::new(1, &());
    for target in ["/a", "/another?b"] {
        let mut bytes = Vec::new();
        exchange.begin(0, &template, Some(target.as_bytes()), &mut bytes);
        let whole = format!("http://localhost:8080{target}");
        let fixed = Request { target: Target::Fixed(&whole), ..request };
        assert_eq!(String::from_utf8(bytes), Ok(encoded(&fixed)));
    }
}

#[test]
fn a_path_is_a_target_that_begins_with_a_slash() {
    for path in ["/", "/a?b=c%20d"] {
        assert!(
            is_path(path.as_bytes()) && Request { target: Target::Fixed(path), ..GET }.encode().is_ok(),
            "{path}"
        );
    }
    for other in ["", "a", "*", "http://localhost/a", "/a b", "/a#b", "/ü", "/\n"] {
        assert!(!is_path(other.as_bytes()), "{other}");
    }
}

#[test]
fn an_absent_body_is_announced_only_for_methods_that_expect_one() {
    for (method, is_announced) in
        [("POST", true), ("PUT", true), ("PATCH", true), ("GET", false), ("DELETE", false), ("PURGE", false)]
    {
        let text = encoded(&with_method(method));
        assert_eq!(text.contains("Content-Length: 0\r\n"), is_announced, "{method}");
    }
}

#[test]
fn a_given_content_length_must_be_that_of_the_body_and_is_not_repeated() {
    let request =
        Request { headers: &[("content-length", " 3 ")], body: Body::Bytes(b"abc"), ..with_method("POST") };
    assert_eq!(encoded(&request).to_lowercase().matches("content-length").count(), 1);
    let expected = InvalidRequest::ContentLength { stated: " 3 ".to_owned(), body_bytes: 2 };
    assert_eq!(Request { body: Body::Bytes(b"ab"), ..request }.encode(), Err(expected));
}

#[test]
fn only_spaces_and_tabs_may_stand_around_a_given_content_length() {
    let headers = &[("Content-Length", "\u{a0}3")];
    let expected = InvalidRequest::ContentLength { stated: "\u{a0}3".to_owned(), body_bytes: 3 };
    assert_eq!(Request { headers, body: Body::Bytes(b"abc"), ..with_method("POST") }.encode(), Err(expected));
}

#[test]
fn only_head_is_answered_without_a_body() {
    assert_eq!(Method::new("HEAD").unwrap().kind(), RequestKind::Head);
    for name in ["GET", "POST", "head", "OPTIONS"] {
        assert_eq!(Method::new(name).unwrap().kind(), RequestKind::Other);
    }
}

#[test]
fn a_method_is_a_token_and_no_tunnel() {
    for name in ["", "GET ", "G ET", "GET\r\n", "GÉT", "GET/"] {
        assert_eq!(Method::new(name), Err(InvalidRequest::Method { method: name.to_owned() }));
    }
    assert_eq!(Method::new("CONNECT"), Err(InvalidRequest::Connect));
}

#[test]
fn a_target_that_would_break_the_request_line_is_refused() {
    for target in ["", "1k.txt", "/a b", "/a\r\nX: y", "/a\n", "/a\tb", "/\0", "/ü", "/a#b", "/\x7f", "**"] {
        let expected = InvalidRequest::Target { target: target.to_owned() };
        assert_eq!(Request { target: Target::Fixed(target), ..GET }.encode(), Err(expected));
    }
    for target in ["/", "*", "http://localhost/a?b=c%20d", "/;,@:[]\"<>"] {
        assert!(Request { target: Target::Fixed(target), ..GET }.encode().is_ok(), "{target}");
    }
}

#[test]
fn an_authority_that_would_break_the_host_field_is_refused() {
    for authority in ["", "local host", "localhost\r\nX: y", "localhost/", "user@localhost", "lücalhost"] {
        let expected = InvalidRequest::Authority { authority: authority.to_owned() };
        assert_eq!(Request { authority, ..GET }.encode(), Err(expected));
    }
    assert!(encoded(&Request { authority: "[::1]:80", ..GET }).contains("\r\nHost: [::1]:80\r\n"));
}

#[test]
fn headers_that_would_break_the_framing_are_refused() {
    let name = |name: &str| InvalidRequest::HeaderName { name: name.to_owned() };
    let value = |name: &str| InvalidRequest::HeaderValue { name: name.to_owned() };
    let cases: &[(&[(&str, &str)], InvalidRequest)] = &[
        (&[("", "x")], name("")),
        (&[("A:", "x")], name("A:")),
        (&[("A B", "x")], name("A B")),
        (&[("A\r\nB", "x")], name("A\r\nB")),
        (&[("A", "x\r\nB: y")], value("A")),
        (&[("A", "x\n")], value("A")),
        (&[("A", "x\0")], value("A")),
        (&[("Host", "a"), ("host", "a")], InvalidRequest::Repeated { name: "Host" }),
        (
            &[("Content-Length", "0"), ("Content-Length", "0")],
            InvalidRequest::Repeated { name: "Content-Length" },
        ),
        (
            &[("Content-Length", "+0")],
            InvalidRequest::ContentLength { stated: "+0".to_owned(), body_bytes: 0 },
        ),
        (&[("transfer-encoding", "chunked")], InvalidRequest::TransferEncoding),
    ];
    for (headers, expected) in cases {
        assert_eq!(Request { headers, ..GET }.encode(), Err(expected.clone()), "{headers:?}");
    }
}

#[test]
fn an_error_says_what_to_do() {
    assert_eq!(
        InvalidRequest::ContentLength { stated: "9".to_owned(), body_bytes: 2 }.to_string(),
        "the header Content-Length says \"9\", but the body has 2 bytes; leave the header out"
    );
}

proptest! {
    #[test]
    fn whatever_is_encoded_is_one_request_with_the_given_parts(
        method in "[A-Z]{1,7}|\\PC{0,3}",
        target in "/[!-~]{0,20}|[\\x00-\\x7f]{0,6}",
        name in "[A-Za-z-]{1,10}|[\\x00-\\x7f]{1,4}",
        value in "[ -~\t]{0,20}|[\\x00-\\x7fä]{0,6}",
        body in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let headers = [(name.as_str(), value.as_str())];
        let encoded = Method::new(&method).and_then(|method| {
            Request { method, target: Target::Fixed(&target), headers: &headers, body: Body::Bytes(&body), ..GET }.encode()
        });
        if let Ok(bytes) = encoded {
            let mut parsed_headers = [httparse::EMPTY_HEADER; 8];
            let mut parsed = httparse::Request::new(&mut parsed_headers);
            let head_bytes = parsed.parse(&bytes).unwrap().unwrap();
            prop_assert_eq!(parsed.method, Some(method.as_str()));
            prop_assert_eq!(parsed.path, Some(target.as_str()));
            let given = parsed.headers.iter().find(|header| header.name == name).unwrap();
            prop_assert_eq!(given.value, value.trim_matches([' ', '\t']).as_bytes());
            prop_assert_eq!(&bytes[head_bytes..], body);
        }
    }
}

#[test]
fn a_request_of_http_1_0_says_so_and_names_its_host_all_the_same() {
    let request = Request { version: Version::Http10, ..GET };
    assert!(encoded(&request).starts_with("GET / HTTP/1.0\r\nHost: localhost:8080\r\n"));
}
