//! Completions by `io_uring`: one call of the kernel submits what a turn has begun and waits for the next one.

#![expect(unsafe_code, reason = "the kernel gets addresses at which it reads or writes later")]

mod buffers;
mod ring;
mod socket;

use std::collections::VecDeque;
use std::mem;
use std::os::fd::AsFd;

use loadcurve_plan::Nanos;
use loadcurve_record::Failure;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, SocketFlags};

use crate::clock;
use crate::io::local::Queued;
use crate::io::route::Route;
use crate::io::uring::buffers::BufferRing;
use crate::io::uring::ring::{Completion, Operation, Ring, Unavailable, Wait};
use crate::io::uring::socket::{Kind, Receiving, Socket, Stage, Token};
use crate::io::{
    EVENTS_PER_TURN, Event, Io, Looked, Notify, Slot, broken_failure, connect_failure, is_end_by_peer,
    tcp_info,
};

/// For how many turns connections receive one buffer at a time after one has found none free. The kernel gives free buffers to those
/// first that go on receiving, so that a single one could take all of them, turn by turn.
const SCARCE_TURNS: u32 = 256;

/// Every operation on a socket that was shut down ends at once; this is for a kernel that is stuck.
const LONGEST_END: Nanos = Nanos::from_millis(1000);

/// A completion that the loop needs.
struct Arrival {
    token: Token,
    result: Result<usize, Errno>,
    buffer: Option<u16>,
}

/// How far an arrival gets on a connection on which something comes before everything else.
enum Passage {
    /// It is the loop's.
    Open,
    /// The loop may use the connection from now on.
    Entered,
    /// More has to arrive.
    Awaited,
    Refused(Failure),
}

/// The `io_uring` backend.
pub(crate) struct Uring {
    ring: Ring,
    buffers: BufferRing,
    route: Route,
    /// Connections that wait for room in the queue of a Unix socket.
    queued: Queued,
    sockets: Vec<Socket>,
    /// Slots that may have operations to begin.
    touched: Vec<Slot>,
    /// What has happened, in order. All completions are taken here at once: one that tells of bytes which were not
    /// sent must be known before more are.
    arrived: VecDeque<Arrival>,
    /// How many events this turn may still deliver.
    left_in_turn: usize,
    /// Connections that wait for a free buffer, the one that has waited longest first.
    starved: VecDeque<Token>,
    /// For how many turns buffers are still taken to be scarce.
    scarce_turns: u32,
    /// Operations that receive into one buffer after the other, and are to be ended.
    to_end: Vec<Token>,
    /// The buffer that the last event has lent out.
    lent: Option<u16>,
    /// Bytes of closed connections which operations under way still send, by the operation's token.
    abandoned: Vec<(Token, Vec<u8>)>,
    /// Operations under way, without those that are complete when they have been submitted.
    in_flight: usize,
}

impl Uring {
    /// A set of `slots` unconnected connections of a route. It may be made on any thread, and belongs to the one
    /// that first waits for it.
    pub(crate) fn new(route: Route, slots: usize) -> Result<Self, Unavailable> {
        let ring = Ring::new()?;
        let buffers = BufferRing::new();
        // SAFETY: `drop` frees the buffers only when no operation is under way that could use them.
        unsafe { ring.register(&buffers)? };
        Ok(Self {
            ring,
            buffers,
            route,
            queued: Queued::default(),
            sockets: (0..slots).map(|_| Socket::default()).collect(),
            touched: Vec::with_capacity(slots),
            arrived: VecDeque::new(),
            left_in_turn: 0,
            starved: VecDeque::new(),
            scarce_turns: 0,
            to_end: Vec::new(),
            lent: None,
            abandoned: Vec::new(),
            in_flight: 0,
        })
    }

    fn begin_connect(&mut self, slot: Slot) -> Result<(), Errno> {
        if self.route.is_local() {
            return self.begin_connect_locally(slot);
        }
        // The socket must block: on one that does not, the kernel gives up operations instead of waiting.
        let descriptor = self.route.socket(slot, SocketFlags::CLOEXEC)?;
        let socket = &mut self.sockets[slot];
        socket.descriptor = Some(descriptor);
        socket.connect = Stage::Wanted;
        self.touched.push(slot);
        Ok(())
    }

