//! Answers with errors, from a server that gives them when a test wants it to.

use loadcurve_database::{Database, Failed, MongoDb, Session};
use loadcurve_record::Failure;
use loadcurve_ycsb::Key;
use mongodb::bson::{Document, doc};

use crate::fake_mongodb::{nothing_found, serve};
use crate::support::{insert, read, run, target, value, values};

/// What becomes of an update, on a server that answers everything else as an empty one would.
fn updated(answer: fn(&Document) -> Document) -> Result<(), Failed> {
    run(async move {
        let target = target(&serve(answer).await);
        let database = MongoDb::open(&target, 1).await.unwrap();
        let mut session = database.session().await.unwrap();
        session.update(&Key::from("user7"), &[value(0, "new")]).await
    })
}

fn is_update(command: &Document) -> bool {
    command.contains_key("update")
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
