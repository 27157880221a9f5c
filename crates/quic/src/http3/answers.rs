//! Answers as their streams bring them.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};
use loadcurve_wire::{self as wire, Event, Http3Code, Malformed, Received, Tag};

use crate::connection::{Connection, ReadTo};

/// The stream that is being read, and those that wait for the table of the field compression.
#[derive(Debug, Default)]
pub(super) struct Answers {
    current: Option<Current>,
    chunks: VecDeque<Bytes>,
    waiting: Vec<Waiting>,
    /// What was read of all of them.
    #[cfg(feature = "observe")]
    pub(super) observed: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    tag: Tag,
    stream: u64,
    read_to: ReadTo,
}

/// An answer that waits for the table. No more of it is read, so that the windows bound what is held.
#[derive(Debug)]
struct Waiting {
    current: Current,
    chunks: VecDeque<Bytes>,
}

impl Answers {
    pub(super) fn clear(&mut self) {
        self.current = None;
        self.chunks.clear();
        self.waiting.clear();
    }

    /// The request whose answer is being read.
    #[inline]
    pub(super) fn tag(&self) -> Option<Tag> {
        self.current.map(|current| current.tag)
    }

    /// Something has come on the stream of a request.
    #[inline]
    pub(super) fn begin(&mut self, tag: Tag, stream: u64, connection: &mut Connection) {
        if self.waiting.iter().all(|one| one.current.tag != tag) {
            let read_to = connection.read(stream, &mut self.chunks);
            self.current = Some(Current { tag, stream, read_to });
        }
    }

    /// The answer of a request waits no longer.
    pub(super) fn go_on(&mut self, tag: Tag, connection: &mut Connection) {
        let Some(place) = self.waiting.iter().position(|one| one.current.tag == tag) else { return };
        let Waiting { mut current, chunks } = self.waiting.swap_remove(place);
        self.chunks = chunks;
        if current.read_to == ReadTo::Now {
            current.read_to = connection.read(current.stream, &mut self.chunks);
        }
        self.current = Some(current);
    }

    /// A request has ended.
    pub(super) fn end(&mut self, tag: Tag) {
        self.waiting.retain(|one| one.current.tag != tag);
        if self.tag() == Some(tag) {
            self.current = None;
            self.chunks.clear();
        }
    }

    /// Reads the current stream up to the next event.
    #[inline]
    pub(super) fn read(
        &mut self,
        http3: &mut wire::Http3,
        take_body: &mut impl FnMut(u16, &[u8]),
    ) -> Result<Option<Event>, Malformed> {
        let Some(current) = self.current else { return Ok(None) };
        let Current { tag, read_to, .. } = current;
        while let Some(mut chunk) = self.chunks.pop_front() {
            let is_end = read_to == ReadTo::End && self.chunks.is_empty();
            let received = http3.receive_with(tag, &chunk, is_end, take_body);
            #[cfg(feature = "observe")]
            self.observed
                .extend_from_slice(&chunk[..received.as_ref().map_or(chunk.len(), |one| one.consumed)]);
            let Received { consumed, event } = received?;
            chunk.advance(consumed);
            let is_whole = chunk.is_empty();
            if !is_whole {
                self.chunks.push_front(chunk);
            }
            if event.is_some() {
                return Ok(event);
            }
            if !is_whole {
                return Ok(self.wait(current));
            }
            if is_end {
                // The section that it ends with waits for the table.
                return Ok(self.wait(current));
            }
        }
        match read_to {
            ReadTo::Now => {
                self.current = None;
                Ok(None)
            }
            ReadTo::End => {
                let event = http3.receive_with(tag, &[], true, take_body)?.event;
                Ok(if event.is_some() { event } else { self.wait(current) })
            }
            ReadTo::Reset(code) => {
                self.current = None;
                Ok(http3.reset(tag, Http3Code(code)))
            }
        }
    }

    fn wait(&mut self, current: Current) -> Option<Event> {
        self.waiting.push(Waiting { current, chunks: std::mem::take(&mut self.chunks) });
        self.current = None;
        None
    }
}
