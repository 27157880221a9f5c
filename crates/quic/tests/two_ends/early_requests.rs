//! Requests that leave with the first datagrams of a resumed connection.

use loadcurve_quic::connection::Windows;
use loadcurve_wire::{Exchange as _, HttpExchange as _, QuicHandshakeKind, Readiness};

use crate::ends::{Ends, SECOND, WAY, WINDOWS, request};

#[test]
fn a_request_that_leaves_with_the_first_datagrams_is_answered_after_one_round_trip() {
    let mut ends = Ends::again(3);
    ends.open(3);
    assert_eq!(ends.client.readiness(), Readiness::Handshaking);
    ends.run(2 * WAY);
    assert_eq!(ends.statuses(), [(0, 200, 2), (1, 200, 2), (2, 200, 2)]);
    let handshake = ends.client.take_http3_counts().unwrap().handshake.unwrap();
    assert_eq!((handshake.kind, handshake.length), (QuicHandshakeKind::EarlyAccepted, 2 * WAY));
    // What is asked now goes its way as ever.
    assert!(!ends.client.begins_early());
    ends.ask(0, &request(0));
    ends.run(2 * WAY);
    assert_eq!(ends.statuses().len(), 4);
}

#[test]
fn a_connection_on_which_nothing_was_due_early_is_a_resumed_one() {
    let mut ends = Ends::again(1);
    ends.open(0);
    assert!(ends.client.begins_early());
    ends.run(SECOND);
    assert_eq!(ends.kind(), QuicHandshakeKind::Resumed);
    ends.ask(0, &request(0));
    ends.run(SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
}

#[test]
fn early_requests_that_the_server_does_not_take_are_sent_again_behind_the_handshake() {
    let mut ends = Ends::again(2);
    ends.take_nothing_early(&WINDOWS);
    ends.open(2);
    ends.run(2 * WAY);
    assert_eq!((ends.statuses(), ends.received.len()), (vec![], 0));
    ends.run(2 * WAY);
    assert_eq!(ends.statuses(), [(0, 200, 2), (1, 200, 2)]);
    assert_eq!(ends.received.len(), 2, "the server has seen each of them once");
    assert_eq!(ends.kind(), QuicHandshakeKind::EarlyRejected);
}

#[test]
fn early_requests_that_are_sent_again_wait_for_streams_that_the_server_does_not_allow_yet() {
    let mut ends = Ends::again(4);
    ends.take_nothing_early(&Windows { requests: 1, ..WINDOWS });
    ends.open(4);
    ends.run(2 * WAY);
    // One that waits for its stream ends without one.
    assert!(ends.client.cancel(2));
    ends.run(SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2), (1, 200, 2), (3, 200, 2)]);
    assert_eq!(ends.received.len(), 3);
    assert_eq!(ends.failed, None);
}

#[test]
fn an_early_request_that_ends_before_the_handshake_is_over_is_not_sent_again() {
    for is_taken in [true, false] {
        let mut ends = Ends::again(2);
        if !is_taken {
            ends.take_nothing_early(&WINDOWS);
        }
        ends.open(2);
        assert!(ends.client.cancel(0));
        ends.run(SECOND);
        assert_eq!((ends.statuses(), ends.failed), (vec![(1, 200, 2)], None), "{is_taken}");
    }
}

#[test]
fn whichever_datagram_is_lost_an_early_request_is_answered_once() {
    for is_taken in [true, false] {
        let again = |lost: Vec<usize>| {
            let mut ends = Ends::again(1);
            if !is_taken {
                ends.take_nothing_early(&WINDOWS);
            }
            ends.lost = lost;
            ends.open(1);
            ends.run(5 * SECOND);
            assert_eq!((ends.statuses(), ends.failed), (vec![(0, 200, 2)], None), "{:?}", ends.lost);
            ends.sent
        };
        let undisturbed = again(vec![]);
        assert!(undisturbed >= 4, "{undisturbed}");
        for lost in 0..undisturbed {
            again(vec![lost]);
        }
    }
}