    /// Connects to a Unix socket without an operation, which could not be ended while the socket's queue is full.
    fn begin_connect_locally(&mut self, slot: Slot) -> Result<(), Errno> {
        let descriptor = self.route.socket(slot, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        let connected = rustix::net::connect(&descriptor, self.route.address(slot));
        let is_connected = self.queued.attempted(slot, self.sockets[slot].generation, connected)?;
        self.sockets[slot].descriptor = Some(descriptor);
        if is_connected {
            self.connected_locally(slot, Ok(()));
        }
        Ok(())
    }

    /// Has the loop learn what became of a connection to a Unix socket.
    fn connected_locally(&mut self, slot: Slot, outcome: Result<(), Errno>) {
        let socket = &mut self.sockets[slot];
        // From now on it blocks, as other sockets do.
        let outcome = match &socket.descriptor {
            Some(descriptor) => outcome.and_then(|()| rustix::io::ioctl_fionbio(descriptor, false)),
            None => outcome,
        };
        if outcome.is_ok() {
            socket.receive = Receiving::Wanted;
            self.touched.push(slot);
        }
        let token = Token { kind: Kind::Connect, slot, generation: socket.generation };
        self.arrived.push_back(Arrival { token, result: outcome.map(|()| 0), buffer: None });
    }

    /// Tries once more what has waited for room in a queue.
    fn connect_queued(&mut self) {
        let Self { queued, sockets, route, .. } = self;
        let done = queued.try_again(|slot, generation| {
            let socket = sockets.get(slot).filter(|socket| socket.generation == generation)?;
            Some(rustix::net::connect(socket.descriptor.as_ref()?, route.address(slot)))
        });
        for (slot, outcome) in done {
            self.connected_locally(slot, outcome);
        }
    }

    /// What an arrival means on a connection on which something comes before everything else.
    fn enter_by(&mut self, arrival: &Arrival) -> Passage {
        let Arrival { token, result, buffer } = *arrival;
        let socket = &mut self.sockets[token.slot];
        match (token.kind, result, &mut socket.tunnel) {
            (Kind::Connect, Ok(_), _) => {
                let Some(descriptor) = &socket.descriptor else { return Passage::Awaited };
                match self.route.enter(descriptor.as_fd()) {
                    Ok(None) => Passage::Entered,
                    Ok(tunnel) => {
                        socket.tunnel = tunnel;
                        Passage::Awaited
                    }
                    Err(failure) => Passage::Refused(failure),
                }
            }
            (Kind::Receive, Ok(length), Some(tunnel)) => {
                // SAFETY: the completion says that the buffer is filled so far; it is offered again after this.
                let bytes = buffer.map(|buffer| unsafe { self.buffers.filled(buffer, length) });
                match bytes.map(|bytes| tunnel.receive(bytes)) {
                    Some(Ok(true)) => {
                        socket.tunnel = None;
                        Passage::Entered
                    }
                    Some(Ok(false)) => Passage::Awaited,
                    Some(Err(_)) | None => Passage::Refused(Failure::ConnectRefused),
                }
            }
            (_, Err(_), Some(_)) => Passage::Refused(Failure::ConnectRefused),
            _ => Passage::Open,
        }
    }

    /// Queues the operations that the touched slots need.
    ///
    /// They are made here, just before they are submitted, because a descriptor that is closed between the two could be
    /// another socket's when the kernel looks it up.
    fn queue_operations(&mut self) {
        for token in self.to_end.drain(..) {
            self.ring.push_end(token.pack());
        }
        let how = if self.scarce_turns > 0 { Receiving::Once } else { Receiving::Always };
        for &slot in &self.touched {
            let socket = &mut self.sockets[slot];
            while let Some(kind) = socket.begin_next(how) {
                let Some(descriptor) = &socket.descriptor else { break };
                let operation = match kind {
                    Kind::Connect => Operation::Connect(self.route.address(slot)),
                    Kind::Receive if how == Receiving::Once => Operation::ReceiveOnce,
                    Kind::Receive => Operation::Receive,
                    Kind::SendNow => Operation::SendNow { bytes: &socket.unsent, notifies: socket.notifies },
                    Kind::Send => Operation::Send(&socket.unsent),
                };
                let token = Token { kind, slot, generation: socket.generation };
                // SAFETY: the address and the bytes to send now are not touched until the queue has been submitted,
                // which follows before anything else. Other bytes to send stay as they are while the socket says that
                // an operation sends them; `close` moves them, unchanged, to where they stay until it is complete, and
                // `drop` frees them only when no operation is under way.
                unsafe { self.ring.push(descriptor.as_fd(), &operation, token.pack()) };
                self.in_flight += usize::from(kind.lasts());
            }
        }
    }

    /// Lets as many starved connections receive again as there are free buffers.
    fn feed_starved(&mut self) {
        for _ in 0..self.buffers.free() {
            let Some(Token { slot, generation, .. }) = self.starved.pop_front() else { break };
            let socket = &mut self.sockets[slot];
            if socket.generation == generation {
                socket.receive = Receiving::Wanted;
                self.touched.push(slot);
            }
        }
        self.scarce_turns = self.scarce_turns.saturating_sub(1);
    }

    fn take_completions(&mut self) {
        while let Some(completion) = self.ring.next_completion() {
            self.take(completion);
        }
    }

    /// Does at once what a completion asks for, and keeps what the loop needs.
    fn take(&mut self, completion: Completion) {
        let Completion { token, result, buffer, more } = completion;
        let token = Token::unpack(token);
        self.in_flight -= usize::from(token.kind.lasts() && !more);
        if buffer.is_some() {
            self.buffers.filled_one();
        }
        let socket = &mut self.sockets[token.slot];
        if socket.generation != token.generation {
            self.abandoned.retain(|(abandoned, _)| *abandoned != token);
            if let Some(buffer) = buffer {
                self.buffers.offer(buffer);
            }
            return;
        }
        let is_event = match (token.kind, result) {
            (Kind::Connect, _) => {
                socket.connect = Stage::Idle;
                socket.receive = if result.is_ok() { Receiving::Wanted } else { Receiving::Idle };
                self.touched.push(token.slot);
                true
            }
            (Kind::Receive, _) => self.take_received(token, result, more),
            (Kind::SendNow | Kind::Send, Ok(_) | Err(Errno::AGAIN)) => {
                self.touched.push(token.slot);
                socket.taken(result.unwrap_or(0))
            }
            (Kind::SendNow | Kind::Send, Err(errno)) => {
                socket.broken();
                if is_end_by_peer(errno) {
                    socket.send_failure = Some(broken_failure(errno));
                }
                socket.send_failure.is_none()
            }
        };
        if is_event {
            self.arrived.push_back(Arrival { token, result, buffer });
        }
    }

    /// Begins to receive anew where that is needed, or has a connection wait for a free buffer; says whether the loop needs the
    /// completion.
    fn take_received(&mut self, token: Token, result: Result<usize, Errno>, more: bool) -> bool {
        let socket = &mut self.sockets[token.slot];
        if result == Err(Errno::NOBUFS) {
            self.scarce_turns = SCARCE_TURNS;
        }
        let is_scarce = self.scarce_turns > 0;
        let goes_on = result.is_ok_and(|length| length > 0);
        // It has ended without a buffer, and not for anything that the peer did.
        let is_without = match result {
            Err(Errno::NOBUFS) => true,
            Err(Errno::CANCELED) => socket.receive == Receiving::Ending,
            _ => false,
        };
        if more {
            if is_scarce && socket.receive == Receiving::Always {
                socket.receive = Receiving::Ending;
                self.to_end.push(token);
            }
        } else if is_without || (is_scarce && goes_on) {
            socket.receive = Receiving::Idle;
            self.starved.push_back(token);
        } else if goes_on {
            socket.receive = Receiving::Wanted;
            self.touched.push(token.slot);
        } else {
            socket.receive = Receiving::Idle;
        }
        !is_without
    }

    /// Queues what the last turn has begun; returns of how many slots.
    fn begin_turn(&mut self) -> usize {
        self.offer_lent();
        self.connect_queued();
        self.buffers.publish();
        self.left_in_turn = EVENTS_PER_TURN;
        self.feed_starved();
        self.queue_operations();
        self.touched.len()
    }

    /// Submits what is queued, waits, and takes what is complete.
    fn enter(&mut self, wait: Wait) {
        self.ring.enter(wait);
        self.take_completions();
    }

    /// Submits what is still queued of this many slots.
    fn submit(&mut self, slots: usize) {
        while self.ring.has_queued() {
            self.enter(Wait::No);
        }
        for slot in self.touched.drain(..slots) {
            self.sockets[slot].submitted();
        }
    }

    fn offer_lent(&mut self) {
        if let Some(buffer) = self.lent.take() {
            self.buffers.offer(buffer);
        }
    }
}

impl Io for Uring {
    const NAME: &'static str = "uring";

