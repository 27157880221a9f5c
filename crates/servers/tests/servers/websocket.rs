//! WebSocket of `limit`: in memory with RFC 6455's own examples, and as the real program.

use std::io::{Read, Write};

use loadcurve_servers::websocket::{Echo, Upgrade, upgrade};

use crate::process::Server;

const UPGRADE: &str = "GET /echo HTTP/1.1\r\nHost: a\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
/// The answer to the key of RFC 6455 §1.3.
const UPGRADED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
/// "Hello" with a mask, and without one (§5.7).
const HELLO: &[u8] = &[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
const HELLO_BACK: &[u8] = &[0x81, 5, b'H', b'e', b'l', b'l', b'o'];

/// A client's frame by its first byte, with a mask.
fn frame(first: u8, body: &[u8]) -> Vec<u8> {
    let key = [1, 2, 3, 4];
    let length = match body.len() {
        short @ 0..126 => vec![0x80 | short.to_be_bytes()[7]],
        long => [&[0xfe], &u16::try_from(long).unwrap().to_be_bytes()[..]].concat(),
    };
    let masked: Vec<u8> = body.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
    [&[first], &length[..], &key, &masked].concat()
}

/// What is echoed to pieces, and whether the server has said its last.
fn echoed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    let (mut echo, mut written) = (Echo::default(), Vec::new());
    pieces.into_iter().for_each(|piece| echo.receive(piece, &mut written));
    (written, echo.is_over())
}

#[test]
fn messages_come_back_frame_by_frame_whatever_the_split() {
    let long = vec![b'x'; 300];
    let sent = [
        HELLO.to_vec(),
        frame(0x02, b"in "),
        frame(0x89, b"ping"),
        frame(0x80, b"two"),
        frame(0x8a, b"unasked"),
        frame(0x82, &long),
        frame(0x81, b""),
        frame(0x88, b"\x03\xe8bye"),
        frame(0x81, b"late"),
    ]
    .concat();
    let expected = [
        HELLO_BACK,
        b"\x02\x03in \x8a\x04ping\x80\x03two",
        b"\x82\x7e\x01\x2c",
        &long,
        b"\x81\0\x88\x02\x03\xe8",
    ]
    .concat();
    assert_eq!(echoed([&sent[..]]), (expected.clone(), true));
    for split in 0..sent.len() {
        let (left, right) = sent.split_at(split);
        assert_eq!(echoed([left, right]), (expected.clone(), true), "{split}");
    }
    assert_eq!(echoed(sent.chunks(1)), (expected, true));
}

#[test]
fn what_breaks_the_rules_is_answered_by_a_close_that_says_so() {
    let protocol_error = [0x88, 2, 0x03, 0xea];
    for wrong in [
        HELLO_BACK.to_vec(),
        frame(0xc1, b"x"),
        frame(0x83, b"x"),
        frame(0x80, b"x"),
        frame(0x09, b"x"),
        frame(0x89, &[0; 126]),
    ] {
        assert_eq!(echoed([&wrong[..]]), (protocol_error.to_vec(), true), "{wrong:x?}");
    }
    let interrupted = [frame(0x01, b"x"), frame(0x81, b"y")].concat();
    let (written, is_over) = echoed([&interrupted[..]]);
    assert!(is_over && written.ends_with(&protocol_error));
}

#[test]
fn only_a_request_for_an_upgrade_of_this_version_is_upgraded() {
    let upgraded = Upgrade { head: UPGRADED.into(), is_deflated: false };
    assert_eq!(upgrade(UPGRADE, true), Some(upgraded));
    for (part, other) in [
        ("GET ", "POST "),
        ("HTTP/1.1", "HTTP/1.0"),
        ("WebSocket\r", "h2c\r"),
        (", Upgrade", ""),
        ("Key:", "Kay:"),
        ("13", "8"),
    ] {
        assert_eq!(upgrade(&UPGRADE.replace(part, other), true), None, "{other}");
    }
}

#[test]
fn of_offers_of_compression_the_first_is_accepted_by_which_messages_can_go_back_as_they_come() {
    let by_itself = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
    let limited =
        |bits: u8| format!("{by_itself}; server_max_window_bits={bits}; client_max_window_bits={bits}");
    for (offers, agreed) in [
        ("permessage-deflate", Some(by_itself.into())),
        ("permessage-deflate; client_max_window_bits", Some(by_itself.into())),
        ("permessage-deflate; server_max_window_bits=10; client_max_window_bits", Some(limited(10))),
        ("permessage-deflate; server_max_window_bits=12; client_max_window_bits=9", Some(limited(9))),
        // A client that does not limit its window may refer further back than it takes.
        ("permessage-deflate; server_max_window_bits=10", None),
        ("permessage-deflate; server_max_window_bits=10, permessage-deflate", Some(by_itself.into())),
        ("x-webkit-deflate-frame", None),
        ("permessage-deflate; unknown", None),
    ] {
        let request = UPGRADE.replace("\r\n\r\n", &format!("\r\nSec-WebSocket-Extensions: {offers}\r\n\r\n"));
        let Upgrade { head, is_deflated } = upgrade(&request, true).unwrap();
        let line = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Extensions: "));
        assert_eq!((line.map(str::to_owned), is_deflated), (agreed.clone(), agreed.is_some()), "{offers}");
        let declined = upgrade(&request, false).unwrap();
        assert_eq!(declined, Upgrade { head: UPGRADED.into(), is_deflated: false });
    }
}

