//! A database in memory that answers, stalls and fails as a test says.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use loadcurve_ycsb::{Key, Selection, Values};
use tokio::time::Instant;

use crate::database::{Database, Failed, Found, InvalidTarget, NewRecord, Session, Target};
use loadcurve_record::Failure;

/// What the database does with a request.
#[derive(Clone, Debug)]
pub(super) enum Reaction {
    /// Answers after this many milliseconds.
    Answer(u64),
    /// Answers after this many milliseconds with this failure.
    Fail(u64, Failure, &'static str),
    /// Never answers.
    Never,
}

/// A request as the database meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) what: &'static str,
    /// The key of the record, or of the first.
    pub(super) key: String,
    /// How many records it is about.
    pub(super) records: usize,
    /// When it came, since the start of the simulation.
    pub(super) at_ms: u64,
    /// How many came before it.
    pub(super) number: usize,
}

/// The fields of each record by their indices.
pub(super) type Records = BTreeMap<String, BTreeMap<usize, String>>;

/// What the server is: its content, and how it reacts.
pub(super) struct Server {
    pub(super) records: Records,
    pub(super) asked: Vec<Asked>,
    /// Attempts to connect so far.
    pub(super) attempts: usize,
    /// How long it takes until the first client of a thread has found it.
    opening_ms: u64,
    react: Box<dyn FnMut(&Asked) -> Reaction>,
    /// By the number of the attempt.
    accept: Box<dyn FnMut(usize) -> Reaction>,
    started: Option<Instant>,
}

impl Server {
    pub(super) fn reacting(react: impl FnMut(&Asked) -> Reaction + 'static) -> Self {
        Self {
            records: BTreeMap::new(),
            asked: Vec::new(),
            attempts: 0,
            opening_ms: 0,
            react: Box::new(react),
            accept: Box::new(|_| Reaction::Answer(0)),
            started: None,
        }
    }

    /// A server that takes this time for each request, whatever else it does.
    pub(super) fn taking(milliseconds: u64) -> Self {
        Self::reacting(move |_| Reaction::Answer(milliseconds))
    }

    /// The same with these records.
    pub(super) fn holding(self, records: Records) -> Self {
        Self { records, ..self }
    }

    /// The same that accepts clients so, by the number of the attempt.
    pub(super) fn accepting(self, accept: impl FnMut(usize) -> Reaction + 'static) -> Self {
        Self { accept: Box::new(accept), ..self }
    }

    /// The same that is found after this time.
    pub(super) fn opening_in(self, milliseconds: u64) -> Self {
        Self { opening_ms: milliseconds, ..self }
    }

    fn since_start(&mut self) -> Duration {
        self.started.get_or_insert_with(Instant::now).elapsed()
    }
}

thread_local! {
    /// The server of the simulation that runs on this thread.
    static SERVER: Rc<RefCell<Server>> = Rc::new(RefCell::new(Server::taking(0)));
}

/// Puts a server in the place of the last one; returns that.
pub(super) fn install(server: Server) -> Server {
    SERVER.with(|current| current.replace(server))
}

fn with<T>(look: impl FnOnce(&mut Server) -> T) -> T {
    SERVER.with(|server| look(&mut server.borrow_mut()))
}

async fn react(reaction: Reaction) -> Result<(), Failed> {
    let wait = |milliseconds| async move {
        if milliseconds > 0 {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        }
    };
    match reaction {
        Reaction::Answer(milliseconds) => {
            wait(milliseconds).await;
            Ok(())
        }
        Reaction::Fail(milliseconds, failure, text) => {
            wait(milliseconds).await;
            Err(Failed::new(failure, text))
        }
        Reaction::Never => std::future::pending().await,
    }
}

