//! Connections that share a socket.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::AsFd as _;
use std::time::Duration;

use loadcurve_plan::{Nanos, Sockets};
use loadcurve_record::Failure;
use loadcurve_wire::{DatagramBytes, Datagrams};

use super::super::super::route::Route;
use super::super::super::{Carries, Event, Io as _, Notify, Slot};
use super::super::{DATAGRAMS_PER_TURN, Udp};
use super::{PATIENCE, turn};
use crate::clock;

/// A stateless reset: a short header with whatever ID, and no shorter than 21 bytes (RFC 9000 §10.3).
const RESET: [u8; 21] = [0x7f; 21];

/// The ID of an exchange's connection: its number, and what changes.
fn id(number: u8, rest: u8) -> [u8; 8] {
    [0, 0, 0, number, rest, rest, rest, rest]
}

/// What a connection writes first: a long header with its ID behind that of the server (RFC 9000 §17.2).
fn first(number: u8) -> Vec<u8> {
    [&[0xc3, 0, 0, 0, 1, 4, 9, 9, 9, 9, 8][..], &id(number, 1), &[0; 10]].concat()
}

/// What comes later for a connection, with a short header (RFC 9000 §17.3).
fn later(number: u8, rest: u8, content: &[u8]) -> Vec<u8> {
    [&[0x41][..], &id(number, rest), content].concat()
}

fn write(udp: &mut Udp, slot: Slot, bytes: &[u8]) {
    Carries::<Datagrams>::write(udp, slot, bytes, DatagramBytes::default(), Notify::Never).unwrap();
}

/// The number of the exchange of a slot, which need not be that of the slot.
fn number(slot: Slot) -> u8 {
    u8::try_from(slot).unwrap() + 3
}

/// A server's socket, and connections on a client's, all of which have written something; and the client's address.
fn connected(slots: usize) -> (UdpSocket, Udp, SocketAddr) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let route = Route::to(server.local_addr().unwrap());
    let mut udp = Udp::new(route, slots, Sockets::Thread).unwrap();
    for slot in 0..slots {
        udp.connect(slot).unwrap();
        assert!(matches!(udp.next(), Some((at, Event::Connected)) if at == slot));
        write(&mut udp, slot, &first(number(slot)));
    }
    udp.wait(Nanos::ZERO);
    let from = (0..slots).map(|slot| {
        let mut buffer = [0; 100];
        let (length, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(buffer[..length], first(number(slot)));
        from
    });
    let from: Vec<_> = from.collect();
    assert!(from.iter().all(|one| *one == from[0]), "{from:?}");
    (server, udp, from[0])
}

#[test]
fn what_arrives_goes_to_the_connection_whose_id_it_has_even_where_the_kernel_has_joined_it() {
    let (server, mut udp, client) = connected(3);
    let long = [&[0xe3, 0, 0, 0, 1, 8][..], &id(number(2), 7), &[0; 20]].concat();
    server.send_to(&long, client).unwrap();
    assert_eq!(turn(&mut udp), [(2, vec![long])].into());
    // All but the last are equally long, and are sent together.
    let of = [(0, 1), (1, 1), (1, 2), (2, 9), (0, 2)];
    let mut datagrams: Vec<_> =
        of.iter().map(|(slot, rest)| later(number(*slot), *rest, b"content")).collect();
    datagrams.push(later(number(0), 3, b"end"));
    let each = NonZeroUsize::new(datagrams[0].len());
    loadcurve_datagrams::send(server.as_fd(), Some(client), &datagrams.concat(), each).unwrap();
    datagrams.push(later(number(2), 4, b"of another length"));
    server.send_to(&datagrams[6], client).unwrap();
    let mut arrived: BTreeMap<Slot, Vec<Vec<u8>>> = BTreeMap::new();
    while !arrived.get(&2).is_some_and(|of_last| of_last.contains(&datagrams[6])) {
        for (slot, more) in turn(&mut udp) {
            arrived.entry(slot).or_default().extend(more);
        }
    }
    let expected = |places: &[usize]| places.iter().map(|place| datagrams[*place].clone()).collect();
    assert_eq!(arrived, [(0, expected(&[0, 4, 5])), (1, expected(&[1, 2])), (2, expected(&[3, 6]))].into());
    let counts = udp.take_datagram_counts();
    assert_eq!((counts.sockets, counts.received), (1, 8));
}

#[test]
fn what_connections_write_in_a_turn_leaves_together_before_the_next_wait_or_before_one_is_closed() {
    let (server, mut udp, _) = connected(3);
    let before = udp.take_datagram_counts();
    server.set_nonblocking(true).unwrap();
    let receive = || {
        let mut buffer = [0; 100];
        server.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec())
    };
    let written: Vec<_> = [0, 2, 1, 0].iter().map(|slot| later(number(*slot), 0, b"asks")).collect();
    for (slot, bytes) in [0, 2, 1, 0].into_iter().zip(&written) {
        write(&mut udp, slot, bytes);
        assert_eq!(receive(), None);
    }
    udp.wait(Nanos::ZERO);
    let arrived: Vec<_> = std::iter::from_fn(receive).collect();
    assert_eq!(arrived, written);
    write(&mut udp, 1, b"\x41 the last words");
    udp.close(1);
    assert_eq!(receive(), Some(b"\x41 the last words".to_vec()));
    let counts = udp.take_datagram_counts();
    // The first ones have left by a call, too.
    assert_eq!((before.sends, before.sent), (1, 3));
    assert_eq!((counts.sends, counts.sent), (2, 5));
}

