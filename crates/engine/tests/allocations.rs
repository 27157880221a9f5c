//! A load takes its memory at the start: in the steady state no request costs an allocation, on either backend.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use loadcurve_engine::{StartError, start};
use loadcurve_plan::{
    Arrivals, Body, Conversation, Events, HttpLoad, HttpVersion, IoChoice, Messages, Model, Rate, Request,
    Requests, Stop, WebSocket,
};
use loadcurve_wire::websocket::{accept_of, mask};

#[path = "load/support/plans.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod plans;

/// What the plans ask for, unless a test asks for another.
const IO: IoChoice = IoChoice::Auto;

/// How many requests the shorter of two loads has.
const REQUESTS: u64 = 5_000;
const CONNECTIONS: usize = 8;
/// More than a server that is built for tests can serve, so that the load is over soon.
const RATE_RPS: f64 = 20_000.0;
/// A second of a thread's series that is over is kept in a list that grows to the number of its different latencies,
/// which doubles its room some ten times.
const ALLOCATIONS_PER_SECOND: u64 = 16;
/// Buffers grow to the most that they ever hold, a few for each connection; when they do is a matter of chance.
const ALLOCATIONS_OF_BUFFERS: u64 = 8 * CONNECTIONS as u64;

/// The system's allocator, which counts what it is asked for by threads that are not excused.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_EXCUSED: Cell<bool> = const { Cell::new(false) };
}

/// From now on the calling thread's allocations do not count.
fn excuse_this_thread() {
    IS_EXCUSED.set(true);
}

