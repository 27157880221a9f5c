//! What is sent, when that is reported, and what becomes of it at an end.

use std::io::{Read, Write};

use loadcurve_record::Failure;

use super::{
    Backend, PATIENCE, SHORT, TOO_MANY_BYTES, Taken, await_bytes, await_event, connect, connected, listener,
    next, read_exactly,
};
use crate::clock;
use crate::io::{EVENTS_PER_TURN, Notify};

pub(super) fn a_send_that_is_to_be_reported_is_reported_once_when_all_of_it_is_taken<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    let mut sent = Vec::new();
    for round in 0..10_u8 {
        let part = vec![round; 1000];
        io.send(0, &part, Notify::WhenWritten).unwrap();
        assert_eq!(await_event(&mut io), (0, Taken::TookAll));
        sent.extend(part);
    }
    let mut received = vec![0; sent.len()];
    peer.read_exact(&mut received).unwrap();
    assert_eq!(received, sent);
    // While the sockets are full there is nothing to report.
    io.send(0, &vec![b'x'; TOO_MANY_BYTES], Notify::WhenWritten).unwrap();
    io.wait(clock::now() + SHORT);
    assert_eq!(next(&mut io), None);
    let reader = std::thread::spawn(move || {
        let mut received = vec![0; TOO_MANY_BYTES];
        peer.read_exact(&mut received).unwrap();
        peer
    });
    assert_eq!(await_event(&mut io), (0, Taken::TookAll));
    let _peer = reader.join().unwrap();
    io.wait(clock::now() + SHORT);
    assert_eq!(next(&mut io), None);
}

pub(super) fn many_sends_that_are_reported_leave_room_in_a_turn_for_what_arrives<I: Backend>() {
    const UPLOADS: usize = 2 * EVENTS_PER_TURN;
    let (listener, address) = listener();
    let mut io = I::open(address, UPLOADS + 1).unwrap();
    let peers: Vec<_> = (0..=UPLOADS).map(|slot| connect(&mut io, slot, &listener)).collect();
    for slot in 0..UPLOADS {
        io.send(slot, b"x", Notify::WhenWritten).unwrap();
    }
    (&peers[UPLOADS]).write_all(b"answer").unwrap();
    let mut reported = vec![0; UPLOADS];
    // Every upload continues whenever that is reported, forever; the answer does not wait for an end.
    let end = clock::now() + PATIENCE;
    loop {
        assert!(io.wait(end) < end, "the answer is not heard");
        let mut events = 0;
        while let Some((slot, event)) = next(&mut io) {
            events += 1;
            if event == Taken::Received(b"answer".to_vec()) {
                assert!(reported.iter().all(|times| *times < 20), "{reported:?}");
                return;
            }
            assert_eq!(event, Taken::TookAll);
            reported[slot] += 1;
            io.send(slot, b"x", Notify::WhenWritten).unwrap();
        }
        assert!(events <= EVENTS_PER_TURN, "{events} events");
    }
}

pub(super) fn what_the_peer_says_before_it_ends_the_connection_comes_before_the_failure_to_send<
    I: Backend,
>() {
    // Sending fails either where the bytes have waited for room, or where it begins after the end.
    for (first_bytes, then) in [(TOO_MANY_BYTES, None), (1000, Some(b"more"))] {
        for notify in [Notify::Never, Notify::WhenWritten] {
            let (mut io, mut peer) = connected::<I>();
            io.send(0, &vec![b'x'; first_bytes], Notify::Never).unwrap();
            io.wait(clock::now() + SHORT);
            assert_eq!(next(&mut io), None);
            peer.write_all(b"enough").unwrap();
            // Bytes wait to be read, so closing is a reset.
            drop(peer);
            if let Some(bytes) = then {
                io.send(0, bytes, notify).unwrap();
            }
            let (bytes, end) = await_bytes(&mut io);
            assert_eq!(bytes, b"enough");
            assert!(matches!(end, Taken::Broken(Failure::Reset | Failure::ClosedEarly)), "{end:?}");
        }
    }
}

pub(super) fn bytes_are_sent_in_order_even_where_earlier_ones_still_wait<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    io.send(0, &vec![b'1'; TOO_MANY_BYTES], Notify::Never).unwrap();
    io.send(0, &[b'2'; 1000], Notify::Never).unwrap();
    io.wait(clock::now() + SHORT);
    assert_eq!(next(&mut io), None);
    // The peer makes room, and before the backend has noticed there is more to send.
    let mut received = vec![0; 1 << 20];
    peer.read_exact(&mut received).unwrap();
    io.send(0, &[b'3'; 1000], Notify::Never).unwrap();
    received.extend(read_exactly(&mut io, &mut peer, TOO_MANY_BYTES + 2000 - received.len()));
    assert!(received.is_sorted());
    assert_eq!(received[TOO_MANY_BYTES..], [[b'2'; 1000], [b'3'; 1000]].concat());
}

pub(super) fn what_was_sent_last_leaves_before_the_backend_ends<I: Backend>() {
    let (mut io, mut peer) = connected::<I>();
    io.send(0, b"the last words", Notify::Never).unwrap();
    drop(io);
    let mut received = String::new();
    peer.read_to_string(&mut received).unwrap();
    assert_eq!(received, "the last words");
}

pub(super) fn what_was_sent_last_leaves_before_the_connection_is_closed<I: Backend>() {
    let (listener, address) = listener();
    let mut io = I::open(address, 1).unwrap();
    for _ in 0..3 {
        let mut peer = connect(&mut io, 0, &listener);
        io.send(0, b"the last words", Notify::Never).unwrap();
        io.close(0);
        let mut received = String::new();
        peer.read_to_string(&mut received).unwrap();
        assert_eq!(received, "the last words");
    }
}

pub(super) fn closing_while_bytes_wait_to_be_sent_is_seen_by_the_peer<I: Backend>() {
    let (listener, address) = listener();
    let mut io = I::open(address, 1).unwrap();
    for _ in 0..3 {
        let mut peer = connect(&mut io, 0, &listener);
        io.send(0, &vec![b'x'; TOO_MANY_BYTES], Notify::Never).unwrap();
        io.wait(clock::now() + SHORT);
        io.send(0, b"more", Notify::Never).unwrap();
        io.close(0);
        let mut received = Vec::new();
        peer.read_to_end(&mut received).unwrap();
        assert!(received.len() < TOO_MANY_BYTES);
    }
}
