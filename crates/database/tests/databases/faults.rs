//! Servers that are none, and addresses that are wrong. None of these needs a real server but one.

use std::time::Duration;

use loadcurve_database::{Database, Failed, MongoDb, PostgreSql, Target};
use loadcurve_record::Failure;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket};

use crate::support::{on_server, run, target};

/// How much later than its time something may happen on a busy machine. A driver that heeds no timeout takes longer.
const PATIENCE: Duration = Duration::from_secs(20);
/// A timeout behind which nothing hides that a test waits for.
const LONG_S: f64 = 20.0;

async fn failure_of<D: Database>(target: &Target) -> Failed {
    D::check(target).unwrap();
    let limit = Duration::from_secs_f64(target.timeout_s) + PATIENCE;
    let opened = tokio::time::timeout(limit, D::open(target, 1)).await.expect("the timeout holds");
    opened.err().expect("there is no database")
}

async fn is_refused_at_once<D: Database>(scheme: &str) {
    // A socket that is bound and does not listen keeps its port from everybody else.
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let url = format!("{scheme}://user:secret@{}/db", bound.local_addr().unwrap());
    let target = Target { timeout_s: 3600.0, ..target(&url) };
    let failed = tokio::time::timeout(PATIENCE, failure_of::<D>(&target)).await.expect("it fails at once");
    assert_eq!(failed.failure, Failure::ConnectRefused, "{failed:?}");
    assert!(!failed.text.contains("secret"), "{failed:?}");
}

#[test]
fn a_server_that_is_not_there_is_reported_at_once() {
    run(is_refused_at_once::<MongoDb>("mongodb"));
    run(is_refused_at_once::<PostgreSql>("postgresql"));
}

async fn is_given_up_in_time<D: Database>(scheme: &str) {
    // The kernel accepts the connection; nobody ever reads from it.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("{scheme}://user@{}/db", silent.local_addr().unwrap());
    let failed = failure_of::<D>(&Target { timeout_s: 0.5, ..target(&url) }).await;
    assert_eq!(failed.failure, Failure::ConnectTimeout, "{failed:?}");
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    run(is_given_up_in_time::<PostgreSql>("postgresql"));
    run(is_given_up_in_time::<MongoDb>("mongodb"));
}

async fn failure_of_words<D: Database>(scheme: &str, words: &'static [u8], timeout_s: f64) -> Failure {
    failed_at_words::<D>(scheme, "", words, timeout_s).await.failure
}

/// What becomes of a connection, by an address with these options, to a server that says the same to everybody.
async fn failed_at_words<D: Database>(
    scheme: &str,
    options: &str,
    words: &'static [u8],
    timeout_s: f64,
) -> Failed {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("{scheme}://user@{}/db{options}", other.local_addr().unwrap());
    tokio::task::spawn_local(async move {
        let mut clients = Vec::new();
        loop {
            let (mut client, _) = other.accept().await.unwrap();
            client.write_all(words).await.unwrap();
            clients.push(client);
        }
    });
    failure_of::<D>(&Target { timeout_s, ..target(&url) }).await
}

#[test]
fn a_postgresql_that_speaks_no_tls_is_not_spoken_to_where_the_address_requires_it() {
    // The whole answer of a server without TLS, by PostgreSQL's protocol.
    let failed = run(failed_at_words::<PostgreSql>("postgresql", "?sslmode=require", b"N", LONG_S));
    assert_eq!(failed.failure, Failure::ConnectRefused, "{failed:?}");
    assert!(failed.text.contains("does not support TLS"), "{failed:?}");
}

#[test]
fn what_answers_a_handshake_with_other_words_may_speak_no_tls() {
    let failed = run(failed_at_words::<PostgreSql>(
        "postgresql",
        "?sslmode=require",
        b"SHTTP/1.1 400 Bad Request",
        LONG_S,
    ));
    assert_eq!(failed.failure, Failure::ConnectRefused, "{failed:?}");
    let failed = run(failed_at_words::<MongoDb>("mongodb", "?tls=true", b"HTTP/1.1 400 Bad Request", LONG_S));
    assert_eq!(failed.failure, Failure::ConnectRefused, "{failed:?}");
    assert!(failed.text.contains("may not support TLS"), "{failed:?}");
}

#[test]
fn a_server_of_another_protocol_is_malformed() {
    const NOISE: &[u8] = &[0xff; 4096];
    const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(run(failure_of_words::<MongoDb>("mongodb", NOISE, LONG_S)), Failure::Malformed);
    assert_eq!(run(failure_of_words::<MongoDb>("mongodb", HTTP, LONG_S)), Failure::Malformed);
    assert_eq!(run(failure_of_words::<PostgreSql>("postgresql", NOISE, LONG_S)), Failure::Malformed);
    // To PostgreSQL's driver this is the start of a message of 1.4 GB, the rest of which never comes.
    assert_eq!(run(failure_of_words::<PostgreSql>("postgresql", HTTP, 0.5)), Failure::ConnectTimeout);
}

