//! Work over HTTP: what is asked of a web server, and what happens on a connection.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::limits::{REQUESTS_AT_ONCE_MAX, THINK_S_MAX};
use crate::{
    Call, Destination, Events, Grpc, Http2, InvalidPlan, Load, Messages, Model, Nanos, Pick, Request,
    Requests, Sockets, Stop, Tls, Unit, Way, Work,
};

/// The methods whose requests may reach a server twice.
const REPLAYABLE: [&str; 2] = ["GET", "HEAD"];

/// A load on a web server.
pub type HttpLoad = Load<Http>;

/// What is asked of a web server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Where the connections go.
    pub address: Destination,
    /// What is special of the way there.
    #[serde(default)]
    pub way: Box<Way>,
    /// Addresses of the client's machine that connections come from in turn; without any the kernel chooses.
    #[serde(default)]
    pub source_addresses: Vec<IpAddr>,
    /// The `Host` that the requests name.
    pub authority: String,
    /// The version of HTTP that the requests speak.
    #[serde(default)]
    pub http: HttpVersion,
    /// How connections are protected; none for clear text.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// How HTTP/2 is spoken, where it is.
    #[serde(default)]
    pub h2: Http2,
    /// What has a socket of UDP, over HTTP/3.
    #[serde(default)]
    pub sockets: Sockets,
    /// The requests to take from.
    pub requests: Requests,
    /// How requests are taken from their list.
    #[serde(default)]
    pub pick: Pick,
    /// What happens on one connection.
    #[serde(default)]
    pub conversation: Conversation,
    /// What answers are streams of; `None` where each is a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
}

/// What happens on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    /// How many requests of HTTP/1.x may be under way at once. In the sessions model: how many are written together, and
    /// answered before the next.
    pub pipeline: usize,
    /// The same of HTTP/2, whose answers come in any order.
    pub streams: usize,
    /// After how many requests the connection is closed; none for never.
    pub calls: Option<u64>,
    /// How long the client thinks between an answer and its next request; in the sessions model, between two bursts.
    pub think_s: f64,
}

impl Default for Conversation {
    fn default() -> Self {
        Self { pipeline: 1, streams: 1, calls: None, think_s: 0.0 }
    }
}

impl Conversation {
    /// How many requests may be under way at once on a connection, whatever its protocol calls them.
    #[must_use]
    pub fn requests_at_once(&self) -> usize {
        // A protocol has one of the two, and the other is 1.
        self.pipeline.max(self.streams)
    }
}

/// The version of HTTP that requests speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// Without a header field that asks to keep it, a connection ends with the answer.
    #[serde(rename = "1.0")]
    Http10,
    /// A connection stays until one side ends it.
    #[default]
    #[serde(rename = "1.1")]
    Http11,
    /// Many requests share a connection, each on a separate stream.
    #[serde(rename = "2")]
    Http2,
    /// The same over QUIC, whose datagrams go to the UDP port of the address.
    #[serde(rename = "3")]
    Http3,
}

impl HttpLoad {
    /// The mean rate of new connections asked for in a window of `length` after the warm-up, per second; `None` if
    /// connections are kept or opened as fast as the answers come, and as for [`crate::Pace::mean_rate`].
    #[must_use]
    pub fn asked_cps(&self, length: Nanos) -> Option<f64> {
        let rate = self.pace().mean_rate(length)?;
        match (self.model.unit(), self.work.conversation.calls) {
            (Unit::Session, _) => Some(rate),
            (Unit::Request, Some(calls)) => Some(rate / calls as f64),
            (Unit::Request, None) => None,
        }
    }
}

impl Http {
    fn validate_sources(&self) -> Result<(), InvalidPlan> {
        let sources = &self.source_addresses;
        if let (Destination::Unix(_), Some(source)) = (&self.address, sources.first()) {
            let text = format!("{source} cannot be a source address of connections to a Unix socket");
            return Err(InvalidPlan(text));
        }
        for address in self.address.tcp().iter().chain(&self.way.other_addresses) {
            if let Some(other) = sources.iter().find(|source| source.is_ipv4() != address.is_ipv4()) {
                return Err(InvalidPlan(format!(
                    "{other} cannot be a source address of connections to {address}: both must be IPv4, or both IPv6"
                )));
            }
        }
        if sources.iter().collect::<BTreeSet<_>>().len() < sources.len() {
            return Err(InvalidPlan("a source address is listed twice: list each once".into()));
        }
        Ok(())
    }

    fn validate_way(&self) -> Result<(), InvalidPlan> {
        if self.address.tcp().is_none() && !self.way.other_addresses.is_empty() {
            return Err(InvalidPlan("a Unix socket has no other addresses".into()));
        }
        if self.way.proxied.is_some() && self.tls.is_none() && self.http == HttpVersion::Http2 {
            return Err(InvalidPlan(
                "an HTTP proxy forwards no HTTP/2 in clear text: use https://, or HTTP/1.1".into(),
            ));
        }
        Ok(())
    }

    /// How answers are divided into events; `None` where they are not.
    #[must_use]
    pub fn events(&self) -> Option<Events> {
        self.messages.as_ref().and_then(Messages::events)
    }

