//! Answers that are streams of events: when each event came, and which streams the client ends.

use loadcurve_plan::{EventFormat, Events, Nanos};
use loadcurve_record::{Arrival, Recorder, Shown, StatusClass};
use loadcurve_wire::{EventLines, EventReader, EventStream, Exchange, GrpcMessages, Piece, Tag};

use super::Worker;
use crate::deadlines::Deadlines;
use crate::io::{Carries, Slot};
use crate::scheduler::Scheduler;
use crate::work::{CarrierOf, Work};

/// The only status of a stream that a client opens again.
const OK: u16 = 200;
/// Longer than any load: a server may say a longer time.
const LONGEST_RETRY: Nanos = Nanos::from_millis(1_000_000_000);

/// The streams of all places of a worker.
pub(super) struct EventStreams {
    settings: Events,
    timeout: Nanos,
    places: Vec<Place>,
    /// Until when each is kept, where they are kept for a time.
    kept: Deadlines,
}

/// The stream of one request.
struct Place {
    /// What divides it, which also knows the last id that its client has heard.
    reader: EventReader,
    /// Whether the next request of the place opens the stream again that the server has ended.
    reopens: bool,
    due: Nanos,
    sent: Nanos,
    /// Known once a part of the body has come.
    status: Option<u16>,
    /// When the last event came.
    last: Option<Nanos>,
    events: u64,
    /// Of the event under way.
    data_bytes: u64,
    body_bytes: u64,
}

impl EventStreams {
    pub(super) fn new(settings: Events, timeout: Nanos, places: usize) -> Self {
        let reader = || match settings.event_format {
            EventFormat::Sse => EventReader::Sse(EventStream::default()),
            EventFormat::Lines => EventReader::Lines(EventLines::default()),
            EventFormat::Grpc => EventReader::Grpc(GrpcMessages::default()),
        };
        let place = || Place {
            reader: reader(),
            reopens: false,
            due: Nanos::ZERO,
            sent: Nanos::ZERO,
            status: None,
            last: None,
            events: 0,
            data_bytes: 0,
            body_bytes: 0,
        };
        Self {
            settings,
            timeout,
            places: (0..places).map(|_| place()).collect(),
            kept: Deadlines::new(places),
        }
    }

    /// The request of a place was sent, which was due then.
    pub(super) fn sent(&mut self, place: usize, due: Nanos, sent: Nanos) {
        let stream = &mut self.places[place];
        if stream.reopens {
            stream.reader.reset();
        } else {
            stream.reader.forget();
        }
        (stream.due, stream.sent, stream.status, stream.last) = (due, sent, None, None);
        (stream.events, stream.data_bytes, stream.body_bytes) = (0, 0, 0);
        if self.settings.stream_for_s.is_some() {
            self.kept.set(place, sent + self.settings.stream_for());
        }
    }

    /// A part of the body of an answer has come: records the events that it completes, and gives the stream as much
    /// time for the next part as for the first one.
    pub(super) fn came(
        &mut self,
        place: usize,
        status: u16,
        part: &[u8],
        now: Nanos,
        deadlines: &mut Deadlines,
        recorder: &mut Recorder,
    ) {
        let stream = &mut self.places[place];
        stream.status = Some(status);
        stream.body_bytes += part.len() as u64;
        deadlines.set(place, now + self.timeout);
        if StatusClass::of(status).row().is_error {
            return;
        }
        let (mut count, mut data_bytes) = (0, stream.data_bytes);
        let mut under_way = data_bytes;
        stream.reader.read(part, &mut |piece| match piece {
            Piece::Data(part) => under_way += part.len() as u64,
            Piece::Event => {
                count += 1;
                data_bytes = under_way;
            }
        });
        stream.data_bytes = under_way - if count > 0 { data_bytes } else { 0 };
        if count > 0 {
            stream.arrived(count, data_bytes, now, self.settings.events_expected, recorder);
        }
    }

    /// The answer of a place is complete, and had this status.
    pub(super) fn answered(
        &mut self,
        place: usize,
        status: Option<u16>,
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        let stream = &mut self.places[place];
        let mut count = 0;
        stream.reader.end(&mut |piece| count += u64::from(piece == Piece::Event));
        if count > 0 {
            let data_bytes = std::mem::take(&mut stream.data_bytes);
            stream.arrived(count, data_bytes, now, self.settings.events_expected, recorder);
        }
        // Another status is the server's word that the client is not to come again (HTML standard, section 9.2.3).
        stream.reopens = self.settings.reconnect_after_s.is_some() && status == Some(OK);
        stream.status = None;
        self.kept.clear(place);
    }

    /// The request of a place has ended in another way: one whose answer had begun has lost its stream.
    pub(super) fn ended(&mut self, place: usize) {
        let stream = &mut self.places[place];
        let was_open = stream.status.take() == Some(OK);
        stream.reopens |= self.settings.reconnect_after_s.is_some() && was_open;
        self.kept.clear(place);
    }

    /// The client of a place has left: the next request is that of another one.
    fn left(&mut self, place: usize) {
        let stream = &mut self.places[place];
        (stream.reopens, stream.status) = (false, None);
        self.kept.clear(place);
    }

