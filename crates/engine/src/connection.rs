//! One connection slot and what it carries.

use loadcurve_plan::{BackOff, Nanos};
use loadcurve_record::{Answer, BrokenOff, FailedRequest, Failure, PipelineEnd, Shown};
use loadcurve_wire::{Event, Exchange, Malformed, Readiness, Tag, WebSocketError};

use crate::places::{InFlight, Places};
use crate::starving::AnsweredBodies;
use crate::work::{AnswerOf, Work};

/// The state of a slot's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    Connecting,
    /// Connected, and nothing can be asked before both sides have agreed how.
    Handshaking,
    /// As before, and what protects the connection is ready; the protocol on top of it has more to agree on.
    Protected,
    Open,
}

impl State {
    /// Whether the connection is established, and its handshakes are not over.
    pub(crate) fn is_handshaking(self) -> bool {
        matches!(self, Self::Handshaking | Self::Protected)
    }
}

/// A body on its way to the connection. It may outlive its request, which is answered early.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Upload {
    pub(crate) operation: usize,
    /// When its request was due.
    pub(crate) due: Nanos,
}

/// How many requests slots carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// On one connection, where its peer takes as many.
    pub(crate) at_once: usize,
    /// Whether a slot carries them all even where its peer takes fewer, so that the others wait for it: those of a closed
    /// loop are this slot's. What arrives on a schedule goes to the first that can send it, and waits for any until then.
    pub(crate) is_kept: bool,
}

/// One connection slot, which speaks a protocol.
pub(crate) struct Connection<W: Work> {
    /// Its number among the connections of the whole load.
    number: usize,
    pub(crate) state: State,
    /// When connecting began.
    pub(crate) since: Nanos,
    /// When the connection was established, and its handshake began.
    pub(crate) connected: Nanos,
    /// How often the SYN of the open connection was sent again; `None` if the kernel does not report it.
    pub(crate) syn_retransmits: Option<u32>,
    /// The requests that the slot carries, written or not.
    pub(crate) requests: Places<W::Expected>,
    /// Requests begun on this connection.
    pub(crate) calls: u64,
    /// Calls that a session has still to make; none outside a session.
    pub(crate) session: Option<u64>,
    /// The last body of each place, which is under way while its exchange says so; nothing before the first one.
    pub(crate) uploads: Vec<Upload>,
    /// When something was written that has to be taken before anything else is written; none when it has been.
    pub(crate) writing_since: Option<Nanos>,
    /// Whether something of this slot waits to be written.
    pub(crate) is_unwritten: bool,
    /// Until when the slot rests, after a failed attempt to connect or to think.
    pub(crate) rests_until: Option<Nanos>,
    /// The earliest moment that is noted for its protocol to be woken; none while it has no timer.
    pub(crate) wakes_at: Option<Nanos>,
    /// Requests answered on this connection.
    pub(crate) answers: u64,
    /// How many of these there were when the load began, or this level of it; none if it was opened later.
    pub(crate) answers_at_begin: Option<u64>,
    /// When the last of them was.
    answered: Nanos,
    /// Their bodies.
    pub(crate) answered_bodies: AnsweredBodies,
    /// Whether it was closed with requests that go to another one.
    has_dropped: bool,
    /// Whether the slot is in the list of those that can take a request.
    pub(crate) is_listed: bool,
    /// Since when the slot can take a request; absent if it could take no more when it was last written to.
    pub(crate) free_since: Option<Nanos>,
    /// Why its last connection was left, where that was because of bytes between two answers. The next request of the slot
    /// fails for it: it would have found them on that connection.
    pub(crate) spoiled_by: Option<Failure>,
    /// How long it rests while the server cannot be reached.
    pub(crate) back_off: BackOff,
    pub(crate) exchange: W::Exchange,
}

impl<W: Work> Connection<W> {
    /// A closed connection for at most `at_once` requests at once.
    pub(crate) fn new(number: usize, at_once: usize, settings: &<W::Exchange as Exchange>::Settings) -> Self {
        Self {
            number,
            state: State::Closed,
            since: Nanos::ZERO,
            connected: Nanos::ZERO,
            syn_retransmits: None,
            requests: Places::new(at_once),
            calls: 0,
            session: None,
            uploads: Vec::new(),
            writing_since: None,
            is_unwritten: false,
            rests_until: None,
            wakes_at: None,
            answers: 0,
            answers_at_begin: None,
            answered: Nanos::ZERO,
            answered_bodies: AnsweredBodies::new(at_once),
            has_dropped: false,
            is_listed: false,
            free_since: Some(Nanos::ZERO),
            spoiled_by: None,
            back_off: BackOff::default(),
            exchange: W::Exchange::new(at_once, settings),
        }
    }

