//! `MongoDB`, through its official driver, and whatever else speaks its protocol.
//!
//! A record is a document: its key is the `_id`, a string, and each field is binary data. Strings would be easier to read
//! in a shell, but this is how the bindings of YCSB and go-ycsb store records: the server has the same work, and each can
//! read what another has loaded.

mod connections;
mod failures;
mod options;
mod reachability;

use std::iter;
use std::rc::Rc;
use std::time::Duration;

use futures_util::TryStreamExt;
use loadcurve_record::Failure;
use loadcurve_ycsb::{Key, Selection, Values};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, RawBinaryRef, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use mongodb::error::{ErrorKind, Result as DriverResult};
use mongodb::options::{ClientOptions, FindOptions, Tls};
use mongodb::{Client, Collection};
use serde::{Serialize, Serializer};

use self::connections::Connections;
use self::failures::failed;
use self::options::{MARKS, MongoDbSettings};
use self::reachability::Reachability;
use crate::database::{ConnectionEvent, Database, Failed, Found, InvalidTarget, NewRecord, Session, Target};

/// How long an operation goes without asking whether there is any server. It is well below the pauses in which the
/// driver's monitors ask servers again, and far above the time of most operations, for which asking would cost.
const PATIENCE: Duration = Duration::from_millis(50);

/// A `MongoDB` as one thread sees it.
pub struct MongoDb {
    shared: Rc<Shared>,
}

/// One client's way to it. Connections are the driver's, which has one for each client.
pub struct MongoDbSession {
    shared: Rc<Shared>,
}

struct Shared {
    database: mongodb::Database,
    collection: Collection<RawDocumentBuf>,
    connections: Connections,
    reachability: Reachability,
    timeout: Duration,
    /// The names of the fields, by index.
    fields: Vec<String>,
    ordered: bool,
}

impl Shared {
    /// The answer to a request, or why there is none, in time.
    async fn answer<T>(&self, request: impl IntoFuture<Output = DriverResult<T>>) -> Result<T, Failed> {
        let mut request = std::pin::pin!(request.into_future());
        let soon = PATIENCE.min(self.timeout);
        if let Ok(answer) = tokio::time::timeout(soon, &mut request).await {
            return answer.map_err(|error| self.explained(&error));
        }
        tokio::select! {
            biased;
            answer = request => answer.map_err(|error| self.explained(&error)),
            lost = self.reachability.lost() => Err(lost),
            () = tokio::time::sleep(self.timeout.saturating_sub(soon)) => Err(self.reachability.overdue()),
        }
    }

    fn explained(&self, error: &mongodb::error::Error) -> Failed {
        match &*error.kind {
            ErrorKind::ServerSelection { .. } | ErrorKind::ConnectionPoolCleared { .. } => {
                self.reachability.without_server(failed(error))
            }
            _ => failed(error),
        }
    }

    /// Which fields the server is to send.
    fn projection(&self, selection: Selection, key: bool) -> Option<Document> {
        match selection {
            Selection::All => None,
            Selection::One(field) => Some(doc! { &self.fields[field]: 1, "_id": i32::from(key) }),
        }
    }

    fn marks(&self) -> Collection<Document> {
        self.database.collection(MARKS)
    }

    /// What distinguishes the collection of this name from another one that had it before; none if it is not there.
    async fn identity(&self) -> Result<Option<Bson>, Failed> {
        let same_name = doc! { "name": self.collection.name() };
        let found = self.answer(async {
            let list = self.database.list_collections().filter(same_name).await?;
            list.try_collect::<Vec<_>>().await
        });
        let uuid = |uuid: Option<Binary>| uuid.map_or(Bson::Null, Bson::Binary);
        Ok(found.await?.pop().map(|collection| uuid(collection.info.uuid)))
    }
}

impl Database for MongoDb {
    type Session = MongoDbSession;

    const CONNECTS: bool = false;

    fn check(target: &Target) -> Result<(), InvalidTarget> {
        options::check(target)
    }

