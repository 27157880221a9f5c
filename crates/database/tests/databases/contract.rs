//! The trait's promises, as tests for any database.

use loadcurve_database::{Database, NewRecord, Session, Target};
use loadcurve_record::Failure;
use loadcurve_ycsb::{Key, Selection, Values};

use crate::support::{FoundFields, fields, insert, opened, read, value, values};

pub(crate) async fn reads_back<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    insert(&mut session, "user1", &values("one")).await.unwrap();
    insert(&mut session, "user2", &values("two")).await.unwrap();
    assert_eq!(read(&mut session, "user1").await.unwrap().0, fields("user1", &values("one")));
    assert_eq!(read(&mut session, "user2").await.unwrap().0, fields("user2", &values("two")));
    assert_eq!(database.count().await, Ok(2));
    database.remove().await.unwrap();
}

pub(crate) async fn reads_one_field<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    insert(&mut session, "user1", &values("one")).await.unwrap();
    let mut one = FoundFields::default();
    session.read(&Key::from("user1"), Selection::One(1), &mut one).await.unwrap();
    assert_eq!(one.0, fields("user1", &value(1, "one 1")));
    database.remove().await.unwrap();
}

pub(crate) async fn updates<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    insert(&mut session, "user1", &values("old")).await.unwrap();
    insert(&mut session, "user2", &values("other")).await.unwrap();
    session.update(&Key::from("user1"), &value(1, "new")).await.unwrap();
    let expected = [(0, "old 0"), (1, "new"), (2, "old 2")].into_iter().collect();
    assert_eq!(read(&mut session, "user1").await.unwrap().0, fields("user1", &expected));
    session.update(&Key::from("user1"), &values("all")).await.unwrap();
    assert_eq!(read(&mut session, "user1").await.unwrap().0, fields("user1", &values("all")));
    assert_eq!(read(&mut session, "user2").await.unwrap().0, fields("user2", &values("other")));
    // Writing what is there already is an update, too.
    session.update(&Key::from("user1"), &values("all")).await.unwrap();
    database.remove().await.unwrap();
}

pub(crate) async fn scans<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    // A dictionary would order these otherwise than their bytes do.
    let mut keys = ["usera", "userB", "user10", "user9", "user-1", "user_1", "user", "userä"];
    for key in keys {
        insert(&mut session, key, &values(key)).await.unwrap();
    }
    keys.sort_unstable();
    let mut all = FoundFields::default();
    assert_eq!(session.scan(&Key::from(""), 100, Selection::All, &mut all).await, Ok(keys.len()));
    assert_eq!(all.keys(), keys);
    let mut some = FoundFields::default();
    assert_eq!(session.scan(&Key::from(keys[2]), 3, Selection::One(2), &mut some).await, Ok(3));
    let expected = keys[2..5].iter().flat_map(|key| fields(key, &value(2, &format!("{key} 2"))));
    assert_eq!(some.0, expected.collect::<Vec<_>>());
    let mut none = FoundFields::default();
    assert_eq!(session.scan(&Key::from("zzz"), 3, Selection::All, &mut none).await, Ok(0));
    assert_eq!(none, FoundFields::default());
    database.remove().await.unwrap();
}

pub(crate) async fn scans_far<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    let keys: Vec<_> = (0..1200).map(|n| format!("user{n:05}")).collect();
    insert_all(&mut session, &keys).await;
    let mut found = FoundFields::default();
    assert_eq!(session.scan(&Key::from("user00100"), 1000, Selection::One(0), &mut found).await, Ok(1000));
    assert_eq!(found.keys(), keys[100..1100]);
    database.remove().await.unwrap();
}

pub(crate) async fn deletes<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    insert_all(&mut session, &["user1".into(), "user2".into()]).await;
    session.delete(&Key::from("user1")).await.unwrap();
    assert_eq!(read(&mut session, "user1").await.unwrap_err().failure, Failure::NotFound);
    assert_eq!(read(&mut session, "user2").await.unwrap().keys(), ["user2"]);
    assert_eq!(database.count().await, Ok(1));
    database.remove().await.unwrap();
}

