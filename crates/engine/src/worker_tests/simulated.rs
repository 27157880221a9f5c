//! A server and a clock that are arithmetic: a load of many seconds runs in milliseconds, the same every time.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use loadcurve_plan::{HttpLoad, Nanos, Share};
use loadcurve_record::Failure;
use loadcurve_wire::{Exchange as _, Http1};

use crate::gathered::Gathered;
use crate::http::HttpSummary;
use crate::io::{Event, Io, Looked, Notify, Slot};
use crate::kernel::TcpCounters;
use crate::levels::{Home, Level, Thread};
use crate::part::{CpuUse, Finished, Part};
use crate::requests::RequestSource;
use crate::result::LoadResult;
use crate::scheduler::Scheduler;
use crate::transport::numbers;
use crate::worker::{Waiting, Worker, WorkerConfiguration};

/// The clock's reading at the start of every simulation.
pub(super) const START: Nanos = Nanos::from_millis(1_000_000);

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What the server does when it is asked for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepting {
    /// It has it after this time.
    After(Nanos),
    Refusing,
    /// At once, but for the time between these two moments on the clock, in which it refuses.
    NotBetween(Nanos, Nanos),
    Never,
}

/// What of a request has arrived when the server goes about its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answering {
    TheWhole,
    ItsBeginning,
}

/// When a request that arrives now is answered; none for never.
type Service = dyn FnMut(Nanos) -> Option<Nanos>;

/// How many segments a connection has sent again, when the kernel is asked now; `None` if it does not report it.
type Retransmits = dyn Fn(Nanos) -> Option<u32>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Connected,
    Refused,
    Taken,
    Answered,
}

#[derive(Clone, Copy, Default)]
struct Line {
    in_use: bool,
    /// Counts the connections of the slot, so that what was to happen to an earlier one does not.
    generation: u32,
    /// Bytes that have arrived.
    arrived_bytes: u64,
    /// Whether a part of a long request has not been taken.
    is_full: bool,
}

/// When a request was sent, and which one of the plan's list it was.
pub(super) type Sent = (Nanos, usize);

/// An [`Io`] whose clock jumps from one event to the next.
pub(super) struct SimulatedIo {
    clock: Rc<Cell<Nanos>>,
    held_up: Range<Nanos>,
    accepting: Accepting,
    answering: Answering,
    service: Box<Service>,
    retransmits: Rc<Retransmits>,
    sent: Rc<RefCell<Vec<Sent>>>,
    /// What each request of the plan's list begins with, in the bytes of its first write.
    heads: Vec<Vec<u8>>,
    /// The length of each request of the plan: they are all equally long.
    request_bytes: u64,
    part_time: Nanos,
    lines: Vec<Line>,
    coming: BinaryHeap<Reverse<(Nanos, Slot, u32, Happening)>>,
    ready: VecDeque<(Slot, u32, Happening)>,
}

impl SimulatedIo {
    /// Which request of the plan's list begins with these bytes.
    fn operation_of(&self, bytes: &[u8]) -> usize {
        let mut heads = self.heads.iter();
        heads
            .position(|head| bytes.starts_with(head))
            .expect("a request begins with the bytes of one of the plan")
    }

    fn happen(&mut self, time: Nanos, slot: Slot, happening: Happening) {
        self.coming.push(Reverse((time, slot, self.lines[slot].generation, happening)));
    }
}

impl Io for SimulatedIo {
    const NAME: &'static str = "simulated";

