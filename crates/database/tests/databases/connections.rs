//! What the driver of `MongoDB` tells of its connections.

use futures_util::future::join_all;
use loadcurve_database::{ConnectionEvent, Database, MongoDb};
use loadcurve_plan::Nanos;
use tokio::time::Instant;

use crate::fake_mongodb::{nothing_found, serve, serve_first};
use crate::support::{read, run, target};

/// This many clients read at the same time, whatever comes of it.
async fn read_together(database: &MongoDb, clients: usize) {
    let reads = (0..clients).map(|_| async {
        let mut session = database.session().await.unwrap();
        read(&mut session, "user1").await
    });
    join_all(reads).await;
}

#[test]
fn a_connection_is_reported_once_with_the_time_that_it_took() {
    run(async {
        let target = target(&serve(|_| nothing_found()).await);
        let start = Instant::now();
        let database = MongoDb::open(&target, 1).await.unwrap();
        read_together(&database, 3).await;
        let within = Nanos::from_secs_f64(start.elapsed().as_secs_f64());
        let events = database.take_connection_events();
        assert!(
            matches!(events[..], [ConnectionEvent::Opened(took)] if took > Nanos::ZERO && took < within),
            "{events:?} within {within:?}"
        );
        assert_eq!(database.take_connection_events(), []);
    });
}

#[test]
fn a_connection_that_cannot_be_established_is_reported_as_failed() {
    run(async {
        let target = target(&serve_first(2, |_| nothing_found()).await);
        let database = MongoDb::open(&target, 3).await.unwrap();
        read_together(&database, 3).await;
        let events = database.take_connection_events();
        let opened = events.iter().filter(|event| matches!(event, ConnectionEvent::Opened(_))).count();
        assert_eq!(opened, 1, "{events:?}");
        assert!(events.contains(&ConnectionEvent::Failed), "{events:?}");
    });
}
