//! Datagrams of a real socket of this machine, as turns bring them.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};

use loadcurve_plan::{Nanos, Sockets};
use loadcurve_wire::{DatagramBytes, Datagrams};

use super::super::route::Route;
use super::super::{Carries, Event, Io as _, Notify, Slot};
use super::{DATAGRAMS_PER_TURN, Udp};
use crate::clock;

mod shared;

/// Longer than any test takes, even on a busy machine.
const PATIENCE: Nanos = Nanos::from_millis(60_000);

/// A server's socket, and the addresses of as many clients' sockets, each of which has sent a datagram there.
fn connected(slots: usize) -> (UdpSocket, Udp, Vec<SocketAddr>) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut udp = Udp::new(Route::to(server.local_addr().unwrap()), slots, Sockets::Connection).unwrap();
    let mut clients = Vec::new();
    for slot in 0..slots {
        udp.connect(slot).unwrap();
        assert!(matches!(udp.next(), Some((at, Event::Connected)) if at == slot));
        Carries::<Datagrams>::write(&mut udp, slot, b"here", DatagramBytes::default(), Notify::Never)
            .unwrap();
        clients.push(server.recv_from(&mut [0; 100]).unwrap().1);
    }
    (server, udp, clients)
}

fn send(server: &UdpSocket, client: &SocketAddr, count: usize) {
    for _ in 0..count {
        server.send_to(b"more", client).unwrap();
    }
}

/// What arrives in one turn, by its connection, datagram by datagram.
fn turn(udp: &mut Udp) -> BTreeMap<Slot, Vec<Vec<u8>>> {
    let mut arrived: BTreeMap<Slot, Vec<Vec<u8>>> = BTreeMap::new();
    udp.wait(clock::now() + PATIENCE);
    while let Some((slot, event, DatagramBytes(each))) = Carries::<Datagrams>::next_divided(udp) {
        let Event::Received(bytes) = event else { panic!("{event:?}") };
        let datagrams = bytes.chunks(each.map_or(bytes.len(), usize::from));
        arrived.entry(slot).or_default().extend(datagrams.map(<[u8]>::to_vec));
    }
    arrived
}

#[test]
fn datagrams_that_wait_on_a_connection_come_in_order_and_ever_more_of_them_in_one_turn() {
    let (server, mut udp, clients) = connected(1);
    let sent: Vec<Vec<u8>> = (0..7).map(|number| vec![number; 10 + usize::from(number)]).collect();
    for datagram in &sent {
        server.send_to(datagram, clients[0]).unwrap();
    }
    let turns: Vec<Vec<Vec<u8>>> = (0..3).filter_map(|_| turn(&mut udp).remove(&0)).collect();
    // One is asked for at first, and twice as many where all that were asked for had come.
    assert_eq!(turns.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(turns.concat(), sent);
    assert_eq!(udp.take_datagram_counts().received, 7);
}

#[test]
fn a_turn_ends_after_some_datagrams_and_the_next_one_begins_with_the_connections_that_had_to_wait() {
    const EACH: usize = 40;
    let (server, mut udp, clients) = connected(8);
    // 1 + 2 + 4 + 8 that were asked for have all come, so that 16 are next.
    for client in &clients {
        send(&server, client, 15);
    }
    let mut left = 15 * clients.len();
    while left > 0 {
        left -= turn(&mut udp).values().map(Vec::len).sum::<usize>();
    }
    for client in &clients {
        send(&server, client, EACH);
    }
    let (mut heard, mut left) = (BTreeMap::<Slot, usize>::new(), EACH * clients.len());
    let mut turns_without = 0;
    while left > 0 {
        let arrived = turn(&mut udp);
        let count: usize = arrived.values().map(Vec::len).sum();
        // The last call of a turn may bring more than the turn had room for.
        assert!(count < DATAGRAMS_PER_TURN + super::MESSAGES_MAX, "{count}");
        for (slot, datagrams) in arrived {
            *heard.entry(slot).or_default() += datagrams.len();
        }
        left -= count;
        if heard.len() < clients.len() {
            turns_without += 1;
        }
    }
    assert!(heard.values().all(|count| *count == EACH), "{heard:?}");
    // In two turns, which take 64 each, all eight were heard that ask for 16 at most.
    assert!(turns_without < 2, "{turns_without}");
}
