//! What each kind answers over sockets, request by request.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use loadcurve_servers::http::{Answer, Content, HttpDate, Status};
use rustix::net::sockopt::set_socket_send_buffer_size;

use crate::cases::{CASES, Connection};
use crate::folder::{Folder, bytes_of, unused_place};
use crate::process::{KINDS, Server};

const GET: &[u8] = b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n";

/// The time of day, which the file system knows.
fn now() -> SystemTime {
    let file = unused_place(Path::new(env!("CARGO_TARGET_TMPDIR")));
    fs::write(&file, "").unwrap();
    let now = fs::metadata(&file).unwrap().modified().unwrap();
    fs::remove_file(&file).unwrap();
    now
}

#[test]
fn every_kind_answers_every_case_and_then_keeps_or_closes_the_connection() {
    for kind in KINDS {
        let server = Server::start(kind, &[]);
        for case in CASES {
            let context = format!("{kind}: {}", case.name);
            let mut client = server.send(case.request);
            let response = client.next(case.is_head());
            response.assert_is(case.answer, &context);
            let closes = kind == "simple" || case.connection == Connection::Closes;
            let connection = if closes { "close" } else { "keep-alive" };
            assert_eq!(response.field("Connection"), Some(connection), "{context}");
            if closes {
                assert!(client.is_at_end(), "{context}");
            } else {
                client.stream.write_all(GET).unwrap();
                assert_eq!(client.next(false).body, bytes_of("a.txt"), "{context}");
            }
        }
    }
}

#[test]
fn an_answer_names_the_type_of_its_file() {
    let server = Server::start("simple", &[]);
    for (target, expected) in [
        ("/a.txt", "text/plain"),
        ("/", "text/html"),
        ("/picture.PNG", "image/png"),
        ("/link-inside", "application/octet-stream"),
    ] {
        let response = server.send(format!("GET {target} HTTP/1.0\r\n\r\n")).next(false);
        assert_eq!(response.field("Content-Type"), Some(expected));
    }
}

#[test]
fn an_answer_has_the_date_of_its_time() {
    let server = Server::start("simple", &[]);
    let before = now();
    let response = server.send(GET).next(false);
    let after = now();
    let seconds = after.duration_since(before).unwrap().as_secs() + 1;
    let expected = (0..=seconds).map(|second| HttpDate(before + Duration::from_secs(second)).to_string());
    let date = response.field("Date").unwrap();
    assert!(
        expected.clone().any(|expected| expected == date),
        "{date}, not {:?}",
        expected.collect::<Vec<_>>()
    );
}

#[test]
fn an_answer_whose_file_has_become_shorter_is_not_taken_for_a_whole_one() {
    let folder = Folder::at(unused_place(Path::new(env!("CARGO_TARGET_TMPDIR")))).unwrap();
    let file = File::open(folder.root().join("a.txt")).unwrap();
    let length_bytes = bytes_of("a.txt").len() as u64 + 1;
    let content = Content { length_bytes, media_type: "text/plain", file: Some(file) };
    let answer = Answer { status: Status::Ok, content: Some(content), keeps_connection: true };
    let error = answer.write_to(&mut Vec::new(), now()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_refused_client_reads_its_answer_although_it_sends_much_more() {
    let content = vec![b'x'; 512 * 1024];
    let head = format!("PUT /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", content.len());
    for kind in KINDS {
        let server = Server::start(kind, &[]);
        let mut client = server.connect();
        // So that writing ends only when the server reads.
        set_socket_send_buffer_size(&client.stream, 4096).unwrap();
        client.stream.write_all(head.as_bytes()).unwrap();
        client.stream.write_all(&content).unwrap();
        assert_eq!(client.next(false).status, 405, "{kind}");
        assert!(client.is_at_end(), "{kind}");
    }
}
