//! HTTP/1.x: answers from memory, and each of them made only once for requests that are alike.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::time::Duration;

use loadcurve_servers::http::Status;
use loadcurve_servers::http2::Repeats;
use loadcurve_servers::reply::{Content, Ending, Outcome, Reply};
use loadcurve_servers::websocket::{self, Upgrade};
use memchr::memmem;

use super::script::Played;
use super::step::Step;
use super::transport::{BATCH_BYTES, End, LongBody, Transport};

/// What a stream of events begins with, and what ends it.
const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// What asks for the WebSocket whose messages go to all others of it.
const BROADCAST: &[u8] = b"GET /broadcast ";
/// A request header longer than this is refused.
const LONGEST_HEADER_BYTES: usize = 16 * 1024;

/// One connection's end of HTTP/1.x.
#[derive(Debug, Default)]
pub(super) struct Http1 {
    /// The beginning of a request whose end has not arrived.
    partial: Vec<u8>,
    /// Used by scripts alone: the answers that wait for their time, in order.
    held: VecDeque<Held>,
    /// How the last request has switched to WebSocket, if it did, so that what follows it is of that.
    upgraded: Option<Upgraded>,
}

/// What becomes of the messages of a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upgraded {
    /// Each goes back, also one that is compressed where that was agreed on.
    Echo { is_deflated: bool },
    /// Each goes to all others.
    Broadcast,
}

/// An answer that waits for its time, or a part of one.
#[derive(Debug)]
struct Held {
    due: Duration,
    answer: Answer,
    end: Option<End>,
    /// How it is sent again, where it is an event of a stream.
    repeats: Option<Repeats>,
}

/// What requests are answered with, and how they go.
pub(super) struct Answering<'a> {
    pub(super) answers: &'a mut Answers,
    pub(super) played: Option<Played<'a>>,
    /// Answers that wait to be written with the next ones; empty in between.
    pub(super) batch: &'a mut Vec<u8>,
}

impl Http1 {
    /// Answers every complete request of `bytes` and keeps the rest.
    pub(super) fn answer(
        &mut self,
        transport: &mut Transport,
        bytes: &[u8],
        answering: &mut Answering<'_>,
    ) -> Step {
        if self.partial.is_empty() {
            let consumed = self.answer_from(transport, bytes, answering)?;
            self.partial.extend_from_slice(&bytes[consumed..]);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            let consumed = self.answer_from(transport, &joined, answering)?;
            joined.drain(..consumed);
            self.partial = joined;
        }
        if self.partial.len() > LONGEST_HEADER_BYTES && self.upgraded.is_none() {
            Step::Break(())
        } else {
            Step::Continue(())
        }
    }

    /// Answers the complete requests of `bytes`, up to one that ends the connection; returns how many bytes they have.
    fn answer_from(
        &mut self,
        transport: &mut Transport,
        bytes: &[u8],
        answering: &mut Answering<'_>,
    ) -> Step<usize> {
        let Answering { answers, played, batch } = answering;
        if let Some(played) = played {
            return self.play(transport, bytes, answers, played);
        }
        let mut consumed = 0;
        batch.clear();
        while let Some(length) = answers.prepare(&bytes[consumed..]) {
            consumed += length;
            let answer = answers.last();
            transport.close_when_sent |= answer.close;
            let ends_batch = consumed == bytes.len() || answer.close || answer.body.is_some();
            // What is written at once anyway need not be copied.
            if batch.is_empty() && ends_batch {
                transport.write_with(&answer.bytes, answer.body.clone())?;
            } else {
                batch.extend_from_slice(&answer.bytes);
                if ends_batch || batch.len() >= BATCH_BYTES {
                    transport.write_with(batch, answer.body.clone())?;
                    batch.clear();
                }
            }
            if answer.close {
                return Step::Continue(bytes.len());
            }
            if answer.upgrades.is_some() {
                self.upgraded = answer.upgrades;
                break;
            }
        }
        if !batch.is_empty() {
            transport.write(batch)?;
            batch.clear();
        }
        Step::Continue(consumed)
    }

    /// The same, each at its time.
    fn play(
        &mut self,
        transport: &mut Transport,
        bytes: &[u8],
        answers: &mut Answers,
        played: &mut Played<'_>,
    ) -> Step<usize> {
        let mut consumed = 0;
        while let Some(length) = answers.prepare(&bytes[consumed..]) {
            consumed += length;
            if answers.last().upgrades.is_some() {
                self.upgraded = answers.last().upgrades;
                transport.write(&answers.last().bytes)?;
                break;
            }
            self.hold(scripted_answer(answers, played), answers);
            let is_last = self.is_ending(transport);
            self.release(played.script.time_after_stall(), transport)?;
            if is_last {
                return Step::Continue(bytes.len());
            }
        }
        Step::Continue(consumed)
    }