    fn connect(&mut self, slot: Slot) -> Result<(), Failure> {
        let line = &mut self.lines[slot];
        assert!(!line.in_use, "slot {slot} was connected while in use");
        *line = Line { in_use: true, generation: line.generation + 1, ..Line::default() };
        match self.accepting {
            Accepting::After(length) => self.happen(self.clock.get() + length, slot, Happening::Connected),
            Accepting::Refusing => self.happen(self.clock.get(), slot, Happening::Refused),
            Accepting::NotBetween(from, to) => {
                let is_refused = (from..to).contains(&self.clock.get());
                let happening = if is_refused { Happening::Refused } else { Happening::Connected };
                self.happen(self.clock.get(), slot, happening);
            }
            Accepting::Never => {}
        }
        Ok(())
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], notify: Notify) -> Result<(), Failure> {
        let request_bytes = self.request_bytes;
        let line = &mut self.lines[slot];
        assert!(line.in_use, "a request was sent on slot {slot}, which is closed");
        assert!(!line.is_full, "more was sent on slot {slot} before it had taken the part of a long request");
        line.is_full = notify == Notify::WhenWritten;
        let before = line.arrived_bytes;
        line.arrived_bytes += bytes.len() as u64;
        let after = line.arrived_bytes;
        for begun in before.div_ceil(request_bytes)..after.div_ceil(request_bytes) {
            let start = usize::try_from(begun * request_bytes - before).expect("it is within these bytes");
            self.sent.borrow_mut().push((self.clock.get(), self.operation_of(&bytes[start..])));
        }
        let requests_in = |bytes: u64| match self.answering {
            Answering::TheWhole => bytes / request_bytes,
            Answering::ItsBeginning => bytes.div_ceil(request_bytes),
        };
        for _ in requests_in(before)..requests_in(after) {
            if let Some(done) = (self.service)(self.clock.get()) {
                self.happen(done, slot, Happening::Answered);
            }
        }
        if notify == Notify::WhenWritten {
            self.happen(self.clock.get() + self.part_time, slot, Happening::Taken);
        }
        Ok(())
    }

    fn retransmits(&self, slot: Slot) -> Option<u32> {
        assert!(self.lines[slot].in_use, "the kernel was asked about slot {slot}, which is closed");
        (self.retransmits)(self.clock.get())
    }

    fn close(&mut self, slot: Slot) {
        self.lines[slot].in_use = false;
    }

    fn now(&self) -> Nanos {
        self.clock.get()
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        let next = self.coming.peek().map_or(until, |Reverse((time, ..))| until.min(*time));
        let now = self.clock.get().max(next);
        let now = if self.held_up.contains(&now) { self.held_up.end } else { now };
        self.clock.set(now);
        while let Some(Reverse((time, slot, generation, happening))) = self.coming.peek().copied() {
            if time > now {
                break;
            }
            self.coming.pop();
            self.ready.push_back((slot, generation, happening));
        }
        now
    }

    fn look(&mut self, until: Nanos, _: Nanos) -> Looked {
        let before = self.clock.get();
        let now = self.wait(until);
        Looked { now, spent: now - before, lost: Nanos::ZERO }
    }

    fn next(&mut self) -> Option<(Slot, Event<'_>)> {
        loop {
            let (slot, generation, happening) = self.ready.pop_front()?;
            let line = &mut self.lines[slot];
            if line.in_use && line.generation == generation {
                line.is_full &= happening != Happening::Taken;
                let event = match happening {
                    Happening::Connected => Event::Connected,
                    Happening::Refused => Event::ConnectFailed(Failure::ConnectRefused),
                    Happening::Taken => Event::Written,
                    Happening::Answered => Event::Received(ANSWER),
                };
                return Some((slot, event));
            }
        }
    }
}

/// The bytes of each request of the plan's list, and how long all of them are, bodies included.
fn bytes_of(requests: &RequestSource<Http1>) -> (Vec<Vec<u8>>, u64) {
    let mut heads = Vec::new();
    let mut lengths = BTreeSet::new();
    for operation in 0..requests.tally_labels().len() {
        let template = requests.template(operation);
        let mut head = Vec::new();
        Http1::new(1, &()).begin(0, &template.request, None, &mut head);
        lengths.insert(head.len() as u64 + template.body.as_ref().map_or(0, |body| body.length()));
        heads.push(head);
    }
    let length = lengths.pop_first().filter(|_| lengths.is_empty());
    (heads, length.expect("the simulated server tells requests apart by their length"))
}

/// One simulated load.
pub(super) struct Simulation<'a> {
    pub(super) plan: &'a HttpLoad,
    pub(super) accepting: Accepting,
    pub(super) answering: Answering,
    pub(super) retransmits: Rc<Retransmits>,
    /// How long a connection takes for a part of a long request.
    pub(super) part_time: Nanos,
    /// How long after the load the worker begins.
    pub(super) begins_late: Nanos,
    /// When the worker's thread does not run although it could; never for most.
    pub(super) held_up: Range<Nanos>,
    /// When the load is asked to stop, on the clock; never for most.
    pub(super) stop_at: Nanos,
    /// What a worker's thread has used of a processor, but for its polling.
    pub(super) cpu: CpuUse,
    pub(super) waiting: Waiting,
    /// What the workers that were run have sent.
    pub(super) sent: Rc<RefCell<Vec<Sent>>>,
}

impl<'a> Simulation<'a> {
    pub(super) fn of(plan: &'a HttpLoad) -> Self {
        Self {
            plan,
            accepting: Accepting::After(Nanos::ZERO),
            answering: Answering::TheWhole,
            retransmits: Rc::new(|_| None),
            part_time: Nanos::ZERO,
            begins_late: Nanos::ZERO,
            held_up: START..START,
            stop_at: Nanos::NEVER,
            cpu: CpuUse::default(),
            waiting: Waiting::Sleeping,
            sent: Rc::default(),
        }
    }

    /// What the workers that were run have sent, and when since the start, in order of time.
    pub(super) fn sent_since_start(&self) -> Vec<Sent> {
        let mut sent: Vec<Sent> =
            self.sent.borrow().iter().map(|(time, operation)| (*time - START, *operation)).collect();
        sent.sort_unstable();
        sent
    }

    /// What one worker of a plan for one thread records, and when its load began.
    pub(super) fn run(&self, service: impl FnMut(Nanos) -> Option<Nanos> + 'static) -> (Part, Nanos) {
        self.run_share(Share::whole(), service)
    }