    /// Whether answers on a connection belong to its requests by their order alone.
    #[must_use]
    pub fn is_pipelined(&self) -> bool {
        let websocket = self.messages.as_ref().and_then(Messages::websocket);
        let has_ids = websocket.is_some_and(|websocket| websocket.answer_id.is_some());
        self.conversation.pipeline > 1 && !has_ids
    }

    /// How many connections listen to what the others publish; `None` where nothing is published.
    #[must_use]
    pub fn subscribers(&self) -> Option<usize> {
        self.messages.as_ref().and_then(Messages::subscribers)
    }

    fn validate_messages(&self) -> Result<(), InvalidPlan> {
        let Some(messages) = &self.messages else { return Ok(()) };
        messages.validate()?;
        if let Some(grpc) = messages.grpc() {
            self.validate_calls(grpc)?;
        }
        if messages.events().is_some() && self.conversation.pipeline > 1 {
            let text = "a stream of events holds up what is behind it: use no pipeline with events";
            return Err(InvalidPlan(text.into()));
        }
        if messages.websocket().is_some() { self.validate_websocket() } else { Ok(()) }
    }

    /// Whether messages of this load can go to subscribers. One thread knows of each message which of them have it.
    fn validate_subscribers(&self, load: &Load<Self>) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        if self.subscribers().is_none() {
            return Ok(());
        }
        match (&load.model, self.conversation) {
            (Model::Recorded { .. } | Model::Sessions { .. }, _) => refuse(
                "messages to subscribers are published in a closed loop or at a rate: use one of them".into(),
            ),
            _ if load.threads != 1 => refuse(format!(
                "a load with subscribers has 1 thread, which knows who has which message, and not {}",
                load.threads
            )),
            (_, Conversation { calls: Some(_), .. }) => {
                refuse("publishers keep their connections: remove the number of calls".into())
            }
            _ => Ok(()),
        }
    }

    /// Whether clients that open their streams again can do so in this load.
    fn validate_reconnects(&self, model: &Model) -> Result<(), InvalidPlan> {
        let refuse = |text: &str| Err(InvalidPlan(text.into()));
        if self.events().and_then(|events| events.reconnect_after_s).is_none() {
            return Ok(());
        }
        if !matches!(model, Model::Closed { .. }) {
            return refuse("a client that opens its stream again keeps it open: use a closed loop");
        }
        if self.conversation.requests_at_once() > 1 {
            return refuse("a client that opens its stream again has one stream: use no streams");
        }
        let Requests::Given(requests) = &self.requests else { return Ok(()) };
        let is_own = |(name, _): &(String, String)| name.eq_ignore_ascii_case("Last-Event-ID");
        if requests.iter().any(|request| request.headers.iter().any(is_own)) {
            return refuse(
                "the header Last-Event-ID is that of clients that open their streams again: remove it",
            );
        }
        Ok(())
    }

    fn validate_calls(&self, grpc: Grpc) -> Result<(), InvalidPlan> {
        let is_kept = grpc.call == Call::Bidirectional;
        match self.http {
            HttpVersion::Http2 => {}
            HttpVersion::Http3 if !is_kept => {}
            HttpVersion::Http3 => {
                let text = "bidirectional calls are kept on streams of HTTP/2: use http = \"2\"";
                return Err(InvalidPlan(text.into()));
            }
            _ => return Err(InvalidPlan("gRPC is spoken over HTTP/2 or HTTP/3: use one of them".into())),
        }
        let requests = match &self.requests {
            Requests::Given(requests) => requests,
            Requests::Listed(_) if is_kept => {
                let text = "a list of paths has no messages: give each message as the body of a request";
                return Err(InvalidPlan(text.into()));
            }
            Requests::Listed(_) => return Ok(()),
        };
        let is_other =
            |one: &[Request]| (&one[0].target, &one[0].headers) != (&one[1].target, &one[1].headers);
        match requests.windows(2).find(|two| is_other(two)) {
            Some([first, other]) if is_kept => Err(InvalidPlan(format!(
                "all messages of a load go to the method of its calls, but there are {:?} and {:?}, or other headers",
                first.target, other.target
            ))),
            _ => Ok(()),
        }
    }

    fn validate_websocket(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: &str| Err(InvalidPlan(text.into()));
        match (self.http, self.subscribers()) {
            (HttpVersion::Http11, _) | (HttpVersion::Http2, None) => {}
            (HttpVersion::Http2, Some(_)) => {
                return refuse(
                    "messages go to subscribers over HTTP/1.1: use http = \"1.1\" with subscribers",
                );
            }
            _ => return refuse("a WebSocket is opened over HTTP/1.1 or HTTP/2: use one of them"),
        }
        if self.way.proxied.is_some() && self.tls.is_none() {
            return refuse("a WebSocket in clear text goes through no proxy here: use wss://");
        }
        let Requests::Given(requests) = &self.requests else {
            return refuse("a list of paths has no messages: give each message as the body of a request");
        };
        let Some(first) = requests.first() else { return Ok(()) };
        if requests.iter().any(|request| request.chunked) {
            return refuse("a message of a WebSocket has no chunks: remove chunked");
        }
        let is_other =
            |request: &&Request| (&request.target, &request.headers) != (&first.target, &first.headers);
        match requests.iter().find(is_other) {
            Some(other) => Err(InvalidPlan(format!(
                "all messages of a load go to one WebSocket, that of the first request ({:?}), but another request has the \
                 target {:?} or other headers",
                first.target, other.target
            ))),
            None => Ok(()),
        }
    }

    /// A server may get early data again from anybody who has heard it (RFC 8470, section 2): only what changes nothing may be
    /// in it.
    fn validate_early_data(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        if !self.tls.as_ref().is_some_and(Tls::sends_early) {
            return Ok(());
        }
        if self.http != HttpVersion::Http3 {
            return refuse("early data is sent over HTTP/3 only: use http = \"3\", or no early data".into());
        }
        if let Some(method) = self.requests.methods().find(|method| !REPLAYABLE.contains(method)) {
            return refuse(format!(
                "{method} cannot be sent as early data, which whoever has recorded it can send to the server again (RFC 8470): \
                 expected GET or HEAD, or no early data"
            ));
        }
        if self.requests.have_bodies() {
            return refuse(
                "a request with a body is not sent as early data: use none, or no early data".into(),
            );
        }
        Ok(())
    }

    fn validate_version(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: &str| Err(InvalidPlan(text.into()));
        let Conversation { pipeline, streams, .. } = self.conversation;
        match self.http {
            HttpVersion::Http2 | HttpVersion::Http3 if pipeline > 1 => {
                refuse("HTTP/2 and HTTP/3 have no pipeline: use streams, which are answered in any order")
            }
            HttpVersion::Http10 | HttpVersion::Http11 if streams > 1 => {
                refuse("HTTP/1.x has no streams: use a pipeline, HTTP/2 or HTTP/3")
            }
            HttpVersion::Http10 | HttpVersion::Http11 | HttpVersion::Http2
                if self.sockets != Sockets::default() =>
            {
                refuse(
                    "connections share sockets over HTTP/3 only: use http = \"3\", or a socket for each connection",
                )
            }
            HttpVersion::Http3 if self.tls.is_none() => refuse("HTTP/3 has no clear text: use https://"),
            HttpVersion::Http3 if self.address.tcp().is_none() => {
                refuse("HTTP/3 goes to a UDP port, which a Unix socket does not have")
            }
            HttpVersion::Http3 if self.way.proxied.is_some() || self.way.proxy_protocol.is_some() => {
                refuse("HTTP/3 goes through no proxy here: use HTTP/2 or HTTP/1.1")
            }
            _ => Ok(()),
        }
    }
}

