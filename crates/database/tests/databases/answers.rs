//! Answers with errors, from a server that gives them when a test wants it to.

use std::time::Duration;

use loadcurve_database::{Database, Failed, ManagedDatabase, MongoDb, Session, Target};
use loadcurve_record::Failure;
use loadcurve_ycsb::Key;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Document, doc};

use crate::fake_mongodb::{nothing_found, serve};
use crate::support::{fields, insert, read, run, target, value, values};

/// What becomes of an update, on a server that answers everything else as an empty one would.
fn updated(answer: fn(&Document) -> Document) -> Result<(), Failed> {
    run(async move {
        let target = target(&serve(answer).await);
        let database = MongoDb::open(&target, 1).await.unwrap();
        let mut session = database.session().await.unwrap();
        session.update(&Key::from("user7"), &value(0, "new")).await
    })
}

fn is_update(command: &Document) -> bool {
    command.contains_key("update")
}

/// Of an operation: see the target of the test.
#[expect(clippy::disallowed_methods, reason = "it is the server that takes its time")]
fn take_longer_than_the_timeout() {
    std::thread::sleep(Duration::from_millis(1_500));
}

/// A server on its own thread that takes longer than the timeout of an operation to count seven records.
fn slow_to_count() -> String {
    let (known, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        run(async move {
            let answer: fn(&Document) -> Document = |command| {
                let mut answer = nothing_found();
                answer.insert("version", "7.0.14");
                if command.contains_key("aggregate") {
                    take_longer_than_the_timeout();
                    let batch = [doc! { "n": 7 }];
                    let cursor = doc! { "id": 0_i64, "ns": "loadcurve.usertable", "firstBatch": batch };
                    answer.insert("cursor", cursor);
                }
                answer
            };
            known.send(serve(answer).await).unwrap();
            std::future::pending::<()>().await;
        });
    });
    address.recv().unwrap()
}

#[test]
fn counting_reads_a_whole_table_and_may_take_longer_than_an_operation() {
    let target = Target { timeout_s: 0.6, ..target(&slow_to_count()) };
    let database = ManagedDatabase::new(target).unwrap();
    assert_eq!(database.count().map_err(|failed| failed.text), Ok(7));
}

#[test]
fn a_server_that_wants_a_password_denies_access() {
    run(async {
        let answer: fn(&Document) -> Document = |_| doc! { "ok": 0, "code": 13, "codeName": "Unauthorized", "errmsg": "command find requires authentication" };
        let target = target(&serve(answer).await);
        let failed = MongoDb::open(&target, 1).await.err().unwrap();
        assert_eq!(failed.failure, Failure::AccessDenied);
        assert_eq!(failed.text, "command find requires authentication (Unauthorized, 13)");
    });
}

#[test]
fn a_wrong_password_of_mongodb_is_never_shown() {
    run(async {
        let answer: fn(&Document) -> Document = |_| doc! { "ok": 0, "code": 18, "codeName": "AuthenticationFailed", "errmsg": "Authentication failed." };
        let url = serve(answer).await.replace("mongodb://", "mongodb://user:wrongsecret@");
        let failed = MongoDb::open(&target(&url), 1).await.err().unwrap();
        assert_eq!(failed.failure, Failure::AccessDenied, "{failed:?}");
        assert!(!failed.text.contains("wrongsecret"), "{failed:?}");
    });
}

#[test]
fn an_answer_with_an_error_is_a_rejection_without_the_key() {
    let failed = updated(|command| {
        if is_update(command) {
            doc! { "ok": 0, "code": 112, "codeName": "WriteConflict", "errmsg": "conflict at user7" }
        } else {
            nothing_found()
        }
    })
    .unwrap_err();
    assert_eq!(failed.failure, Failure::Rejected);
    assert_eq!(failed.text, "conflict at KEY (WriteConflict, 112)");
}

#[test]
fn a_write_that_is_not_acknowledged_as_asked_is_a_rejection() {
    let failed = updated(|command| {
        if is_update(command) {
            let error = doc! { "code": 64, "codeName": "WriteConcernTimeout", "errmsg": "waiting for replication timed out" };
            doc! { "ok": 1, "n": 1, "nModified": 1, "writeConcernError": error }
        } else {
            nothing_found()
        }
    })
    .unwrap_err();
    assert_eq!(failed.failure, Failure::Rejected);
    assert_eq!(failed.text, "waiting for replication timed out (WriteConcernTimeout, 64)");
}

#[test]
fn the_write_concern_is_the_settings_and_else_the_addresss() {
    run(async {
        // The answer shows what it was asked: the write concern comes back as an error's text.
        let answer: fn(&Document) -> Document = |command| match command.get_document("writeConcern") {
            Ok(concern) => doc! { "ok": 0, "code": 1, "codeName": "", "errmsg": concern.to_string() },
            Err(_) => nothing_found(),
        };
        let url = serve(answer).await;
        let asked = async |query: &str, settings: &[(&str, &str)]| {
            let mut target = target(&format!("{url}{query}"));
            target.settings =
                settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let database = MongoDb::open(&target, 1).await.unwrap();
            let mut session = database.session().await.unwrap();
            insert(&mut session, "user1", &values("one")).await.unwrap_err().text
        };
        assert_eq!(asked("?w=2&journal=true", &[]).await, r#"{ "w": 2, "j": true } (1)"#);
        let majority = asked("?w=2&journal=true", &[("write_concern", "majority")]).await;
        assert_eq!(majority, r#"{ "w": "majority", "j": true } (1)"#);
        let three = asked("", &[("write_concern", "3"), ("journal", "false")]).await;
        assert_eq!(three, r#"{ "w": 3, "j": false } (1)"#);
    });
}

#[test]
fn records_are_stored_as_ycsb_stores_them_and_read_as_strings_too() {
    run(async {
        let answer: fn(&Document) -> Document = |command| {
            if let Ok(updates) = command.get_array("updates") {
                let update = updates[0].as_document().unwrap().get_document("u").unwrap();
                return doc! { "ok": 0, "code": 1, "codeName": "", "errmsg": update.to_string() };
            }
            let binary = Binary { subtype: BinarySubtype::Generic, bytes: b"one 0".to_vec() };
            let record = doc! { "_id": "user1", "field0": binary, "field1": "one 1", "field2": "one 2" };
            doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "a.b", "firstBatch": [record] } }
        };
        let database = MongoDb::open(&target(&serve(answer).await), 1).await.unwrap();
        let mut session = database.session().await.unwrap();
        assert_eq!(read(&mut session, "user1").await.unwrap().0, fields("user1", &values("one")));
        let sent = session.update(&Key::from("user1"), &value(0, "new")).await.unwrap_err().text;
        // "new" in base 64, of the generic kind of binary data.
        assert_eq!(sent, r#"{ "$set": { "field0": Binary(0x0, bmV3) } } (1)"#);
    });
}

#[test]
fn an_answer_that_is_no_record_is_malformed() {
    run(async {
        let answer: fn(&Document) -> Document =
            |_| doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "a.b", "firstBatch": [1] } };
        let target = target(&serve(answer).await);
        let database = MongoDb::open(&target, 1).await;
        let failed = match database {
            Ok(database) => read(&mut database.session().await.unwrap(), "user1").await.unwrap_err(),
            Err(failed) => failed,
        };
        assert_eq!(failed.failure, Failure::Malformed, "{failed:?}");
    });
}
