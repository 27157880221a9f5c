//! Servers that go away and come back: a real one, behind a relay that the test can cut.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use loadcurve_database::{Database, Failed, MongoDb, Session, Target};
use loadcurve_record::Failure;
use loadcurve_ycsb::Key;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::support::{fields, insert, on_server, opened, read, value, values};

/// Longer than anything takes that has happened already, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Passes bytes on between clients and a server, as long as the test wants it to.
struct Relay {
    address: SocketAddr,
    server: String,
    tasks: Rc<RefCell<Vec<JoinHandle<()>>>>,
    holding: Rc<Holding>,
    /// Whether connections that are made from now on will end with a reset instead of a close.
    resets: Rc<Cell<bool>>,
}

/// Whether what the server says is kept back, and whether it has said anything since.
#[derive(Default)]
struct Holding {
    is_wanted: Cell<bool>,
    has_begun: Cell<bool>,
}

impl Relay {
    /// A relay before the server of a target, and the target that leads through it.
    async fn before(target: &Target) -> (Self, Target) {
        let (scheme, rest) = target.url.split_once("://").unwrap();
        let (user, rest) =
            rest.rsplit_once('@').map_or((String::new(), rest), |(user, rest)| (format!("{user}@"), rest));
        let (server, path) = rest.split_once('/').unwrap_or((rest, ""));
        // An address of this process alone, so that nobody else takes the port while it is not listened at.
        let [.., high, low] = std::process::id().to_be_bytes();
        let address =
            TcpListener::bind(format!("127.77.{high}.{low}:0")).await.unwrap().local_addr().unwrap();
        let (tasks, holding, resets) = (Rc::default(), Rc::default(), Rc::default());
        let relay = Self { address, server: server.into(), tasks, holding, resets };
        relay.start().await;
        (relay, Target { url: format!("{scheme}://{user}{address}/{path}"), ..target.clone() })
    }

    async fn start(&self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        let (server, holding, tasks) =
            (self.server.clone(), Rc::clone(&self.holding), Rc::clone(&self.tasks));
        let resets = Rc::clone(&self.resets);
        let accepting = tokio::task::spawn_local(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                if resets.get() {
                    client.set_zero_linger().unwrap();
                }
                let upstream = TcpStream::connect(&server).await.unwrap();
                // Halves of this kind end their connection only together, so that a reset is no close before.
                let ((from_client, to_client), (from_server, to_server)) = (split(client), split(upstream));
                let asking = tokio::task::spawn_local(pass(from_client, to_server, Rc::default()));
                let answering = tokio::task::spawn_local(pass(from_server, to_client, Rc::clone(&holding)));
                tasks.borrow_mut().extend([asking, answering]);
            }
        });
        self.tasks.borrow_mut().push(accepting);
    }

    /// Ends the listener and all connections.
    async fn cut(&self) {
        let tasks = self.tasks.take();
        tasks.iter().for_each(JoinHandle::abort);
        for task in tasks {
            let _ = task.await;
        }
    }
}

async fn pass(mut from: ReadHalf<TcpStream>, mut to: WriteHalf<TcpStream>, holding: Rc<Holding>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        while holding.is_wanted.get() {
            holding.has_begun.set(true);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if to.write_all(&bytes[..length]).await.is_err() {
            break;
        }
    }
}