impl Work for Http {
    const CLIENT: &'static str = "connection";

    fn validate(&self, load: &Load<Self>) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        self.requests.validate()?;
        self.tls.as_ref().map_or(Ok(()), Tls::validate)?;
        self.h2.validate()?;
        self.validate_messages()?;
        self.validate_reconnects(&load.model)?;
        self.validate_subscribers(load)?;
        self.validate_sources()?;
        self.validate_way()?;
        let Conversation { pipeline, streams, calls, think_s } = self.conversation;
        if !(1..=REQUESTS_AT_ONCE_MAX).contains(&pipeline) {
            return refuse(format!(
                "a pipeline of {pipeline} is not between 1 and {REQUESTS_AT_ONCE_MAX} requests"
            ));
        }
        if !(1..=REQUESTS_AT_ONCE_MAX).contains(&streams) {
            return refuse(format!("{streams} streams; expected 1 to {REQUESTS_AT_ONCE_MAX}"));
        }
        self.validate_version()?;
        self.validate_early_data()?;
        if calls == Some(0) {
            return refuse("a connection makes at least 1 call".into());
        }
        if !(0.0..=THINK_S_MAX).contains(&think_s) {
            return refuse(format!("a think time of {think_s} s is not between 0 and {THINK_S_MAX} s"));
        }
        match (&load.model, load.stop) {
            (Model::Recorded { .. }, _) if self.pick != Pick::InOrder => {
                refuse("recorded requests are sent at their recorded times: pick them in order".into())
            }
            (Model::Open { .. } | Model::Recorded { .. }, _) if think_s > 0.0 => {
                refuse("an open loop sends requests on a schedule: remove the think time".into())
            }
            (Model::Closed { .. }, _) if think_s > 0.0 && self.conversation.requests_at_once() > 1 => refuse(
                "a client with a think time has one request under way: use no pipeline and no streams".into(),
            ),
            (Model::Sessions { .. }, _) if calls.is_none() => {
                refuse("a session requires a number of calls, after which it closes".into())
            }
            (Model::Sessions { .. }, Stop::RequestsTotal(_)) => refuse(
                "a load of sessions ends after a number of connections or a duration, not after requests"
                    .into(),
            ),
            (
                Model::Closed { .. } | Model::Open { .. } | Model::Recorded { .. },
                Stop::ConnectionsTotal(_),
            ) => refuse("only a load of sessions ends after a number of connections".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
