//! One load on a web server from start to result.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use loadcurve_plan::{HttpLoad, HttpVersion, Messages, Model, Nanos, Pace, Share, Stop, WebSocket};
use loadcurve_wire::{HttpExchange, Stream};

use crate::capacity::Capacity;
use crate::clock;
use crate::error::StartError;
use crate::gathered::Gathered;
use crate::http::HttpSummary;
use crate::io::epoll::Epoll;
use crate::io::route::Route;
use crate::io::uring::Uring;
use crate::io::{Carries, Io as _};
use crate::one_connection::epoll;
use crate::part::{Finished, Part};
use crate::protection::OverQuic;
use crate::requests::RequestSource;
use crate::result::LoadResult;
use crate::running::RunningLoad;
use crate::scheduler::Scheduler;
use crate::server_sockets::ServerSockets;
use crate::spoken::{visit_exchange, visit_protocol};
use crate::thread_group::{Begins, CpuMeter, Member, ThreadGroup};
use crate::transport::{Starts, Transport, numbers};
use crate::visitor::{ExchangeVisitor, Protocol, ProtocolVisitor, Spoken};
use crate::work::{CarrierOf, Work};
use crate::worker::{FanOutConfiguration, Waiting, Worker, WorkerConfiguration};

/// How long it is waited between two looks whether a single message has come.
const MOMENT: Nanos = Nanos::from_millis(1);

/// Starts a load on a web server; its limits are checked before the first connection. It begins when its connections
/// are open.
///
/// # Errors
/// When the plan is not sound, or asks for more than this machine allows.
pub fn start(plan: &HttpLoad) -> Result<RunningLoad<LoadResult>, StartError> {
    start_to_begin(plan, Begins::WhenReady, &|| false)
}

/// Starts a load on a web server as [`start`], which begins as `begins` says; where `is_interrupted` says so before, there is
/// none.
///
/// # Errors
/// As for [`start`].
pub fn start_to_begin(
    plan: &HttpLoad,
    begins: Begins,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<RunningLoad<LoadResult>, StartError> {
    visit_exchange(plan, is_interrupted, Whole { plan, begins })
}

/// Starts a machine's share of a load on a web server, as [`start`]. Its connections are opened at once; the load begins
/// on [`RunningLoad::begin`].
///
/// # Errors
/// As for [`start`], and when there are more threads than connections in the share.
pub fn start_part(
    plan: &HttpLoad,
    share: Share,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<RunningLoad<Finished>, StartError> {
    visit_exchange(plan, is_interrupted, Shared { plan, share })
}

/// A load that this process carries out alone.
struct Whole<'a> {
    plan: &'a HttpLoad,
    begins: Begins,
}

impl ExchangeVisitor for Whole<'_> {
    type Outcome = RunningLoad<LoadResult>;

    fn visit<E: HttpExchange<Carrier: Transport> + 'static>(
        self,
        spoken: Spoken<E::Settings>,
    ) -> Result<Self::Outcome, StartError> {
        let Spoken { settings, look } = spoken;
        let plan = self.plan.clone();
        let begun = Begun::<E>::new(&plan, Share::whole(), self.begins, settings)?;
        let Begun { group, requests, capacity, io } = begun;
        let before = server_sockets(&plan);
        Ok(RunningLoad::new(group, move |finished| {
            let capacity = Some(&capacity.at_the_end());
            let look = look.as_ref();
            let server_sockets = before.and_then(|before| Some(server_sockets(&plan)?.since(before)));
            HttpSummary { plan: &plan, requests: &requests, io: io.into(), capacity, look, server_sockets }
                .of(Gathered::from_iter([finished]))
        }))
    }
}