    /// What is under way on it, each request with the number of the connection and its due time.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = (usize, Nanos)> {
        self.requests.iter().map(|request| (self.number, request.due))
    }

    /// The number of the connection and the due time of a request that it has carried.
    pub(crate) fn carried(&self, request: &InFlight<W::Expected>) -> (usize, Nanos) {
        (self.number, request.due)
    }

    /// Whether the server has answered on the connection.
    pub(crate) fn has_answered(&self) -> bool {
        self.answers > 0
    }

    /// Whether the connection has been open since the load began, or this level of it, and has carried answers since.
    pub(crate) fn has_lasted(&self) -> bool {
        self.answers_at_begin.is_some_and(|before| self.answers > before)
    }

    /// Makes the slot ready for a new connection.
    pub(crate) fn reset(&mut self) {
        self.state = State::Closed;
        self.calls = 0;
        self.answers = 0;
        self.answers_at_begin = None;
        self.has_dropped = false;
        self.wakes_at = None;
        self.writing_since = None;
    }

    /// Keeps what the body of the request with a tag is, which is written part by part.
    pub(crate) fn begin_upload(&mut self, tag: Tag, upload: Upload) {
        if self.uploads.len() <= tag {
            self.uploads.resize(tag + 1, Upload::default());
        }
        self.uploads[tag] = upload;
    }

    /// The tags of which bodies are under way.
    pub(crate) fn uploading(&self) -> impl Iterator<Item = Tag> {
        (0..self.uploads.len()).filter(|tag| self.exchange.is_writing_body(*tag))
    }

    /// Whether the exchange is over its handshake.
    pub(crate) fn is_ready(&self) -> bool {
        self.exchange.readiness() != Readiness::Handshaking
    }

    /// Whether a request can be sent although the handshake is not over.
    #[inline]
    pub(crate) fn begins_early(&self) -> bool {
        W::Exchange::MAY_BEGIN_EARLY && self.state == State::Handshaking && self.exchange.begins_early()
    }

    /// Whether the slot could take one more request, connected or not.
    pub(crate) fn has_room(&self, room: Room) -> bool {
        let most = match self.exchange.limit() {
            _ if self.state != State::Open => room.at_once,
            Some(_) if room.is_kept => room.at_once,
            Some(allowed) => allowed,
            None if matches!(self.exchange.readiness(), Readiness::Ready | Readiness::Leaving) => {
                room.at_once
            }
            None => 0,
        };
        self.requests.len() < most
    }

    /// How far a pipelined connection came that is closed or reset now, with requests unanswered.
    pub(crate) fn pipeline_closed(&self, at_once: usize) -> Option<PipelineEnd> {
        let is_unanswered = self.unanswered() > 0 || self.has_dropped;
        let end = if self.answers == 1 { PipelineEnd::AnsweredOnce } else { PipelineEnd::Other };
        (at_once > 1 && self.answers > 0 && is_unanswered).then_some(end)
    }

    /// How far a pipelined connection came on which an answer is overdue. A server that has forgotten requests has answered
    /// what came behind them, and the pipeline is not full any more. Its last answer is older than the timeout but for the
    /// few answers that came after the overdue request was sent. One that is slow, and answers one request after the other,
    /// gave its last answer less than half of the timeout ago: else the one before it would have been overdue.
    pub(crate) fn pipeline_overdue(&self, at_once: usize, now: Nanos, timeout: Nanos) -> Option<PipelineEnd> {
        let unanswered = self.unanswered();
        let is_silent = now - self.answered >= Nanos(timeout.0 / 2);
        let end = match unanswered {
            _ if !is_silent || unanswered >= at_once => PipelineEnd::Other,
            _ if unanswered + 1 == at_once => PipelineEnd::AnsweredOnce,
            _ => PipelineEnd::AnsweredSome,
        };
        (at_once > 1 && self.answers > 0).then_some(end)
    }

    /// Requests that were written and are not answered.
    fn unanswered(&self) -> usize {
        self.requests.iter().filter(|request| request.sent.is_some()).count()
    }

    /// How the connection of a failed request was closed or reset, where it was and no code of QUIC says more.
    pub(crate) fn broken_off(&self, failed: &FailedRequest) -> Option<BrokenOff> {
        if !failed.failure.is_broken_off() || failed.failure.has_ended_quic() {
            return None;
        }
        Some(match (failed.first_byte, self.has_answered()) {
            (Some(_), _) => BrokenOff::AnswerBegun,
            (None, true) => BrokenOff::KeptConnection,
            (None, false) => BrokenOff::NewConnection,
        })
    }

    /// Whether there is a connection, at the end of its handshake or before.
    pub(crate) fn is_established(&self) -> bool {
        self.state == State::Open || self.state.is_handshaking()
    }

    /// Since when a request that is due then waits because the peer takes no more at once, where it had to wait for the
    /// slot for this reason.
    pub(crate) fn limited_since(&self, due: Nanos) -> Option<Nanos> {
        let has_waited = self.state == State::Open && self.free_since.is_some_and(|since| due < since);
        (has_waited && self.exchange.limit().is_some()).then_some(due)
    }

    /// Takes a request that was answered, with when it was sent; `None` if no request was sent under this tag.
    pub(crate) fn take_answered(&mut self, tag: Tag, now: Nanos) -> Option<(InFlight<W::Expected>, Nanos)> {
        let sent = self.requests.get_mut(tag)?.sent?;
        let request = self.requests.take(tag)?;
        self.answers += 1;
        self.answered = now;
        Some((request, sent))
    }

    /// Something has come that answers nothing of this connection.
    pub(crate) fn received(&mut self, now: Nanos) {
        self.answers += 1;
        self.answered = now;
    }

    /// The answer to a request that this connection has carried, complete now, as results count it.
    pub(crate) fn answer(
        &self,
        request: &InFlight<W::Expected>,
        sent: Nanos,
        now: Nanos,
        shown: Option<Shown>,
    ) -> Answer {
        Answer {
            number: request.number,
            operation: request.tally,
            connection: self.number,
            due: request.due,
            sent,
            done: now,
            connect: request.connect,
            shown,
        }
    }

    /// Notes that the first byte of an answer has come.
    pub(crate) fn answer_begun(&mut self, tag: Tag, now: Nanos) {
        if let Some(request) = self.requests.get_mut(tag)
            && request.first_byte.is_none()
        {
            request.first_byte = Some(now);
            request.answered_before = self.answered_bodies.bytes();
        }
    }

    /// Whether others have starved the answer under a tag, which is given up.
    pub(crate) fn is_starved(&mut self, tag: Tag) -> bool {
        let request = self.requests.get_mut(tag);
        request.is_some_and(|request| self.answered_bodies.have_passed(request.answered_before))
    }

    /// Takes a request that this connection does not answer, by what its exchange says of it; `None` if there is no
    /// request under this tag.
    pub(crate) fn take_unanswered(
        &mut self,
        tag: Tag,
        event: &Event<AnswerOf<W>>,
        now: Nanos,
    ) -> Option<Unanswered<W::Expected>> {
        let again = match event {
            // A server that answers and then ends its connections recycles them, and does not refuse this request.
            Event::Moved(_) => self.requests.take_moved(tag, now, self.has_answered()),
            // One that has closed in silence may have done so because of it.
            Event::Dropped(_) => {
                self.has_dropped = true;
                self.requests.take_moved(tag, now, false)
            }
            Event::Begun(_) | Event::Answered(..) | Event::Refused(..) => None,
        };
        let Some(request) = again else {
            return self.take_failed(tag, failure_of::<W>(event), now).map(Unanswered::Failed);
        };
        if self.session.is_none() {
            return Some(Unanswered::Moved(request));
        }
        // A session has one connection after the other.
        let due = request.due;
        self.requests.insert(request);
        Some(Unanswered::Kept { due })
    }

    /// Takes a request that has failed; `None` if there is no request under this tag.
    pub(crate) fn take_failed(&mut self, tag: Tag, failure: Failure, now: Nanos) -> Option<FailedRequest> {
        let request = self.requests.take(tag)?;
        Some(self.failed(request, failure, now))
    }

    /// A request that this connection has carried, and that has failed.
    pub(crate) fn failed(
        &self,
        request: InFlight<W::Expected>,
        failure: Failure,
        now: Nanos,
    ) -> FailedRequest {
        FailedRequest {
            number: request.number,
            operation: request.tally,
            connection: self.number,
            due: request.due,
            sent: request.sent,
            first_byte: request.first_byte,
            failed: now,
            connect: request.connect,
            failure,
        }
    }
}

