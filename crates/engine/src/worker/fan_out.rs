//! Messages that one connection publishes and many others receive: which of them are under way, and who has them.
//!
//! Each message carries its number and when it was due, so what arrives at a subscriber needs no search: the messages that are
//! under way are a queue in the order of their numbers, and each subscriber remembers the last numbers that it has seen. Nothing
//! is allocated for a message once the queue is as long as it gets.

use std::collections::VecDeque;

use loadcurve_plan::Nanos;
use loadcurve_record::{Answer, FailedRequest, Failure, Recorder, Shown, Step};
use loadcurve_wire::{Exchange, Marker, MarkerReader, Readiness};

use super::Worker;
use crate::activity::Activity;
use crate::connection::Upload;
use crate::io::{Carries, Slot};
use crate::places::InFlight;
use crate::scheduler::Scheduler;
use crate::work::{CarrierOf, Work};

/// How far behind its newest message a subscriber tells one that it has seen from one that it has not.
const REMEMBERED: u64 = 1024;
/// What a message counts with that has reached everybody: it has no status.
const DELIVERED: u16 = 200;

/// What a worker takes from the plan of a fan-out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FanOutConfiguration {
    /// How many connections listen.
    pub(crate) subscribers: usize,
    /// What distinguishes the messages of this load from those of others.
    pub(crate) run: u32,
}

/// The messages of a worker's publishers, and its subscribers.
pub(super) struct FanOut {
    run: u32,
    timeout: Nanos,
    /// How many messages a publisher has under way at most; `None` where they fall due on a schedule.
    most_under_way: Option<usize>,
    /// How many messages of each publisher are under way. Their slots are the first ones.
    under_way: Vec<usize>,
    /// Those of subscribers follow.
    subscribers: Vec<Subscriber>,
    /// How many of them are open.
    open: u64,
    /// Messages that are under way, and others between them, in the order of their numbers.
    messages: VecDeque<Message>,
    /// The number of the first of them.
    first: u64,
    /// Publishers of messages that have ended, until they go on.
    finished: Vec<Slot>,
    /// The class of the code by which the server has closed the WebSocket that is read.
    closed: Option<Failure>,
}

struct Subscriber {
    /// Since when it is open, if it is.
    opened: Option<Nanos>,
    reader: MarkerReader,
    seen: Seen,
    /// Measured messages that it has received.
    deliveries: u64,
    /// How long after their first delivery, all together.
    behind_first: Nanos,
}

/// The numbers of the last messages that a subscriber has seen.
struct Seen {
    /// Behind the greatest number.
    end: u64,
    bits: [u64; (REMEMBERED / 64) as usize],
}

/// A message that was published.
struct Message {
    request: Published,
    /// To how many subscribers it is to come.
    expected: u64,
    delivered: u64,
    /// How many of them have closed without it.
    lost: u64,
    first_delivered: Nanos,
    body_bytes: u64,
    framing_bytes: u64,
    is_over: bool,
}

/// What is known of a message when it is written.
struct Published {
    number: u64,
    tally: usize,
    slot: Slot,
    due: Nanos,
    sent: Nanos,
    connect: Option<Nanos>,
}

/// Where it is counted what has become of messages.
pub(super) struct Books<'a> {
    pub(super) now: Nanos,
    pub(super) recorder: &'a mut Recorder,
    pub(super) activity: &'a Activity,
    pub(super) in_flight: &'a mut usize,
}

impl FanOut {
    pub(super) fn new(
        configuration: FanOutConfiguration,
        publishers: usize,
        most_under_way: Option<usize>,
        timeout: Nanos,
    ) -> Self {
        let subscriber = || Subscriber {
            opened: None,
            reader: MarkerReader::default(),
            seen: Seen::default(),
            deliveries: 0,
            behind_first: Nanos::ZERO,
        };
        Self {
            run: configuration.run,
            timeout,
            most_under_way,
            under_way: vec![0; publishers],
            subscribers: (0..configuration.subscribers).map(|_| subscriber()).collect(),
            open: 0,
            messages: VecDeque::new(),
            first: 0,
            finished: Vec::new(),
            closed: None,
        }
    }

    /// The slots of subscribers.
    pub(super) fn subscribers(&self) -> std::ops::Range<Slot> {
        self.under_way.len()..self.under_way.len() + self.subscribers.len()
    }

    /// Whether a slot that carries this many unwritten messages may be given one more to publish.
    pub(super) fn may_publish(&self, slot: Slot, unwritten: usize) -> bool {
        let under_way = self.under_way.get(slot);
        under_way.is_some_and(|sent| self.most_under_way.is_none_or(|most| sent + unwritten < most))
    }

    /// The marker of the next message, which was due then.
    pub(super) fn next_marker(&self, due: Nanos) -> Marker {
        Marker { run: self.run, number: self.first + self.messages.len() as u64, due_ns: due.0 }
    }