#[test]
fn a_wrong_password_is_access_denied_and_never_shown() {
    on_server("LOADCURVE_TEST_POSTGRESQL_URL", "denied", &[], |target| async move {
        let (scheme, rest) = target.url.split_once("://").unwrap();
        let Some(((user, _), server)) =
            rest.rsplit_once('@').and_then(|(who, server)| Some((who.split_once(':')?, server)))
        else {
            eprintln!("skipped: the server's address has no password");
            return;
        };
        let wrong = Target { url: format!("{scheme}://{user}:wrongsecret@{server}"), ..target.clone() };
        let failed = failure_of::<PostgreSql>(&wrong).await;
        assert_eq!(failed.failure, Failure::AccessDenied, "{failed:?}");
        assert!(!failed.text.contains("wrongsecret"), "{failed:?}");
        let none = Target { url: format!("{scheme}://{user}@{server}"), ..target };
        assert_eq!(failure_of::<PostgreSql>(&none).await.failure, Failure::AccessDenied);
    });
}

#[test]
fn an_address_that_cannot_be_read_does_not_show_its_password() {
    let broken = [
        "mongodb://user:sec/ret@host:1/",
        "mongodb://user:sec@ret@host:x/",
        "mongodb://user:sec%zzret@host/",
    ];
    for url in broken {
        let text = MongoDb::check(&target(url)).unwrap_err().to_string();
        assert!(!text.contains("sec") && !text.contains("ret@"), "{text}");
        assert!(text.contains("percent-encoded"), "{text}");
    }
    let text =
        PostgreSql::check(&target("postgresql://user:sec/ret@host:1/?nonsense=1")).unwrap_err().to_string();
    assert!(!text.contains("sec"), "{text}");
}

#[test]
fn wrong_targets_are_reported_before_anything_is_sent() {
    let mongodb = |change: &dyn Fn(&mut Target)| {
        let mut target = target("mongodb://127.0.0.1/");
        change(&mut target);
        MongoDb::check(&target).map_err(|invalid| invalid.0)
    };
    assert_eq!(mongodb(&|_| {}), Ok(()));
    let setting = |name: &'static str, value: &'static str| {
        move |target: &mut Target| {
            target.settings.insert(name.into(), value.into());
        }
    };
    for (name, value) in [
        ("write_concern", "majority"),
        ("write_concern", "2"),
        ("journal", "true"),
        ("read_preference", "secondaryPreferred"),
        ("read_concern", "majority"),
        ("max_pool_size", "4"),
        ("ordered", "false"),
    ] {
        assert_eq!(mongodb(&setting(name, value)), Ok(()), "{name} = {value}");
    }
    let refused = |name, value, words: &str| {
        let text = mongodb(&setting(name, value)).unwrap_err();
        assert!(text.contains(words), "{text}");
    };
    refused("write_concerns", "1", "did you mean write_concern?");
    refused("write_concern", "0", "does not support unacknowledged writes");
    refused("read_preference", "primary_preferred", "primaryPreferred");
    refused("max_pool_size", "many", "a number of connections");
    assert!(mongodb(&|target| target.namespace = "a.b".into()).unwrap_err().contains("a.b"));
    assert!(
        mongodb(&|target| target.namespace = "admin".into()).unwrap_err().contains("reserved by MongoDB")
    );
    assert!(mongodb(&|target| target.table = "loadcurve_made".into()).is_err());
    assert!(mongodb(&|target| target.workload.field_prefix = "a.b".into()).unwrap_err().contains("no dot"));

    let postgresql = |change: &dyn Fn(&mut Target)| {
        let mut target = target("postgresql://127.0.0.1/");
        change(&mut target);
        PostgreSql::check(&target).map_err(|invalid| invalid.0)
    };
    assert_eq!(postgresql(&|_| {}), Ok(()));
    assert!(postgresql(&setting("layout", "rows")).unwrap_err().contains("columns, jsonb"));
    assert!(postgresql(&setting("synchronous_comit", "off")).unwrap_err().contains("synchronous_commit"));
    assert!(postgresql(&|target| target.table = "t".repeat(64)).unwrap_err().contains("63 bytes"));
    assert!(postgresql(&|target| target.namespace = "pg_catalog".into()).is_err());
    assert!(
        postgresql(&|target| target.url = "postgresql:///db".into()).unwrap_err().contains("has no host")
    );
    assert!(postgresql(&|target| target.url += "?sslmode=verify-ca").unwrap_err().contains("sslrootcert"));
}
