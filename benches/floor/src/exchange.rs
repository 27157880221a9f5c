//! The floor of a closed loop: a fixed request out, a fixed number of bytes back, and nothing understood or recorded.
//!
//! What remains is the kernel's part: one read and one write for each request, and a share of one wait.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::busy::{self, Client, Cost};

/// What every connection does over and over.
pub(crate) struct Exchange {
    pub(crate) address: SocketAddr,
    pub(crate) request: Vec<u8>,
    /// Length of the whole answer, header included.
    pub(crate) answer_bytes: usize,
}

/// Keeps a number of connections busy for a time.
///
/// # Errors
/// The server cannot be reached, closes a connection, or answers with another length.
pub(crate) fn run(exchange: &Exchange, connections: usize, duration: Duration) -> Result<Cost, String> {
    let mut sockets =
        (0..connections).map(|_| Socket::connect(exchange)).collect::<Result<Vec<_>, String>>()?;
    // One byte more than an answer, so that no read fills the buffer: a full one would leave the edge unfinished.
    let mut buffer = vec![0; exchange.answer_bytes + 1];
    busy::run(&mut sockets, &mut buffer, duration)?
        .ok_or_else(|| format!("no answer of {} bytes came within {duration:?}", exchange.answer_bytes))
}

struct Socket<'a> {
    exchange: &'a Exchange,
    stream: TcpStream,
    /// Bytes that have arrived of the answer under way.
    received: usize,
}

impl<'a> Socket<'a> {
    fn connect(exchange: &'a Exchange) -> Result<Self, String> {
        Ok(Self { exchange, stream: busy::connect(exchange.address)?, received: 0 })
    }
}

impl Client for Socket<'_> {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn begin(&mut self) -> Result<(), String> {
        busy::send(&mut self.stream, &self.exchange.request)
    }

    fn react(&mut self, buffer: &mut [u8]) -> Result<u64, String> {
        let answer_bytes = self.exchange.answer_bytes;
        self.received += busy::receive(&mut self.stream, buffer)?;
        if self.received > answer_bytes {
            return Err(format!("an answer is longer than the stated {answer_bytes} bytes"));
        }
        if self.received < answer_bytes {
            return Ok(0);
        }
        self.received = 0;
        self.begin()?;
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, Exchange, run};
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    const REQUEST: &[u8] = b"ping";

    /// A server that answers every request with `answer`, in parts that arrive one by one, and counts the requests.
    fn answer_with(parts: &'static [&'static [u8]]) -> (SocketAddr, Arc<AtomicU64>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let counter = Arc::clone(&counter);
                thread::spawn(move || answer_all(stream.unwrap(), parts, &counter));
            }
        });
        (address, requests)
    }

    fn answer_all(mut stream: TcpStream, parts: &[&[u8]], requests: &AtomicU64) {
        stream.set_nodelay(true).unwrap();
        let mut request = [0; REQUEST.len()];
        while stream.read_exact(&mut request).is_ok() {
            assert_eq!(request, REQUEST);
            requests.fetch_add(1, Ordering::Relaxed);
            for part in parts {
                // The client may have ended.
                let _ = stream.write_all(part);
            }
        }
    }

    fn run_against(address: SocketAddr, answer_bytes: usize) -> Result<Cost, String> {
        let exchange = Exchange { address, request: REQUEST.to_vec(), answer_bytes };
        run(&exchange, 3, Duration::from_millis(500))
    }

    #[test]
    fn every_whole_answer_is_counted_once_and_followed_by_the_next_request() {
        let (address, requests) = answer_with(&[b"po", b"ng"]);
        let cost = run_against(address, 4).unwrap();
        let received = requests.load(Ordering::Relaxed);
        // At the end each of the three connections has one request under way.
        assert!((cost.requests..=cost.requests + 3).contains(&received), "{received}: {cost:?}");
        assert!(cost.requests > 3, "{cost:?}");
        assert!(cost.cpu_per_request_us > 0.0);
    }

    #[test]
    fn a_wrong_length_is_refused() {
        let (address, _) = answer_with(&[b"pong"]);
        assert_eq!(run_against(address, 3).unwrap_err(), "an answer is longer than the stated 3 bytes");
        assert_eq!(run_against(address, 5).unwrap_err(), "no answer of 5 bytes came within 500ms");
    }

    #[test]
    fn a_closed_connection_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = stream.unwrap().read_exact(&mut [0; REQUEST.len()]);
            }
        });
        assert_eq!(run_against(address, 4).unwrap_err(), "the server closed a connection");
    }
}