    async fn open(target: &Target, sessions: usize) -> Result<Self, Failed> {
        let invalid = |invalid: InvalidTarget| Failed::new(Failure::Rejected, invalid.0);
        let timeout = Duration::from_secs_f64(target.timeout_s);
        let settings = MongoDbSettings::of(target).map_err(invalid)?;
        let ordered = settings.ordered;
        let read = tokio::time::timeout(timeout, async { ClientOptions::parse(&target.url).await });
        let mut options = match read.await {
            Ok(Ok(options)) => options,
            Ok(Err(error)) => return Err(failures::of_lookup(&failed(&error))),
            Err(_) => {
                let overdue = Failed::new(Failure::ConnectTimeout, "no answer within the timeout");
                return Err(failures::of_lookup(&overdue));
            }
        };
        let (reachability, tell) = Reachability::new();
        options.sdam_event_handler = Some(tell);
        let connections = Connections::default();
        options.cmap_event_handler = Some(connections.handler());
        settings.apply(&mut options, timeout, sessions, target.url.starts_with("mongodb+srv://"));
        let is_encrypted = matches!(options.tls, Some(Tls::Enabled(_)));
        let client = Client::with_options(options).map_err(|error| failed(&error))?;
        let database = client.database(&target.namespace);
        let collection = database.collection(&target.table);
        let workload = &target.workload;
        let fields =
            (0..workload.field_count).map(|index| format!("{}{index}", workload.field_prefix)).collect();
        let shared = Shared { database, collection, connections, reachability, timeout, fields, ordered };
        // A ping would be answered to anybody; reading needs what the load needs.
        let asked = shared.answer(shared.collection.find_one(doc! { "_id": "" })).await;
        asked.map_err(|failed| failures::in_sight_of_tls(failed, is_encrypted))?;
        Ok(Self { shared: Rc::new(shared) })
    }

    async fn version(&self) -> Result<String, Failed> {
        let about = self.shared.answer(self.shared.database.run_command(doc! { "buildInfo": 1 })).await?;
        match (about.get_str("ferretdbVersion"), about.get_str("version")) {
            // FerretDB does not know its own version where another program embeds it.
            (Ok("unknown"), Ok(version)) => Ok(format!("FerretDB as MongoDB {version}")),
            (Ok(version), _) => Ok(format!("FerretDB {}", version.trim_start_matches('v'))),
            (Err(_), Ok(version)) => Ok(format!("MongoDB {version}")),
            (Err(_), Err(_)) => {
                Err(Failed::new(Failure::Malformed, "the server does not report its version"))
            }
        }
    }

    async fn exists(&self) -> Result<bool, Failed> {
        Ok(self.shared.identity().await?.is_some())
    }

    async fn is_ours(&self) -> Result<bool, Failed> {
        let Some(identity) = self.shared.identity().await? else { return Ok(false) };
        let named = doc! { "_id": self.shared.collection.name() };
        let mark = self.shared.answer(self.shared.marks().find_one(named)).await?;
        // A collection of the same name that somebody has made since is not ours.
        Ok(mark.is_some_and(|mark| mark.get("uuid") == Some(&identity)))
    }

    async fn create(&self) -> Result<(), Failed> {
        let shared = &self.shared;
        let name = shared.collection.name();
        shared.answer(shared.database.create_collection(name)).await?;
        let identity = shared.identity().await?.unwrap_or_default();
        let mark = doc! { "$set": { "uuid": identity } };
        shared.answer(shared.marks().update_one(doc! { "_id": name }, mark).upsert(true)).await?;
        Ok(())
    }

    async fn remove(&self) -> Result<(), Failed> {
        let shared = &self.shared;
        shared.answer(shared.collection.drop()).await?;
        shared.answer(shared.marks().delete_one(doc! { "_id": shared.collection.name() })).await?;
        // A database is gone with its last collection.
        if shared.answer(shared.marks().count_documents(doc! {})).await? == 0 {
            shared.answer(shared.marks().drop()).await?;
        }
        Ok(())
    }

    async fn count(&self) -> Result<u64, Failed> {
        self.shared.answer(self.shared.collection.count_documents(doc! {})).await
    }

    async fn session(&self) -> Result<MongoDbSession, Failed> {
        Ok(MongoDbSession { shared: Rc::clone(&self.shared) })
    }

    fn take_connection_events(&self) -> Vec<ConnectionEvent> {
        self.shared.connections.take_events()
    }
}

impl Session for MongoDbSession {
    async fn read(&mut self, key: &Key, selection: Selection, found: &mut impl Found) -> Result<(), Failed> {
        let options =
            FindOptions::builder().limit(-1).projection(self.shared.projection(selection, false)).build();
        let records =
            self.find(by_key(key), options, &mut |document| tell_fields(key.as_str(), document, found)).await;
        match records.map_err(without(key))? {
            0 => Err(not_found()),
            _ => Ok(()),
        }
    }

