//! HTTP/2 on one connection (RFC 9113), as a server that answers from memory: bytes in, bytes out.
//!
//! A request that is whole is answered into the same output as those that came with it, without a trace left behind;
//! only what waits has a place among the streams: a body that is under way, an answer whose time is to come, one that the
//! client's windows or the output hold back. A header block that equals the last one is not read again.
//!
//! What a client can make a connection keep is bounded: a frame by 16 KiB, a header block by [`HEADER_BYTES_MAX`], the
//! dynamic table by 4 KiB, streams by [`STREAMS_MAX`], each with a reference to its body and not a copy, and what is
//! written by what the [`Output`] takes, but for answers to frames that ask for one, which are hardly longer than these.
//! Only of a call or a WebSocket (RFC 8441) whose messages are echoed what it says is kept: each by the window of its stream, 1 MiB, and all of
//! them by as many windows as there are streams.

mod answer;
mod echo;
mod head;
mod receive;
mod send;
mod settings;
mod streams;
mod windows;

use std::collections::VecDeque;
use std::time::Duration;

use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::DEFAULT_WINDOW_BYTES;
pub use loadcurve_wire::h2::frame::PREFACE;

pub use crate::service::{Fate, Last, Repeats, Service};

use head::HeadReader;
use receive::{BlockUnderWay, DataUnderWay};
use settings::PeerSettings;
use streams::Streams;

/// How many streams a client may have open at once.
pub const STREAMS_MAX: usize = 1000;
/// The longest header block, before its compression is undone.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// How much a client may send on a stream, or on all, before it is given more. Nothing of it is kept but messages that are
/// echoed, until they have been sent back.
const WINDOW_BYTES: i64 = 1 << 20;

/// Where a connection writes to.
#[derive(Debug)]
pub struct Output<'a> {
    /// What is to be sent.
    pub bytes: &'a mut Vec<u8>,
    /// No frame of an answer begins where there are this many.
    pub most_bytes: usize,
}

impl Output<'_> {
    fn has_room(&self) -> bool {
        self.bytes.len() < self.most_bytes
    }
}

/// One connection's end of HTTP/2.
#[derive(Debug)]
pub struct Connection {
    peer: PeerSettings,
    /// How much of the preface has come.
    preface_bytes: usize,
    has_peer_settings: bool,
    /// A frame of which earlier slices brought a part. Its memory is reused.
    partial: Vec<u8>,
    data: Option<DataUnderWay>,
    block: Option<BlockUnderWay>,
    /// The header block under way, where it came in several frames.
    block_bytes: Vec<u8>,
    heads: HeadReader,
    streams: Streams,
    /// The newest stream that the client has opened.
    last_id: u32,
    /// The streams that were ended here before the client had ended them, the oldest first: what still comes is ignored.
    reset_ids: VecDeque<u32>,
    /// What the client may still send, and what may be sent to it, on all streams together.
    receive_window: i64,
    send_window: i64,
    /// The last stream that is answered, once that is decided.
    last_answered: Option<u32>,
    /// Whether the client has broken the protocol.
    is_broken: bool,
}

/// How many streams that were reset are remembered.
const RESET_IDS_MAX: usize = 32;

impl Connection {
    /// A connection from which nothing has come, and which begins to write with its settings.
    #[must_use]
    pub fn open(to: &mut Vec<u8>) -> Self {
        send::write_settings(to);
        Self {
            peer: PeerSettings::default(),
            preface_bytes: 0,
            has_peer_settings: false,
            partial: Vec::new(),
            data: None,
            block: None,
            block_bytes: Vec::new(),
            heads: HeadReader::default(),
            streams: Streams::default(),
            last_id: 0,
            reset_ids: VecDeque::new(),
            receive_window: WINDOW_BYTES,
            send_window: DEFAULT_WINDOW_BYTES,
            last_answered: None,
            is_broken: false,
        }
    }

    /// Takes bytes of the client, up to where the output is full, and answers what can be answered. Gives how many were
    /// taken: more are to be given when the output has been written.
    pub fn receive(&mut self, bytes: &[u8], service: &mut impl Service, output: &mut Output<'_>) -> usize {
        match self.receive_frames(bytes, service, output) {
            Ok(consumed) => {
                self.send(output);
                consumed
            }
            Err(code) => {
                send::write_go_away(self.last_id, code, output.bytes);
                self.is_broken = true;
                self.streams.clear();
                bytes.len()
            }
        }
    }

    /// The client sends nothing more: it still gets the answers to its whole requests.
    pub fn end_of_input(&mut self) {
        self.last_answered.get_or_insert(self.last_id);
        self.streams.forget_requests_under_way();
    }

    /// Announces that no further request is answered.
    pub fn go_away(&mut self, to: &mut Vec<u8>) {
        let last_id = *self.last_answered.get_or_insert(self.last_id);
        send::write_go_away(last_id, ErrorCode::NoError, to);
    }

    /// Lets the answers go whose time has come; [`Self::send`] then sends them.
    pub fn release(&mut self, now: Duration) {
        self.streams.release(now);
    }

    /// When the next answer may be sent of those whose time is to come.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.streams.next_due()
    }

    /// Whether nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    /// Whether nothing will be answered any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_broken || (self.last_answered.is_some() && self.streams.is_empty())
    }
}