async fn ask(what: &'static str, key: &Key, records: usize) -> Result<(), Failed> {
    let reaction = with(|server| {
        let at_ms = u64::try_from(server.since_start().as_millis()).unwrap();
        let asked = Asked { what, key: key.as_str().into(), records, at_ms, number: server.asked.len() };
        let reaction = (server.react)(&asked);
        server.asked.push(asked);
        reaction
    });
    react(reaction).await
}

pub(super) struct Memory {
    fields: Vec<String>,
}

pub(super) struct MemorySession {
    fields: Vec<String>,
}

impl Database for Memory {
    type Session = MemorySession;

    const CONNECTS: bool = true;

    fn check(_: &Target) -> Result<(), InvalidTarget> {
        Ok(())
    }

    async fn open(target: &Target, _: usize) -> Result<Self, Failed> {
        react(Reaction::Answer(with(|server| server.opening_ms))).await?;
        Ok(Self { fields: target.workload.field_names() })
    }

    async fn version(&self) -> Result<String, Failed> {
        Ok("memory".into())
    }

    async fn exists(&self) -> Result<bool, Failed> {
        Ok(true)
    }

    async fn is_ours(&self) -> Result<bool, Failed> {
        Ok(true)
    }

    async fn create(&self) -> Result<(), Failed> {
        Ok(())
    }

    async fn remove(&self) -> Result<(), Failed> {
        Ok(())
    }

    async fn count(&self) -> Result<u64, Failed> {
        Ok(with(|server| server.records.len() as u64))
    }

    async fn session(&self) -> Result<MemorySession, Failed> {
        let reaction = with(|server| {
            server.since_start();
            server.attempts += 1;
            (server.accept)(server.attempts - 1)
        });
        react(reaction).await?;
        Ok(MemorySession { fields: self.fields.clone() })
    }
}

impl MemorySession {
    fn visit(&self, key: &str, selection: Selection, found: &mut impl Found) -> Result<(), Failed> {
        with(|server| {
            let record = server.records.get(key).ok_or_else(not_found)?;
            for (field, text) in record {
                if selection == Selection::All || selection == Selection::One(*field) {
                    found.field(key, &self.fields[*field], text);
                }
            }
            Ok(())
        })
    }
}

fn not_found() -> Failed {
    Failed::new(Failure::NotFound, "no such record")
}

impl Session for MemorySession {
    async fn read(&mut self, key: &Key, selection: Selection, found: &mut impl Found) -> Result<(), Failed> {
        ask("read", key, 1).await?;
        self.visit(key.as_str(), selection, found)
    }

    async fn update(&mut self, key: &Key, values: &Values) -> Result<(), Failed> {
        ask("update", key, 1).await?;
        with(|server| {
            let record = server.records.get_mut(key.as_str()).ok_or_else(not_found)?;
            record.extend(values.iter().map(|value| (value.field, value.text.to_owned())));
            Ok(())
        })
    }

    async fn insert(&mut self, records: &[NewRecord<'_>]) -> Result<(), Failed> {
        ask("insert", records[0].key, records.len()).await?;
        with(|server| {
            for record in records {
                let fields = record.values.iter().map(|value| (value.field, value.text.to_owned())).collect();
                if server.records.insert(record.key.as_str().into(), fields).is_some() {
                    return Err(Failed::new(Failure::Rejected, "there already"));
                }
            }
            Ok(())
        })
    }

    async fn scan(
        &mut self,
        first: &Key,
        records: usize,
        selection: Selection,
        found: &mut impl Found,
    ) -> Result<usize, Failed> {
        ask("scan", first, records).await?;
        let from = first.as_str().to_owned();
        let keys: Vec<String> =
            with(|server| server.records.range(from..).take(records).map(|(key, _)| key.clone()).collect());
        for key in &keys {
            self.visit(key, selection, found)?;
        }
        Ok(keys.len())
    }

    async fn delete(&mut self, key: &Key) -> Result<(), Failed> {
        ask("delete", key, 1).await?;
        with(|server| server.records.remove(key.as_str()).map(drop).ok_or_else(not_found))
    }
}
