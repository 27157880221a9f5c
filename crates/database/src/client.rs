//! One client: an operation after the other, each until its answer, its failure or its deadline.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use loadcurve_plan::{BackOff, Nanos};
use loadcurve_record::{Failure, Recorder};
use loadcurve_ycsb::{Check, InsertedKeys, Kind, Operation};
use tokio::sync::OnceCell;

use crate::client_pool::{Assignment, ClientPool, Sending};
use crate::clock::Clock;
use crate::database::{ConnectionEvent, Database, Failed, Found, NewRecord, Session, Target};

/// The database as the clients of one thread share it, opened by the first of them that succeeds.
pub(crate) struct LazyDatabase<D> {
    target: Target,
    sessions: usize,
    timeout: Duration,
    database: OnceCell<D>,
}

impl<D: Database> LazyDatabase<D> {
    /// To a database for this many clients.
    pub(crate) fn new(target: Target, sessions: usize) -> Self {
        let timeout = Duration::from_secs_f64(target.timeout_s);
        Self { target, sessions, timeout, database: OnceCell::new() }
    }

    /// A way for one client, within the time that connecting may take.
    pub(crate) async fn connect(&self, clock: &impl Clock) -> Result<Connected<D::Session>, Failed> {
        let connecting = async {
            let opening = Cell::new(None);
            let open = || {
                opening.set(Some(clock.now()));
                D::open(&self.target, self.sessions)
            };
            let database = self.database.get_or_try_init(open).await?;
            // The client that opened the database gets the connection which that made; the others begin now.
            let begun = opening.get().unwrap_or_else(|| clock.now());
            let session = database.session().await?;
            let timing = D::CONNECTS.then(|| ConnectTiming { since: begun, length: clock.now() - begun });
            Ok(Connected { session, timing })
        };
        tokio::time::timeout(self.timeout, connecting)
            .await
            .unwrap_or_else(|_| Err(Failed::new(Failure::ConnectTimeout, "no connection within the timeout")))
    }

    /// Records what has become of the driver's own connections.
    pub(crate) fn record_connections(&self, recorder: &mut Recorder) {
        for event in self.database.get().map(D::take_connection_events).unwrap_or_default() {
            match event {
                ConnectionEvent::Opened(length) => recorder.connected(length),
                ConnectionEvent::Failed => recorder.connect_failed(),
                ConnectionEvent::Closed => recorder.disconnected(None),
            }
        }
    }
}

/// A client's way to the database.
pub(crate) struct Connected<S> {
    session: S,
    /// None where the connections are the driver's.
    timing: Option<ConnectTiming>,
}

/// When connecting began, and how long it took.
#[derive(Clone, Copy)]
struct ConnectTiming {
    since: Nanos,
    length: Nanos,
}

/// Records an attempt to connect; what becomes of a driver's own connections, the driver reports.
pub(crate) fn record_attempt<S>(recorder: &mut Recorder, attempt: Option<&Connected<S>>) {
    match attempt {
        Some(Connected { timing: Some(timing), .. }) => recorder.connected(timing.length),
        Some(Connected { timing: None, .. }) => {}
        None => recorder.connect_failed(),
    }
}

/// One client.
pub(crate) struct Client<D: Database, C: Clock> {
    pub(crate) pool: Rc<ClientPool<C>>,
    pub(crate) database: Rc<LazyDatabase<D>>,
    pub(crate) inserted: Arc<InsertedKeys>,
    /// Its place at the pool.
    pub(crate) slot: usize,
    pub(crate) connected: Option<Connected<D::Session>>,
    /// Where its operations are made: as many as go into a batch.
    pub(crate) operations: Vec<Operation>,
    pub(crate) check: Option<Check>,
    /// How long it rests while the database cannot be reached.
    pub(crate) back_off: BackOff,
}

/// How an operation ended, and whether it did so without waiting.
struct End {
    outcome: Result<(), Failed>,
    at_once: bool,
}

impl<D: Database, C: Clock> Client<D, C> {
    /// Makes operations until there are no more.
    pub(crate) async fn run(mut self) {
        let mut now = self.pool.clock.now();
        while let Some((taken, begun)) = self.pool.next(self.slot, now).await {
            now = self.serve(taken, begun).await;
        }
    }

    /// Makes what was taken; returns when it ended, which is when the next may begin.
    async fn serve(&mut self, taken: Assignment, begun: Nanos) -> Nanos {
        self.pool.make(&mut self.operations[..taken.operations]);
        let (mut connected, sending) = match self.connected.take() {
            Some(connected) => (connected, Sending { at: begun, reused: true, connect: None }),
            None => match self.connect().await {
                Ok((connected, now)) => {
                    let connect = connected.timing.map(|timing| timing.length);
                    (connected, Sending { at: now, reused: false, connect })
                }
                Err(failed) => {
                    let operations = &self.operations[..taken.operations];
                    let now = self.pool.clock.now();
                    self.pool.failed(self.slot, taken, operations, None, now, &failed);
                    return self.rest().await;
                }
            },
        };
        self.pool.sent(self.slot, taken, sending);
        let operations = &self.operations[..taken.operations];
        let asks_for = asked_for(operations).filter(|record| self.inserted.is_there(*record));
        let asking = ask(&mut connected.session, operations, self.check.as_mut());
        let End { outcome, at_once } = ended(&self.pool, self.slot, asking).await;
        let done = self.pool.clock.now();
        let outcome = outcome.or_else(|failed| {
            // Another client has deleted it meanwhile, so that is the right answer.
            let is_right = asks_for.is_some_and(|record| !self.inserted.is_there(record));
            if failed.failure == Failure::NotFound && is_right { Ok(()) } else { Err(failed) }
        });
        match outcome {
            Ok(()) => {
                self.back_off.reached();
                self.pool.answered(self.slot, taken, operations, sending, done);
                for inserted in operations.iter().filter(|operation| operation.kind == Kind::Insert) {
                    self.inserted.acknowledge(inserted.record);
                }
                self.connected = Some(connected);
            }
            Err(failed) => {
                self.pool.failed(self.slot, taken, operations, Some(sending), done, &failed);
                if failed.ends_connection() {
                    if let Some(timing) = connected.timing {
                        self.pool.record(|recorder| recorder.disconnected(Some(done - timing.since)));
                    }
                } else {
                    self.connected = Some(connected);
                }
                if is_unreachable(failed.failure) {
                    return self.rest().await;
                }
            }
        }
        if at_once {
            // The others of the thread have their turns, too.
            tokio::task::yield_now().await;
        }
        done
    }

