//! Clients that are kept busy: each sends its next request when an answer is whole, and nothing else is done.

use std::io::{self, ErrorKind, Read as _, Write as _};
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
/// The token of the timer that ends the run; clients have their index.
const END: u64 = u64::MAX;

/// One connection with requests under way.
pub(crate) trait Client {
    fn stream(&self) -> &TcpStream;

    /// Sends the first requests.
    ///
    /// # Errors
    /// They cannot be sent.
    fn begin(&mut self) -> Result<(), String>;

    /// Reads what has come, sends a request for each whole answer, and gives the number of these.
    ///
    /// # Errors
    /// The server closed the connection, or sent what was not expected.
    fn react(&mut self, buffer: &mut [u8]) -> Result<u64, String>;
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

/// A connection for a client.
///
/// # Errors
/// The server cannot be reached.
pub(crate) fn connect(address: SocketAddr) -> Result<TcpStream, String> {
    let connected = || -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    connected().map_err(|error| format!("cannot connect to {address}: {error}"))
}

/// Sends all of some bytes at once.
///
/// # Errors
/// The kernel takes less of them.
pub(crate) fn send(stream: &mut TcpStream, bytes: &[u8]) -> Result<(), String> {
    match stream.write(bytes) {
        Ok(taken) if taken == bytes.len() => Ok(()),
        Ok(taken) => Err(format!("the kernel took {taken} of the {} bytes of a request", bytes.len())),
        Err(error) => Err(format!("a request cannot be sent: {error}")),
    }
}

/// Reads once; gives the number of bytes that had come, which may be none.
///
/// # Errors
/// The server closed the connection.
pub(crate) fn receive(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<usize, String> {
    match stream.read(buffer) {
        Ok(0) => Err("the server closed a connection".into()),
        Ok(received) => Ok(received),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        Err(error) => Err(format!("an answer cannot be read: {error}")),
    }
}

/// Keeps clients busy for a time; gives none if no answer was whole.
///
/// # Errors
/// As the clients say.
pub(crate) fn run<C: Client>(
    clients: &mut [C],
    buffer: &mut [u8],
    duration: Duration,
) -> Result<Option<Cost>, String> {
    let refused = |errno: Errno| format!("the kernel refuses to wait for the connections: {errno}");
    let set = register(clients).map_err(refused)?;
    let timer = start_timer(&set, duration).map_err(refused)?;

    let (start, start_cpu) = (clock::now(), clock::thread_cpu_time());
    for client in clients.iter_mut() {
        client.begin()?;
    }
    let requests = keep_busy(&set, clients, buffer)?;
    let elapsed = clock::now().saturating_sub(start);
    let cpu = clock::thread_cpu_time().saturating_sub(start_cpu);
    drop(timer);
    Ok((requests > 0).then(|| Cost {
        requests,
        rps: requests as f64 / elapsed.as_secs_f64(),
        cpu_per_request_us: cpu.as_secs_f64() * 1e6 / requests as f64,
    }))
}

/// A set of all connections, edge-triggered, so that none is ever registered again.
fn register<C: Client>(clients: &[C]) -> Result<OwnedFd, Errno> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, client) in clients.iter().enumerate() {
        epoll::add(
            &set,
            client.stream(),
            EventData::new_u64(index as u64),
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

/// Lets every client react until the timer ends; gives the number of whole answers.
fn keep_busy<C: Client>(set: &OwnedFd, clients: &mut [C], buffer: &mut [u8]) -> Result<u64, String> {
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
            let Some(client) = usize::try_from(token).ok().and_then(|index| clients.get_mut(index)) else {
                continue;
            };
            requests += client.react(buffer)?;
        }
    }
}
