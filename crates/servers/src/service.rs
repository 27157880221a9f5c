//! Who answers the requests of a connection, in whichever version of HTTP has streams.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::reply::{Outcome, Reply};

/// Who decides on the answers.
pub trait Service {
    /// The reply to a request; asked once for requests that follow each other and are alike.
    fn reply(&mut self, method: &[u8], target: &[u8]) -> Reply;

    /// The reply to a call of gRPC, over HTTP/2; asked as the other one.
    fn reply_to_call(&mut self) -> Reply {
        Reply::to_call(1)
    }

    /// The reply to a request for a WebSocket at this target, over HTTP/2, with these offers of extensions; asked as the other
    /// ones.
    fn reply_to_websocket(&mut self, _target: &[u8], offers: &str) -> Reply {
        Reply::to_websocket(offers)
    }

    /// What becomes of the next request that is whole.
    fn fate(&mut self) -> Fate;
}

/// What becomes of a request: by default it is answered at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// When its answer may be sent, where that is not at once.
    pub due: Option<Duration>,
    /// How it is answered.
    pub outcome: Outcome,
    /// Whether it is the last one of its connection.
    pub last: Option<Last>,
    /// How its file is sent again and again, where its answer is a stream of events.
    pub events: Option<Repeats>,
}

/// An event that is sent again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// When the next one is due.
    pub next: Duration,
    /// From each to the next.
    pub every: Duration,
    /// How many are to come, the next one included; `None` for an endless stream.
    pub left: Option<NonZeroU64>,
}

impl Repeats {
    /// What follows the next one; `None` behind the last one.
    #[must_use]
    pub fn after_next(self) -> Option<Self> {
        let left = match self.left {
            Some(left) => Some(NonZeroU64::new(left.get() - 1)?),
            None => None,
        };
        Some(Self { next: self.next.saturating_add(self.every), left, ..self })
    }

    /// Whether the next one is the last one.
    #[must_use]
    pub fn is_last(self) -> bool {
        self.left == Some(NonZeroU64::MIN)
    }
}

/// The last request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Whether the client learns that it is.
    pub is_announced: bool,
}