/// Publishes one message for one subscriber, as a load does that has subscribers.
///
/// # Errors
/// As for [`start`].
pub(crate) fn one_delivery<E: HttpExchange<Carrier: Transport> + 'static>(
    plan: &HttpLoad,
    spoken: Spoken<E::Settings>,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<LoadResult, StartError> {
    let one = HttpLoad {
        model: Model::Closed { connections: 1 },
        stop: Stop::RequestsTotal(1),
        warmup_s: 0.0,
        ..plan.clone()
    };
    let one = one.with(|http| {
        let given = http.messages.as_ref().and_then(Messages::websocket).cloned().unwrap_or_default();
        http.messages = Some(Messages::WebSocket(WebSocket { subscribers: Some(1), ..given }));
    });
    let mut waiting = epoll(plan)?;
    let running = Whole { plan: &one, begins: Begins::WhenReady }.visit::<E>(spoken)?;
    while !running.is_finished() {
        if is_interrupted() {
            running.stop();
        }
        waiting.wait(clock::now() + MOMENT);
    }
    Ok(running.finish())
}

/// The sockets at which the server of a load takes datagrams, where it takes any on this machine.
fn server_sockets(plan: &HttpLoad) -> Option<ServerSockets> {
    (plan.work.http == HttpVersion::Http3).then_some(())?;
    let work = &plan.work;
    let addresses: Vec<_> =
        std::iter::once(work.address.tcp()?).chain(work.way.other_addresses.clone()).collect();
    ServerSockets::at(&addresses)
}

/// The share of a load that this process carries out.
struct Shared<'a> {
    plan: &'a HttpLoad,
    share: Share,
}

impl ExchangeVisitor for Shared<'_> {
    type Outcome = RunningLoad<Finished>;

    fn visit<E: HttpExchange<Carrier: Transport> + 'static>(
        self,
        spoken: Spoken<E::Settings>,
    ) -> Result<Self::Outcome, StartError> {
        let begun = Begun::<E>::new(self.plan, self.share, Begins::OnRequest, spoken.settings)?;
        let io = begun.io;
        Ok(RunningLoad::new(begun.group, move |finished| Finished { io: Some(io.into()), ..finished }))
    }
}

/// The result of a load from the recordings of its machines, at least one. The backend is that of
/// the first one that says it.
///
/// # Errors
/// The files of the requests cannot be used any more.
pub fn result_of(plan: &HttpLoad, gathered: Gathered) -> Result<LoadResult, StartError> {
    visit_protocol(&plan.work, Concluding { plan, gathered })
}

/// What was recorded of a load whose server has been asked before, elsewhere.
struct Concluding<'a> {
    plan: &'a HttpLoad,
    gathered: Gathered,
}

impl ProtocolVisitor for Concluding<'_> {
    type Outcome = LoadResult;

    fn visit<E: HttpExchange<Carrier = Stream> + 'static>(
        self,
        _: Protocol,
        _: E::Settings,
    ) -> Result<LoadResult, StartError> {
        self.conclude::<E>()
    }

    fn visit_http3(self) -> Result<LoadResult, StartError> {
        self.conclude::<OverQuic>()
    }
}

impl Concluding<'_> {
    fn conclude<E: HttpExchange>(self) -> Result<LoadResult, StartError> {
        let Self { plan, gathered } = self;
        let requests = RequestSource::<E>::open(plan)?;
        let io = gathered.io().unwrap_or(Epoll::NAME.into());
        let (capacity, look, server_sockets) = (None, None, None);
        Ok(HttpSummary { plan, requests: &requests, io, capacity, look, server_sockets }.of(gathered))
    }
}

/// A share of a load whose threads have been started.
struct Begun<E: HttpExchange> {
    group: ThreadGroup,
    requests: Arc<RequestSource<E>>,
    capacity: Capacity,
    /// What results call the backend.
    io: &'static str,
}

