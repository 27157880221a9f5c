//! The floor of a closed loop over HTTP/2: the same header block in a new stream for each answer, and of what comes the
//! headers of frames alone.
//!
//! What a client must do for a server to go on is done: the settings are acknowledged, and the window of the connection
//! is opened again. Header blocks are not decoded.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::busy::{self, Client, Cost};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEADER_BYTES: usize = 9;
/// As large as the engine's, so that a full one seldom asks for a second read.
const BUFFER_BYTES: usize = 64 * 1024;
const LARGEST_WINDOW_BYTES: u32 = (1 << 31) - 1;
const DEFAULT_WINDOW_BYTES: u32 = 65_535;
/// How much data is taken before the window of the connection is opened again.
const WINDOW_STEP_BYTES: u32 = 1 << 30;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// What every connection does over and over.
pub(crate) struct Frames {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    /// Requests under way on each connection.
    pub(crate) streams: u32,
}

impl Frames {
    /// The header block of a request, in fields that enter no table: `:authority` is the address.
    fn block(&self) -> Result<Vec<u8>, String> {
        // Indices of the static table (RFC 7541, appendix A): 2 is GET, 6 http, 4 the name :path, 1 the name :authority.
        let mut block = vec![0x80 | 2, 0x80 | 6];
        for (index, value) in [(4, self.path.as_str()), (1, &self.address.to_string())] {
            let length = u8::try_from(value.len()).ok().filter(|length| *length < 127);
            let length = length.ok_or_else(|| format!("{value}: expected at most 126 bytes"))?;
            block.extend([index, length]);
            block.extend(value.bytes());
        }
        Ok(block)
    }
}

/// Keeps a number of connections busy for a time.
///
/// # Errors
/// The server cannot be reached, closes a connection, or ends it or a stream.
pub(crate) fn run(frames: &Frames, connections: usize, duration: Duration) -> Result<Cost, String> {
    let block = frames.block()?;
    let mut sockets = (0..connections)
        .map(|_| Ok(Socket::new(busy::connect(frames.address)?, &block, frames.streams)))
        .collect::<Result<Vec<_>, String>>()?;
    busy::run(&mut sockets, &mut vec![0; BUFFER_BYTES], duration)?
        .ok_or_else(|| format!("no answer came within {duration:?}"))
}

struct Socket<'a> {
    stream: TcpStream,
    block: &'a [u8],
    streams: u32,
    next_stream: u32,
    /// What is to be sent.
    out: Vec<u8>,
    /// The header of a frame of which a part has come, and how long that part is.
    header: [u8; FRAME_HEADER_BYTES],
    header_bytes: usize,
    /// Bytes of a payload that have not come yet.
    to_skip: usize,
    /// Data taken since the window of the connection was opened.
    taken_bytes: u32,
}

impl<'a> Socket<'a> {
    fn new(stream: TcpStream, block: &'a [u8], streams: u32) -> Self {
        Self {
            stream,
            block,
            streams,
            next_stream: 1,
            out: Vec::new(),
            header: [0; FRAME_HEADER_BYTES],
            header_bytes: 0,
            to_skip: 0,
            taken_bytes: 0,
        }
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("payloads are short");
        self.out.extend(&length.to_be_bytes()[1..]);
        self.out.extend([kind, flags]);
        self.out.extend(stream.to_be_bytes());
        self.out.extend(payload);
    }

    fn request(&mut self) {
        let (stream, block) = (self.next_stream, self.block);
        self.frame(HEADERS, END_HEADERS | END_STREAM, stream, block);
        self.next_stream += 2;
    }

    fn flush(&mut self) -> Result<(), String> {
        if !self.out.is_empty() {
            busy::send(&mut self.stream, &self.out)?;
            self.out.clear();
        }
        Ok(())
    }

    /// Goes through frames, of which the first and the last may be cut; gives the number of answers that end in them.
    fn read_frames(&mut self, mut bytes: &[u8]) -> Result<u64, String> {
        let mut answers = 0;
        loop {
            let skipped = self.to_skip.min(bytes.len());
            self.to_skip -= skipped;
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(FRAME_HEADER_BYTES - self.header_bytes);
            self.header[self.header_bytes..self.header_bytes + taken].copy_from_slice(&bytes[..taken]);
            self.header_bytes += taken;
            bytes = &bytes[taken..];
            if self.header_bytes < FRAME_HEADER_BYTES {
                return Ok(answers);
            }
            self.header_bytes = 0;
            answers += self.react_to_header()?;
        }
    }