    /// Connects; returns when that was done.
    async fn connect(&self) -> Result<(Connected<D::Session>, Nanos), Failed> {
        let attempt = self.database.connect(&*self.pool.clock).await;
        self.pool.record(|recorder| record_attempt(recorder, attempt.as_ref().ok()));
        if let Ok(Connected { timing: Some(_), .. }) = attempt {
            self.pool.connected();
        }
        attempt.map(|connected| (connected, self.pool.clock.now()))
    }

    /// Rests after a failed attempt to connect, so that a database that is down is not flooded; returns when that is over.
    async fn rest(&mut self) -> Nanos {
        let now = self.pool.clock.now();
        let rest = self.back_off.failed(now) - now;
        tokio::time::sleep(Duration::from_nanos(rest.0)).await;
        self.pool.clock.now()
    }
}

impl<D: Database, C: Clock> Drop for Client<D, C> {
    /// However it ends, nobody waits for it any more.
    fn drop(&mut self) {
        self.pool.leave();
    }
}

/// The record that an operation needs to be there and leaves there.
fn asked_for(operations: &[Operation]) -> Option<u64> {
    match operations {
        [Operation { kind: Kind::Read | Kind::Update | Kind::ReadModifyWrite, record, .. }] => Some(*record),
        _ => None,
    }
}

/// Waits for what an operation comes to, until the time for that is over.
async fn ended<C: Clock>(
    pool: &ClientPool<C>,
    slot: usize,
    asking: impl Future<Output = Result<(), Failed>>,
) -> End {
    let mut asking = pin!(asking);
    let mut at_once = true;
    let outcome = poll_fn(|context| {
        if let Poll::Ready(outcome) = asking.as_mut().poll(context) {
            return Poll::Ready(outcome);
        }
        at_once = false;
        if pool.is_overdue(slot, context) {
            return Poll::Ready(Err(Failed::new(Failure::Timeout, "")));
        }
        Poll::Pending
    });
    let outcome = outcome.await;
    End { outcome, at_once }
}

/// Whether a failure says that nobody is there, so that asking again at once would be in vain.
fn is_unreachable(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::ConnectRefused
            | Failure::ConnectTimeout
            | Failure::FdUnavailable
            | Failure::AddressUnavailable
    )
}

/// Makes one operation, or several inserts in one request.
async fn ask<S: Session>(
    session: &mut S,
    operations: &[Operation],
    mut check: Option<&mut Check>,
) -> Result<(), Failed> {
    let [operation] = operations else { return insert(session, operations).await };
    let Operation { kind, key, selection, values, scan_records, .. } = operation;
    if let Some(check) = &mut check {
        check.begin();
    }
    let mut seen = Seen(check);
    match kind {
        Kind::Read => session.read(key, *selection, &mut seen).await?,
        Kind::Update => session.update(key, values).await?,
        Kind::Insert => session.insert(&[NewRecord { key, values }]).await?,
        Kind::Scan => {
            let records = session.scan(key, *scan_records, *selection, &mut seen).await?;
            return seen.verdict(operation, records);
        }
        Kind::ReadModifyWrite => {
            session.read(key, *selection, &mut seen).await?;
            session.update(key, values).await?;
        }
        Kind::Delete => session.delete(key).await?,
    }
    match kind {
        Kind::Read | Kind::ReadModifyWrite => seen.verdict(operation, 1),
        Kind::Update | Kind::Insert | Kind::Scan | Kind::Delete => Ok(()),
    }
}

async fn insert<S: Session>(session: &mut S, operations: &[Operation]) -> Result<(), Failed> {
    let records: Vec<NewRecord<'_>> = operations
        .iter()
        .map(|operation| NewRecord { key: &operation.key, values: &operation.values })
        .collect();
    session.insert(&records).await
}

/// Looks at the fields that a database returns, where they are verified.
struct Seen<'a>(Option<&'a mut Check>);

impl Found for Seen<'_> {
    fn field(&mut self, key: &str, name: &str, text: &str) {
        if let Some(check) = &mut self.0 {
            check.field(key, name, text);
        }
    }
}

impl Seen<'_> {
    /// Whether the answer, of this many records, had what was written.
    fn verdict(&self, operation: &Operation, records: usize) -> Result<(), Failed> {
        match &self.0 {
            Some(check) if check.is_of_another_form() => Err(Failed::new(
                Failure::Mismatch,
                "the records were not written with values that can be verified: load them with --verify-values, too \
                (verify_values = true in a study)",
            )),
            Some(check) if !check.is_passed(operation.selection, records) => Err(Failed::new(
                Failure::Mismatch,
                "a field is missing, or its value differs from the one \
                    written",
            )),
            _ => Ok(()),
        }
    }
}