/// What became of a request that its connection does not answer.
pub(crate) enum Unanswered<X> {
    Failed(FailedRequest),
    /// It waits for any slot that comes free.
    Moved(InFlight<X>),
    /// It waits for the next connection of its slot.
    Kept {
        due: Nanos,
    },
}

/// The class of a failure of one request alone.
pub(crate) fn failure_of<W: Work>(event: &Event<AnswerOf<W>>) -> Failure {
    match event {
        Event::Refused(_, refusal) => W::refused(refusal),
        Event::Moved(_) => W::REFUSED_TWICE,
        Event::Dropped(_) => Failure::ClosedEarly,
        Event::Begun(_) | Event::Answered(..) => Failure::Malformed,
    }
}

/// The class of the failures for which bytes were refused.
pub(crate) fn refused(malformed: Malformed) -> Failure {
    match malformed {
        Malformed::Protection => Failure::TlsFailed,
        Malformed::Unasked => Failure::Unasked,
        Malformed::WebSocket(
            WebSocketError::Refused { .. } | WebSocketError::NotOverHttp2 | WebSocketError::Reset { .. },
        ) => Failure::UpgradeRefused,
        Malformed::WebSocket(
            WebSocketError::NoAnswerId | WebSocketError::UnknownAnswerId | WebSocketError::RepeatedAnswerId,
        ) => Failure::AnswerIdWrong,
        Malformed::WebSocket(_) => Failure::WebsocketFault,
        Malformed::Http3(_) => Failure::H3Fault,
        _ => Failure::Malformed,
    }
}
