//! The floor of a closed loop: a fixed request out, a fixed number of bytes back, and nothing understood or recorded.
//!
//! What remains is the kernel's part: one read and one write for each request, and a share of one wait.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use serde::Serialize;

use crate::clock;

const EVENTS_PER_WAIT: usize = 64;
/// The token of the timer that ends the run; connections have their slot's number.
const END: u64 = u64::MAX;

/// What every connection does over and over.
pub(crate) struct Exchange {
    pub(crate) address: SocketAddr,
    pub(crate) request: Vec<u8>,
    /// Length of the whole answer, header included.
    pub(crate) answer_bytes: usize,
}

/// What a run came to.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    /// Requests whose answer arrived whole.
    pub(crate) requests: u64,
    pub(crate) rps: f64,
    /// Processor time of the loop's thread, connecting left out.
    pub(crate) cpu_per_request_us: f64,
}

/// Keeps so many connections busy for so long.
///
/// # Errors
/// The server cannot be reached, closes a connection, or answers with another length.
pub(crate) fn run(exchange: &Exchange, connections: usize, duration: Duration) -> Result<Cost, String> {
    let mut sockets = (0..connections)
        .map(|_| Socket::connect(exchange.address))
        .collect::<io::Result<Vec<_>>>()
        .map_err(|error| format!("cannot connect to {}: {error}", exchange.address))?;
    let refused = |errno: Errno| format!("the kernel refuses to wait for the connections: {errno}");
    let set = register(&sockets).map_err(refused)?;
    let timer = start_timer(&set, duration).map_err(refused)?;

    let (start, start_cpu) = (clock::now(), clock::thread_cpu_time());
    for socket in &mut sockets {
        socket.send(&exchange.request)?;
    }
    let requests = keep_busy(&set, &mut sockets, exchange)?;
    let elapsed = clock::now().saturating_sub(start);
    let cpu = clock::thread_cpu_time().saturating_sub(start_cpu);
    drop(timer);
    if requests == 0 {
        return Err(format!("no answer of {} bytes came within {duration:?}", exchange.answer_bytes));
    }
    Ok(Cost {
        requests,
        rps: requests as f64 / elapsed.as_secs_f64(),
        cpu_per_request_us: cpu.as_secs_f64() * 1e6 / requests as f64,
    })
}

struct Socket {
    stream: TcpStream,
    /// Bytes that have arrived of the answer under way.
    received: usize,
}

impl Socket {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, received: 0 })
    }

    fn send(&mut self, request: &[u8]) -> Result<(), String> {
        match self.stream.write(request) {
            Ok(taken) if taken == request.len() => Ok(()),
            Ok(taken) => Err(format!("the kernel took {taken} of the {} bytes of a request", request.len())),
            Err(error) => Err(format!("a request cannot be sent: {error}")),
        }
    }

    /// Reads once and says whether the answer is whole.
    fn receive(&mut self, buffer: &mut [u8], answer_bytes: usize) -> Result<bool, String> {
        match self.stream.read(buffer) {
            Ok(0) => return Err("the server closed a connection".into()),
            Ok(received) => self.received += received,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(format!("an answer cannot be read: {error}")),
        }
        if self.received > answer_bytes {
            return Err(format!("an answer is longer than the stated {answer_bytes} bytes"));
        }
        Ok(self.received == answer_bytes)
    }
}

/// A set of all sockets, edge-triggered, so that none is ever registered again.
fn register(sockets: &[Socket]) -> Result<OwnedFd, Errno> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (slot, socket) in sockets.iter().enumerate() {
        epoll::add(
            &set,
            &socket.stream,
            EventData::new_u64(slot as u64),
            EventFlags::IN | EventFlags::RDHUP | EventFlags::ET,
        )?;
    }
    Ok(set)
}

/// The end of the run as an event of the set, so that the loop reads no clock.
fn start_timer(set: &OwnedFd, duration: Duration) -> Result<OwnedFd, Errno> {
    let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let once = Itimerspec { it_interval: Timespec::default(), it_value: clock::timespec(duration) };
    rustix::time::timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    epoll::add(set, &timer, EventData::new_u64(END), EventFlags::IN)?;
    Ok(timer)
}

/// Answers every whole answer with the next request until the timer ends; gives the number of whole answers.
fn keep_busy(set: &OwnedFd, sockets: &mut [Socket], exchange: &Exchange) -> Result<u64, String> {
    // One byte more than an answer, so that no read fills the buffer: a full one would leave the edge unfinished.
    let mut buffer = vec![0; exchange.answer_bytes + 1];
    let mut requests = 0;
    loop {
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_WAIT];
        let events = match epoll::wait(set, &mut events, None) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(format!("the kernel refuses to wait: {errno}")),
        };
        for event in events {
            let token = event.data.u64();
            if token == END {
                return Ok(requests);
            }
            let Some(socket) = usize::try_from(token).ok().and_then(|slot| sockets.get_mut(slot)) else {
                continue;
            };
            if socket.receive(&mut buffer, exchange.answer_bytes)? {
                requests += 1;
                socket.received = 0;
                socket.send(&exchange.request)?;
            }
        }
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
