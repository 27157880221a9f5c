//! What both ends of QUIC do in memory, where each datagram can be lost and each moment is planned.

mod early_requests;
mod ends;

use loadcurve_plan::{Tls, Verify};
use loadcurve_quic::connection::{Lost, Windows};
use loadcurve_quic::{Http3, Settings};
use loadcurve_tls::Client;
use loadcurve_wire::{
    Announced, DatagramBytes, Exchange as _, HttpExchange as _, Malformed, QuicEnd, QuicHandshakeKind,
    Readiness,
};

use crate::ends::{Ends, SECOND, WAY, WINDOWS, base, request};

#[test]
fn a_request_is_answered_after_a_handshake_of_one_round_trip() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    assert_eq!(ends.client.readiness(), Readiness::Handshaking);
    ends.run(2 * WAY);
    assert_eq!(ends.client.readiness(), Readiness::Ready);
    let agreement = ends.client.agreement().unwrap();
    assert_eq!((agreement.version, agreement.is_offered, agreement.is_resumed), (0x0304, false, false));
    assert_eq!(ends.client.look().unwrap().protocol.as_deref(), Some("h3"));
    ends.ask(0, &request(0));
    ends.run(2 * WAY);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
    let counts = ends.client.take_http3_counts().unwrap();
    assert_eq!((counts.quic.packets_lost, counts.quic.rtt_min), (0, 2 * WAY));
    let handshake = counts.handshake.unwrap();
    assert_eq!((handshake.kind, handshake.length), (QuicHandshakeKind::Full, 2 * WAY));
    assert!(handshake.certificate_bytes > 200, "{counts:?}");
    let Announced { stream_window_bytes, connection_window_bytes, streams, .. } = counts.announced;
    assert_eq!((stream_window_bytes, connection_window_bytes, streams), (1 << 20, 1 << 20, 100));
    let again = ends.client.take_http3_counts().unwrap();
    assert_eq!((again.handshake, again.quic.packets_sent), (None, 0), "everything is counted once");
}

#[test]
fn keys_are_changed_on_a_long_connection_and_the_change_is_counted() {
    // The library changes them behind a random number of packets below 1,000; then after 2^23 ones alone.
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    for requests in 1..=1_100 {
        ends.ask(0, &request(0));
        ends.run(4 * WAY);
        assert_eq!((ends.statuses().len(), ends.failed), (requests, None));
        if requests == 4 {
            assert_eq!(ends.client.take_http3_counts().unwrap().quic.key_updates, 0);
        }
    }
    let counts = ends.client.take_http3_counts().unwrap().quic;
    assert!(counts.packets_sent > 1_000, "{counts:?}");
    assert_eq!((counts.key_updates, counts.packets_lost), (1, 0));
}

#[test]
fn whichever_datagram_is_lost_the_request_is_answered_once() {
    let mut undisturbed = Ends::new(1, WINDOWS, "h3", 1.0);
    undisturbed.run(SECOND);
    undisturbed.ask(0, &request(0));
    undisturbed.run(SECOND);
    assert_eq!(undisturbed.statuses().len(), 1);
    assert!(undisturbed.sent >= 6, "{}", undisturbed.sent);
    for lost in 0..undisturbed.sent {
        let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
        ends.lost = vec![lost];
        ends.run(5 * SECOND);
        ends.ask(0, &request(0));
        ends.run(5 * SECOND);
        assert_eq!((ends.statuses(), ends.failed), (vec![(0, 200, 2)], None), "datagram {lost}");
    }
}

#[test]
fn more_requests_than_the_server_takes_at_once_wait_and_are_all_answered() {
    let mut ends = Ends::new(8, Windows { requests: 3, ..WINDOWS }, "h3", 1.0);
    ends.run(SECOND);
    let template = request(0);
    let mut begun = 0;
    let mut most = 0;
    while begun < 30 {
        let at_once = begun - ends.statuses().len();
        if ends.client.readiness() == Readiness::Ready {
            // Tags in flight are those whose answers are missing.
            let answered: Vec<_> = ends.statuses().iter().map(|(tag, ..)| *tag).collect();
            let tag = (0..8).find(|tag| {
                let asked = (0..begun).filter(|number| number % 8 == *tag).count();
                begun % 8 == *tag && asked == answered.iter().filter(|one| *one == tag).count()
            });
            if let Some(tag) = tag {
                ends.ask(tag, &template);
                begun += 1;
                most = most.max(at_once + 1);
                continue;
            }
        }
        assert!(ends.client.limit().is_some_and(|limit| limit <= 3), "{:?}", ends.client.limit());
        ends.run(2 * WAY);
    }
    ends.run(SECOND);
    assert_eq!((ends.statuses().len(), most), (30, 3));
}

#[test]
fn a_body_that_is_longer_than_all_windows_arrives_whole() {
    let small = Windows { stream_bytes: 5_000, connection_bytes: 7_000, ..WINDOWS };
    let mut ends = Ends::new(1, small, "h3", 1.0);
    ends.run(SECOND);
    ends.ask(0, &request(300_000));
    assert!(ends.client.is_writing_body(0));
    ends.run(20 * SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
    assert!(!ends.client.is_writing_body(0));
    // The header of DATA with a length of four bytes, and the fields before it.
    let [received] = ends.received[..] else { panic!("{:?}", ends.received) };
    assert!((300_005..300_100).contains(&received), "{received}");
}

#[test]
fn a_request_that_is_given_up_leaves_its_tag_to_the_next() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    ends.ask(0, &request(0));
    assert!(ends.client.cancel(0));
    ends.run(SECOND);
    assert_eq!(ends.happened, []);
    ends.ask(0, &request(0));
    ends.run(SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
}

#[test]
fn the_code_with_which_a_server_ends_a_connection_is_named() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    ends.server.as_mut().unwrap().close(ends.now, 0x107);
    ends.run(SECOND);
    assert_eq!((ends.client.readiness(), ends.failed), (Readiness::Closed, None));
    assert_eq!(ends.client.ended_by(), Some(QuicEnd::Application(0x107)));
    assert!(ends.complaint().contains("H3_EXCESSIVE_LOAD (0x107)"), "{}", ends.complaint());
}

