//! The floor of a fan-out over WebSocket: what one connection publishes is read on many others, and nothing is understood or
//! recorded. The next message is published when all bytes of the last one have come.

use std::cell::{Cell, RefCell};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::busy::{self, Client, Cost};

/// The header of a short frame of a server; that of a client has the mask besides.
const HEADER_BYTES: usize = 2;
const MASK_BYTES: usize = 4;
/// The longest message whose frame has such a header.
pub(crate) const MESSAGE_BYTES_MAX: usize = 125;

/// What is published over and over.
pub(crate) struct FanOut {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) message_bytes: usize,
}

/// What all subscribers share.
struct Published {
    publisher: RefCell<TcpStream>,
    frame: Vec<u8>,
    /// The bytes of one delivery.
    delivery_bytes: usize,
    /// How many bytes are still to come of the last message, on all connections.
    left: Cell<usize>,
    subscribers: usize,
}

impl Published {
    fn publish(&self) -> Result<(), String> {
        self.left.set(self.subscribers * self.delivery_bytes);
        busy::send(&mut self.publisher.borrow_mut(), &self.frame)
    }
}

/// Publishes to a number of subscribers for a time; the cost is that of each delivery.
///
/// # Errors
/// The server cannot be reached, refuses the upgrade, closes a connection, or sends other bytes than those published.
pub(crate) fn run(fan_out: &FanOut, subscribers: usize, duration: Duration) -> Result<Cost, String> {
    let streams = (0..subscribers).map(|_| upgraded(fan_out)).collect::<Result<Vec<_>, String>>()?;
    // A mask of zeros changes nothing.
    let length = u8::try_from(fan_out.message_bytes).map_err(|error| error.to_string())?;
    let header = [&[0x82, 0x80 | length][..], &[0; MASK_BYTES]].concat();
    let published = Published {
        publisher: RefCell::new(upgraded(fan_out)?),
        frame: [header, vec![b'x'; fan_out.message_bytes]].concat(),
        delivery_bytes: HEADER_BYTES + fan_out.message_bytes,
        left: Cell::new(0),
        subscribers,
    };
    let mut sockets: Vec<Subscriber<'_>> = streams
        .into_iter()
        .enumerate()
        .map(|(index, stream)| Subscriber { stream, published: &published, begins: index == 0, received: 0 })
        .collect();
    let mut buffer = vec![0; 64 * 1024];
    busy::run(&mut sockets, &mut buffer, duration)?
        .ok_or_else(|| format!("no message came within {duration:?}"))
}

struct Subscriber<'a> {
    stream: TcpStream,
    published: &'a Published,
    /// Whether the first message is published on its behalf.
    begins: bool,
    /// Bytes of a delivery that is not whole.
    received: usize,
}

impl Client for Subscriber<'_> {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn begin(&mut self) -> Result<(), String> {
        if self.begins { self.published.publish() } else { Ok(()) }
    }

    fn react(&mut self, buffer: &mut [u8]) -> Result<u64, String> {
        let received = busy::receive(&mut self.stream, buffer)?;
        let Published { delivery_bytes, left, .. } = self.published;
        self.received += received;
        let whole = self.received / delivery_bytes;
        self.received %= delivery_bytes;
        let left_bytes = left.get().checked_sub(received).ok_or("more came than was published")?;
        left.set(left_bytes);
        if left_bytes == 0 && received > 0 {
            self.published.publish()?;
        }
        Ok(whole as u64)
    }
}

/// A connection whose upgrade to WebSocket is over.
fn upgraded(fan_out: &FanOut) -> Result<TcpStream, String> {
    let FanOut { address, path, .. } = fan_out;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    let mut stream = busy::connect(*address)?;
    let mut asked = || -> std::io::Result<Vec<u8>> {
        stream.set_nonblocking(false)?;
        stream.write_all(request.as_bytes())?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.extend(byte);
        }
        stream.set_nonblocking(true)?;
        Ok(head)
    };
    let head = asked().map_err(|error| format!("the upgrade has failed: {error}"))?;
    if head.starts_with(b"HTTP/1.1 101 ") {
        return Ok(stream);
    }
    Err(format!("the upgrade was refused: {}", head.escape_ascii()))
}
