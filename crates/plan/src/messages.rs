//! What answers consist of where they are streams of messages.

use serde::{Deserialize, Serialize};

use crate::limits::DURATION_S_MAX;
use crate::{Grpc, InvalidPlan, Nanos};

/// What the answers of a load are streams of, with what belongs to that alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Messages {
    /// Each body is a stream of events.
    Events(Events),
    /// Each answer is that of a call of gRPC.
    Grpc(Grpc),
    /// Each body is a message of a WebSocket, which the server's next message answers.
    WebSocket(WebSocket),
}

/// Messages of WebSocket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSocket {
    /// What the messages that are sent are.
    pub message_type: MessageType,
    /// How many connections listen, to which the server sends on each message that the others publish; `None` where the server's
    /// next message answers the one that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<usize>,
    /// The extension that is offered, as the handshake says it: permessage-deflate with its parameters (RFC 7692).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<Box<str>>,
    /// The field of JSON in which an answer has the id of its message; `None` where answers come in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_id: Option<Box<str>>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageType {
    /// Text of UTF-8.
    #[default]
    Text,
    /// Bytes.
    Binary,
}

/// Events in the bodies of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// How a body is divided into events.
    pub event_format: EventFormat,
    /// How many events an answer is to have; `None` where nobody knows.
    pub events_expected: Option<u64>,
    /// How long a stream is kept open that the server does not end; none for as long as the load lasts.
    pub stream_for_s: Option<f64>,
    /// After what time a stream that the server has ended is opened again, unless the server says another one in `retry`;
    /// `None` where a client does not do so by itself.
    pub reconnect_after_s: Option<f64>,
}

/// How a body is divided into events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventFormat {
    /// As server-sent events (HTML standard, section 9.2).
    #[default]
    Sse,
    /// Each line that is not empty is one, such as JSON lines.
    Lines,
    /// Each message of an answer of gRPC is one.
    #[serde(skip)]
    Grpc,
}

impl Messages {
    /// How answers are divided into events, where they are streams of them.
    #[must_use]
    pub fn events(&self) -> Option<Events> {
        match self {
            Self::Events(events) => Some(*events),
            Self::Grpc(grpc) => grpc.streams(),
            Self::WebSocket(_) => None,
        }
    }

    /// How calls of gRPC are made, where messages are these.
    #[must_use]
    pub fn grpc(&self) -> Option<Grpc> {
        match self {
            Self::Grpc(grpc) => Some(*grpc),
            Self::Events(_) | Self::WebSocket(_) => None,
        }
    }

    /// The settings of WebSocket, where messages are its.
    #[must_use]
    pub fn websocket(&self) -> Option<&WebSocket> {
        match self {
            Self::WebSocket(websocket) => Some(websocket),
            Self::Events(_) | Self::Grpc(_) => None,
        }
    }

    /// How many connections listen to what the others publish; `None` where messages are answered.
    #[must_use]
    pub fn subscribers(&self) -> Option<usize> {
        self.websocket().and_then(|websocket| websocket.subscribers)
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// When one is out of its range, with the number and the range.
    pub(crate) fn validate(&self) -> Result<(), InvalidPlan> {
        match self {
            Self::Events(events) => events.validate(),
            Self::Grpc(grpc) => grpc.validate(),
            Self::WebSocket(WebSocket { subscribers: Some(0), .. }) => {
                Err(InvalidPlan("a fan-out requires at least 1 subscriber".into()))
            }
            Self::WebSocket(_) => Ok(()),
        }
    }
}

impl Events {
    /// How long a stream is kept open that the server does not end; never ended where nobody says.
    #[must_use]
    pub fn stream_for(&self) -> Nanos {
        self.stream_for_s.map_or(Nanos::NEVER, Nanos::from_secs_f64)
    }

    /// After what time a stream is opened again, where it is and the server says no other one.
    #[must_use]
    pub fn reconnect_after(&self) -> Option<Nanos> {
        self.reconnect_after_s.map(Nanos::from_secs_f64)
    }

    pub(crate) fn validate(&self) -> Result<(), InvalidPlan> {
        if self.events_expected == Some(0) {
            return Err(InvalidPlan("an answer is expected to have at least 1 event".into()));
        }
        let times = [(self.stream_for_s, "is kept for"), (self.reconnect_after_s, "is opened again after")];
        for (time_s, what) in times {
            if let Some(time_s) = time_s.filter(|time_s| !(*time_s > 0.0 && *time_s <= DURATION_S_MAX)) {
                return Err(InvalidPlan(format!(
                    "a stream that {what} {time_s} s: expected more than 0 and at most {DURATION_S_MAX} s"
                )));
            }
        }
        if self.reconnect_after_s.is_some() && self.event_format != EventFormat::Sse {
            let text = "only server-sent events have an id and a `retry` by which a stream is opened again";
            return Err(InvalidPlan(text.into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{EventFormat, Events, MessageType, Messages, WebSocket};
    use crate::Nanos;

    #[test]
    fn events_are_read_by_their_names_and_all_but_the_kind_has_a_default() {
        let read = |text: &str| serde_json::from_str::<Messages>(text);
        assert_eq!(read(r#"{"events": {}}"#).unwrap(), Messages::Events(Events::default()));
        let lines = r#"{"events": {"event_format": "lines", "events_expected": 3, "stream_for_s": 0.5}}"#;
        let given = Events {
            event_format: EventFormat::Lines,
            events_expected: Some(3),
            stream_for_s: Some(0.5),
            reconnect_after_s: None,
        };
        assert_eq!(read(lines).unwrap(), Messages::Events(given));
        assert_eq!(given.stream_for(), Nanos::from_millis(500));
        assert_eq!(Events::default().stream_for(), Nanos::NEVER);
        assert!(read(r#"{"events": {"no_such_key": 1}}"#).is_err());
        assert_eq!(read(r#"{"websocket": {}}"#).unwrap(), Messages::WebSocket(WebSocket::default()));
        let binary = WebSocket { message_type: MessageType::Binary, ..WebSocket::default() };
        assert_eq!(
            read(r#"{"websocket": {"message_type": "binary"}}"#).unwrap(),
            Messages::WebSocket(binary)
        );
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_number() {
        let refused = |events: Events| Messages::Events(events).validate().unwrap_err().to_string();
        let none = Events { events_expected: Some(0), ..Events::default() };
        assert!(refused(none).contains("at least 1 event"));
        for seconds in [0.0, -1.0, f64::NAN, 2e6] {
            let events = Events { stream_for_s: Some(seconds), ..Events::default() };
            assert!(refused(events).contains(&format!("kept for {seconds} s")), "{seconds}");
            let events = Events { reconnect_after_s: Some(seconds), ..Events::default() };
            assert!(refused(events).contains(&format!("opened again after {seconds} s")), "{seconds}");
        }
        let lines =
            Events { event_format: EventFormat::Lines, reconnect_after_s: Some(3.0), ..Events::default() };
        assert!(refused(lines).contains("only server-sent events"));
    }
}
