//! What was made by us, and what was not.

use loadcurve_database::{Database, MongoDb, Target};
use loadcurve_record::Failure;
use mongodb::bson::Document;

use crate::support::{insert, on_server, opened, values};

pub(crate) async fn makes_and_removes<D: Database>(target: Target) {
    let database = D::open(&target, 1).await.unwrap();
    assert_eq!((database.exists().await, database.is_ours().await), (Ok(false), Ok(false)));
    database.create().await.unwrap();
    assert_eq!((database.exists().await, database.is_ours().await), (Ok(true), Ok(true)));
    let second = Target { table: "second".into(), ..target.clone() };
    let second = D::open(&second, 1).await.unwrap();
    assert_eq!((second.exists().await, second.is_ours().await), (Ok(false), Ok(false)));
    second.create().await.unwrap();
    database.remove().await.unwrap();
    assert_eq!((database.exists().await, database.is_ours().await), (Ok(false), Ok(false)));
    assert_eq!(
        (second.exists().await, second.is_ours().await),
        (Ok(true), Ok(true)),
        "another one is untouched"
    );
    second.remove().await.unwrap();
    database.create().await.expect("what was removed can be made again");
    database.remove().await.unwrap();
}

pub(crate) async fn makes_none_twice<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    insert(&mut session, "user1", &values("kept")).await.unwrap();
    assert_eq!(database.create().await.unwrap_err().failure, Failure::Rejected);
    assert_eq!(database.count().await, Ok(1));
    database.remove().await.unwrap();
}

#[test]
fn a_collection_of_somebody_elses_is_not_ours() {
    on_server("LOADCURVE_TEST_MONGODB_URL", "foreign", &[], |target| async move {
        let database = MongoDb::open(&target, 1).await.unwrap();
        let mut session = loadcurve_database::Database::session(&database).await.unwrap();
        // The server makes a collection when something is inserted.
        insert(&mut session, "user1", &values("theirs")).await.unwrap();
        assert_eq!((database.exists().await, database.is_ours().await), (Ok(true), Ok(false)));
        database.remove().await.unwrap();
    });
}

#[test]
fn a_collection_that_took_the_place_of_ours_is_not_ours() {
    on_server("LOADCURVE_TEST_MONGODB_URL", "replaced", &[], |target| async move {
        let database: MongoDb = opened(&target).await;
        let somebody = mongodb::Client::with_uri_str(&target.url).await.unwrap();
        let theirs = somebody.database(&target.namespace);
        theirs.collection::<Document>(&target.table).drop().await.unwrap();
        theirs.create_collection(&target.table).await.unwrap();
        assert_eq!((database.exists().await, database.is_ours().await), (Ok(true), Ok(false)));
        database.remove().await.unwrap();
    });
}
