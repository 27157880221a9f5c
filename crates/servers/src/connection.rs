//! The connection of one client: requests are taken from what it sent, answers are written in the same order.

use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::SystemTime;

use crate::http::{Answer, Parsed, Request, Status, parse};

/// Answers are written together up to this many bytes.
const ANSWERS_BYTES: usize = 64 * 1024;
/// What a client sends after its last answer is read no further than this.
const MOST_UNREAD_BYTES: usize = 1 << 20;

/// A stream of bytes in both directions, one of which can end before the other.
pub trait ClientStream: Read + Write {
    /// Lets the client know that nothing more will be written.
    ///
    /// # Errors
    /// When the client has gone.
    fn end_writing(&mut self) -> io::Result<()>;
}

impl ClientStream for TcpStream {
    fn end_writing(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// A client's stream, with what was received of requests and what is still to be written of answers.
#[derive(Debug)]
pub struct Connection<S: ClientStream> {
    stream: BufWriter<S>,
    received: RequestBuffer,
    now: fn() -> SystemTime,
}

impl<S: ClientStream> Connection<S> {
    /// Serves a stream, with a place for this many bytes of requests; `now` dates the answers.
    ///
    /// # Panics
    /// When `buffer_bytes` is zero.
    #[must_use]
    pub fn new(stream: S, buffer_bytes: usize, now: fn() -> SystemTime) -> Self {
        assert!(buffer_bytes > 0, "a request needs a place");
        let stream = BufWriter::with_capacity(ANSWERS_BYTES, stream);
        Self { stream, received: RequestBuffer::new(buffer_bytes), now }
    }

    /// The next request, however long it takes to arrive, or why it is refused; none when no other will come: the client
    /// closed the connection, or was silent for too long.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn next_request(&mut self) -> io::Result<Option<Result<Request, Status>>> {
        loop {
            if let Some(request) = self.buffered_request() {
                return Ok(Some(request));
            }
            if !self.receive()? {
                return Ok(None);
            }
        }
    }

    /// The next request of those received, or why it is refused; none while it is not whole.
    pub fn buffered_request(&mut self) -> Option<Result<Request, Status>> {
        match parse(self.received.bytes()) {
            Parsed::Request { request, length } => {
                self.received.remove(length);
                Some(Ok(request))
            }
            Parsed::Refused(status) => Some(Err(status)),
            Parsed::Incomplete if self.received.is_full() => Some(Err(self.received.too_long())),
            Parsed::Incomplete => None,
        }
    }

    /// Waits until more is received; false when nothing more will be.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn receive(&mut self) -> io::Result<bool> {
        loop {
            match self.received.fill(self.stream.get_mut()) {
                Ok(received_bytes) => return Ok(received_bytes > 0),
                Err(error) if is_timeout(&error) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes an answer behind the earlier ones; it may leave only when [`Self::flush`] is called.
    ///
    /// # Errors
    /// When the connection is broken, or the client takes nothing for too long, or the answer cannot be made whole.
    pub fn write(&mut self, answer: Answer) -> io::Result<()> {
        answer.write_to(&mut self.stream, (self.now)())
    }

    /// Sends what was written.
    ///
    /// # Errors
    /// When the connection is broken, or the client takes nothing for too long.
    pub fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    /// Sends what was written and waits for the client to close, too (RFC 9112 §9.6): closing while it still sends would
    /// make the kernel reset the connection, which may cost it the answer.
    ///
    /// # Errors
    /// When the connection is broken, or the client is silent for too long.
    pub fn close(mut self) -> io::Result<()> {
        self.stream.flush()?;
        let client = self.stream.get_mut();
        client.end_writing()?;
        io::copy(&mut client.take(MOST_UNREAD_BYTES as u64), &mut io::sink())?;
        Ok(())
    }
}

impl<S: ClientStream> Drop for Connection<S> {
    /// Gives up what could not be sent: otherwise the writer would wait for the client once more.
    fn drop(&mut self) {
        let _ = self.stream.get_mut().end_writing();
    }
}

/// The error of a socket whose timeout has passed.
fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// What was received and not yet answered.
#[derive(Debug)]
struct RequestBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl RequestBuffer {
    fn new(capacity_bytes: usize) -> Self {
        Self { bytes: vec![0; capacity_bytes], start: 0, end: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn is_full(&self) -> bool {
        self.bytes().len() == self.bytes.len()
    }

    fn remove(&mut self, length: usize) {
        self.start += length;
    }

    /// Reads once from a stream; returns the number of bytes, zero at its end.
    fn fill(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let received_bytes = stream.read(&mut self.bytes[self.end..])?;
        self.end += received_bytes;
        Ok(received_bytes)
    }

    /// Why a request head that fills the buffer is refused.
    fn too_long(&self) -> Status {
        let has_request_line = self.bytes().contains(&b'\n');
        if has_request_line { Status::HeaderFieldsTooLarge } else { Status::UriTooLong }
    }
}