    /// The id of the last event, where the next request of a place opens its stream again behind one.
    pub(super) fn reopened_behind(&self, place: usize) -> Option<&[u8]> {
        let stream = &self.places[place];
        Some(stream.reader.last_id()).filter(|last_id| stream.reopens && !last_id.is_empty())
    }

    /// The next request of a place, which was due then, is sent: it may open a stream again.
    pub(super) fn note_reconnect(&self, place: usize, due: Nanos, recorder: &mut Recorder) {
        if self.places[place].reopens {
            recorder.reconnected(due, self.reopened_behind(place).is_some());
        }
    }

    /// A request goes to another place, and its client with it; whose next one that place would have carried comes here.
    pub(super) fn exchange_clients(&mut self, one: usize, other: usize) {
        if self.settings.reconnect_after_s.is_some() {
            self.places.swap(one, other);
        }
    }

    /// How long the client of a place waits before it opens its stream again; `None` where it does not.
    fn reopens_after(&self, place: usize) -> Option<Nanos> {
        let stream = &self.places[place];
        let after = self.settings.reconnect_after().filter(|_| stream.reopens)?;
        let said = stream.reader.retry_ms().map(|retry_ms| Nanos(retry_ms.saturating_mul(1_000_000)));
        Some(said.unwrap_or(after).min(LONGEST_RETRY))
    }

    /// When the next stream has been kept for long enough.
    pub(super) fn earliest(&self) -> Option<Nanos> {
        self.kept.earliest()
    }

    /// From when on no stream is waited for, of a load that ends then: streams that are kept for a time are endless, and
    /// the others have a timeout to come to their end.
    pub(super) fn cut_off(&self, end: Nanos) -> Nanos {
        if self.settings.stream_for_s.is_some() { end } else { end + self.timeout }
    }
}

impl Place {
    fn arrived(
        &mut self,
        count: u64,
        data_bytes: u64,
        now: Nanos,
        expected: Option<u64>,
        recorder: &mut Recorder,
    ) {
        let left = expected.map_or(u64::MAX, |expected| expected.saturating_sub(self.events));
        recorder.messages_arrived(&Arrival {
            due: self.due,
            sent: self.sent,
            now,
            before: self.last,
            count,
            expected: count.min(left),
            data_bytes,
        });
        self.events += count;
        self.last = Some(now);
    }
}

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// Ends the streams that were kept for long enough; at the end of the load, those that still go on.
    pub(super) fn end_streams(&mut self, scheduler: Option<&Scheduler>) {
        let at_once = self.configuration.at_once;
        while let Some(place) = self.events.as_mut().and_then(|events| events.kept.take_passed(self.now)) {
            self.end_stream(place / at_once, place % at_once, scheduler);
        }
        if self.in_flight > 0 && self.streams_end().is_some_and(|end| end <= self.now) {
            for place in 0..self.connections.len() * at_once {
                self.end_stream(place / at_once, place % at_once, scheduler);
            }
        }
    }

    /// When the streams that still go on are ended, because the load is over.
    pub(super) fn streams_end(&self) -> Option<Nanos> {
        let events = self.events.as_ref().filter(|_| self.handover == Nanos::NEVER)?;
        Some(events.cut_off(self.ends))
    }

    /// How long a slot waits before it opens the stream again that the server has ended on it; `None` where it does not.
    pub(super) fn reopens_after(&self, slot: Slot) -> Option<Nanos> {
        self.events.as_ref()?.reopens_after(slot * self.configuration.at_once)
    }

    /// Ends the stream under a tag, if anything of it has come: it counts as answered.
    fn end_stream(&mut self, slot: Slot, tag: Tag, scheduler: Option<&Scheduler>) {
        let place = slot * self.configuration.at_once + tag;
        let Some(stream) = self.events.as_ref().map(|events| &events.places[place]) else { return };
        let (Some(status), sent, body_bytes) = (stream.status, stream.sent, stream.body_bytes) else {
            return;
        };
        let connection = &mut self.connections[slot];
        if connection.requests.get_mut(tag).is_none_or(|request| request.sent != Some(sent)) {
            return;
        }
        let goes_on = connection.exchange.cancel(tag);
        let Some((request, sent)) = connection.take_answered(tag, self.now) else { return };
        if let Some(events) = &mut self.events {
            events.left(place);
        }
        let shown = Shown {
            first_byte: request.first_byte.unwrap_or(self.now),
            status,
            is_right: !StatusClass::of(status).row().is_error,
            was_expected: false,
            has_content: true,
            header_bytes: 0,
            body_bytes,
            content_bytes: body_bytes,
            framing_bytes: 0,
        };
        let answer = connection.answer(&request, sent, self.now, Some(shown));
        self.slow_requests.extend(self.recorder.answered(&answer));
        self.recorder.ended_by_client(answer.due);
        self.activity.answered(answer.done - answer.due);
        self.in_flight -= 1;
        self.answer_deadlines.clear(place);
        self.keep_slow(slot);
        if goes_on {
            self.continue_exchange(slot);
        } else {
            self.disconnect(slot);
        }
        self.reuse_slot(slot, scheduler);
    }
}