    /// The message of the last marker was written; gives how many subscribers are to receive it.
    pub(super) fn published<X>(&mut self, slot: Slot, request: &InFlight<X>, now: Nanos) -> u64 {
        // The first message of the queue is the next one that is given up.
        debug_assert!(
            self.messages.back().is_none_or(|last| last.request.sent <= now),
            "request {} was published before the message in front of it",
            request.number
        );
        self.under_way[slot] += 1;
        self.messages.push_back(Message {
            request: Published {
                number: request.number,
                tally: request.tally,
                slot,
                due: request.due,
                sent: now,
                connect: request.connect,
            },
            expected: self.open,
            delivered: 0,
            lost: 0,
            first_delivered: now,
            body_bytes: 0,
            framing_bytes: 0,
            is_over: false,
        });
        self.open
    }

    /// The connection of a slot is open.
    pub(super) fn opened(&mut self, slot: Slot, now: Nanos, recorder: &mut Recorder) {
        let Some(subscriber) = self.subscriber(slot) else { return };
        subscriber.opened = Some(now);
        self.open += 1;
        recorder.deliveries.subscribers.opened += 1;
    }

    /// The connection of a slot could not be opened.
    pub(super) fn refused(&mut self, slot: Slot, failure: Failure, recorder: &mut Recorder) {
        if self.subscriber(slot).is_some() {
            recorder.deliveries.subscribers.refused.add(failure);
        }
    }

    /// The server closes the WebSocket that is read, with a code of this class.
    pub(super) fn closes(&mut self, class: Failure) {
        self.closed = Some(class);
    }

    /// The connection of a slot has ended: what a subscriber has not received does not come any more.
    pub(super) fn closed(&mut self, slot: Slot, failure: Failure, books: &mut Books<'_>) {
        let class = self.closed.take().unwrap_or(failure);
        let Some(subscriber) = self.subscriber(slot) else { return };
        let Some(opened) = subscriber.opened.take() else { return };
        subscriber.reader = MarkerReader::default();
        self.open -= 1;
        books.recorder.deliveries.subscribers.closed.add(class);
        let place = slot - self.under_way.len();
        for index in 0..self.messages.len() {
            let has_it = self.subscribers[place].seen.has(self.first + index as u64);
            let message = &mut self.messages[index];
            if message.request.sent >= opened && !has_it {
                message.lost += 1;
                self.end_if_whole(index, books);
            }
        }
        self.forget_ended();
    }

    /// A part of a message has come to a slot.
    #[inline]
    pub(super) fn came(&mut self, slot: Slot, part: &[u8]) {
        if let Some(subscriber) = self.subscriber(slot) {
            subscriber.reader.read(part);
        }
    }

    /// A message has come to a slot.
    #[inline]
    pub(super) fn received(
        &mut self,
        slot: Slot,
        body_bytes: u64,
        framing_bytes: u64,
        books: &mut Books<'_>,
    ) {
        let (run, first, now) = (self.run, self.first, books.now);
        let next = first + self.messages.len() as u64;
        let counted = &mut books.recorder.deliveries;
        let place = slot.checked_sub(self.under_way.len());
        let Some(subscriber) = place.and_then(|place| self.subscribers.get_mut(place)) else {
            counted.to_publishers += 1;
            return;
        };
        let Some(Marker { run: of_run, number, due_ns }) = subscriber.reader.take() else {
            counted.unmarked += 1;
            return;
        };
        if of_run != run || number >= next {
            counted.of_other_loads += 1;
            return;
        }
        let due = Nanos(due_ns);
        let index = number.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        let known = index.and_then(|index| Some((index, self.messages.get_mut(index)?)));
        if known.as_ref().is_some_and(|(_, message)| message.request.due != due) {
            // Somebody has changed it, and it would say wrong times.
            counted.of_other_loads += 1;
            return;
        }
        if !subscriber.seen.note(number) {
            books.recorder.delivered_again(due);
            return;
        }
        let Some((index, message)) = known.filter(|(_, message)| !message.is_over) else {
            books.recorder.delivered_late(due);
            return;
        };
        if subscriber.opened.is_none_or(|opened| opened > message.request.sent) {
            counted.earlier += 1;
            return;
        }
        if message.delivered == 0 {
            message.first_delivered = now;
        }
        message.delivered += 1;
        message.body_bytes += body_bytes;
        message.framing_bytes += framing_bytes;
        let behind_first = now - message.first_delivered;
        if books.recorder.delivered(due, now, body_bytes) {
            subscriber.deliveries += 1;
            subscriber.behind_first = subscriber.behind_first + behind_first;
        }
        self.end_if_whole(index, books);
        self.forget_ended();
    }

