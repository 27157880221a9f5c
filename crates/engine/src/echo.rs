//! An echo that reports what the monotonic clock reads when a datagram arrives and when its answer leaves, by which another
//! machine compares its own clock with this one.
//!
//! A datagram is as long as its answer, so that nobody gains by a forged sender, and only one with the key is answered.
//! What the readings say of the clocks is arithmetic, and not done here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use loadcurve_plan::Nanos;

use crate::clock;

/// Known to both sides of a comparison and to nobody else.
pub type Key = [u8; 16];

/// Key, number, the sender's reading, and the echo's two.
const DATAGRAM_BYTES: usize = 16 + 4 * 8;
/// The echo looks this often whether it is to end, should the datagram that wakes it get lost.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Four readings: two of the clock here, and between them two of the clock there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockExchange {
    /// When the question left, on the clock here.
    pub sent: Nanos,
    /// When it arrived, on the clock there.
    pub received: Nanos,
    /// When the answer left, on the clock there.
    pub replied: Nanos,
    /// When that arrived, on the clock here.
    pub arrived: Nanos,
}

struct Datagram([u8; DATAGRAM_BYTES]);

impl Datagram {
    fn new(key: Key, numbers: [u64; 4]) -> Self {
        let mut bytes = [0; DATAGRAM_BYTES];
        bytes[..16].copy_from_slice(&key);
        for (place, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        Self(bytes)
    }

    /// The numbers of a datagram with the key; none of any other one.
    fn read(bytes: &[u8], key: Key) -> Option<[u64; 4]> {
        let bytes: &[u8; DATAGRAM_BYTES] = bytes.try_into().ok()?;
        let (theirs, numbers) = bytes.split_at(16);
        let mut read = [0; 4];
        for (number, place) in read.iter_mut().zip(numbers.chunks_exact(8)) {
            *number = u64::from_be_bytes(place.try_into().ok()?);
        }
        (theirs == key).then_some(read)
    }
}

/// An echo on a separate thread, until it is dropped.
pub struct ClockEcho {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ClockEcho {
    /// Answers whoever knows the key, on a free port of this address of the machine.
    ///
    /// # Errors
    /// The machine has no such address, or no port or thread left.
    pub fn start(address: IpAddr, key: Key) -> io::Result<Self> {
        Self::with_clock(address, key, clock::now)
    }

    /// The same with another clock.
    fn with_clock(address: IpAddr, key: Key, now: impl Fn() -> Nanos + Send + 'static) -> io::Result<Self> {
        let socket = UdpSocket::bind((address, 0))?;
        socket.set_read_timeout(Some(LOOK_INTERVAL))?;
        let address = socket.local_addr()?;
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let life = move || answer(&socket, key, &now, &seen);
        let thread = std::thread::Builder::new().name("clock-echo".into()).spawn(life)?;
        Ok(Self { address, ends, thread: Some(thread) })
    }

