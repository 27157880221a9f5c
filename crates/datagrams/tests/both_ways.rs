//! Datagrams between real sockets.

use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::AsFd as _;

use loadcurve_datagrams::{
    MESSAGES_MAX, Message, Received, prepare, receive, receive_from, receive_several, send, send_several,
};
use rustix::io::Errno;

/// A socket of each family's loopback address; the second one only where the machine has it.
fn sockets() -> Vec<UdpSocket> {
    let [ipv4, ipv6] = ["127.0.0.1:0", "[::1]:0"].map(UdpSocket::bind);
    std::iter::once(ipv4.unwrap()).chain(ipv6).collect()
}

#[test]
fn what_is_sent_to_an_address_arrives_there_cut_as_asked_and_tells_its_sender() {
    for (server, client) in sockets().into_iter().zip(sockets()) {
        let joins = prepare(server.as_fd());
        let [at, from]: [SocketAddr; 2] = [&server, &client].map(|socket| socket.local_addr().unwrap());
        let bytes: Vec<u8> = (0..250).collect();
        send(client.as_fd(), Some(at), &bytes, NonZeroUsize::new(100)).unwrap();
        let mut got = Vec::new();
        let mut calls = 0;
        let mut buffer = [0; 1000];
        while got.len() < 3 {
            let received = receive_from(server.as_fd(), &mut buffer).unwrap();
            assert_eq!(received.from, Some(from));
            let each = received.each.map_or(received.length, usize::from);
            got.extend(buffer[..received.length].chunks(each).map(<[u8]>::to_vec));
            calls += 1;
        }
        assert_eq!(got, bytes.chunks(100).map(<[u8]>::to_vec).collect::<Vec<_>>());
        assert_eq!(calls, if joins { 1 } else { 3 });
    }
}

#[test]
fn a_connected_socket_needs_no_address_in_either_direction() {
    for (server, client) in sockets().into_iter().zip(sockets()) {
        server.connect(client.local_addr().unwrap()).unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        send(client.as_fd(), None, b"there", None).unwrap();
        send(server.as_fd(), None, b"back", None).unwrap();
        for (socket, expected) in [(&server, &b"there"[..]), (&client, b"back")] {
            let mut buffer = [0; 100];
            let received = receive(socket.as_fd(), &mut buffer).unwrap();
            assert_eq!((&buffer[..received.length], received.each, received.from), (expected, None, None));
        }
    }
}

#[test]
fn one_call_takes_the_messages_that_wait_each_into_its_room_with_the_length_of_what_was_joined() {
    const ROOM: usize = 1000;
    for (server, client) in sockets().into_iter().zip(sockets()) {
        let joins = prepare(client.as_fd());
        let (at, from) = (server.local_addr().unwrap(), client.local_addr().unwrap());
        client.connect(at).unwrap();
        client.set_nonblocking(true).unwrap();
        let (mut buffer, mut received) = ([0; 4 * ROOM], [Received::default(); 4]);
        // Nothing waits.
        let none = receive_several(client.as_fd(), &mut buffer, &mut received);
        assert_eq!(none, Err(Errno::AGAIN));
        send(server.as_fd(), Some(from), &[1; 10], None).unwrap();
        send(server.as_fd(), Some(from), &[2; 50], NonZeroUsize::new(20)).unwrap();
        let count = receive_several(client.as_fd(), &mut buffer, &mut received).unwrap();
        let got: Vec<_> = (received[..count].iter().zip(buffer.chunks(ROOM)))
            .flat_map(|(one, bytes)| {
                let each = one.each.map_or(one.length, usize::from);
                bytes[..one.length].chunks(each).map(<[u8]>::to_vec)
            })
            .collect();
        assert_eq!(got, [vec![1; 10], vec![2; 20], vec![2; 20], vec![2; 10]]);
        assert_eq!(count, if joins { 2 } else { 4 });
    }
}

#[test]
fn one_call_sends_several_messages_in_their_order_each_cut_as_asked() {
    for (server, client) in sockets().into_iter().zip(sockets()) {
        client.connect(server.local_addr().unwrap()).unwrap();
        let whole = [[1; 10], [2; 10], [3; 10]];
        let messages = [
            Message { bytes: &whole[0], each: None },
            Message { bytes: &whole[1], each: NonZeroUsize::new(4) },
            // One that is as long as all of it is no division.
            Message { bytes: &whole[2], each: NonZeroUsize::new(10) },
        ];
        assert_eq!(send_several(client.as_fd(), &messages), Ok(3));
        let mut got = Vec::new();
        for _ in 0..5 {
            let mut buffer = [0; 100];
            let length = receive(server.as_fd(), &mut buffer).unwrap().length;
            got.push(buffer[..length].to_vec());
        }
        assert_eq!(got, [vec![1; 10], vec![2; 4], vec![2; 4], vec![2; 2], vec![3; 10]]);
    }
}

#[test]
fn of_many_messages_one_call_sends_as_many_as_it_can_and_the_next_one_says_why_no_more() {
    for (server, client) in sockets().into_iter().zip(sockets()) {
        client.connect(server.local_addr().unwrap()).unwrap();
        let short = Message { bytes: b"short", each: None };
        assert_eq!(send_several(client.as_fd(), &[short; MESSAGES_MAX + 4]), Ok(MESSAGES_MAX));
        // No datagram is longer than 65,535 bytes with its headers.
        let bytes = vec![0; 70_000];
        let long = Message { bytes: &bytes, each: None };
        assert_eq!(send_several(client.as_fd(), &[short, long, short]), Ok(1));
        assert_eq!(send_several(client.as_fd(), &[long, short]), Err(Errno::MSGSIZE));
    }
}
