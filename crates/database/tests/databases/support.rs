//! Servers, targets and records for tests.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use loadcurve_database::{Database, Failed, Found, NewRecord, Session, Target};
use loadcurve_ycsb::{Key, Selection, Values, Workload};

/// How many fields the records of tests have.
pub(crate) const FIELDS: usize = 3;

/// Runs a test on the server that the environment names, in its own namespace.
pub(crate) fn on_server<F: Future<Output = ()>>(
    variable: &str,
    name: &str,
    settings: &[(&str, &str)],
    test: impl FnOnce(Target) -> F,
) {
    let Ok(url) = std::env::var(variable) else {
        eprintln!("skipped {name}: {variable} names no server");
        return;
    };
    let layout = settings.first().map_or("", |(_, value)| value);
    let namespace: String = format!("lc{}{layout}_{name}", std::process::id()).chars().take(60).collect();
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    run(test(Target { namespace, settings, ..target(&url) }));
}

/// A target with nothing special about it.
pub(crate) fn target(url: &str) -> Target {
    Target {
        url: url.into(),
        namespace: "loadcurve".into(),
        table: "usertable".into(),
        settings: BTreeMap::new(),
        timeout_s: 5.0,
        workload: Workload { field_count: FIELDS, ..Workload::default() },
    }
}

/// Runs a test as a thread of a load runs: everything on this thread. A test that hangs fails.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limited =
        async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test hangs") };
    tokio::task::LocalSet::new().block_on(&runtime, limited)
}

/// Opens a database with an empty table.
pub(crate) async fn opened<D: Database>(target: &Target) -> D {
    D::check(target).unwrap();
    let database = D::open(target, 1).await.unwrap();
    database.create().await.unwrap();
    database
}

/// The fields of the records found, each with its key.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FoundFields(pub(crate) Vec<(String, String, String)>);

impl Found for FoundFields {
    fn field(&mut self, key: &str, name: &str, text: &str) {
        self.0.push((key.into(), name.into(), text.into()));
    }
}

impl FoundFields {
    /// The keys in the order in which they came.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<_> = self.0.iter().map(|(key, _, _)| key.as_str()).collect();
        keys.dedup();
        keys
    }
}

/// A text for each field, which names the field and what it is given.
pub(crate) fn values(tag: &str) -> Values {
    let texts: Vec<_> = (0..FIELDS).map(|field| format!("{tag} {field}")).collect();
    texts.iter().map(String::as_str).enumerate().collect()
}

pub(crate) fn value(field: usize, text: &str) -> Values {
    [(field, text)].into_iter().collect()
}

/// The fields that must be found of a record with these values.
pub(crate) fn fields(key: &str, values: &Values) -> Vec<(String, String, String)> {
    values.iter().map(|value| (key.into(), format!("field{}", value.field), value.text.into())).collect()
}

pub(crate) async fn insert(session: &mut impl Session, key: &str, values: &Values) -> Result<(), Failed> {
    session.insert(&[NewRecord { key: &Key::from(key), values }]).await
}

pub(crate) async fn read(session: &mut impl Session, key: &str) -> Result<FoundFields, Failed> {
    let mut found = FoundFields::default();
    session.read(&Key::from(key), Selection::All, &mut found).await?;
    found.0.sort();
    Ok(found)
}
