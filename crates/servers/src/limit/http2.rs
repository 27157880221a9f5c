//! HTTP/2: answers of one read leave in one write, and what waits continues when it can.

use std::time::Duration;

use loadcurve_servers::http::Status;
use loadcurve_servers::http2::{Connection, Fate, Output, Service};
use loadcurve_servers::reply::{Content, Reply};

use super::script::Played;
use super::step::Step;
use super::transport::{BATCH_BYTES, Transport};

/// Where one WebSocket's messages go to all others.
const BROADCAST: &[u8] = b"/broadcast";

/// What streams are answered with.
#[derive(Clone, Copy)]
pub(super) struct Replies<'a> {
    pub(super) content: &'a Content,
    /// What calls of gRPC are answered with.
    pub(super) to_call: &'a Reply,
}

/// What streams are answered with, and how that goes.
pub(super) struct Streams<'a> {
    pub(super) replies: Replies<'a>,
    pub(super) played: Option<Played<'a>>,
}

impl Service for Streams<'_> {
    fn reply(&mut self, method: &[u8], target: &[u8]) -> Reply {
        Reply::to(method, target, self.replies.content)
    }

    fn reply_to_call(&mut self) -> Reply {
        self.replies.to_call.clone()
    }

    /// Messages go to others over HTTP/1.1 alone.
    fn reply_to_websocket(&mut self, target: &[u8], offers: &str) -> Reply {
        if target == BROADCAST { Reply::plain(Status::NotFound) } else { Reply::to_websocket(offers) }
    }

    #[inline]
    fn fate(&mut self) -> Fate {
        match &mut self.played {
            None => Fate::default(),
            Some(played) => played.fate(),
        }
    }
}

/// Answers what bytes of a client ask for. The batch is empty, but for what a connection begins with.
pub(super) fn answer(
    http2: &mut Connection,
    transport: &mut Transport,
    bytes: &[u8],
    streams: &mut Streams<'_>,
    batch: &mut Vec<u8>,
) -> Step {
    let mut rest = bytes;
    while !rest.is_empty() {
        let most_bytes = if transport.is_clear() { BATCH_BYTES } else { 0 };
        let consumed = http2.receive(rest, streams, &mut Output { bytes: batch, most_bytes });
        rest = &rest[consumed..];
        if let Some(Played { script, .. }) = &streams.played {
            script.time_after_stall();
        }
        write(http2, transport, batch)?;
    }
    go_on(http2, transport, batch)
}

/// Sends the answers whose time has come.
pub(super) fn release(
    http2: &mut Connection,
    now: Duration,
    transport: &mut Transport,
    batch: &mut Vec<u8>,
) -> Step {
    http2.release(now);
    go_on(http2, transport, batch)
}

/// Sends what can be sent of the answers that are under way.
pub(super) fn go_on(http2: &mut Connection, transport: &mut Transport, batch: &mut Vec<u8>) -> Step {
    while transport.is_clear() && !transport.close_when_sent {
        http2.send(&mut Output { bytes: batch, most_bytes: BATCH_BYTES });
        if batch.is_empty() && !http2.is_over() {
            break;
        }
        write(http2, transport, batch)?;
    }
    Step::Continue(())
}

/// Closes a connection that nobody uses.
pub(super) fn close(http2: &mut Connection, transport: &mut Transport, batch: &mut Vec<u8>) -> Step {
    http2.go_away(batch);
    transport.lingers = false;
    write(http2, transport, batch)
}

/// The client sends nothing more: it still gets the answers to its whole requests.
pub(super) fn end_of_requests(http2: &mut Connection, transport: &mut Transport) -> Step {
    http2.end_of_input();
    transport.lingers = false;
    transport.close_when_sent |= http2.is_over();
    let is_done = transport.is_shut || (http2.is_over() && transport.is_clear());
    if is_done { Step::Break(()) } else { Step::Continue(()) }
}

/// Writes the batch, and makes it the end where nothing follows.
fn write(http2: &Connection, transport: &mut Transport, batch: &mut Vec<u8>) -> Step {
    let is_end = http2.is_over() && !transport.close_when_sent;
    if batch.is_empty() && !is_end {
        return Step::Continue(());
    }
    transport.close_when_sent |= is_end;
    let step = transport.write(batch);
    batch.clear();
    step
}