#[test]
fn a_server_learns_that_the_client_has_left() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    let mut goodbye = Vec::new();
    ends.client.advance(ends.now);
    ends.client.end(&mut goodbye);
    ends.post(&goodbye, DatagramBytes::default(), true);
    ends.run(SECOND);
    assert_eq!(ends.server_lost, Some(Lost::Application(0x100, String::new())));
}

#[test]
fn a_connection_on_which_nothing_comes_ends_after_the_idle_timeout() {
    let mut ends = Ends::new(1, Windows { idle: Some(3 * SECOND), ..WINDOWS }, "h3", 1.0);
    ends.run(2 * SECOND);
    assert_eq!(ends.client.readiness(), Readiness::Ready);
    ends.run(4 * SECOND);
    assert_eq!(ends.client.readiness(), Readiness::Closed);
    assert_eq!(ends.client.ended_by(), Some(QuicEnd::Idle));
    assert!(ends.complaint().contains("idle timeout"), "{}", ends.complaint());
}

#[test]
fn a_server_of_another_protocol_is_refused_by_name() {
    let mut ends = Ends::new(1, WINDOWS, "hq-interop", 1.0);
    ends.run(SECOND);
    assert_eq!(ends.failed, Some(Malformed::Protection));
    assert!(ends.complaint().contains("version of HTTP"), "{}", ends.complaint());
}

#[test]
fn a_second_connection_resumes_the_session_where_that_is_asked_for() {
    for (full_handshakes, is_resumed) in [(0.0, true), (1.0, false)] {
        let mut ends = Ends::new(1, WINDOWS, "h3", full_handshakes);
        ends.run(SECOND);
        assert!(!ends.client.agreement().unwrap().is_resumed);
        ends.client.advance(ends.now);
        ends.client.open();
        ends.run(SECOND);
        let agreement = ends.client.agreement().unwrap();
        assert_eq!((agreement.is_offered, agreement.is_resumed), (is_resumed, is_resumed));
        ends.ask(0, &request(0));
        ends.run(SECOND);
        assert_eq!(ends.statuses(), [(0, 200, 2)]);
    }
}

#[test]
fn certificates_longer_than_three_times_the_first_datagram_cost_a_round_trip() {
    // RFC 9000 §8.1: three times what has come from an address, before that has answered. The first flight is 1,200 bytes.
    for names in [1, 40, 80, 200] {
        let mut ends = Ends::with_names(1, WINDOWS, "h3", 1.0, names);
        ends.run(SECOND);
        let handshake = ends.client.take_http3_counts().unwrap().handshake.unwrap();
        let round_trips = if handshake.certificate_bytes > 3 * 1200 { 2 } else { 1 };
        assert_eq!(handshake.length, round_trips * 2 * WAY, "{handshake:?}");
        assert_eq!(handshake.certificate_bytes > 3 * 1200, names >= 80, "{handshake:?}");
    }
}

#[test]
fn datagrams_that_arrive_joined_are_each_read() {
    // A certificate that takes several datagrams.
    let mut ends = Ends::with_names(1, WINDOWS, "h3", 1.0, 60);
    ends.joins = true;
    ends.run(SECOND);
    assert!(ends.joined_max > 1, "{}", ends.joined_max);
    ends.ask(0, &request(0));
    ends.run(SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
    assert_eq!(ends.client.take_http3_counts().unwrap().quic.packets_lost, 0);
}

#[test]
fn a_handshake_that_the_server_has_begin_again_takes_a_further_round_trip_and_is_one_of_a_class_of_its_kind()
{
    let mut ends = Ends::new(1, WINDOWS, "h3", 0.0);
    ends.retries = true;
    ends.run(SECOND);
    let handshake = ends.client.take_http3_counts().unwrap().handshake.unwrap();
    assert_eq!((handshake.kind, handshake.length), (QuicHandshakeKind::AfterRetry, 4 * WAY));
    ends.ask(0, &request(0));
    ends.run(SECOND);
    // An early request goes with the second attempt, too.
    ends.open(1);
    ends.run(4 * WAY);
    assert_eq!((ends.statuses().len(), ends.received.len()), (2, 2));
    assert_eq!(ends.kind(), QuicHandshakeKind::AfterRetry);
}

#[test]
fn what_is_of_no_connection_of_a_shared_socket_has_nothing_written() {
    let tls = Tls { verify: Verify::None, ..Tls::of("localhost") };
    let client = Client::new(&tls, 1, "h3", true).unwrap();
    let mut client = Http3::new(1, &Settings::new(client, &WINDOWS, base()).sharing_sockets());
    client.open();
    let mut written = Vec::new();
    while client.has_output() {
        written.clear();
        client.protect(&mut written);
    }
    // A short header, and whatever ID behind it.
    let received = client.receive(&[0x41; 40]).unwrap();
    assert_eq!((received.consumed, received.event, client.has_output()), (40, None, false));
}
