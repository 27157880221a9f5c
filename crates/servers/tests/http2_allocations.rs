//! In the steady state a request of HTTP/2 costs `limit` no allocation, whether it equals the one before or not.

use loadcurve_servers::http2::{Connection, Fate, Output, PREFACE, Service};
use loadcurve_servers::reply::{Content, Reply};
use loadcurve_wire::h2::frame::{self, flag, kind};

#[path = "../../wire/tests/support/allocations.rs"]
mod counting;

const STREAMS: u32 = 100;
const FILES: u32 = 7;

struct Memory(Content);

impl Service for Memory {
    fn reply(&mut self, method: &[u8], target: &[u8]) -> Reply {
        Reply::to(method, target, &self.0)
    }

    fn fate(&mut self) -> Fate {
        Fate::default()
    }
}

/// As many requests as there may be streams, from stream `id` on, for this number of files in turn.
fn write_requests(id: u32, files: u32, to: &mut Vec<u8>) {
    to.clear();
    for number in 0..STREAMS {
        // GET, http, and a literal path that goes into no table.
        let file = b'0' + u8::try_from(number % files).unwrap();
        let block = [0x82, 0x86, 0x04, 2, b'/', file];
        let flags = flag::END_HEADERS | flag::END_STREAM;
        frame::write(kind::HEADERS, flags, id + 2 * number, &block, to);
    }
}

#[test]
fn a_request_allocates_nothing_once_the_connection_has_its_memory() {
    let content = (0..FILES).map(|file| (format!("/{file}"), vec![b'x'; 1024].into())).collect();
    let mut memory = Memory(content);
    for files in [1, FILES] {
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        let mut server = Connection::open(&mut answers);
        requests.extend_from_slice(PREFACE);
        frame::write(kind::SETTINGS, 0, 0, &[], &mut requests);
        frame::write(kind::WINDOW_UPDATE, 0, 0, &0x7f00_0000_u32.to_be_bytes(), &mut requests);
        let mut turn = |requests: &[u8], answers: &mut Vec<u8>| {
            answers.clear();
            let mut output = Output { bytes: answers, most_bytes: 1 << 20 };
            assert_eq!(server.receive(requests, &mut memory, &mut output), requests.len());
        };
        turn(&requests, &mut answers);
        let mut id = 1;
        let mut before = 0;
        for number in 0..50 {
            if number == 10 {
                before = counting::allocations();
            }
            write_requests(id, files, &mut requests);
            turn(&requests, &mut answers);
            assert!(answers.len() > 100 * 1024, "all are answered");
            id += 2 * STREAMS;
        }
        assert_eq!(counting::allocations() - before, 0, "{files} files");
    }
}