pub(crate) async fn survives_a_restart<D: Database>(target: Target) {
    let direct: D = opened(&target).await;
    let (relay, through) = Relay::before(&target).await;
    let database = D::open(&Target { timeout_s: 20.0, ..through }, 1).await.unwrap();
    let mut session = database.session().await.unwrap();
    insert(&mut session, "user1", &values("one")).await.unwrap();
    relay.cut().await;
    let lost = read(&mut session, "user1").await.unwrap_err();
    assert!(matches!(lost.failure, Failure::Reset | Failure::ClosedEarly), "{lost:?}");
    // The driver may still be finding out; in the end nobody is there.
    let refused = async {
        loop {
            let failed = read(&mut session, "user1").await.unwrap_err();
            if failed.failure == Failure::ConnectRefused {
                break;
            }
            assert!(matches!(failed.failure, Failure::Reset | Failure::ClosedEarly), "{failed:?}");
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.expect("a refusal is reported");
    relay.start().await;
    let back = async {
        loop {
            match read(&mut session, "user1").await {
                Ok(found) => break found,
                Err(failed) => assert_eq!(failed.failure, Failure::ConnectRefused, "{failed:?}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, back).await.expect("the server is found again");
    assert_eq!(found.0, fields("user1", &values("one")));
    direct.remove().await.unwrap();
}

pub(crate) async fn sees_a_close<D: Database>(target: Target) {
    let lost = failure_of_a_cut::<D>(&target, false).await;
    // MongoDB's driver closes all its connections once one of them is lost.
    assert!(matches!(lost.failure, Failure::ClosedEarly | Failure::Reset), "{lost:?}");
}

pub(crate) async fn sees_a_reset<D: Database>(target: Target) {
    let lost = failure_of_a_cut::<D>(&target, true).await;
    assert_eq!(lost.failure, Failure::Reset, "{lost:?}");
}

/// What becomes of an update whose server goes away before it answers.
async fn failure_of_a_cut<D: Database>(target: &Target, resets: bool) -> Failed {
    let direct: D = opened(target).await;
    let (relay, through) = Relay::before(target).await;
    relay.resets.set(resets);
    let database = D::open(&through, 1).await.unwrap();
    let mut session = database.session().await.unwrap();
    insert(&mut session, "user1", &values("one")).await.unwrap();
    relay.holding.is_wanted.set(true);
    let cut = async {
        while !relay.holding.has_begun.get() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        relay.cut().await;
    };
    let key = Key::from("user1");
    let values = value(0, "new");
    let (updated, ()) = tokio::join!(session.update(&key, &values), cut);
    direct.remove().await.unwrap();
    updated.unwrap_err()
}

pub(crate) async fn forgets_late_answers<D: Database>(target: Target) {
    let direct: D = opened(&target).await;
    let (relay, through) = Relay::before(&target).await;
    let database = D::open(&Target { timeout_s: 2.0, ..through }, 1).await.unwrap();
    let mut session = database.session().await.unwrap();
    insert(&mut session, "user1", &values("one")).await.unwrap();
    insert(&mut session, "user2", &values("two")).await.unwrap();
    read(&mut session, "user2").await.unwrap();
    relay.holding.is_wanted.set(true);
    assert_eq!(read(&mut session, "user1").await.unwrap_err().failure, Failure::Timeout);
    relay.holding.is_wanted.set(false);
    assert_eq!(read(&mut session, "user2").await.unwrap().0, fields("user2", &values("two")));
    direct.remove().await.unwrap();
}

#[test]
fn a_server_that_takes_too_long_is_no_server_that_is_gone() {
    on_server("LOADCURVE_TEST_MONGODB_URL", "slow", &[], |target| async move {
        let direct: MongoDb = opened(&target).await;
        let (relay, mut through) = Relay::before(&target).await;
        // The driver's monitor asks often enough to find the server slow, too.
        through.url.push(if through.url.contains('?') { '&' } else { '?' });
        through.url += "heartbeatFrequencyMS=500";
        let database = MongoDb::open(&Target { timeout_s: 2.0, ..through }, 1).await.unwrap();
        let mut session = database.session().await.unwrap();
        insert(&mut session, "user1", &values("one")).await.unwrap();
        relay.holding.is_wanted.set(true);
        for _ in 0..3 {
            let failed = read(&mut session, "user1").await.unwrap_err();
            assert_eq!(failed.failure, Failure::Timeout, "{failed:?}");
        }
        direct.remove().await.unwrap();
    });
}