#[test]
fn a_compressed_message_goes_back_as_it_came_where_that_was_agreed_on() {
    let message = [frame(0x41, b"abc"), frame(0x80, b"d")].concat();
    let (mut echo, mut written) = (Echo::deflated(true), Vec::new());
    echo.receive(&message, &mut written);
    assert_eq!((written, echo.is_over()), (b"\x41\x03abc\x80\x01d".to_vec(), false));
    // The bit is that of a message: neither its later frames have it nor those of control.
    for wrong in [[frame(0x01, b"a"), frame(0xc0, b"b")].concat(), frame(0xc9, b"")] {
        let (mut echo, mut written) = (Echo::deflated(true), Vec::new());
        echo.receive(&wrong, &mut written);
        assert!(echo.is_over() && written.ends_with(b"\x88\x02\x03\xea"), "{written:x?}");
    }
}

#[test]
fn limit_upgrades_and_echoes_on_the_port_on_which_it_answers() {
    let server = Server::start("limit", &[]);
    for split in [0, 1, UPGRADE.len() - 1, UPGRADE.len(), UPGRADE.len() + 3] {
        let sent = [b"HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n", UPGRADE.as_bytes(), HELLO].concat();
        let mut client = server.connect();
        client.stream.set_nodelay(true).unwrap();
        for part in [&sent[..split], &sent[split..], &frame(0x88, b"\x03\xe8")] {
            client.stream.write_all(part).unwrap();
        }
        let mut heard = Vec::new();
        client.stream.read_to_end(&mut heard).unwrap();
        let expected = [UPGRADED.as_bytes(), HELLO_BACK, b"\x88\x02\x03\xe8"].concat();
        assert!(heard.ends_with(&expected), "{}", heard.escape_ascii());
        assert!(heard.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
}

/// A client of the program whose handshake for this path is over.
fn upgraded(server: &Server, path: &str) -> std::net::TcpStream {
    let mut client = server.connect().stream;
    client.write_all(UPGRADE.replace("/echo", path).as_bytes()).unwrap();
    let mut answer = vec![0; UPGRADED.len()];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(answer, UPGRADED.as_bytes());
    client
}

#[test]
fn a_message_of_the_broadcast_comes_whole_to_all_of_its_other_clients_and_to_nobody_else() {
    let server = Server::start("limit", &[]);
    let mut publishers = [upgraded(&server, "/broadcast"), upgraded(&server, "/broadcast")];
    let mut subscribers = [0; 3].map(|_| upgraded(&server, "/broadcast"));
    let mut echoing = upgraded(&server, "/echo");
    // The first fragment of the one waits for its last one; the message of the other is not put between them.
    publishers[0].write_all(&frame(0x01, b"on")).unwrap();
    publishers[0].write_all(&frame(0x89, b"")).unwrap();
    let mut pong = [0; 2];
    publishers[0].read_exact(&mut pong).unwrap();
    assert_eq!(pong, [0x8a, 0]);
    publishers[1].write_all(&frame(0x81, b"two")).unwrap();
    let other = b"\x81\x03two";
    let mut first = [0; 5];
    subscribers[0].read_exact(&mut first).unwrap();
    assert_eq!(&first, other);
    publishers[0].write_all(&frame(0x80, b"e")).unwrap();
    let whole = b"\x01\x02on\x80\x01e";
    for (client, expected) in [(&mut subscribers[0], whole.to_vec()), (&mut publishers[1], whole.to_vec())] {
        let mut found = vec![0; expected.len()];
        client.read_exact(&mut found).unwrap();
        assert_eq!(found, expected);
    }
    for client in &mut subscribers[1..] {
        let mut found = vec![0; other.len() + whole.len()];
        client.read_exact(&mut found).unwrap();
        assert_eq!(found, [&other[..], whole].concat());
    }
    echoing.write_all(HELLO).unwrap();
    let mut back = [0; HELLO_BACK.len()];
    echoing.read_exact(&mut back).unwrap();
    assert_eq!(back, HELLO_BACK);
}

#[test]
fn a_message_of_the_broadcast_that_is_too_long_to_be_held_is_refused() {
    let mut echo = Echo::apart();
    let header = [&[0x82, 0xff][..], &(2_u64 << 20).to_be_bytes(), &[0; 4]].concat();
    let mut own = Vec::new();
    echo.receive(&header, &mut own);
    assert_eq!((own, echo.is_over()), (vec![0x88, 2, 0x03, 0xf1], true));
}
