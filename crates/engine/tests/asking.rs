//! A few requests outside of a load, against peers whose every byte is scripted.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{JoinHandle, spawn};

use loadcurve_engine::{Answer, Begins, CallEnd, StartError, Unanswered, ask, start, start_to_begin};
use loadcurve_plan::{Body, Grpc, HttpLoad, HttpVersion, IoChoice, Messages, Request, Requests, Tls, Verify};
use loadcurve_record::Failure;
use plans::get;

#[path = "load/support/plans.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod plans;

/// What the plans ask for.
const IO: IoChoice = IoChoice::Epoll;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const FRAME_HEADER_BYTES: usize = 9;

fn plan(address: SocketAddr, http: HttpVersion, requests: Vec<Request>) -> HttpLoad {
    let plan = plans::closed(address, 1, 1).with(|work| {
        work.authority = "server.example".into();
        work.http = http;
        work.requests = Requests::Given(requests);
    });
    HttpLoad { timeout_s: 10.0, ..plan }
}

/// What a peer does on one connection.
#[derive(Clone)]
enum Step {
    /// Reads up to these bytes.
    Read(&'static [u8]),
    /// Reads frames up to one of this type.
    ReadFrame(u8),
    Write(Vec<u8>),
    Close,
}

use Step::{Close, Read as ReadTo, ReadFrame, Write as WriteAll};

/// A peer of these connections, one after the other, which stay open until the other side closes them; gives what each of
/// them has read by then.
fn peer(connections: Vec<Vec<Step>>) -> (SocketAddr, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move |steps| follow(&mut listener.accept().unwrap().0, steps);
    (address, spawn(move || connections.into_iter().map(serve).collect()))
}

fn follow(stream: &mut TcpStream, steps: Vec<Step>) -> Vec<u8> {
    let mut read = Vec::new();
    let more = |stream: &mut TcpStream, read: &mut Vec<u8>, bytes: usize| {
        let start = read.len();
        read.resize(start + bytes, 0);
        stream.read_exact(&mut read[start..]).unwrap();
    };
    for step in steps {
        match step {
            Step::Read(end) => {
                while !read.ends_with(end) {
                    more(stream, &mut read, 1);
                }
            }
            ReadFrame(kind) => loop {
                let start = read.len();
                more(stream, &mut read, FRAME_HEADER_BYTES);
                let length = usize::from(read[start + 1]) << 8 | usize::from(read[start + 2]);
                let found = read[start + 3];
                more(stream, &mut read, length);
                if found == kind {
                    break;
                }
            },
            Step::Write(bytes) => stream.write_all(&bytes).unwrap(),
            Close => stream.shutdown(Shutdown::Write).unwrap(),
        }
    }
    // What is left is read, so that the close is no reset.
    let _ = std::io::copy(stream, &mut std::io::sink());
    read
}

type Asked = (Vec<Result<Answer, Unanswered>>, Vec<Vec<u8>>);

/// What becomes of the requests of a plan, and the bodies of the answers.
fn asked(plan: &HttpLoad) -> Result<Asked, StartError> {
    let Requests::Given(given) = &plan.work.requests else { panic!("they are given") };
    let mut bodies = vec![Vec::new(); given.len()];
    let outcomes = ask(plan, &mut |place, part| bodies[place].extend_from_slice(part), &|| false)?;
    Ok((outcomes, bodies))
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len().try_into().unwrap(), kind, flags, 0, 0, 0, stream], payload].concat()
}

fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[test]
fn a_call_of_grpc_is_answered_with_its_trailers_however_late_they_come() {
    let agreeing = vec![ReadTo(PREFACE), WriteAll(SETTINGS.to_vec())];
    // A literal without a table: its name and its value behind their lengths (RFC 7541, 6.2.2).
    let trailers = b"\x00\x0bgrpc-status\x015\x00\x0cgrpc-message\x07no%20id";
    let begin = [frame(1, 0x4, 1, &[0x88]), frame(0, 0, 1, &[0; 5]), frame(6, 0, 0, &[0; 8])].concat();
    // The ping is answered when what came before it has been read.
    let answering = vec![ReadFrame(0), WriteAll(begin), ReadFrame(6), WriteAll(frame(1, 0x5, 1, trailers))];
    let (address, peer) = peer(vec![agreeing.clone(), [agreeing, answering].concat()]);
    let plan = plan(address, HttpVersion::Http2, vec![get("/a.B/C")])
        .with(|http| http.messages = Some(Messages::Grpc(Grpc::default())));
    let (outcomes, _) = asked(&plan).unwrap();
    let end = CallEnd { status: "NOT_FOUND", code: 5, text: Some("no id".into()) };
    assert_eq!(outcomes, [Ok(Answer { status: 200, body_bytes: 5, call: Some(end) })]);
    peer.join().unwrap();
}

/// What a peer of a load of one request reads on its only connection, after `looks` of them.
fn read_of_load(plan: &HttpLoad, looks: Vec<Vec<Step>>, steps: Vec<Step>) -> Vec<u8> {
    let (address, peer) = peer([looks, vec![steps]].concat());
    let result = start(&plan.clone().with(|http| http.address = address.into())).unwrap().finish();
    assert_eq!(result.requests.answered, 1);
    peer.join().unwrap().pop().unwrap()
}

#[test]
fn requests_of_http_1_are_those_of_the_load_and_their_answers_are_handed_out_by_request() {
    for http in [HttpVersion::Http10, HttpVersion::Http11] {
        let post = Request {
            method: "POST".into(),
            headers: vec![("X-Own".into(), "yes".into())],
            body: Body::Text("a=1".into()),
            ..get("/second")
        };
        let created = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nnew\r\n0\r\n\r\n";
        let first = vec![ReadTo(b"\r\n\r\n"), WriteAll(ok("first"))];
        let second = vec![ReadTo(b"a=1"), WriteAll(created.to_vec())];
        let (address, peer) = peer(vec![first, second.clone()]);
        let (outcomes, bodies) = asked(&plan(address, http, vec![get("/first"), post.clone()])).unwrap();
        let statuses: Vec<_> = outcomes.iter().map(|outcome| outcome.as_ref().unwrap().status).collect();
        assert_eq!((statuses, bodies), (vec![200, 201], vec![b"first".to_vec(), b"new".to_vec()]));
        let read = peer.join().unwrap();
        assert!(read[0].starts_with(b"GET /first HTTP/1."));
        assert_eq!(read[1], read_of_load(&plan(address, http, vec![post]), vec![], second));
    }
}

#[test]
fn requests_of_http_2_are_those_of_the_load_too_in_clear_text_with_prior_knowledge() {
    let padded = [&[2], b"hello".as_slice(), &[0, 0]].concat();
    let answer = [frame(1, 0x4, 1, &[0x88]), frame(0, 0x8, 1, &padded), frame(0, 0x1, 1, b" world")].concat();
    // The first connection is the look whether HTTP/2 is spoken at all.
    let look = vec![ReadTo(PREFACE), WriteAll(SETTINGS.to_vec())];
    let steps = [look.clone(), vec![ReadFrame(1), WriteAll(answer)]].concat();
    let (address, peer) = peer(vec![look.clone(), steps.clone()]);
    let plan = plan(address, HttpVersion::Http2, vec![get("/")]);
    let (outcomes, bodies) = asked(&plan).unwrap();
    let answered = Answer { status: 200, body_bytes: 11, call: None };
    assert_eq!((outcomes, bodies), (vec![Ok(answered)], vec![b"hello world".to_vec()]));
    assert_eq!(peer.join().unwrap()[1], read_of_load(&plan, vec![look], steps));
}