    fn connect(&mut self, slot: Slot) -> Result<(), Failure> {
        self.begin_connect(slot).map_err(connect_failure)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], notify: Notify) -> Result<(), Failure> {
        let socket = &mut self.sockets[slot];
        if socket.descriptor.is_none() {
            return Err(Failure::ClosedEarly);
        }
        socket.add(bytes, notify);
        self.touched.push(slot);
        Ok(())
    }

    fn retransmits(&self, slot: Slot) -> Option<u32> {
        tcp_info::retransmits(self.sockets[slot].descriptor.as_ref()?.as_fd())
    }

    fn close(&mut self, slot: Slot) {
        let socket = &mut self.sockets[slot];
        let Some(descriptor) = &socket.descriptor else { return };
        if let Some(last) = socket.unbegun() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            // The peer may have closed the connection, and then nobody misses it.
            let _ = rustix::net::send(descriptor, last, flags);
        }
        if socket.is_held() {
            // This ends the operations under way, which would hold the socket open, and tells the peer at once.
            let _ = rustix::net::shutdown(descriptor, Shutdown::Both);
        }
        let token = Token { kind: Kind::Send, slot, generation: socket.generation };
        if let Some(bytes) = socket.end() {
            self.abandoned.push((token, bytes));
        }
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        let submitted = self.begin_turn();
        // Events may be left from the last turn; then there is nothing to wait for. The kernel is asked all the same: what it has
        // put off for this thread it does only then, and without end some connections leave events of every turn.
        let has_events = !self.arrived.is_empty();
        let longest = if has_events { Nanos::ZERO } else { self.queued.wait_until(until) - clock::now() };
        self.enter(Wait::AtMost(longest));
        self.submit(submitted);
        clock::now()
    }

    fn look(&mut self, until: Nanos, pause: Nanos) -> Looked {
        let submitted = self.begin_turn();
        let until = self.queued.wait_until(until);
        let mut looked = Looked::default();
        let has_events = !self.arrived.is_empty();
        self.enter(Wait::AtMost(Nanos::ZERO));
        if !has_events {
            let mut before = clock::now();
            while self.arrived.is_empty() && before < until {
                before = looked.pause(before, pause, until);
                // The kernel could show in memory that it has something (IORING_SETUP_TASKRUN_FLAG): that would cost the
                // server's processor more than this call costs here.
                self.enter(Wait::AtMost(Nanos::ZERO));
                if self.arrived.is_empty() {
                    let now = clock::now();
                    looked.add(now - before);
                    before = now;
                }
            }
        }
        self.submit(submitted);
        Looked { now: clock::now(), ..looked }
    }

    fn next(&mut self) -> Option<(Slot, Event<'_>)> {
        self.offer_lent();
        let Arrival { token, result, .. } = loop {
            if self.left_in_turn == 0 {
                return None;
            }
            let arrival = self.arrived.pop_front()?;
            self.lent = arrival.buffer;
            if self.sockets[arrival.token.slot].generation == arrival.token.generation {
                match if self.route.has_entrance() { self.enter_by(&arrival) } else { Passage::Open } {
                    Passage::Open => break arrival,
                    Passage::Entered => {
                        self.left_in_turn -= 1;
                        return Some((arrival.token.slot, Event::Connected));
                    }
                    Passage::Refused(failure) => {
                        self.left_in_turn -= 1;
                        return Some((arrival.token.slot, Event::ConnectFailed(failure)));
                    }
                    Passage::Awaited => {}
                }
            }
            self.offer_lent();
        };
        self.left_in_turn -= 1;
        let send_failure = self.sockets[token.slot].send_failure;
        let event = match (token.kind, result, self.lent) {
            (Kind::Connect, Ok(_), _) => Event::Connected,
            (Kind::Connect, Err(errno), _) => Event::ConnectFailed(connect_failure(errno)),
            // SAFETY: the completion says that the buffer is filled so far; it is offered again by the next call.
            (_, Ok(length), Some(buffer)) => Event::Received(unsafe { self.buffers.filled(buffer, length) }),
            (Kind::SendNow | Kind::Send, Ok(_), None) => Event::Written,
            (_, Ok(_), None) => send_failure.map_or(Event::Closed, Event::Broken),
            (_, Err(errno), _) => Event::Broken(send_failure.unwrap_or(broken_failure(errno))),
        };
        Some((token.slot, event))
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // What was sent last leaves before the end. Without operations the ring may be another thread's to enter.
        self.queue_operations();
        while self.ring.has_queued() {
            self.ring.enter(Wait::No);
            self.take_completions();
        }
        (0..self.sockets.len()).for_each(|slot| self.close(slot));
        let end = clock::now() + LONGEST_END;
        let mut now = clock::now();
        while self.in_flight > 0 && now < end {
            self.ring.enter(Wait::AtMost(end - now));
            self.take_completions();
            now = clock::now();
        }
        if self.in_flight > 0 {
            // The kernel may still use this memory, so nobody else ever may.
            mem::forget(mem::replace(&mut self.buffers, BufferRing::new()));
            mem::forget(mem::take(&mut self.abandoned));
        }
    }
}