    /// Keeps an answer until its time, as a stream of events where that is asked for.
    fn hold(&mut self, mut held: Held, answers: &Answers) {
        let events = held.repeats.take();
        let Some((repeats, event)) = events.and_then(|repeats| Some((repeats, answers.event()?))) else {
            return self.held.push_back(held);
        };
        let part = |due, bytes, repeats| Held {
            due,
            answer: Answer { bytes, ..Answer::default() },
            end: None,
            repeats,
        };
        self.held.push_back(part(held.due, STREAM_HEAD.to_vec(), None));
        self.held.push_back(part(repeats.next, event, Some(repeats)));
    }

    /// Sends an event, and keeps it for the next time; one for which a client has no room is left out.
    fn send_event(&mut self, event: Held, repeats: Repeats, transport: &mut Transport) -> Step {
        if transport.is_clear() {
            transport.write(&event.answer.bytes)?;
        }
        let Some(repeats) = repeats.after_next().filter(|_| event.end.is_none()) else {
            transport.close_when_sent = event.end.is_some();
            return transport.write(LAST_CHUNK);
        };
        self.held.push_front(Held { due: repeats.next, repeats: Some(repeats), ..event });
        Step::Continue(())
    }

    /// What has come behind a request that has switched to WebSocket, once there was one.
    pub(super) fn take_behind_upgrade(&mut self) -> Option<(Upgraded, Vec<u8>)> {
        self.upgraded.map(|upgraded| (upgraded, std::mem::take(&mut self.partial)))
    }

    /// Whether its last answer is made, so that nothing more is read.
    pub(super) fn is_ending(&self, transport: &Transport) -> bool {
        transport.close_when_sent || self.held.back().is_some_and(|held| held.end.is_some())
    }

    /// Whether no answer waits for its time.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// When the next answer is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.held.front().map(|held| held.due)
    }

    /// The client sends nothing more: it still gets the answers that wait for their time.
    pub(super) fn end_of_requests(&mut self) -> Step {
        let Some(last) = self.held.back_mut() else { return Step::Break(()) };
        last.end.get_or_insert(End::Close);
        Step::Continue(())
    }

    /// Sends the answers whose time has come, in order.
    pub(super) fn release(&mut self, now: Duration, transport: &mut Transport) -> Step {
        while self.held.front().is_some_and(|held| held.due <= now) {
            let Some(held) = self.held.pop_front() else { break };
            if held.end == Some(End::Reset) {
                return transport.reset();
            }
            if let Some(repeats) = held.repeats {
                self.send_event(held, repeats, transport)?;
                continue;
            }
            transport.close_when_sent = held.end.is_some();
            transport.write_with(&held.answer.bytes, held.answer.body)?;
        }
        Step::Continue(())
    }
}

/// The answer to the latest request of a connection, as the script has it.
fn scripted_answer(answers: &Answers, played: &mut Played<'_>) -> Held {
    let fate = played.fate();
    let due = fate.due.unwrap_or(played.came);
    if fate.outcome == Outcome::Reset {
        return Held { due, answer: Answer::default(), end: Some(End::Reset), repeats: None };
    }
    let is_announced = fate.last.is_some_and(|last| last.is_announced);
    let answer = answers.changed(fate.outcome, is_announced);
    let is_last = answer.close || fate.last.is_some();
    let repeats = fate.events.filter(|_| !is_last);
    Held { due, answer, end: is_last.then_some(End::Close), repeats }
}

/// An answer, ready to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    bytes: Vec<u8>,
    /// The body that follows, where it is too long to be among the bytes.
    body: Option<LongBody>,
    /// Whether it is the last one of its connection.
    close: bool,
    /// How it switches to WebSocket, if it does.
    upgrades: Option<Upgraded>,
}

/// The content, and the answer to the latest request: one that equals it, byte for byte, is not read again.
pub(super) struct Answers {
    pub(super) content: Content,
    last_request: Vec<u8>,
    last_answer: Answer,
    /// A field that all answers have, as a line; empty without one.
    field: String,
}

impl Answers {
    pub(super) fn new(content: Content) -> Self {
        Self { content, last_request: Vec::new(), last_answer: Answer::default(), field: String::new() }
    }

