//! What every backend does, each test on each of them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use loadcurve_plan::Nanos;
use loadcurve_record::Failure;
use rustix::net::{AddressFamily, SocketType, sockopt};

use crate::clock;
use crate::io::epoll::Epoll;
use crate::io::route::Route;
use crate::io::uring::Uring;
use crate::io::{EVENTS_PER_TURN, Event, Io, Notify, Slot};

mod failures;
mod sending;
mod ways;

use sending::{
    a_send_that_is_to_be_reported_is_reported_once_when_all_of_it_is_taken,
    bytes_are_sent_in_order_even_where_earlier_ones_still_wait,
    closing_while_bytes_wait_to_be_sent_is_seen_by_the_peer,
    many_sends_that_are_reported_leave_room_in_a_turn_for_what_arrives,
    what_the_peer_says_before_it_ends_the_connection_comes_before_the_failure_to_send,
    what_was_sent_last_leaves_before_the_backend_ends,
    what_was_sent_last_leaves_before_the_connection_is_closed,
};
use ways::{
    a_connection_through_a_proxy_is_made_when_that_has_opened_the_tunnel,
    a_connection_waits_for_room_in_the_queue_of_a_unix_socket, a_path_at_which_nobody_listens_refuses,
    a_proxy_that_opens_no_tunnel_refuses_the_connection, bytes_travel_over_a_unix_socket_in_both_directions,
    connections_go_to_several_addresses_in_turn, one_that_waits_is_refused_when_the_server_ends,
    the_header_of_a_proxy_comes_first_and_names_both_ends,
};

/// Longer than any test takes, even on a busy machine.
const PATIENCE: Nanos = Nanos::from_millis(60_000);
/// Longer than anything takes that has already happened on the other side of the loopback interface.
const SHORT: Nanos = Nanos::from_millis(20);
/// More than the sockets of both sides hold.
const TOO_MANY_BYTES: usize = 32 << 20;

/// A backend that a test can make.
trait Backend: Io + Sized {
    fn along(route: Route, slots: usize) -> Result<Self, String>;

    fn open(address: SocketAddr, slots: usize) -> Result<Self, String> {
        Self::along(Route::to(address), slots)
    }
}

impl Backend for Epoll {
    fn along(route: Route, slots: usize) -> Result<Self, String> {
        Self::new(route, slots).map_err(|errno| errno.to_string())
    }
}

impl Backend for Uring {
    fn along(route: Route, slots: usize) -> Result<Self, String> {
        Self::new(route, slots).map_err(|unavailable| unavailable.to_string())
    }
}

/// Makes of each test one for every backend; that of a backend which this kernel does not offer says so and ends.
macro_rules! on_each_backend {
    ($($test:ident,)*) => {
        on_each_backend!(epoll, crate::io::epoll::Epoll, $($test)*);
        on_each_backend!(uring, crate::io::uring::Uring, $($test)*);
    };
    ($name:ident, $backend:ty, $($test:ident)*) => {
        mod $name {
            $(
                #[test]
                fn $test() {
                    match <$backend as super::Backend>::open(super::refusing_address().1, 1) {
                        Ok(_) => super::$test::<$backend>(),
                        Err(unavailable) => eprintln!("skipped: {unavailable}"),
                    }
                }
            )*
        }
    };
}

on_each_backend! {
    a_connection_is_established_once,
    a_closed_port_refuses,
    a_connection_that_is_not_accepted_can_be_closed,
    a_syn_that_is_dropped_is_sent_again_and_counted_until_the_connection_is_closed,
    bytes_arrive_in_both_directions,
    bytes_are_sent_in_order_even_where_earlier_ones_still_wait,
    a_send_that_is_to_be_reported_is_reported_once_when_all_of_it_is_taken,
    many_sends_that_are_reported_leave_room_in_a_turn_for_what_arrives,
    what_the_peer_says_before_it_ends_the_connection_comes_before_the_failure_to_send,
    what_was_sent_last_leaves_before_the_backend_ends,
    what_was_sent_last_leaves_before_the_connection_is_closed,
    a_turn_stays_short_however_many_bytes_wait_and_the_next_turns_deliver_the_rest,
    a_turn_delivers_a_limited_number_of_events_and_the_next_turns_the_rest,
    connections_whose_bytes_never_end_hold_up_no_other,
    bytes_in_front_of_the_end_come_first,
    bytes_in_front_of_a_reset_do_not_hide_it,
    closing_is_seen_by_the_peer_at_once,
    closing_while_bytes_wait_to_be_sent_is_seen_by_the_peer,
    ending_the_backend_closes_every_connection,
    a_slot_that_is_used_again_hears_nothing_of_its_earlier_connection,
    many_connections_each_get_their_own_answers,
    a_wait_ends_when_it_shall,
    a_look_costs_what_it_lasts_and_ends_when_it_shall_or_when_something_arrives,
    bytes_travel_over_a_unix_socket_in_both_directions,
    a_path_at_which_nobody_listens_refuses,
    a_connection_waits_for_room_in_the_queue_of_a_unix_socket,
    one_that_waits_is_refused_when_the_server_ends,
    connections_go_to_several_addresses_in_turn,
    the_header_of_a_proxy_comes_first_and_names_both_ends,
    a_connection_through_a_proxy_is_made_when_that_has_opened_the_tunnel,
    a_proxy_that_opens_no_tunnel_refuses_the_connection,
}