    async fn update(&mut self, key: &Key, values: &Values) -> Result<(), Failed> {
        let fields = values.iter().map(|value| {
            let binary = Binary { subtype: BinarySubtype::Generic, bytes: value.text.into() };
            (self.shared.fields[value.field].clone(), Bson::Binary(binary))
        });
        let set = doc! { "$set": fields.collect::<Document>() };
        let updated = self.shared.answer(self.shared.collection.update_one(by_key(key), set)).await;
        match updated.map_err(without(key))?.matched_count {
            0 => Err(not_found()),
            _ => Ok(()),
        }
    }

    async fn insert(&mut self, records: &[NewRecord<'_>]) -> Result<(), Failed> {
        let shared = &self.shared;
        let collection = shared.collection.clone_with_type::<Record<'_>>();
        let documents = records.iter().map(|record| Record { record, fields: &shared.fields });
        let inserted = match documents.collect::<Vec<_>>().as_slice() {
            [one] => shared.answer(collection.insert_one(one)).await.map(drop),
            many => shared.answer(collection.insert_many(many).ordered(shared.ordered)).await.map(drop),
        };
        inserted.map_err(|failed| failed.without_keys(records.iter().map(|record| record.key)))
    }

    async fn scan(
        &mut self,
        first: &Key,
        records: usize,
        selection: Selection,
        found: &mut impl Found,
    ) -> Result<usize, Failed> {
        let options = FindOptions::builder()
            .limit(i64::try_from(records).unwrap_or(i64::MAX))
            // All in one answer, as far as one answer can hold them.
            .batch_size(u32::try_from(records).unwrap_or(u32::MAX))
            .sort(doc! { "_id": 1 })
            .projection(self.shared.projection(selection, true))
            .build();
        let from_here = doc! { "_id": { "$gte": first.as_str() } };
        let mut each = |document: &RawDocument| {
            let key = document.get_str("_id").map_err(|error| malformed(&error))?;
            tell_fields(key, document, found)
        };
        self.find(from_here, options, &mut each).await.map_err(without(first))
    }

    async fn delete(&mut self, key: &Key) -> Result<(), Failed> {
        let deleted = self.shared.answer(self.shared.collection.delete_one(by_key(key))).await;
        match deleted.map_err(without(key))?.deleted_count {
            0 => Err(not_found()),
            _ => Ok(()),
        }
    }
}

impl MongoDbSession {
    /// Gives every document to `each` that is found, read where it was received, and returns how many there were.
    async fn find(
        &self,
        filter: Document,
        options: FindOptions,
        each: &mut impl FnMut(&RawDocument) -> Result<(), Failed>,
    ) -> Result<usize, Failed> {
        let shared = &self.shared;
        let mut batches = shared.answer(shared.collection.find(filter).with_options(options).batch()).await?;
        let mut records = 0;
        while let Some(batch) = shared.answer(batches.try_next()).await? {
            for document in batch.doc_slices().map_err(|error| failed(&error))? {
                let document = document.map_err(|error| malformed(&error))?;
                each(document.as_document().ok_or_else(|| malformed(&"a record is not a document"))?)?;
                records += 1;
            }
        }
        Ok(records)
    }
}

fn by_key(key: &Key) -> Document {
    doc! { "_id": key.as_str() }
}

/// A record as it is stored.
struct Record<'a> {
    record: &'a NewRecord<'a>,
    fields: &'a [String],
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let NewRecord { key, values } = self.record;
        let key = iter::once(("_id", RawBsonRef::String(key.as_str())));
        let fields = values.iter().map(|value| {
            let binary = RawBinaryRef { subtype: BinarySubtype::Generic, bytes: value.text.as_bytes() };
            (self.fields[value.field].as_str(), RawBsonRef::Binary(binary))
        });
        serializer.collect_map(key.chain(fields))
    }
}

/// Visits the fields of a document but its key, whether they are binary data or strings.
fn tell_fields(key: &str, document: &RawDocument, found: &mut impl Found) -> Result<(), Failed> {
    for element in document {
        let (name, value) = element.map_err(|error| malformed(&error))?;
        let text = match value {
            RawBsonRef::Binary(binary) => {
                std::str::from_utf8(binary.bytes).map_err(|error| malformed(&error))?
            }
            RawBsonRef::String(text) => text,
            _ => continue,
        };
        if name.as_str() != "_id" {
            found.field(key, name.as_str(), text);
        }
    }
    Ok(())
}

/// Takes the key out of an explanation.
fn without(key: &Key) -> impl FnOnce(Failed) -> Failed {
    move |failed| failed.without_keys(iter::once(key))
}

fn not_found() -> Failed {
    Failed::new(Failure::NotFound, "no such record")
}

fn malformed(error: &impl std::fmt::Display) -> Failed {
    Failed::new(Failure::Malformed, error.to_string())
}