    /// Has answers say for so long that HTTP/3 is spoken on a port (RFC 7838).
    pub(super) fn announce_http3(&mut self, port: u16, seconds: NonZeroU64) {
        self.field = format!("Alt-Svc: h3=\":{port}\"; ma={seconds}\r\n");
    }

    /// Makes [`Self::last`] the answer to the first request of `bytes`; returns that request's length if it is whole.
    fn prepare(&mut self, bytes: &[u8]) -> Option<usize> {
        if !self.last_request.is_empty() && bytes.starts_with(&self.last_request) {
            return Some(self.last_request.len());
        }
        let length = memmem::find(bytes, b"\r\n\r\n")? + 4;
        self.last_answer = answer_to(&bytes[..length], &self.content, &self.field);
        self.last_request = bytes[..length].to_vec();
        Some(length)
    }

    /// The answer to the latest request.
    fn last(&self) -> &Answer {
        &self.last_answer
    }

    /// The event of which the stream consists that answers the latest request, where that asks for a file in HTTP/1.1.
    fn event(&self) -> Option<Vec<u8>> {
        let Directed { reply, connection } = Directed::to(&self.last_request, &self.content);
        let body_bytes = reply.body_bytes();
        let is_stream = reply.status == Status::Ok && connection == Persistence::Understood && body_bytes > 0;
        is_stream.then(|| {
            let mut chunk = format!("{body_bytes:x}\r\n").into_bytes();
            reply.append_body(0..body_bytes, &mut chunk);
            chunk.extend_from_slice(b"\r\n");
            chunk
        })
    }

    /// The same with this outcome, and as the last one of its connection if that is announced.
    fn changed(&self, outcome: Outcome, announces_end: bool) -> Answer {
        if outcome == Outcome::Right && !announces_end {
            return self.last_answer.clone();
        }
        let Directed { reply, connection } = Directed::to(&self.last_request, &self.content);
        let connection = if announces_end { Persistence::Close } else { connection };
        let directed = Directed { reply: reply.with_outcome(outcome), connection };
        let mut answer = directed.encoded(&self.field);
        if directed.reply.ending == Ending::Truncated {
            match &mut answer.body {
                Some(body) => body.rest.end -= 1,
                None => drop(answer.bytes.pop()),
            }
            answer.close = true;
        }
        answer
    }
}

/// The answer to one request header, with a further field.
fn answer_to(request: &[u8], content: &Content, field: &str) -> Answer {
    let is_broadcast = request.starts_with(BROADCAST);
    // What one says compressed another one may not take.
    match websocket::upgrade(&String::from_utf8_lossy(request), !is_broadcast) {
        Some(Upgrade { head, is_deflated }) => {
            let upgrades = if is_broadcast { Upgraded::Broadcast } else { Upgraded::Echo { is_deflated } };
            Answer { bytes: head.into_bytes(), upgrades: Some(upgrades), ..Answer::default() }
        }
        None => Directed::to(request, content).encoded(field),
    }
}

/// What a field says of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Persistence {
    /// HTTP/1.1 persists unless it is said otherwise.
    Understood,
    /// To a client of HTTP/1.0 it has to be said.
    KeepAlive,
    Close,
}

/// A reply, and what it says of its connection.
struct Directed {
    reply: Reply,
    connection: Persistence,
}

impl Directed {
    /// A status at the end of its connection.
    fn closing(status: Status) -> Self {
        Self { reply: Reply::plain(status), connection: Persistence::Close }
    }

