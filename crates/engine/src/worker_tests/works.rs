//! Work without HTTP: numbers are asked for, and their doubles expected.

use std::sync::Arc;

use loadcurve_plan::{Conversation, HttpLoad, Load, Nanos, Stop};
use loadcurve_record::{Failure, Recorder, StatusCounts};
use loadcurve_wire::{BodyPart, Event, Exchange, Malformed, Readiness, Received, Tag};

use super::peer::{self, Delays, Peer};
use super::{closed, ms};
use crate::io::Slot;
use crate::places::InFlight;
use crate::work::{Asked, Judged, Work};

/// A request is a number and its tag, and so is an answer.
struct Doubling {
    is_over: bool,
}

impl Exchange for Doubling {
    type Template = u8;
    type Answer = u8;
    type Settings = ();

    fn new(_: usize, (): &()) -> Self {
        Self { is_over: false }
    }

    fn open(&mut self) {
        self.is_over = false;
    }

    fn readiness(&self) -> Readiness {
        if self.is_over { Readiness::Closed } else { Readiness::Ready }
    }

    fn begin(&mut self, tag: Tag, number: &u8, target: Option<&[u8]>, to: &mut Vec<u8>) {
        assert_eq!(target, None);
        to.extend([*number, tag.try_into().unwrap()]);
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        _: &mut impl FnMut(Tag, &[u8]),
    ) -> Result<Received<u8>, Malformed> {
        Ok(Received { consumed: 2, event: Some(Event::Answered(usize::from(bytes[1]), bytes[0])) })
    }

    fn end_of_input(&mut self) -> Option<Event<u8>> {
        self.is_over = true;
        None
    }

    fn cancel(&mut self, _: Tag) -> bool {
        false
    }
}

/// Asks for these numbers in turn.
struct Numbers([u8; 3]);

impl Work for Numbers {
    type Exchange = Doubling;
    type Reader = ();
    type Expected = u8;

    fn reader(&self) {}

    fn tallies(&self) -> usize {
        self.0.len()
    }

    fn operation(&self, number: u64) -> usize {
        usize::try_from(number).unwrap() % self.0.len()
    }

    fn asked<'a>(&'a self, (): &'a mut (), _: u64, operation: usize) -> Result<Asked<'a, Self>, Failure> {
        let number = &self.0[operation];
        Ok(Asked { template: number, target: None, expected: Some(2 * number) })
    }

    fn append_body(&self, _: usize, _: BodyPart, _: &mut Vec<u8>) -> Result<(), Failure> {
        unreachable!("numbers have no bodies")
    }

    fn judge(&self, request: &InFlight<u8>, answer: &u8, _: Nanos) -> Judged {
        Judged { is_mismatched: request.expected != Some(*answer), http: None }
    }

    fn record_connection(_: &mut Doubling, _: bool, _: &mut Recorder) {}
}

/// A server that doubles what it is asked for, but for one number, and takes a millisecond.
struct Calculator {
    fails_at: u8,
}

impl Peer for Calculator {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let answered = |request: &[u8]| {
            let double = if request[0] == self.fails_at { 0 } else { 2 * request[0] };
            (now + ms(1), vec![double, request[1]])
        };
        bytes.chunks(2).map(answered).collect()
    }
}

#[test]
fn a_worker_measures_work_whose_answers_are_none_of_http() {
    let HttpLoad { model, stop, warmup_s, timeout_s, seed, threads, cpus, io, waiting, .. } =
        closed(2, Stop::RequestsTotal(30));
    let plan = Load { model, stop, warmup_s, timeout_s, seed, threads, cpus, io, waiting, work: () };
    let conversation = Conversation { pipeline: 5, ..Conversation::default() };
    let numbers = Arc::new(Numbers([1, 20, 120]));
    let calculator = Calculator { fails_at: 20 };
    let recorder = peer::run_work(&plan, &conversation, numbers, (), Delays::default(), calculator).recorder;
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Mismatch]), (20, 10));
    let counted: Vec<_> = recorder.operations.iter().map(|tally| (tally.answered, tally.failed)).collect();
    assert_eq!(counted, [(10, 0), (0, 10), (10, 0)]);
    assert_eq!(recorder.latency().extremes(), Some((ms(1), ms(1))));
    assert_eq!((recorder.status, recorder.body_bytes), (StatusCounts::default(), 0), "numbers show neither");
    assert_eq!(recorder.balance(), Ok(()));
}
