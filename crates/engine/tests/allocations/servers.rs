//! Servers that answer at once, whose own threads are excused from the count.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use loadcurve_wire::websocket::{accept_of, mask};

use crate::{CONNECTIONS, excuse_this_thread};

/// A server for as many connections at once as it has threads, all of which are excused.
pub(crate) fn serve(answer_all: fn(&TcpStream) -> std::io::Result<()>) -> SocketAddr {
    let listener = Arc::new(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    for _ in 0..CONNECTIONS {
        let listener = Arc::clone(&listener);
        std::thread::spawn(move || {
            excuse_this_thread();
            while let Ok((stream, _)) = listener.accept() {
                // A connection that breaks ends like any other.
                let _ = answer_all(&stream);
            }
        });
    }
    listener.local_addr().unwrap()
}

/// Hands on what is read of a stream, piece by piece, until it ends.
fn each_piece(
    mut stream: &TcpStream,
    mut answer: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = [0; 4096];
    loop {
        let length = stream.read(&mut bytes)?;
        if length == 0 {
            return Ok(());
        }
        answer(&bytes[..length])?;
    }
}

/// Answers requests in two pieces, so that the parser has to keep what it cannot read yet.
pub(crate) fn answer_all(mut stream: &TcpStream) -> std::io::Result<()> {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    each_piece(stream, |bytes| {
        let requests = bytes.windows(4).filter(|window| window == b"\r\n\r\n").count();
        let answers = ANSWER.repeat(requests);
        let (first, second) = answers.split_at(answers.len() - ANSWER.len() / 2);
        stream.write_all(first)?;
        stream.write_all(second)
    })
}

/// What a frame of HTTP/2 is answered with, of these bytes: its type, its flags, its stream and its payload.
type Answer = fn(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8], answers: &mut Vec<u8>);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`, of the static table.
const OK: &[u8] = &[0x88];
/// `grpc-status: 0`, a literal without a table.
const GRPC_OK: &[u8] = b"\x00\x0bgrpc-status\x010";

fn frame(answers: &mut Vec<u8>, kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) {
    answers.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes()[1..]);
    answers.extend_from_slice(&[kind, flags]);
    answers.extend_from_slice(&stream);
    answers.extend_from_slice(payload);
}

/// Answers the frames of HTTP/2, each in its turn.
fn answer_frames(mut stream: &TcpStream, answer: Answer) -> std::io::Result<()> {
    const PREFACE_BYTES: usize = 24;
    // Any number of streams, a window of 1 GiB for each, WebSockets, and as large a window of the connection.
    const SETTINGS: &[u8] = &[0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 4, 0x40, 0, 0, 0, 0, 8, 0, 0, 0, 1];
    const FIRST: &[u8] = &[0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x3f, 0, 0, 0];
    stream.read_exact(&mut [0; PREFACE_BYTES])?;
    stream.write_all(&[SETTINGS, FIRST].concat())?;
    let (mut held, mut answers) = (Vec::new(), Vec::new());
    each_piece(stream, |bytes| {
        held.extend_from_slice(bytes);
        let mut read = 0;
        while let [l0, l1, l2, kind, flags, rest @ ..] = &held[read..]
            && let Some((id, rest)) = rest.split_first_chunk::<4>()
            && let frame_bytes = u32::from_be_bytes([0, *l0, *l1, *l2]) as usize
            && let Some(payload) = rest.get(..frame_bytes)
        {
            answer(*kind, *flags, *id, payload, &mut answers);
            read += 9 + frame_bytes;
        }
        held.drain(..read);
        stream.write_all(&answers)?;
        answers.clear();
        Ok(())
    })
}

/// Answers requests of HTTP/2, each of which is one HEADERS frame.
pub(crate) fn answer_all_streams(stream: &TcpStream) -> std::io::Result<()> {
    answer_frames(stream, |kind, _, id, _, answers| {
        if kind == HEADERS {
            frame(answers, HEADERS, END_HEADERS, id, OK);
            frame(answers, DATA, END_STREAM, id, b"hello");
        }
    })
}

/// Answers each call of gRPC with a message without fields.
pub(crate) fn answer_calls(stream: &TcpStream) -> std::io::Result<()> {
    answer_frames(stream, |kind, flags, id, _, answers| {
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            frame(answers, HEADERS, END_HEADERS, id, OK);
            frame(answers, DATA, 0, id, &[0; 5]);
            frame(answers, HEADERS, END_HEADERS | END_STREAM, id, GRPC_OK);
        }
    })
}

/// Answers each message of a call of gRPC with the same one, and its end with OK.
pub(crate) fn answer_messages(stream: &TcpStream) -> std::io::Result<()> {
    answer_frames(stream, |kind, flags, id, payload, answers| {
        if kind == HEADERS {
            frame(answers, HEADERS, END_HEADERS, id, OK);
        } else if kind == DATA && !payload.is_empty() {
            frame(answers, DATA, 0, id, payload);
        }
        if kind == DATA && flags & END_STREAM != 0 {
            frame(answers, HEADERS, END_HEADERS | END_STREAM, id, GRPC_OK);
        }
    })
}

/// Echoes the messages of WebSockets over HTTP/2, each of which is one short frame in one frame.
pub(crate) fn echo_on_streams(stream: &TcpStream) -> std::io::Result<()> {
    answer_frames(stream, |kind, _, id, payload, answers| {
        if kind == HEADERS {
            frame(answers, HEADERS, END_HEADERS, id, OK);
        } else if let (DATA, [first, length, k0, k1, k2, k3, message @ ..]) = (kind, payload) {
            let mut echoed = vec![*first, length & 0x7f];
            echoed.extend_from_slice(message);
            mask(&mut echoed[2..], [*k0, *k1, *k2, *k3], 0);
            frame(answers, DATA, 0, id, &echoed);
        }
    })
}

/// Answers each request with a stream of ten events, each in one write, after which a client may come again at once.
pub(crate) fn answer_all_with_events(mut stream: &TcpStream) -> std::io::Result<()> {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nretry: 0\n\r\n";
    each_piece(stream, |_| {
        stream.write_all(HEAD)?;
        for _ in 0..10 {
            stream.write_all(b"13\r\nid: 7\ndata: hello\n\n\r\n")?;
        }
        stream.write_all(b"0\r\n\r\n")
    })
}

/// The clients of a server of WebSocket, each of which gets what the others send.
static CLIENTS: Mutex<Vec<TcpStream>> = Mutex::new(Vec::new());

/// Opens a client's WebSocket.
fn open(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head);
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
    let upgrade = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        accept_of(key.as_bytes())
    );
    stream.write_all(upgrade.as_bytes())
}

/// Reads a message of a client of WebSocket, one short frame, as a server sends it on; `None` where it is none.
fn message(mut stream: &TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    const TEXT: u8 = 0x81;
    let mut header = [0; 6];
    stream.read_exact(&mut header)?;
    let [first, length, key @ ..] = header;
    let mut frame = vec![first, length & 0x7f];
    frame.resize(2 + usize::from(frame[1]), 0);
    stream.read_exact(&mut frame[2..])?;
    mask(&mut frame[2..], key, 0);
    Ok((first == TEXT).then_some(frame))
}

/// Echoes the messages of a client of WebSocket.
pub(crate) fn echo(mut stream: &TcpStream) -> std::io::Result<()> {
    open(stream)?;
    while let Some(frame) = message(stream)? {
        stream.write_all(&frame)?;
    }
    Ok(())
}

/// Sends the messages of a client of WebSocket to all others.
pub(crate) fn send_to_others(stream: &TcpStream) -> std::io::Result<()> {
    let own = stream.peer_addr()?;
    CLIENTS.lock().unwrap().push(stream.try_clone()?);
    let ended = open(stream).and_then(|()| {
        while let Some(frame) = message(stream)? {
            for mut other in CLIENTS.lock().unwrap().iter() {
                if other.peer_addr().is_ok_and(|address| address != own) {
                    // It may have left.
                    let _ = other.write_all(&frame);
                }
            }
        }
        Ok(())
    });
    CLIENTS.lock().unwrap().retain(|other| other.peer_addr().is_ok_and(|address| address != own));
    ended
}
