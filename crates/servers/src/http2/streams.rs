//! The streams on which something is under way, in the order of their numbers.

use std::time::Duration;

use super::answer::Answer;
use super::echo::Echo;
use crate::service::Repeats;

/// A request, or its answer, of which a part is to come.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) answer: Answer,
    pub(super) state: State,
    /// What may be sent before the client gives more.
    pub(super) send_window: i64,
    /// Of a call whose messages are echoed; it has no other state.
    pub(super) echo: Option<Box<Echo>>,
    /// Of an answer that is a stream of events.
    pub(super) events: Option<Repeats>,
}

/// What a stream waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The messages of its client, each of which is echoed.
    Echoing,
    /// The rest of its request.
    Receiving {
        /// What the client may still send.
        window: i64,
        /// How much its content's length leaves, where that was stated.
        remaining_bytes: Option<u64>,
    },
    /// The time of its answer, or of the next event.
    Held(Duration, Sent),
    /// Windows, or room in the output.
    Sending(Sent),
}

/// How much of an answer was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Nothing,
    /// The head, and this many bytes of the body.
    Head(usize),
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    all: Vec<Stream>,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    /// Adds a stream, whose number is above all others'.
    pub(super) fn push(&mut self, stream: Stream) {
        self.all.push(stream);
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        let place = self.place(id)?;
        Some(&mut self.all[place])
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let place = self.place(id)?;
        Some(self.all.remove(place))
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.all.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.all.iter_mut()
    }

    /// Keeps those of which something is left.
    pub(super) fn retain(&mut self, has_more: impl FnMut(&mut Stream) -> bool) {
        self.all.retain_mut(has_more);
    }

    /// Keeps what has come whole, and answers that have begun.
    pub(super) fn forget_requests_under_way(&mut self) {
        self.all.retain(|stream| match (stream.state, &stream.echo) {
            (State::Receiving { .. }, _) => false,
            (State::Echoing, echo) => echo.as_ref().is_some_and(|echo| echo.has_end()),
            (State::Held(..) | State::Sending(_), _) => true,
        });
    }

    /// Ends all calls whose messages are echoed, each behind the messages that have come.
    pub(super) fn end_echoes(&mut self) {
        self.all.iter_mut().filter_map(|stream| stream.echo.as_mut()).for_each(|echo| echo.end());
    }

    pub(super) fn release(&mut self, now: Duration) {
        for stream in &mut self.all {
            if let State::Held(due, sent) = stream.state
                && due <= now
            {
                stream.state = State::Sending(sent);
            }
            if let Some(echo) = &mut stream.echo {
                echo.release(now);
            }
        }
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        let dues = self.all.iter().filter_map(|stream| match stream.state {
            State::Held(due, _) => Some(due),
            State::Echoing => stream.echo.as_ref().and_then(|echo| echo.due()),
            State::Receiving { .. } | State::Sending(_) => None,
        });
        dues.min()
    }
}