    /// Gives up messages that have not reached everybody in time.
    pub(super) fn give_up_overdue(&mut self, books: &mut Books<'_>) {
        while self.deadline().is_some_and(|deadline| deadline <= books.now) {
            self.end(0, books);
            self.forget_ended();
        }
    }

    /// When the next message is given up.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        self.oldest_sent().map(|sent| sent + self.timeout)
    }

    /// When the message was sent that has been under way for longest.
    pub(super) fn oldest_sent(&self) -> Option<Nanos> {
        self.messages.front().map(|message| message.request.sent)
    }

    /// What is under way: the number of the publisher, and when it was due.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (usize, Nanos)> {
        let under_way = self.messages.iter().filter(|message| !message.is_over);
        under_way.map(|message| (message.request.slot, message.request.due))
    }

    /// The load is over: nothing is under way any more.
    pub(super) fn forget_all(&mut self) {
        self.first += self.messages.len() as u64;
        self.messages.clear();
    }

    /// Where subscribers that receive messages early and such that receive them late are furthest apart.
    pub(super) fn step(&self) -> Option<Step> {
        let receiving = self.subscribers.iter().filter(|one| one.deliveries > 0);
        Step::largest(receiving.map(|one| Nanos(one.behind_first.0 / one.deliveries)).collect())
    }

    /// A publisher of a message that has ended, which can publish the next one.
    pub(super) fn take_finished(&mut self) -> Option<Slot> {
        self.finished.pop()
    }

    fn subscriber(&mut self, slot: Slot) -> Option<&mut Subscriber> {
        self.subscribers.get_mut(slot.checked_sub(self.under_way.len())?)
    }

    /// A message ends when everybody has it who could still get it. One that was meant for nobody waits for its timeout: publishers of
    /// a closed loop would publish without end.
    fn end_if_whole(&mut self, index: usize, books: &mut Books<'_>) {
        let Message { expected, delivered, lost, is_over, .. } = self.messages[index];
        if !is_over && delivered + lost == expected {
            self.end(index, books);
        }
    }

    /// Ends a message: it has reached everybody, or it has failed.
    fn end(&mut self, index: usize, books: &mut Books<'_>) {
        let message = &mut self.messages[index];
        message.is_over = true;
        let Published { number, tally, slot, due, sent, connect } = message.request;
        let now = books.now;
        let slow = if message.delivered == message.expected && message.expected > 0 {
            let shown = Shown {
                first_byte: message.first_delivered,
                status: DELIVERED,
                is_right: true,
                was_expected: false,
                has_content: false,
                header_bytes: 0,
                body_bytes: message.body_bytes,
                content_bytes: message.body_bytes,
                framing_bytes: message.framing_bytes,
            };
            books.activity.answered(now - due);
            books.recorder.answered(&Answer {
                number,
                operation: tally,
                connection: slot,
                due,
                sent,
                done: now,
                connect,
                shown: Some(shown),
            })
        } else {
            let failure = if message.delivered > 0 { Failure::PartlyDelivered } else { Failure::Undelivered };
            books.activity.failed(failure);
            books.recorder.failed(&FailedRequest {
                number,
                operation: tally,
                connection: slot,
                due,
                sent: Some(sent),
                first_byte: (message.delivered > 0).then_some(message.first_delivered),
                failed: now,
                connect,
                failure,
            })
        };
        if let Some(slow) = slow {
            // It went over many connections.
            books.recorder.keep_slow(slow, None);
        }
        *books.in_flight -= 1;
        self.under_way[slot] -= 1;
        if self.most_under_way.is_some() {
            self.finished.push(slot);
        }
    }

    /// Takes messages that have ended off the front of the queue.
    fn forget_ended(&mut self) {
        while self.messages.front().is_some_and(|message| message.is_over) {
            self.messages.pop_front();
            self.first += 1;
        }
    }
}

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// When the next published message is given up.
    pub(super) fn published_deadline(&self) -> Option<Nanos> {
        if W::Exchange::FANS_OUT { self.fan_out.as_ref()?.deadline() } else { None }
    }

    /// Gives up messages that have not reached everybody in time.
    pub(super) fn give_up_published(&mut self, scheduler: Option<&Scheduler>) {
        if self.published_deadline().is_some_and(|deadline| deadline <= self.now) {
            self.with_fan_out(FanOut::give_up_overdue);
            self.go_on_publishing(scheduler);
        }
    }

    /// Publishers go on whose messages have ended.
    pub(super) fn go_on_publishing(&mut self, scheduler: Option<&Scheduler>) {
        while let Some(slot) = self.fan_out.as_mut().and_then(|fan_out| fan_out.take_finished()) {
            self.reuse_slot(slot, scheduler);
        }
    }

    /// A subscriber's connection is open.
    pub(super) fn subscriber_opened(&mut self, slot: Slot) {
        if let Some(fan_out) = &mut self.fan_out {
            fan_out.opened(slot, self.now, &mut self.recorder);
        }
    }

    /// A subscriber's connection could not be opened.
    pub(super) fn subscriber_refused(&mut self, slot: Slot, failure: Failure) {
        if let Some(fan_out) = &mut self.fan_out {
            fan_out.refused(slot, failure, &mut self.recorder);
        }
    }

    /// A subscriber's connection ends.
    pub(super) fn subscriber_closed(&mut self, slot: Slot, failure: Failure) {
        self.with_fan_out(|fan_out, books| fan_out.closed(slot, failure, books));
    }

    /// Whether a slot may be given a message to publish.
    pub(super) fn may_publish(&self, slot: Slot) -> bool {
        let unwritten = self.connections[slot].requests.len();
        self.fan_out.as_ref().is_none_or(|fan_out| fan_out.may_publish(slot, unwritten))
    }

    /// Adds the next message to what is written, if there is one. Its place on the connection is free at once: whoever receives
    /// the message, it is not this connection that answers it.
    pub(super) fn gather_published(&mut self, slot: Slot) -> Result<bool, Failure> {
        let connection = &mut self.connections[slot];
        if connection.exchange.readiness() != Readiness::Ready {
            return Ok(false);
        }
        let Some((tag, request)) = connection.requests.next_unwritten() else { return Ok(false) };
        let Some(fan_out) = &mut self.fan_out else { return Ok(false) };
        let InFlight { number, operation, due, reused, .. } = *request;
        let before = self.scratch.len();
        let asked = self.configuration.work.asked(&mut self.reader, number, operation)?;
        let marker = fan_out.next_marker(due).write();
        connection.exchange.begin(tag, asked.template, Some(&marker), &mut self.scratch);
        self.recorder.sent(due, self.now, self.scratch.len() - before, reused);
        // What it has waited with is not the next one's, which has the same place.
        self.answer_deadlines.clear(slot * self.configuration.at_once + tag);
        if connection.exchange.is_writing_body(tag) {
            connection.begin_upload(tag, Upload { operation, due });
        }
        if let Some(request) = connection.requests.take(tag) {
            let expected = fan_out.published(slot, &request, self.now);
            self.recorder.published(due, expected);
        }
        Ok(true)
    }

    fn with_fan_out(&mut self, change: impl FnOnce(&mut FanOut, &mut Books<'_>)) {
        let Self { fan_out, recorder, activity, in_flight, now, .. } = self;
        let Some(fan_out) = fan_out else { return };
        change(fan_out, &mut Books { now: *now, recorder, activity, in_flight });
    }
}