pub(crate) async fn finds_nothing<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    let key = Key::from("user1");
    assert_eq!(read(&mut session, "user1").await.unwrap_err().failure, Failure::NotFound);
    assert_eq!(session.update(&key, &value(0, "x")).await.unwrap_err().failure, Failure::NotFound);
    assert_eq!(session.delete(&key).await.unwrap_err().failure, Failure::NotFound);
    assert_eq!(database.count().await, Ok(0), "an update must not insert");
    database.remove().await.unwrap();
}

pub(crate) async fn refuses_duplicates<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    let mut refusals = Vec::new();
    for key in ["user1", "user2"] {
        insert(&mut session, key, &values("first")).await.unwrap();
        refusals.push(insert(&mut session, key, &values("second")).await.unwrap_err());
        let (key, third) = (Key::from(key), values("third"));
        let twice = [NewRecord { key: &key, values: &third }; 2];
        assert_eq!(session.insert(&twice).await.unwrap_err().failure, Failure::Rejected);
    }
    assert_eq!(refusals[0].failure, Failure::Rejected);
    assert_eq!(refusals[0], refusals[1], "what failed alike counts as alike");
    assert!(refusals[0].text.contains("duplicate key"), "{}", refusals[0].text);
    assert_eq!(read(&mut session, "user1").await.unwrap().0, fields("user1", &values("first")));
    assert_eq!(database.count().await, Ok(2));
    database.remove().await.unwrap();
}

pub(crate) async fn inserts_batches<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    let keys: Vec<_> = (0..100).map(|n| format!("user{n}")).collect();
    insert_all(&mut session, &keys).await;
    assert_eq!(database.count().await, Ok(100));
    for key in ["user0", "user42", "user99"] {
        assert_eq!(read(&mut session, key).await.unwrap().0, fields(key, &values(key)));
    }
    database.remove().await.unwrap();
}

pub(crate) async fn keeps_any_text<D: Database>(target: Target) {
    let database: D = opened(&target).await;
    let mut session = database.session().await.unwrap();
    let texts = [r#"quotes ' " and \ backslash, {} and $1"#, "", "ünïcødé 🦀"];
    let values = texts.into_iter().enumerate().collect();
    insert(&mut session, "user1", &values).await.unwrap();
    insert(&mut session, r#"it's "user2"#, &values).await.unwrap();
    assert_eq!(read(&mut session, "user1").await.unwrap().0, fields("user1", &values));
    assert_eq!(read(&mut session, r#"it's "user2"#).await.unwrap().0, fields(r#"it's "user2"#, &values));
    database.remove().await.unwrap();
}

pub(crate) async fn serves_sessions_together<D: Database>(target: Target) {
    let sessions = 8;
    let database = D::open(&target, sessions).await.unwrap();
    database.create().await.unwrap();
    let mut clients = Vec::new();
    for client in 0..sessions {
        let mut session = database.session().await.unwrap();
        clients.push(tokio::task::spawn_local(async move {
            for n in 0..20 {
                let key = format!("user{client}-{n}");
                insert(&mut session, &key, &values(&key)).await.unwrap();
                assert_eq!(read(&mut session, &key).await.unwrap().0, fields(&key, &values(&key)));
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(database.count().await, Ok(160));
    database.remove().await.unwrap();
}

pub(crate) async fn says_its_version<D: Database>(target: Target) {
    let database = D::open(&target, 1).await.unwrap();
    let version = database.version().await.unwrap();
    let (name, number) = version.rsplit_once(' ').expect("a name and a number");
    assert!(["MongoDB", "FerretDB", "FerretDB as MongoDB", "PostgreSQL"].contains(&name), "{version}");
    assert!(
        number.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())),
        "{version}"
    );
}

async fn insert_all(session: &mut impl Session, keys: &[String]) {
    let records: Vec<(Key, Values)> = keys.iter().map(|key| (Key::from(key.as_str()), values(key))).collect();
    let records: Vec<_> = records.iter().map(|(key, values)| NewRecord { key, values }).collect();
    session.insert(&records).await.unwrap();
}
