//! Requests that are sent before the earlier ones are answered.

use std::io::Write;
use std::path::Path;

use loadcurve_servers::site::Site;

use crate::cases::Answer;
use crate::folder::{FILES, Folder, unused_place};
use crate::memory::{PERSISTENT, PIPELINED, writes};
use crate::process::Server;
use crate::response::Responses;

const BURST: usize = 16;

/// The files that a burst asks for: each next to other ones, so that answers out of order are found.
fn burst() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name).cycle().take(BURST)
}

fn burst_bytes() -> Vec<u8> {
    let request = |name: &str| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", name.replace(' ', "%20"));
    burst().map(request).collect::<String>().into_bytes()
}

#[test]
fn a_burst_is_answered_in_order_however_it_is_split() {
    let bytes = burst_bytes();
    // `persistent` reads one request after another, which is all that HTTP asks of a server.
    for kind in ["persistent", "pipelined"] {
        let server = Server::start(kind, &[]);
        for piece_bytes in [bytes.len(), 1, 7, 100] {
            let mut client = server.connect();
            client.stream.set_nodelay(true).unwrap();
            for piece in bytes.chunks(piece_bytes) {
                client.stream.write_all(piece).unwrap();
            }
            for name in burst() {
                let context = format!("{kind}: {name} in pieces of {piece_bytes}");
                client.next(false).assert_is(Answer::File(name), &context);
            }
        }
    }
}

#[test]
fn a_burst_that_is_longer_than_the_buffer_is_answered_piece_by_piece() {
    let server = Server::start("pipelined", &["--buffer-bytes", "100"]);
    let mut client = server.send(burst_bytes());
    for name in burst() {
        client.next(false).assert_is(Answer::File(name), name);
    }
}

#[test]
fn simple_answers_only_the_first_of_a_burst() {
    let server = Server::start("simple", &[]);
    let mut client = server.send(burst_bytes());
    client.next(false).assert_is(Answer::File(FILES[0].0), "the first");
    assert!(client.is_at_end());
}

#[test]
fn nothing_behind_a_last_request_is_answered() {
    for kind in ["persistent", "pipelined"] {
        let server = Server::start(kind, &[]);
        let mut client = server.send("GET /a.txt HTTP/1.0\r\n\r\nGET /empty.txt HTTP/1.0\r\n\r\n");
        client.next(false).assert_is(Answer::File("a.txt"), kind);
        assert!(client.is_at_end(), "{kind}");
    }
}

#[test]
fn the_answers_to_a_burst_are_written_together_by_pipelined_and_one_by_one_by_persistent() {
    let folder = Folder::at(unused_place(Path::new(env!("CARGO_TARGET_TMPDIR")))).unwrap();
    let site = Site::open(&folder.root()).unwrap();
    let bytes = burst_bytes();
    let writes_of = |serve_client| writes(serve_client, &site, [bytes.as_slice()], bytes.len());
    assert_eq!(writes_of(PIPELINED).len(), 1);
    let one_by_one = writes_of(PERSISTENT);
    assert_eq!(one_by_one.len(), BURST);
    for (answer, name) in one_by_one.iter().zip(burst()) {
        Responses::of(answer.as_slice()).next(false).assert_is(Answer::File(name), name);
    }
}