fn count_one() {
    // Where the thread is ending, and its variables with it, it has no more requests.
    if !IS_EXCUSED.try_with(Cell::get).unwrap_or(true) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed to the system's allocator with the caller's own promises; counting allocates nothing.
#[expect(unsafe_code, reason = "an allocator can only be replaced by one whose trait is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller keeps to the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count_one();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A server for as many connections at once as it has threads, all of which are excused.
fn serve(answer_all: fn(&TcpStream) -> std::io::Result<()>) -> SocketAddr {
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

/// Answers requests in two pieces, so that the parser has to keep what it cannot read yet.
fn answer_all(mut stream: &TcpStream) -> std::io::Result<()> {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    stream.set_nodelay(true)?;
    let mut bytes = [0; 4096];
    loop {
        let length = stream.read(&mut bytes)?;
        if length == 0 {
            return Ok(());
        }
        let requests = bytes[..length].windows(4).filter(|window| window == b"\r\n\r\n").count();
        let answers = ANSWER.repeat(requests);
        let (first, second) = answers.split_at(answers.len() - ANSWER.len() / 2);
        stream.write_all(first)?;
        stream.write_all(second)?;
    }
}

/// Answers requests of HTTP/2, each of which is one HEADERS frame.
fn answer_all_streams(mut stream: &TcpStream) -> std::io::Result<()> {
    const PREFACE_BYTES: usize = 24;
    const SETTINGS: [u8; 18] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];
    stream.set_nodelay(true)?;
    stream.read_exact(&mut [0; PREFACE_BYTES])?;
    stream.write_all(&SETTINGS)?;
    let (mut held, mut answers) = (Vec::new(), Vec::new());
    let mut bytes = [0; 4096];
    loop {
        let length = stream.read(&mut bytes)?;
        if length == 0 {
            return Ok(());
        }
        held.extend_from_slice(&bytes[..length]);
        let mut read = 0;
        while let [l0, l1, l2, kind, _, id @ ..] = &held[read..]
            && let Some((id, payload)) = id.split_first_chunk::<4>()
            && let frame_bytes = u32::from_be_bytes([0, *l0, *l1, *l2]) as usize
            && payload.len() >= frame_bytes
        {
            if *kind == 1 {
                // :status 200, and a body of five bytes that ends the stream.
                answers.extend_from_slice(&[0, 0, 1, 1, 4]);
                answers.extend_from_slice(id);
                answers.extend_from_slice(&[0x88, 0, 0, 5, 0, 1]);
                answers.extend_from_slice(id);
                answers.extend_from_slice(b"hello");
            }
            read += 9 + frame_bytes;
        }
        held.drain(..read);
        stream.write_all(&answers)?;
        answers.clear();
    }
}

/// Answers each request with a stream of ten events, each in one write, after which a client may come again at once.
fn answer_all_with_events(mut stream: &TcpStream) -> std::io::Result<()> {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nretry: 0\n\r\n";
    stream.set_nodelay(true)?;
    let mut bytes = [0; 4096];
    loop {
        let length = stream.read(&mut bytes)?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(HEAD)?;
        for _ in 0..10 {
            stream.write_all(b"13\r\nid: 7\ndata: hello\n\n\r\n")?;
        }
        stream.write_all(b"0\r\n\r\n")?;
    }
}

/// The clients of a server of WebSocket, each of which gets what the others send.
static CLIENTS: Mutex<Vec<TcpStream>> = Mutex::new(Vec::new());

/// Sends the messages of a client of WebSocket, each of which is one short frame, to all others.
fn send_to_others(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let own = stream.peer_addr()?;
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
    CLIENTS.lock().unwrap().push(stream.try_clone()?);
    stream.write_all(upgrade.as_bytes())?;
    let ended = loop {
        let mut header = [0; 6];
        if let Err(error) = stream.read_exact(&mut header) {
            break Err(error);
        }
        let [first, length, key @ ..] = header;
        let mut frame = vec![first, length & 0x7f];
        frame.resize(2 + usize::from(frame[1]), 0);
        if let Err(error) = stream.read_exact(&mut frame[2..]) {
            break Err(error);
        }
        if first != 0x81 {
            break Ok(());
        }
        mask(&mut frame[2..], key, 0);
        for mut other in CLIENTS.lock().unwrap().iter() {
            if other.peer_addr().is_ok_and(|address| address != own) {
                // It may have left.
                let _ = other.write_all(&frame);
            }
        }
    };
    CLIENTS.lock().unwrap().retain(|other| other.peer_addr().is_ok_and(|address| address != own));
    ended
}

/// Loads whose messages all but one of the connections receive.
fn plans_of_a_fan_out(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let of_messages = |plan: HttpLoad| {
        let websocket = WebSocket { subscribers: Some(CONNECTIONS / 2), ..WebSocket::default() };
        plan.with(|http| http.messages = Some(Messages::WebSocket(websocket)))
    };
    let closed = plans::closed(address, 1, REQUESTS);
    let open = plans::open(address, 1, RATE_RPS, closed.stop);
    vec![("a fan-out", of_messages(closed)), ("a fan-out at a rate", of_messages(open))]
}

/// Loads whose answers are streams of events, some of which are opened again.
fn plans_of_events(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let closed = plans::closed(address, CONNECTIONS, REQUESTS);
    let of_events = |reconnect_after_s| {
        let events = Events { reconnect_after_s, events_expected: Some(10), ..Events::default() };
        closed.clone().with(|http| http.messages = Some(Messages::Events(events)))
    };
    vec![("events", of_events(None)), ("events of streams that are opened again", of_events(Some(1.0)))]
}

/// How often the threads of a load allocate, and into how many seconds its series is divided; `None` if this kernel
/// does not offer the backend.
fn allocations_of(plan: &HttpLoad) -> Option<(u64, u64)> {
    let Stop::RequestsTotal(requests) = plan.stop else { panic!("these loads have a number of requests") };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let load = match start(plan) {
        Ok(load) => load,
        Err(StartError::Machine(text)) if text.starts_with("io_uring is not available") => {
            eprintln!("skipped: {text}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let result = load.finish();
    assert_eq!(result.requests.answered, requests, "{:?}", result.errors);
    Some((ALLOCATIONS.load(Ordering::Relaxed) - before, result.series.len() as u64))
}

/// Loads over these connections on a server of HTTP/2, which a number of requests ends.
fn plans_of_streams(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let over_streams = |plan: HttpLoad, streams, method: &str, body: &str| {
        plan.with(|http| {
            let request =
                Request { method: method.into(), body: Body::Text(body.into()), ..plans::get("/some/path") };
            http.http = HttpVersion::Http2;
            http.requests = Requests::Given(vec![request]);
            http.conversation = Conversation { streams, ..Conversation::default() };
        })
    };
    let closed = plans::closed(address, CONNECTIONS, REQUESTS);
    let open = plans::open(address, CONNECTIONS, RATE_RPS, closed.stop);
    vec![
        ("streams", over_streams(closed.clone(), 100, "GET", "")),
        ("one stream after the other", over_streams(closed.clone(), 1, "GET", "")),
        ("streams at a rate", over_streams(open, 10, "GET", "")),
        ("streams with bodies", over_streams(closed, 10, "POST", "hello")),
    ]
}

/// Loads of every model over these connections, which a number of requests ends.
fn plans(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let closed = plans::closed(address, CONNECTIONS, REQUESTS);
    let conversation =
        |pipeline, calls| Conversation { pipeline, calls, think_s: 0.0, ..Conversation::default() };
    let model = Model::Open {
        connections: CONNECTIONS,
        rate_rps: Rate::Constant(RATE_RPS),
        arrivals: Arrivals::Poisson,
    };
    vec![
        ("closed", closed.clone()),
        ("pipelined", closed.clone().with(|http| http.conversation = conversation(16, None))),
        (
            "a connection for each request",
            closed.clone().with(|http| http.conversation = conversation(1, Some(1))),
        ),
        ("open", HttpLoad { model, threads: 2, ..plans::open(address, CONNECTIONS, RATE_RPS, closed.stop) }),
    ]
}

#[test]
fn twice_the_requests_allocate_no_more_than_their_seconds_need() {
    excuse_this_thread();
    let (one_by_one, streams) = (serve(answer_all), serve(answer_all_streams));
    let (events, fan_out) = (serve(answer_all_with_events), serve(send_to_others));
    for io in [IoChoice::Epoll, IoChoice::Uring] {
        let all = plans(one_by_one).into_iter().chain(plans_of_streams(streams));
        for (name, plan) in all.chain(plans_of_events(events)).chain(plans_of_a_fan_out(fan_out)) {
            let plan = HttpLoad { io, ..plan };
            let threads = plan.threads as u64;
            let twice = HttpLoad { stop: Stop::RequestsTotal(2 * REQUESTS), ..plan.clone() };
            let Some((allocations, _)) = allocations_of(&plan) else { break };
            let Some((allocations_twice, seconds)) = allocations_of(&twice) else { break };
            let bound = allocations + ALLOCATIONS_PER_SECOND * seconds * threads + ALLOCATIONS_OF_BUFFERS;
            assert!(
                allocations_twice <= bound,
                "{name} over {io:?}: {REQUESTS} requests allocate {allocations} times, twice as many in {seconds} s \
                 allocate {allocations_twice} times"
            );
        }
    }
}