impl Default for Seen {
    fn default() -> Self {
        Self { end: 0, bits: [0; (REMEMBERED / 64) as usize] }
    }
}

impl Seen {
    /// A message with this number has come; says whether it is new. One that is further behind the newest one than is remembered
    /// counts as known.
    #[inline]
    fn note(&mut self, number: u64) -> bool {
        if number >= self.end {
            if number - self.end >= REMEMBERED {
                self.bits.fill(0);
            } else {
                (self.end..number).for_each(|between| self.set(between, false));
            }
            self.end = number + 1;
            self.set(number, true);
            return true;
        }
        let is_new = self.end - number <= REMEMBERED && !self.has(number);
        if is_new {
            self.set(number, true);
        }
        is_new
    }

    /// Whether a message has come.
    fn has(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        number < self.end && (self.end - number > REMEMBERED || self.bits[word] & bit != 0)
    }

    fn set(&mut self, number: u64, is_seen: bool) {
        let (word, bit) = place(number);
        if is_seen {
            self.bits[word] |= bit;
        } else {
            self.bits[word] &= !bit;
        }
    }
}

/// Where the bit of a number is.
fn place(number: u64) -> (usize, u64) {
    ((number % REMEMBERED / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{REMEMBERED, Seen};

    proptest! {
        #[test]
        fn what_was_seen_is_known_as_far_back_as_is_remembered(
            steps in proptest::collection::vec((any::<bool>(), 0_u64..2_500), 1..200),
        ) {
            let (mut seen, mut all, mut newest) = (Seen::default(), BTreeSet::new(), 0_u64);
            for (is_ahead, by) in steps {
                let number = if is_ahead { newest + by } else { newest.saturating_sub(by) };
                let is_past = number + REMEMBERED <= newest && !all.is_empty();
                let is_new = all.insert(number) && !is_past;
                newest = newest.max(number);
                prop_assert_eq!(seen.note(number), is_new, "{}", number);
                prop_assert!(seen.has(number) || is_past);
                prop_assert!(!seen.note(number));
            }
        }
    }
}