/// An event that has been taken out of the backend.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Connected,
    ConnectFailed(Failure),
    Received(Vec<u8>),
    TookAll,
    Closed,
    Broken(Failure),
}

fn next(io: &mut impl Io) -> Option<(Slot, Taken)> {
    let (slot, event) = io.next()?;
    let taken = match event {
        Event::Connected => Taken::Connected,
        Event::ConnectFailed(failure) => Taken::ConnectFailed(failure),
        Event::Received(bytes) => Taken::Received(bytes.to_vec()),
        Event::Written => Taken::TookAll,
        Event::Closed => Taken::Closed,
        Event::Broken(failure) => Taken::Broken(failure),
    };
    Some((slot, taken))
}

/// The next event, in this turn or a later one.
fn await_event(io: &mut impl Io) -> (Slot, Taken) {
    let end = clock::now() + PATIENCE;
    let mut now = clock::now();
    loop {
        if let Some(event) = next(io) {
            return event;
        }
        assert!(now < end, "nothing happens");
        now = io.wait(end);
    }
}

/// All bytes until the first event that is something else, with that event.
fn await_bytes(io: &mut impl Io) -> (Vec<u8>, Taken) {
    let mut bytes = Vec::new();
    loop {
        match await_event(io).1 {
            Taken::Received(received) => bytes.extend(received),
            other => return (bytes, other),
        }
    }
}