impl<E: HttpExchange<Carrier: Transport> + 'static> Begun<E> {
    fn new(plan: &HttpLoad, share: Share, begins: Begins, settings: E::Settings) -> Result<Self, StartError> {
        let connections = numbers(plan, share).len();
        if plan.threads > connections {
            let text = format!(
                "{} threads require at least as many connections, but a share of this load has \
                    {connections}: use fewer threads or more connections",
                plan.threads
            );
            return Err(StartError::Plan(text));
        }
        let requests = RequestSource::<E>::open(plan)?;
        let listening = plan.work.subscribers().unwrap_or(0);
        if listening > 0 && share.of() > 1 {
            let text = "a load with subscribers is sent by one machine, whose clock counts latencies";
            return Err(StartError::Plan(text.into()));
        }
        let capacity = Capacity::secure(plan, connections + listening).map_err(StartError::Machine)?;
        let mut group = ThreadGroup::new(plan.threads, &plan.cpus, begins)?;
        let shares: Vec<Share> = (0..plan.threads).map(|index| share.part(index, plan.threads)).collect();
        let threads = Threads { plan, requests: &requests, shares: &shares, settings, group: &mut group };
        let io = E::Carrier::start(plan, &shares, threads)?;
        Ok(Self { group, requests, capacity, io })
    }
}

/// What the threads of a load are started with.
struct Threads<'a, E: HttpExchange> {
    plan: &'a HttpLoad,
    requests: &'a Arc<RequestSource<E>>,
    /// One for each thread.
    shares: &'a [Share],
    settings: E::Settings,
    group: &'a mut ThreadGroup,
}

impl<E: HttpExchange + 'static> Starts<E::Carrier> for Threads<'_, E> {
    fn start<I: Carries<E::Carrier> + Send + 'static>(
        self,
        backends: Vec<I>,
    ) -> Result<&'static str, StartError> {
        let (plan, group) = (self.plan, self.group);
        let waiting = Waiting::of(plan);
        for (share, io) in self.shares.iter().copied().zip(backends) {
            let (requests, settings) = (Arc::clone(self.requests), self.settings.clone());
            let conversation = &plan.work.conversation;
            let configuration =
                WorkerConfiguration::new(plan, conversation, share, requests, settings, waiting)
                    .streaming(plan.work.events())
                    .fanning_out(fan_out_of(plan));
            let (mut worker, pace) = (Worker::new(io, numbers(plan, share), configuration), plan.pace());
            worker.share_what_is_heard(group.heard());
            group.start(worker.activity(), move |member| run(worker, &pace, share, &member))?;
        }
        Ok(I::NAME)
    }
}

/// Who receives what a load publishes, if it does, with what distinguishes its messages from those of others.
fn fan_out_of(plan: &HttpLoad) -> Option<FanOutConfiguration> {
    let run = u32::try_from(RandomState::new().hash_one(plan.seed) >> 32).unwrap_or_default();
    plan.work.subscribers().map(|subscribers| FanOutConfiguration { subscribers, run })
}

/// Why the kernel does not offer `io_uring` to this process; `None` if it does.
#[must_use]
pub fn uring_refusal() -> Option<String> {
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Uring::new(Route::to(anywhere), 0).err().map(|unavailable| unavailable.to_string())
}

/// The whole life of one thread.
fn run<I: Carries<CarrierOf<W>>, W: Work>(
    mut worker: Worker<I, W>,
    pace: &Pace,
    share: Share,
    member: &Member,
) -> Part {
    let should_stop = || member.should_stop();
    worker.open_all(should_stop);
    member.ready();
    worker.wait_for_begin(|| member.begins_at(), should_stop);
    let mut scheduler =
        Scheduler::new(pace, share, member.epoch()).expect("the plan was validated before the start");
    let window = scheduler.window();
    let mut meter = CpuMeter::new(window);
    let began =
        worker.run(&mut scheduler, should_stop, |worker| meter.observe(worker.now(), worker.polling()));
    let cpu = meter.used(worker.polling());
    let (recorder, ended) = worker.finish(&scheduler);
    Part::of_thread(recorder, window, began, ended, cpu)
}
