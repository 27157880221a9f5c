//! A process for each client, and none left behind.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::cases::Answer;
use crate::folder::LARGE;
use crate::process::{KINDS, Server, eventually, handle_of, wait_for_the_end};

const CLIENTS: usize = 200;
const GET: &[u8] = b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn two_hundred_clients_at_once_are_each_answered_by_a_process_of_their_own() {
    for kind in KINDS {
        let server = Server::start(kind, &[]);
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
        eventually("each client has a process", || server.children().len() == CLIENTS);
        for client in &mut clients {
            client.stream.write_all(GET).unwrap();
        }
        for client in &mut clients {
            client.next(false).assert_is(Answer::File("a.txt"), kind);
        }
        drop(clients);
        eventually("no process is left, not even a zombie", || server.children().is_empty());
    }
}

#[test]
fn a_server_takes_the_processes_of_its_clients_along_however_it_ends() {
    for kind in KINDS {
        // An interrupt is not among them: what a shell runs in the background inherits that it is ignored.
        for signal in [Signal::TERM, Signal::KILL] {
            // Nothing but the end of the server shall end them.
            let mut server = Server::start(kind, &["--idle-timeout-s", "3600"]);
            let mut clients: Vec<_> = (0..3).map(|_| server.connect()).collect();
            eventually("each client has a process", || server.children().len() == clients.len());
            let processes: Vec<_> = server.children().into_iter().map(handle_of).collect();
            assert_eq!(server.end(signal).signal(), Some(signal.as_raw()), "{kind}");
            for process in &processes {
                wait_for_the_end(process);
            }
            for client in &mut clients {
                assert!(client.is_at_end(), "{kind}");
            }
        }
    }
}

#[test]
fn the_port_is_free_as_soon_as_the_server_has_ended_even_for_one_with_clients() {
    // An address of this process alone, so that nobody else takes the port in between.
    let [.., high, low] = std::process::id().to_be_bytes();
    let address = format!("127.77.{high}.{low}");
    for kind in KINDS {
        let mut server = Server::start_at(&format!("{address}:0"), kind, &[]);
        let mut client = server.send(GET);
        client.next(false);
        server.end(Signal::TERM);
        let again = Server::start_at(&server.address.to_string(), kind, &[]);
        assert_eq!(again.send(GET).next(false).status, 200, "{kind}");
    }
}

#[test]
fn a_client_that_goes_away_harms_nobody_else() {
    for kind in KINDS {
        let server = Server::start(kind, &[]);
        for bytes in ["", "GET /a", &format!("GET /{LARGE} HTTP/1.1\r\nHost: a\r\n\r\n")] {
            drop(server.send(bytes));
        }
        assert_eq!(server.send(GET).next(false).status, 200, "{kind}");
        eventually("no process is left", || server.children().is_empty());
    }
}

#[test]
fn a_lack_of_descriptors_delays_a_client_and_no_more() {
    let mut server = Server::start("simple", &[]);
    let descriptors = format!("/proc/{}/fd", server.pid());
    let first_free = (0..1024).find(|descriptor| !Path::new(&format!("{descriptors}/{descriptor}")).exists());
    let limit = Rlimit { current: first_free, ..getrlimit(Resource::Nofile) };
    let before = prlimit(Some(server.pid()), Resource::Nofile, limit).unwrap();
    let mut client = server.send(GET);
    assert!(server.complaint().contains("Too many open files"));
    prlimit(Some(server.pid()), Resource::Nofile, before).unwrap();
    client.next(false).assert_is(Answer::File("a.txt"), "once there are descriptors again");
}