/// Lets turns pass until the peer has read `count` bytes.
fn read_exactly(io: &mut impl Io, peer: &mut TcpStream, count: usize) -> Vec<u8> {
    peer.set_nonblocking(true).unwrap();
    let mut bytes = vec![0; count];
    let mut read = 0;
    while read < count {
        match peer.read(&mut bytes[read..]) {
            Ok(0) => panic!("the connection ended after {read} bytes"),
            Ok(more) => read += more,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        io.wait(clock::now() + Nanos::from_millis(1));
        assert_eq!(next(io), None);
    }
    bytes
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    // Beyond the queue of 128 the kernel answers with SYN cookies, of which it takes some for false and resets the connection.
    rustix::net::listen(&listener, 1024).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address that refuses connections as long as the socket lives, which is bound to it and does not listen.
fn refusing_address() -> (rustix::fd::OwnedFd, SocketAddr) {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = rustix::net::getsockname(&socket).unwrap();
    (socket, address.try_into().unwrap())
}

/// A backend with one connection, and its peer.
fn connected<I: Backend>() -> (I, TcpStream) {
    let (listener, address) = listener();
    let mut io = I::open(address, 1).unwrap();
    let peer = connect(&mut io, 0, &listener);
    (io, peer)
}

fn connect(io: &mut impl Io, slot: Slot, listener: &TcpListener) -> TcpStream {
    io.connect(slot).unwrap();
    assert_eq!(await_event(io), (slot, Taken::Connected));
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(Duration::from_nanos(PATIENCE.0))).unwrap();
    peer
}

/// Closes a connection so that its peer meets a reset (socket(7)).
fn reset(peer: TcpStream) {
    sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
    drop(peer);
}

fn a_connection_is_established_once<I: Backend>() {
    let (mut io, _peer) = connected::<I>();
    io.wait(clock::now() + SHORT);
    assert_eq!(next(&mut io), None);
}

fn a_closed_port_refuses<I: Backend>() {
    let (_socket, address) = refusing_address();
    let mut io = I::open(address, 1).unwrap();
    for _ in 0..2 {
        // A backend may know it at once or report it later.
        if let Err(failure) = io.connect(0) {
            assert_eq!(failure, Failure::ConnectRefused);
        } else {
            assert_eq!(await_event(&mut io), (0, Taken::ConnectFailed(Failure::ConnectRefused)));
        }
        io.close(0);
    }
}

/// A listener whose queue is full until its one connection, which is also returned, is accepted.
fn full_listener() -> (TcpListener, SocketAddr, TcpStream) {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    // A listen queue of length 0 holds one connection; the next one's first packet is dropped.
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let first = TcpStream::connect(address).unwrap();
    (listener, address, first)
}

fn a_connection_that_is_not_accepted_can_be_closed<I: Backend>() {
    let (_listener, address, _first) = full_listener();
    let mut io = I::open(address, 1).unwrap();
    for _ in 0..2 {
        io.connect(0).unwrap();
        io.wait(clock::now() + SHORT);
        assert_eq!(next(&mut io), None);
        io.close(0);
        io.wait(clock::now() + SHORT);
        assert_eq!(next(&mut io), None);
    }
}

fn a_syn_that_is_dropped_is_sent_again_and_counted_until_the_connection_is_closed<I: Backend>() {
    let (listener, address, _first) = full_listener();
    let mut io = I::open(address, 1).unwrap();
    assert_eq!(io.retransmits(0), None, "nothing is known of a connection before there is one");
    let start = io.wait(Nanos::ZERO);
    io.connect(0).unwrap();
    let mut now = start;
    let seen = loop {
        assert!(now - start < PATIENCE, "the SYN is not sent again");
        now = io.wait(now + SHORT);
        assert_eq!(next(&mut io), None);
        let seen = io.retransmits(0);
        if seen > Some(0) {
            break seen;
        }
    };
    // The first timeout is a second (RFC 6298, section 2.1); the kernel counts it in ticks of at most 10 ms.
    assert!(now - start >= Nanos::from_millis(990), "sent again after {:?}", now - start);
    listener.accept().unwrap();
    assert_eq!(await_event(&mut io), (0, Taken::Connected));
    assert!(io.retransmits(0) >= seen);
    io.close(0);
    assert_eq!(io.retransmits(0), None);
    // A connection that is established at once has sent nothing again, in the same slot.
    listener.accept().unwrap();
    let _peer = connect(&mut io, 0, &listener);
    assert_eq!(io.retransmits(0), Some(0));
}

fn bytes_arrive_in_both_directions<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    for round in 0..100_u8 {
        io.send(0, &[round, 1], Notify::Never).unwrap();
        io.send(0, &[2], Notify::Never).unwrap();
        assert_eq!(read_exactly(&mut io, &mut peer, 3), [round, 1, 2]);
        peer.write_all(&[round; 5]).unwrap();
        let mut received = Vec::new();
        while received.len() < 5 {
            let (0, Taken::Received(bytes)) = await_event(&mut io) else { panic!("bytes were expected") };
            received.extend(bytes);
        }
        assert_eq!(received, [round; 5]);
    }
}