    /// Where it answers.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ClockEcho {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        // Any datagram wakes it.
        let here = match self.address.ip() {
            IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            address => address,
        };
        let _ =
            UdpSocket::bind((here, 0)).and_then(|socket| socket.send_to(&[], (here, self.address.port())));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers until the echo ends.
fn answer(socket: &UdpSocket, key: Key, now: &impl Fn() -> Nanos, ends: &AtomicBool) {
    // One byte more, so that a longer datagram is seen to be one.
    let mut buffer = [0; DATAGRAM_BYTES + 1];
    while !ends.load(Ordering::Acquire) {
        let Ok((length, sender)) = socket.recv_from(&mut buffer) else { continue };
        let received = now();
        if let Some([number, sent, ..]) = Datagram::read(&buffer[..length], key) {
            let answer = Datagram::new(key, [number, sent, received.0, now().0]);
            // One that cannot be sent is missing at the other end, which asks again.
            let _ = socket.send_to(&answer.0, sender);
        }
    }
}

/// Asks an echo this number of times, one question after the other, and returns what was answered in time; a question
/// that gets no answer within `patience` is given up.
///
/// # Errors
/// There is no way to the address.
pub fn ask_clock(
    address: SocketAddr,
    key: Key,
    count: usize,
    patience: Duration,
) -> io::Result<Vec<ClockExchange>> {
    let anywhere = match address {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((anywhere, 0))?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(patience))?;
    let numbers = 0..count as u64;
    Ok(numbers.filter_map(|number| ask_once(&socket, key, number, patience)).collect())
}

fn ask_once(socket: &UdpSocket, key: Key, number: u64, patience: Duration) -> Option<ClockExchange> {
    let mut buffer = [0; DATAGRAM_BYTES + 1];
    let sent = clock::now();
    // Where nobody listens, the kernel reports it at the next call.
    socket.send(&Datagram::new(key, [number, sent.0, 0, 0]).0).ok()?;
    loop {
        let length = socket.recv(&mut buffer).ok()?;
        let arrived = clock::now();
        match Datagram::read(&buffer[..length], key) {
            Some([of, _, received, replied]) if of == number => {
                return Some(ClockExchange {
                    sent,
                    received: Nanos(received),
                    replied: Nanos(replied),
                    arrived,
                });
            }
            // A late answer to a question that was given up.
            _ if (arrived - sent).0 > u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX) => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
    use std::time::Duration;

    use loadcurve_plan::Nanos;

    use super::{ClockEcho, DATAGRAM_BYTES, Datagram, Key, ask_clock};
    use crate::clock;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const KEY: Key = *b"a key of a test.";
    const PATIENCE: Duration = Duration::from_millis(500);

    #[test]
    fn the_clock_there_is_ahead_by_what_lies_between_the_two_ways() {
        // A clock that is ahead by 3 s and goes 100 ppm fast from its first reading on.
        let epoch = clock::now();
        let there = move |here: Nanos| here + Nanos(3_000_000_000) + Nanos((here - epoch).0 / 10_000);
        let echo = ClockEcho::with_clock(HERE, KEY, move || there(clock::now())).unwrap();
        let exchanges = ask_clock(echo.address(), KEY, 200, PATIENCE).unwrap();
        assert!(exchanges.len() > 100, "{} of 200 questions were answered", exchanges.len());
        for exchange in exchanges {
            // Causality: what left before arrived after, read on one clock.
            assert!(there(exchange.sent) <= exchange.received && exchange.received <= exchange.replied);
            assert!(exchange.replied <= there(exchange.arrived));
        }
    }

    #[test]
    fn a_stranger_gets_no_answer_and_nor_does_a_datagram_of_another_length() {
        let echo = ClockEcho::start(HERE, KEY).unwrap();
        let stranger = UdpSocket::bind((HERE, 0)).unwrap();
        stranger.connect(echo.address()).unwrap();
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        let question = Datagram::new(KEY, [1, 2, 0, 0]).0;
        let longer = [&question[..], &[0]].concat();
        for other in [&Datagram::new([0; 16], [1, 2, 0, 0]).0[..], &question[..DATAGRAM_BYTES - 1], &longer] {
            stranger.send(other).unwrap();
        }
        stranger.send(&question).unwrap();
        let mut buffer = [0; 2 * DATAGRAM_BYTES];
        // The first answer is that to the only one that was right, and no longer than the question.
        let length = stranger.recv(&mut buffer).unwrap();
        assert_eq!(Datagram::read(&buffer[..length], KEY).unwrap()[..2], [1, 2]);
    }

    #[test]
    fn where_nobody_answers_there_is_no_exchange() {
        let address = {
            let echo = ClockEcho::start(HERE, KEY).unwrap();
            echo.address()
        };
        let nobody = SocketAddr::new(HERE, address.port());
        assert_eq!(ask_clock(nobody, KEY, 3, Duration::from_millis(20)).unwrap(), []);
    }
}
