//! Who answers the requests of a connection, in whichever version of HTTP has streams.

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
}

/// The last request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Whether the client learns that it is.
    pub is_announced: bool,
}