fn a_turn_stays_short_however_many_bytes_wait_and_the_next_turns_deliver_the_rest<I: Backend>() {
    // An event is good for one read of at most 64 KiB.
    const MOST_BYTES_OF_A_TURN: usize = EVENTS_PER_TURN * 64 * 1024;
    let (mut io, mut peer) = connected::<I>();
    peer.set_nonblocking(true).unwrap();
    // The peer writes until the sockets of both sides are full.
    let mut sent = 0;
    let error = loop {
        match peer.write(&[b'x'; 16_000]) {
            Ok(written) => sent += written,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(sent > 64 * 1024);
    let mut received = 0;
    while received < sent {
        io.wait(clock::now() + PATIENCE);
        let mut of_turn = 0;
        while let Some((_, event)) = io.next() {
            let Event::Received(bytes) = event else { panic!("{event:?}") };
            assert!(bytes.iter().all(|byte| *byte == b'x'));
            of_turn += bytes.len();
        }
        assert!(of_turn <= MOST_BYTES_OF_A_TURN, "{of_turn} bytes in one turn");
        received += of_turn;
    }
    assert_eq!(received, sent);
}

fn a_turn_delivers_a_limited_number_of_events_and_the_next_turns_the_rest<I: Backend>() {
    const CONNECTIONS: usize = EVENTS_PER_TURN * 4;
    let (listener, address) = listener();
    let mut io = I::open(address, CONNECTIONS).unwrap();
    let mut peers: Vec<_> = (0..CONNECTIONS).map(|slot| connect(&mut io, slot, &listener)).collect();
    for peer in &mut peers {
        peer.write_all(b"x").unwrap();
    }
    let mut heard = vec![0; CONNECTIONS];
    while heard.contains(&0) {
        io.wait(clock::now() + PATIENCE);
        let mut events = 0;
        while let Some((slot, event)) = next(&mut io) {
            assert_eq!(event, Taken::Received(b"x".to_vec()));
            heard[slot] += 1;
            events += 1;
        }
        assert!(events <= EVENTS_PER_TURN, "{events} events");
    }
    assert_eq!(heard, [1; CONNECTIONS]);
}

fn connections_whose_bytes_never_end_hold_up_no_other<I: Backend>() {
    // More than have an event in a turn.
    const ENDLESS: usize = EVENTS_PER_TURN + 8;
    const TURNS: usize = 100;
    // What is done with the bytes takes longer than it takes to send as many again.
    const HANDLING: Nanos = Nanos(100_000);
    let (listener, address) = listener();
    let mut io = I::open(address, ENDLESS + 2).unwrap();
    let mut quiet = connect(&mut io, ENDLESS, &listener);
    let peers: Vec<_> = (0..ENDLESS).map(|slot| connect(&mut io, slot, &listener)).collect();
    let endless = |mut peer: TcpStream| {
        let bytes = vec![0; 64 * 1024];
        std::thread::spawn(move || while peer.write_all(&bytes).is_ok() {})
    };
    let floods: Vec<_> = peers.into_iter().map(endless).collect();
    let mut heard = [false; ENDLESS];
    let mut missing = vec![(ENDLESS, Taken::Received(b"x".to_vec())), (ENDLESS + 1, Taken::Connected)];
    for turn in 0..TURNS {
        if turn == TURNS / 4 {
            quiet.write_all(b"x").unwrap();
            io.connect(ENDLESS + 1).unwrap();
        }
        io.wait(clock::now() + PATIENCE);
        while let Some((slot, event)) = next(&mut io) {
            match heard.get_mut(slot) {
                Some(heard) => *heard = true,
                None => missing.retain(|(at, one)| (*at, one) != (slot, &event)),
            }
            clock::spin_until(clock::now() + HANDLING);
        }
    }
    assert_eq!((heard, missing), ([true; ENDLESS], vec![]));
    drop(io);
    for flood in floods {
        flood.join().unwrap();
    }
}

fn bytes_in_front_of_the_end_come_first<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    let bytes = vec![b'x'; 100_000];
    peer.write_all(&bytes).unwrap();
    drop(peer);
    assert_eq!(await_bytes(&mut io), (bytes, Taken::Closed));
}

fn bytes_in_front_of_a_reset_do_not_hide_it<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    peer.write_all(b"half an answer").unwrap();
    reset(peer);
    // The kernel may discard what was not yet received.
    let (bytes, end) = await_bytes(&mut io);
    assert!(b"half an answer".starts_with(&bytes));
    assert_eq!(end, Taken::Broken(Failure::Reset));
}

fn closing_is_seen_by_the_peer_at_once<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    io.close(0);
    // No turn follows, and still the end arrives.
    assert_eq!(peer.read(&mut [0; 1]).unwrap(), 0);
    io.wait(clock::now() + SHORT);
    assert_eq!(next(&mut io), None);
}

fn ending_the_backend_closes_every_connection<I: Backend>() {
    let (listener, address) = listener();
    let mut io = I::open(address, 3).unwrap();
    let peers: Vec<_> = (0..3).map(|slot| connect(&mut io, slot, &listener)).collect();
    drop(io);
    for mut peer in peers {
        assert_eq!(peer.read(&mut [0; 1]).unwrap(), 0);
    }
}

