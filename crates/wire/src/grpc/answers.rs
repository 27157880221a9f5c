//! The answers to calls, whatever they are carried by.

use super::message::GrpcMessages;
use super::{GrpcAnswer, compressed};
use crate::exchange::{Event, Refusal, Tag};
use crate::grpc_status::{GrpcCoding, GrpcStatus};

/// What is expected of the answers to calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GrpcCalls {
    /// What is expected of each call with status OK.
    pub answer: GrpcAnswer,
    /// Whether messages of answers may be compressed, which the requests then say.
    pub takes_compressed: bool,
}

/// The answers under way.
#[derive(Debug)]
pub(crate) struct CallAnswers {
    calls: GrpcCalls,
    /// What has come of the messages of each, by tag.
    messages: Box<[GrpcMessages]>,
}

impl CallAnswers {
    /// Of at most `most` calls at once.
    pub(crate) fn new(most: usize, calls: GrpcCalls) -> Self {
        Self { calls, messages: vec![GrpcMessages::default(); most].into() }
    }

    pub(crate) fn begin(&mut self, tag: Tag) {
        self.messages[tag] = GrpcMessages::default();
    }

    /// Reads the next part of an answer's body.
    #[inline]
    pub(crate) fn read(&mut self, tag: Tag, part: &[u8]) {
        self.messages[tag].read(part);
    }

    /// What an event of HTTP is of gRPC: an answer of status OK has one whole message, or whole ones. `coding` says how the
    /// compressed messages of an answer are compressed.
    pub(crate) fn judged(&self, event: Event, coding: impl FnOnce(Tag) -> GrpcCoding) -> Event {
        let Event::Answered(tag, response) = event else { return event };
        if response.grpc_status == Some(GrpcStatus::Ok) {
            let messages = &self.messages[tag];
            let compressed = compressed(self.calls.takes_compressed, || coding(tag));
            let judged = match self.calls.answer {
                GrpcAnswer::One => messages.require_one(compressed),
                GrpcAnswer::Stream | GrpcAnswer::Each => messages.require_whole(compressed),
            };
            if let Err(error) = judged {
                return Event::Refused(tag, Refusal::Malformed(error.into()));
            }
        }
        event
    }
}