    /// The reply to one request header.
    fn to(request: &[u8], content: &Content) -> Self {
        let text = String::from_utf8_lossy(request);
        let mut lines = text.split("\r\n");
        let mut parts = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Self::closing(Status::BadRequest);
        };
        let wants = |wish: &str| {
            lines.clone().filter_map(|line| line.split_once(':')).any(|(name, value)| {
                name.eq_ignore_ascii_case("connection") && value.trim().eq_ignore_ascii_case(wish)
            })
        };
        let connection = match version {
            "HTTP/1.1" if wants("close") => Persistence::Close,
            "HTTP/1.1" => Persistence::Understood,
            "HTTP/1.0" if wants("keep-alive") => Persistence::KeepAlive,
            "HTTP/1.0" => Persistence::Close,
            _ => return Self::closing(Status::VersionNotSupported),
        };
        let reply = Reply::to(method.as_bytes(), target.as_bytes(), content);
        if reply.status == Status::MethodNotAllowed {
            // A body may follow, which is not read in this version.
            return Self { reply, connection: Persistence::Close };
        }
        Self { reply, connection }
    }

    fn encoded(&self, field: &str) -> Answer {
        let connection = match self.connection {
            Persistence::Understood => "",
            Persistence::KeepAlive => "Connection: keep-alive\r\n",
            Persistence::Close => "Connection: close\r\n",
        };
        let Reply { status, .. } = self.reply;
        let length_bytes = self.reply.stated_bytes();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length_bytes}\r\n{field}{connection}\r\n");
        let (mut bytes, body) = (head.into_bytes(), 0..self.reply.body_bytes());
        let close = self.connection == Persistence::Close;
        if body.len() > BATCH_BYTES {
            let body = Some(LongBody { reply: self.reply.clone(), rest: body });
            return Answer { bytes, body, close, upgrades: None };
        }
        self.reply.append_body(body, &mut bytes);
        Answer { bytes, body: None, close, upgrades: None }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use loadcurve_servers::reply::{Content, Outcome};

    use super::{Answers, Directed};

    fn answer(request: &str) -> (String, bool) {
        let content = Content::from([("/a.txt".into(), b"abc".as_slice().into())]);
        let answer = Directed::to(request.as_bytes(), &content).encoded("");
        (String::from_utf8(answer.bytes).unwrap(), answer.close)
    }

    #[test]
    fn a_file_is_answered_with_its_length_and_its_bytes() {
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(answer("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
        assert_eq!(answer("GET /a.txt?b=c HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
    }

    #[test]
    fn the_answer_to_head_has_the_length_and_no_body() {
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(answer("HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
    }

    #[test]
    fn a_connection_is_kept_or_closed_as_the_version_and_the_client_say() {
        let closes = |request: &str| answer(request).1;
        assert!(!closes("GET /a.txt HTTP/1.1\r\n\r\n"));
        assert!(closes("GET /a.txt HTTP/1.1\r\nConnection: close\r\n\r\n"));
        assert!(closes("GET /a.txt HTTP/1.0\r\n\r\n"));
        assert!(answer("GET /a.txt HTTP/1.0\r\n\r\n").0.contains("Connection: close"));
        assert!(!closes("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
        assert!(
            answer("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                .0
                .contains("Connection: keep-alive")
        );
    }

    #[test]
    fn what_is_not_served_gets_its_status() {
        let status = |request: &str| answer(request).0[9..12].to_owned();
        assert_eq!(status("GET /b.txt HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("GET /../a.txt HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("POST /a.txt HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("GET /a.txt HTTP/3.0\r\n\r\n"), "505");
        assert_eq!(status("rubbish\r\n\r\n"), "400");
    }

    #[test]
    fn every_answer_says_for_how_long_http3_is_spoken_where_that_is_announced() {
        let mut answers = Answers::new(Content::from([("/a.txt".into(), b"abc".as_slice().into())]));
        answers.announce_http3(8443, NonZeroU64::new(60).unwrap());
        let field = "Alt-Svc: h3=\":8443\"; ma=60\r\n";
        for (path, status, length, body) in
            [("/a.txt", "200 OK", 3, "abc"), ("/b.txt", "404 Not Found", 0, "")]
        {
            answers.prepare(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
            let expected = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{field}\r\n{body}");
            assert_eq!(answers.last().bytes, expected.as_bytes());
        }
    }

    #[test]
    fn a_changed_answer_is_well_formed_but_for_a_truncated_one() {
        let mut answers = Answers::new(Content::from([("/a.txt".into(), b"abc".as_slice().into())]));
        answers.prepare(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
        let changed = |outcome, announces_end| {
            let answer = answers.changed(outcome, announces_end);
            (String::from_utf8(answer.bytes).unwrap(), answer.close)
        };
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: ";
        let error = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n";
        let close = "Connection: close\r\n";
        assert_eq!(changed(Outcome::Right, true), (format!("{ok}3\r\n{close}\r\nabc"), true));
        assert_eq!(changed(Outcome::Error, false), (format!("{error}\r\n"), false));
        assert_eq!(changed(Outcome::Error, true), (format!("{error}{close}\r\n"), true));
        assert_eq!(changed(Outcome::WrongLength, false), (format!("{ok}4\r\n\r\nabc "), false));
        assert_eq!(changed(Outcome::Truncated, false), (format!("{ok}3\r\n\r\nab"), true));
    }
}