#[test]
fn where_http_2_is_asked_for_and_not_spoken_no_load_is_started() {
    let bad_request = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec();
    for (answer, part) in [
        (bad_request, "the server answered in HTTP/1.x; it does not speak HTTP/2 on this port"),
        (Vec::new(), "the server closed the connection before the handshake was complete"),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), "the server's first frame is not SETTINGS"),
    ] {
        for starts in [false, true] {
            // It is asked once more whether it speaks TLS, which it does not.
            let look = vec![ReadTo(PREFACE), WriteAll(answer.clone()), Close];
            let (address, peer) = peer(vec![look, vec![Close]]);
            let plan = plan(address, HttpVersion::Http2, vec![get("/")]);
            let refused = if starts { start(&plan).map(|_| ()) } else { asked(&plan).map(|_| ()) };
            let Err(StartError::Machine(text)) = refused else { panic!("{refused:?}") };
            let begin = format!("HTTP/2 in clear text failed with server.example: {part}");
            assert!(text.starts_with(&begin), "{text}");
            peer.join().unwrap();
        }
    }
}

#[test]
fn the_first_request_that_is_not_answered_is_the_last() {
    let cut_off = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel".to_vec();
    let steps = |answer| vec![ReadTo(b"\r\n\r\n"), WriteAll(answer), Close];
    let (address, peer) = peer(vec![steps(ok("first")), steps(cut_off)]);
    let requests = ["/first", "/second", "/third"].map(get).into();
    let (outcomes, bodies) = asked(&plan(address, HttpVersion::Http11, requests)).unwrap();
    peer.join().unwrap();
    let [Ok(_), Err(Unanswered { text, .. })] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(text.contains("after 3 of the 5 body bytes"), "{text}");
    assert_eq!(bodies[1], b"hel");
    // Nobody listens there any more.
    let plan = plan(address, HttpVersion::Http11, vec![get("/")]);
    let (outcomes, _) = asked(&plan).unwrap();
    let [Err(Unanswered { text, .. })] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(text.contains("the connection was refused"), "{text}");
}

#[test]
fn an_interrupted_request_is_waited_for_no_longer() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut plan = plan(listener.local_addr().unwrap(), HttpVersion::Http11, vec![get("/")]);
    plan.timeout_s = 3600.0;
    let outcomes = ask(&plan, &mut |_, _| (), &|| true).unwrap();
    assert!(matches!(outcomes.as_slice(), [Err(_)]), "{outcomes:?}");
}

#[test]
fn an_interrupted_look_is_waited_for_no_longer_and_starts_no_load() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let any = Tls { verify: Verify::None, ..Tls::of("localhost") };
    for (http, tls) in [(HttpVersion::Http11, Some(any)), (HttpVersion::Http2, None)] {
        let plan = plan(listener.local_addr().unwrap(), http, vec![get("/")]).with(|work| work.tls = tls);
        let plan = HttpLoad { timeout_s: 3600.0, ..plan };
        // It is interrupted when the server has been waited for.
        let looks = Cell::new(0);
        let is_interrupted = || looks.replace(looks.get() + 1) > 3;
        let started = start_to_begin(&plan, Begins::WhenReady, &is_interrupted);
        assert!(matches!(started, Err(StartError::Machine(_))), "{http:?}");
    }
}

#[test]
fn a_body_without_a_length_and_without_an_end_has_the_timeout_and_no_more() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let plan = plan(listener.local_addr().unwrap(), HttpVersion::Http11, vec![get("/")]);
    let plan = HttpLoad { timeout_s: 0.2, ..plan };
    let server = spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while stream.write_all(&vec![b'x'; 64 * 1024]).is_ok() {}
    });
    let (outcomes, bodies) = asked(&plan).unwrap();
    let [Err(Unanswered { failure: Failure::Timeout, text })] = outcomes.as_slice() else {
        panic!("{outcomes:?}")
    };
    // However much has come, it counts for no more time.
    assert_eq!(text, "no complete answer within 0.200 s");
    assert!(bodies[0].len() > 64 * 1024);
    server.join().unwrap();
}