    fn react_to_header(&mut self) -> Result<u64, String> {
        let [high, middle, low, kind, flags, ..] = self.header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        self.to_skip = length as usize;
        match kind {
            DATA => {
                self.taken_bytes += length;
                if self.taken_bytes >= WINDOW_STEP_BYTES {
                    self.frame(WINDOW_UPDATE, 0, 0, &self.taken_bytes.to_be_bytes());
                    self.taken_bytes = 0;
                }
            }
            SETTINGS if flags & ACK == 0 => self.frame(SETTINGS, ACK, 0, &[]),
            RST_STREAM => return Err("the server reset a stream".into()),
            GOAWAY => return Err("the server ended a connection (GOAWAY)".into()),
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            self.request();
            return Ok(1);
        }
        Ok(0)
    }
}

impl Client for Socket<'_> {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn begin(&mut self) -> Result<(), String> {
        self.out.extend(PREFACE);
        // No pushes (setting 2), and windows of streams (setting 4) that no answer fills.
        let [a, b, c, d] = LARGEST_WINDOW_BYTES.to_be_bytes();
        self.frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 0, 0, 4, a, b, c, d]);
        self.frame(WINDOW_UPDATE, 0, 0, &(LARGEST_WINDOW_BYTES - DEFAULT_WINDOW_BYTES).to_be_bytes());
        for _ in 0..self.streams {
            self.request();
        }
        self.flush()
    }

    fn react(&mut self, buffer: &mut [u8]) -> Result<u64, String> {
        let mut answers = 0;
        loop {
            let received = busy::receive(&mut self.stream, buffer)?;
            answers += self.read_frames(&buffer[..received])?;
            // Less than was asked for is all that had come, and the next bytes are a new edge.
            if received < buffer.len() {
                break;
            }
        }
        self.flush()?;
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use super::{Frames, run};

    fn frames_to(listener: &TcpListener) -> Frames {
        Frames { address: listener.local_addr().unwrap(), path: "/1k.txt".into(), streams: 2 }
    }

    /// Reads a client's frames as they are, and answers each HEADERS frame in two frames that arrive in two parts.
    fn serve(mut stream: TcpStream, ends: &[u8]) -> u64 {
        stream.set_nodelay(true).unwrap();
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).unwrap();
        assert_eq!(&preface, super::PREFACE);
        let mut asked = 0;
        let mut header = [0; 9];
        while stream.read_exact(&mut header).is_ok() {
            let mut payload = vec![0; usize::from(header[1]) * 256 + usize::from(header[2])];
            stream.read_exact(&mut payload).unwrap();
            if header[3] == super::HEADERS {
                asked += 1;
                assert_eq!(payload[..2], [0x82, 0x86]);
                let stream_id = &header[5..];
                let answer =
                    [&[0, 0, 1, 1, 4], stream_id, &[0x88], &[0, 0, 2, 0, 1], stream_id, b"ok", ends].concat();
                let (first, second) = answer.split_at(14);
                // The client may have ended.
                let _ = stream.write_all(first).and_then(|()| stream.write_all(second));
            }
        }
        asked
    }

    #[test]
    fn every_answered_stream_is_counted_once_and_followed_by_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let frames = frames_to(&listener);
        let server = thread::spawn(move || serve(listener.accept().unwrap().0, &[]));
        let cost = run(&frames, 1, Duration::from_millis(300)).unwrap();
        let asked = server.join().unwrap();
        // At the end each of the two streams has one request under way.
        assert!((cost.requests..=cost.requests + 2).contains(&asked), "{asked}: {cost:?}");
        assert!(cost.requests > 2, "{cost:?}");
    }

    #[test]
    fn a_connection_that_the_server_ends_is_an_error() {
        const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let frames = frames_to(&listener);
        thread::spawn(move || serve(listener.accept().unwrap().0, &GOAWAY));
        let error = run(&frames, 1, Duration::from_secs(5)).unwrap_err();
        assert_eq!(error, "the server ended a connection (GOAWAY)");
    }
}