#[test]
fn who_waits_until_all_is_written_hears_of_it_after_the_next_wait() {
    let (_server, mut udp, _) = connected(2);
    Carries::<Datagrams>::write(&mut udp, 1, b"\x41 part", DatagramBytes::default(), Notify::WhenWritten)
        .unwrap();
    assert_eq!(udp.next(), None);
    udp.wait(clock::now() + PATIENCE);
    assert_eq!(udp.next(), Some((1, Event::Written)));
    assert_eq!(udp.next(), None);
}

#[test]
fn a_datagram_that_says_of_no_connection_that_it_has_ended_goes_to_each_and_a_turn_has_no_more_of_that() {
    const SLOTS: usize = DATAGRAMS_PER_TURN + 40;
    let (server, mut udp, client) = connected(SLOTS);
    udp.close(1);
    server.send_to(&RESET, client).unwrap();
    let last = later(number(0), 1, b"last");
    server.send_to(&last, client).unwrap();
    let (mut heard, mut is_last) = (Vec::new(), false);
    while !is_last {
        let arrived = turn(&mut udp);
        assert!(arrived.len() <= DATAGRAMS_PER_TURN, "{}", arrived.len());
        is_last = arrived.values().flatten().any(|datagram| *datagram == last);
        let resets = arrived.into_iter().filter(|(_, datagrams)| datagrams.contains(&RESET.to_vec()));
        heard.extend(resets.map(|(slot, _)| slot));
    }
    assert_eq!(heard, (0..SLOTS).filter(|slot| *slot != 1).collect::<Vec<_>>());
    udp.take_datagram_counts();
    // Nor is it shorter, nor are there connections whose first packets nobody has sent.
    server.send_to(&RESET[..20], client).unwrap();
    server.send_to(&[0xff; 40], client).unwrap();
    server.send_to(b"", client).unwrap();
    server.send_to(&last, client).unwrap();
    while let arrived = turn(&mut udp)
        && arrived != [(0, vec![last.clone()])].into()
    {
        assert_eq!(arrived, [].into());
    }
    let counts = udp.take_datagram_counts();
    assert_eq!((counts.received, counts.unattributed), (4, 3));
}

#[test]
fn a_connection_that_is_not_made_yet_hears_nothing_of_the_one_before() {
    let (server, mut udp, client) = connected(2);
    let [late, other] = [0, 1].map(|slot| later(number(slot), 5, b"late"));
    let joined = [&late[..], &late, &other, &late].concat();
    loadcurve_datagrams::send(server.as_fd(), Some(client), &joined, NonZeroUsize::new(late.len())).unwrap();
    udp.wait(clock::now() + PATIENCE);
    assert!(matches!(udp.next(), Some((0, Event::Received(_)))));
    udp.close(0);
    udp.connect(0).unwrap();
    let mut events = Vec::new();
    while events.len() < 2 {
        while let Some((slot, event)) = udp.next() {
            events.push((slot, matches!(event, Event::Connected)));
        }
        udp.wait(clock::now());
    }
    events.sort_unstable();
    assert_eq!(events, [(0, true), (1, false)]);
    server.send_to(&late, client).unwrap();
    assert_eq!(turn(&mut udp), [(0, vec![late])].into());
    let counts = udp.take_datagram_counts();
    // The third one of those that were joined.
    assert_eq!((counts.sockets, counts.unattributed), (1, 1));
}

#[test]
fn a_socket_whose_port_is_refused_breaks_all_its_connections() {
    let (server, mut udp, _) = connected(3);
    udp.close(1);
    drop(server);
    // The kernel says of the first one that the port is closed, when the second one is sent or later.
    write(&mut udp, 0, b"\x41 one");
    write(&mut udp, 2, b"\x41 two");
    let mut broken = Vec::new();
    while broken.len() < 2 {
        udp.wait(clock::now() + PATIENCE);
        while let Some((slot, event)) = udp.next() {
            assert_eq!(event, Event::Broken(Failure::ConnectRefused));
            broken.push(slot);
        }
        broken.sort_unstable();
        broken.dedup();
    }
    assert_eq!(broken, [0, 2]);
    // The socket is there for the connections that follow.
    for slot in broken {
        udp.close(slot);
        udp.connect(slot).unwrap();
        assert!(matches!(udp.next(), Some((at, Event::Connected)) if at == slot));
    }
    assert_eq!(udp.take_datagram_counts().sockets, 1);
}