    /// What the worker of a share records, and when its load began.
    pub(super) fn run_share(
        &self,
        share: Share,
        service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
    ) -> (Part, Nanos) {
        let clock = Rc::new(Cell::new(START));
        let numbers = numbers(self.plan, share);
        let requests = RequestSource::<Http1>::open(self.plan).unwrap();
        let io = self.io(&clock, &requests, numbers.len(), service);
        let conversation = &self.plan.work.conversation;
        let configuration =
            WorkerConfiguration::new(self.plan, conversation, share, requests, (), self.waiting)
                .streaming(self.plan.work.events());
        let mut worker = Worker::new(io, numbers, configuration);
        let should_stop = || clock.get() >= self.stop_at;
        worker.open_all(should_stop);
        let epoch = clock.get();
        let mut scheduler = Scheduler::new(&self.plan.pace(), share, epoch).unwrap();
        clock.set(epoch + self.begins_late);
        let began = worker.run(&mut scheduler, should_stop, |_| {});
        let activity = worker.activity();
        let polling = self.cpu.polling.and(worker.polling());
        let (recorder, ended) = worker.finish(&scheduler);
        let counts = recorder.requests;
        let ends = counts.answered + counts.failed + counts.unanswered + counts.never_sent;
        assert_eq!(counts.due, ends, "requests got lost: {counts:?}");
        let shown = (activity.answers(), activity.failures().total());
        assert_eq!(
            shown,
            (recorder.replies, counts.failed + recorder.warm_up.failed),
            "what anybody can see"
        );
        let cpu = CpuUse { polling, ..self.cpu };
        (Part::of_thread(recorder, scheduler.window(), began, ended, cpu), epoch)
    }

    fn io(
        &self,
        clock: &Rc<Cell<Nanos>>,
        requests: &RequestSource<Http1>,
        slots: usize,
        service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
    ) -> SimulatedIo {
        let (heads, request_bytes) = bytes_of(requests);
        SimulatedIo {
            clock: Rc::clone(clock),
            held_up: self.held_up.clone(),
            accepting: self.accepting,
            answering: self.answering,
            service: Box::new(service),
            retransmits: Rc::clone(&self.retransmits),
            sent: Rc::clone(&self.sent),
            heads,
            request_bytes,
            part_time: self.part_time,
            lines: vec![Line::default(); slots],
            coming: BinaryHeap::new(),
            ready: VecDeque::new(),
        }
    }

    /// What one worker records of each level of a load whose widest one is this simulation's plan.
    pub(super) fn run_levels(
        &self,
        plans: &[HttpLoad],
        service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
    ) -> Vec<Part> {
        let clock = Rc::new(Cell::new(START));
        let requests = RequestSource::<Http1>::open(self.plan).unwrap();
        let numbers = numbers(self.plan, Share::whole());
        let io = self.io(&clock, &requests, numbers.len(), service);
        let configuration = |plan: &HttpLoad, share| {
            let (conversation, requests) = (&plan.work.conversation, Arc::clone(&requests));
            WorkerConfiguration::new(plan, conversation, share, requests, (), Waiting::Sleeping)
        };
        let worker = Worker::new(io, numbers, configuration(self.plan, Share::whole()));
        let activity = worker.activity();
        let home = Arc::new(Home::new(plans.iter().map(|plan| plan.threads), TcpCounters::default()));
        let mut thread = Thread::new(worker, Arc::clone(&home));
        let levels: Vec<_> =
            plans.iter().map(|plan| Level::of(plan, 0, |share| configuration(plan, share))).collect();
        let should_stop = || clock.get() >= self.stop_at;
        thread.open(&levels[0], should_stop);
        thread.go_through(levels, clock.get(), should_stop);
        let parts: Vec<Part> =
            std::iter::from_fn(|| home.take()).map(|(_, finished)| finished.part).collect();
        let (mut shown, mut going_on) = ((0, 0), 0);
        for Part { recorder, .. } in &parts {
            let counts = recorder.requests;
            let ends = counts.answered + counts.failed + counts.unanswered + counts.never_sent;
            assert_eq!(counts.due, ends, "requests got lost: {counts:?}");
            shown.0 += recorder.replies;
            shown.1 += counts.failed + recorder.warm_up.failed;
            going_on += recorder.warm_up.unanswered;
        }
        assert_eq!(activity.answers(), shown.0, "what anybody can see");
        // What was due in a warm-up may fail when its level is over.
        assert!(
            (shown.1..=shown.1 + going_on).contains(&activity.failures().total()),
            "what anybody can see"
        );
        parts
    }

    /// The result of a plan for one thread.
    pub(super) fn result(&self, service: impl FnMut(Nanos) -> Option<Nanos> + 'static) -> LoadResult {
        let (part, _) = self.run(service);
        let interrupted = self.stop_at != Nanos::NEVER;
        let requests = RequestSource::<Http1>::open(self.plan).unwrap();
        let (name, kernel) = (SimulatedIo::NAME.into(), TcpCounters::default());
        let summary = HttpSummary {
            plan: self.plan,
            requests: &requests,
            io: name,
            capacity: None,
            look: None,
            server_sockets: None,
        };
        summary.of(Gathered::from_iter([Finished::of(vec![part], kernel, interrupted)]))
    }
}