fn a_slot_that_is_used_again_hears_nothing_of_its_earlier_connection<I: Backend>() {
    let (listener, address) = listener();
    let mut io = I::open(address, 2).unwrap();
    let mut first = connect(&mut io, 0, &listener);
    let mut other = connect(&mut io, 1, &listener);
    for _ in 0..50 {
        // Bytes of both connections have arrived, one of them is delivered, and then slot 0 is connected anew.
        first.write_all(b"late").unwrap();
        other.write_all(b"kept").unwrap();
        io.send(0, b"sent", Notify::WhenWritten).unwrap();
        io.wait(clock::now() + PATIENCE);
        let mut kept = Vec::new();
        if let Some((1, Taken::Received(bytes))) = next(&mut io) {
            kept.extend(bytes);
        }
        io.close(0);
        reset(first);
        io.connect(0).unwrap();
        io.send(0, b"", Notify::Never).unwrap();
        let mut is_connected = false;
        while !is_connected || kept.len() < 4 {
            match await_event(&mut io) {
                (0, Taken::Connected) => is_connected = true,
                (1, Taken::Received(bytes)) => kept.extend(bytes),
                late => panic!("{late:?} of an earlier connection"),
            }
        }
        assert_eq!(kept, b"kept");
        first = listener.accept().unwrap().0;
    }
}

fn many_connections_each_get_their_own_answers<I: Backend>() {
    const CONNECTIONS: usize = 300;
    const ANSWER_BYTES: usize = 50_000;
    let (listener, address) = listener();
    let echo = std::thread::spawn(move || {
        let serve = |mut stream: TcpStream| {
            let mut slot = [0; 2];
            while stream.read_exact(&mut slot).is_ok() {
                stream.write_all(&slot.repeat(ANSWER_BYTES / 2)).unwrap();
            }
        };
        let served: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let stream = listener.accept().unwrap().0;
                std::thread::spawn(move || serve(stream))
            })
            .collect();
        for connection in served {
            connection.join().unwrap();
        }
    });
    let mut io = I::open(address, CONNECTIONS).unwrap();
    let mut received = vec![0; CONNECTIONS];
    let question = |slot: Slot| u16::try_from(slot).unwrap().to_be_bytes();
    for slot in 0..CONNECTIONS {
        io.connect(slot).unwrap();
    }
    // Two questions on each connection, one after the other.
    while received.iter().any(|bytes| *bytes < 2 * ANSWER_BYTES) {
        match await_event(&mut io) {
            (slot, Taken::Connected) => io.send(slot, &question(slot), Notify::Never).unwrap(),
            (slot, Taken::Received(bytes)) => {
                for byte in bytes {
                    assert_eq!(byte, question(slot)[received[slot] % 2], "slot {slot}");
                    received[slot] += 1;
                }
                if received[slot] == ANSWER_BYTES {
                    io.send(slot, &question(slot), Notify::Never).unwrap();
                }
            }
            (slot, other) => panic!("{other:?} on slot {slot}"),
        }
    }
    assert_eq!(received, [2 * ANSWER_BYTES; CONNECTIONS]);
    drop(io);
    echo.join().unwrap();
}

fn a_look_costs_what_it_lasts_and_ends_when_it_shall_or_when_something_arrives<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    let begun = clock::now();
    let in_vain = io.look(begun + Nanos::from_millis(2), Nanos::ZERO);
    let ended = clock::now();
    assert!(in_vain.now >= begun + Nanos::from_millis(2) && in_vain.now <= ended);
    // Between two looks the kernel is asked, or the clock read: a look costs all but that.
    assert!(in_vain.spent + in_vain.lost <= in_vain.now - begun, "{in_vain:?}");
    assert!(in_vain.spent + in_vain.lost > Nanos::ZERO, "{in_vain:?}");
    assert_eq!(next(&mut io), None);
    peer.write_all(b"ok").unwrap();
    let found = io.look(clock::now() + PATIENCE, Nanos(10_000));
    assert!(found.now <= clock::now());
    assert_eq!(next(&mut io), Some((0, Taken::Received(b"ok".to_vec()))));
}

fn a_wait_ends_when_it_shall<I: Backend>() {
    let (mut io, _peer) = connected::<I>();
    let start = io.wait(Nanos::ZERO);
    for length in [Nanos::ZERO, Nanos(50_000), Nanos::from_millis(2)] {
        let now = clock::now();
        let end = io.wait(now + length);
        assert!(end >= now + length, "a wait of {length:?} took {:?}", end - now);
    }
    assert!(clock::now() - start < PATIENCE);
}
