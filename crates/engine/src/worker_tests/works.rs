//! Work without HTTP: numbers are asked for, and their doubles expected.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

use loadcurve_plan::{Conversation, HttpLoad, Load, Nanos, Stop};
use loadcurve_record::{Failure, Recorder, StatusCounts};
use loadcurve_wire::{
    BodyPart, Carrier, DatagramBytes, Datagrams, Event, Exchange, Malformed, Readiness, Received, Refusal,
    Stream, Tag,
};

use super::peer::{self, Delays, Outcome, Peer, PeerIo};
use super::{closed, ms};
use crate::io::{Carries, Slot};
use crate::places::InFlight;
use crate::work::{Asked, Judged, Work};

/// How numbers travel.
trait OnItsWay: Carrier + Send + Sync {
    /// A request or an answer has two bytes.
    const EACH: Self::Cut;
}

impl OnItsWay for Stream {
    const EACH: () = ();
}

impl OnItsWay for Datagrams {
    const EACH: DatagramBytes = DatagramBytes(NonZeroUsize::new(2));
}

/// A request is a number and its tag, and so is an answer.
struct Doubling<C> {
    is_over: bool,
    way: PhantomData<C>,
}

impl<C: OnItsWay> Exchange for Doubling<C> {
    type Carrier = C;
    type Template = u8;
    type Answer = u8;
    type Settings = ();

    fn new(_: usize, (): &()) -> Self {
        Self { is_over: false, way: PhantomData }
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

    fn protect(&mut self, _: &mut Vec<u8>) -> C::Cut {
        C::EACH
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        _: &mut impl FnMut(Tag, u16, &[u8]),
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
struct Numbers<C>([u8; 3], PhantomData<C>);

impl<C: OnItsWay> Work for Numbers<C> {
    type Exchange = Doubling<C>;
    type Reader = ();
    type Expected = u8;

    fn reader(&self) {}

    fn tallies(&self) -> usize {
        self.0.len()
    }

    fn operation(&self, number: u64) -> usize {
        usize::try_from(number).unwrap() % self.0.len()
    }

    fn tally(&self, operation: usize) -> usize {
        operation
    }

    fn asked<'a>(&'a self, (): &'a mut (), _: u64, operation: usize) -> Result<Asked<'a, Self>, Failure> {
        let number = &self.0[operation];
        Ok(Asked { template: number, target: None, expected: Some(2 * number) })
    }

    fn append_body(&self, _: usize, _: BodyPart, _: &mut Vec<u8>) -> Result<(), Failure> {
        unreachable!("numbers have no bodies")
    }

    fn judge(&self, request: &InFlight<u8>, answer: &u8, _: Nanos) -> Judged {
        let failure = (request.expected != Some(*answer)).then_some(Failure::Mismatch);
        Judged { failure, shown: None }
    }

    fn refused(_: &Refusal) -> Failure {
        unreachable!("each number is answered")
    }

    fn record_connection(_: &mut Doubling<C>, _: bool, _: &mut Recorder) {}
}

/// A server that doubles what it is asked for, but for one number, and takes a millisecond.
struct Calculator {
    fails_at: u8,
    /// How many bytes have arrived together, each time.
    arrived: Rc<RefCell<BTreeSet<usize>>>,
}

impl Peer for Calculator {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        self.arrived.borrow_mut().insert(bytes.len());
        let answered = |request: &[u8]| {
            let double = if request[0] == self.fails_at { 0 } else { 2 * request[0] };
            (now + ms(1), vec![double, request[1]])
        };
        bytes.chunks(2).map(answered).collect()
    }
}

/// What is recorded of 30 requests over two connections with five requests at once each, how many bytes have arrived
/// together, and how many were written together.
fn run<C: OnItsWay>() -> (Recorder, Vec<usize>, Vec<usize>)
where
    PeerIo<Calculator>: Carries<C>,
{
    let HttpLoad { model, stop, warmup_s, timeout_s, seed, threads, cpus, io, waiting, .. } =
        closed(2, Stop::RequestsTotal(30));
    let plan = Load { model, stop, warmup_s, timeout_s, seed, threads, cpus, io, waiting, work: () };
    let conversation = Conversation { pipeline: 5, ..Conversation::default() };
    let numbers = Arc::new(Numbers::<C>([1, 20, 120], PhantomData));
    let arrived = Rc::default();
    let calculator = Calculator { fails_at: 20, arrived: Rc::clone(&arrived) };
    let Outcome { recorder, written } =
        peer::run_work(&plan, &conversation, numbers, (), Delays::default(), calculator);
    let written: BTreeSet<usize> = written.iter().map(|(_, bytes)| bytes.len()).collect();
    (recorder, arrived.take().into_iter().collect(), written.into_iter().collect())
}

#[test]
fn a_worker_measures_work_whose_answers_are_none_of_http() {
    let (recorder, arrived, written) = run::<Stream>();
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Mismatch]), (20, 10));
    let counted: Vec<_> = recorder.operations.iter().map(|tally| (tally.answered, tally.failed)).collect();
    assert_eq!(counted, [(10, 0), (0, 10), (10, 0)]);
    assert_eq!(recorder.latency().extremes(), Some((ms(1), ms(1))));
    assert_eq!(
        (recorder.statuses.answered(), recorder.body_bytes),
        (StatusCounts::default(), 0),
        "numbers show neither"
    );
    assert_eq!(recorder.balance(), Ok(()));
    assert_eq!((arrived, written), (vec![10], vec![10]), "a stream is not divided");
}

#[test]
fn datagrams_leave_in_one_batch_and_arrive_one_by_one() {
    let (recorder, arrived, written) = run::<Datagrams>();
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Mismatch]), (20, 10));
    assert_eq!((arrived, written), (vec![2], vec![10]));
}
