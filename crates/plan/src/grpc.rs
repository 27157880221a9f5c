//! Calls of gRPC: what they say of themselves, and what their answers must be.

use serde::{Deserialize, Serialize};

use crate::{EventFormat, Events, InvalidPlan};

/// How many statuses there are.
const STATUSES: u32 = 17;

/// What a call consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// One message, which one answers.
    #[default]
    Unary,
    /// One message, which any number of them answers.
    ServerStream,
    /// Several messages, which one answers.
    ClientStream,
    /// A message at a time on a call that is kept; one answers each.
    Bidirectional,
}

/// How calls of gRPC are made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grpc {
    /// The statuses that are right: the bit of each one's number.
    pub right_statuses: u32,
    /// Whether calls tell the server their timeout (`grpc-timeout`).
    pub deadline: bool,
    /// Whether messages are sent as they were compressed by gzip, so that those of answers may be, too.
    pub is_gzip: bool,
    /// What each call consists of.
    pub call: Call,
    /// How many messages the client sends in a call that streams them.
    pub messages_per_call: u64,
    /// How many messages a streamed answer is to have; `None` where nobody knows.
    pub events_expected: Option<u64>,
    /// How long a streamed answer is awaited that the server does not end; none for as long as the load lasts.
    pub stream_for_s: Option<f64>,
}

impl Default for Grpc {
    /// Unary calls, of which OK is right.
    fn default() -> Self {
        Self {
            right_statuses: 1,
            deadline: false,
            is_gzip: false,
            call: Call::Unary,
            messages_per_call: 1,
            events_expected: None,
            stream_for_s: None,
        }
    }
}

impl Grpc {
    /// Whether a status of this number is right.
    #[must_use]
    pub fn is_right(self, status: u8) -> bool {
        u32::from(status) < STATUSES && self.right_statuses >> status & 1 == 1
    }

    /// How answers are divided into messages; `None` where each has one.
    #[must_use]
    pub fn streams(self) -> Option<Events> {
        let Self { events_expected, stream_for_s, .. } = self;
        let events = Events {
            event_format: EventFormat::Grpc,
            events_expected,
            stream_for_s,
            reconnect_after_s: None,
        };
        (self.call == Call::ServerStream).then_some(events)
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// No status is right, or a bit is that of no status; or something is said of streams that no call has.
    pub(crate) fn validate(self) -> Result<(), InvalidPlan> {
        let bits = self.right_statuses;
        if bits == 0 || bits >> STATUSES > 0 {
            return Err(InvalidPlan(format!(
                "the right statuses of gRPC have the bits {bits:#b}; expected at least one of the lowest {STATUSES}"
            )));
        }
        let refuse = |text: &str| Err(InvalidPlan(text.into()));
        if self.call == Call::Bidirectional {
            if self.deadline {
                return refuse(
                    "a deadline is that of a whole call, but calls of both directions are kept: remove it",
                );
            }
            if bits != 1 {
                return refuse("calls of both directions are kept, so that no status but OK can be right");
            }
        }
        if self.messages_per_call == 0 || (self.messages_per_call > 1 && self.call != Call::ClientStream) {
            return Err(InvalidPlan(format!(
                "{} messages per call: expected at least 1, and 1 where the client does not stream them",
                self.messages_per_call
            )));
        }
        let says_of_streams = self.events_expected.is_some() || self.stream_for_s.is_some();
        match self.streams() {
            Some(streams) => streams.validate(),
            None if says_of_streams => refuse(
                "only an answer that is a stream has a number of messages and a time for which it is awaited",
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, EventFormat, Events, Grpc};

    #[test]
    fn ok_is_right_unless_others_are_named() {
        let right = |grpc: Grpc| (0..=40).filter(|status| grpc.is_right(*status)).collect::<Vec<_>>();
        assert_eq!(right(Grpc::default()), [0]);
        assert_eq!(right(Grpc { right_statuses: 0b10_0001, ..Grpc::default() }), [0, 5]);
        assert_eq!(right(Grpc { right_statuses: 1 << 16, ..Grpc::default() }), [16]);
    }

    #[test]
    fn answers_of_calls_that_stream_them_are_divided_into_messages() {
        let stream = Grpc {
            call: Call::ServerStream,
            events_expected: Some(3),
            stream_for_s: Some(0.5),
            ..Grpc::default()
        };
        let events = Events {
            event_format: EventFormat::Grpc,
            events_expected: Some(3),
            stream_for_s: Some(0.5),
            reconnect_after_s: None,
        };
        assert_eq!(stream.streams(), Some(events));
        assert!(stream.validate().is_ok());
        assert!(Grpc { events_expected: Some(0), ..stream }.validate().is_err());
        let unary = Grpc { call: Call::Unary, ..stream };
        assert_eq!(unary.streams(), None);
        assert!(unary.validate().unwrap_err().to_string().contains("only an answer that is a stream"));
    }

    #[test]
    fn what_belongs_to_other_calls_is_refused() {
        let kept = Grpc { call: Call::Bidirectional, ..Grpc::default() };
        let several = Grpc { call: Call::ClientStream, messages_per_call: 5, ..Grpc::default() };
        assert!(kept.validate().is_ok() && several.validate().is_ok());
        for wrong in [
            Grpc { deadline: true, ..kept },
            Grpc { right_statuses: 0b11, ..kept },
            Grpc { messages_per_call: 2, ..kept },
            Grpc { messages_per_call: 0, ..several },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn bits_that_are_no_status_are_refused() {
        let validated = |right_statuses| Grpc { right_statuses, ..Grpc::default() }.validate();
        assert!(validated(1 << 16).is_ok());
        assert!(validated(0).is_err() && validated(1 << 17).is_err());
    }
}
