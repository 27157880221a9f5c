//! A database outside of a load: what it is, what it holds, and the table of a run.

use std::io;
use std::time::Duration;

use loadcurve_record::Failure;
use tokio::runtime::{Builder, Runtime};

use crate::database::{Database, Failed, InvalidTarget, Target};
use crate::product::{OnDatabase, Product};

/// A database, of whichever kind its address is, that is asked one thing at a time; each waits for its answer, which
/// has the target's timeout in all, connecting and every step of the database's own included; counting has its own limit.
pub struct ManagedDatabase {
    target: Target,
    product: Product,
}

impl ManagedDatabase {
    /// The database that `target` names, without connecting.
    ///
    /// # Errors
    /// When it names no known database, or its settings do not belong to it.
    pub fn new(target: Target) -> Result<Self, InvalidTarget> {
        let product = Product::of(&target.url)?;
        product.dispatch(Check(&target))?;
        Ok(Self { target, product })
    }

    /// What the database calls itself and its version, such as `MongoDB 7.0.14`.
    ///
    /// # Errors
    /// When it does not answer, or lets nobody in; so for all others.
    pub fn version(&self) -> Result<String, Failed> {
        self.ask(Version)
    }

    /// Whether the table is there already.
    ///
    /// # Errors
    /// As for [`Self::version`].
    pub fn exists(&self) -> Result<bool, Failed> {
        self.ask(Exists)
    }

    /// Whether the table is there and bears the mark of one that [`Self::create`] made.
    ///
    /// # Errors
    /// As for [`Self::version`].
    pub fn is_ours(&self) -> Result<bool, Failed> {
        self.ask(IsOurs)
    }

    /// Makes an empty table, marked as ours, and the namespace if it is not there.
    ///
    /// # Errors
    /// As for [`Self::version`].
    pub fn create(&self) -> Result<(), Failed> {
        self.ask(Create)
    }

    /// Removes the table whoever made it, and the namespace if this made it and nothing else is in it.
    ///
    /// # Errors
    /// As for [`Self::version`].
    pub fn remove(&self) -> Result<(), Failed> {
        self.ask(Remove)
    }

    /// How many records the table holds: counted, not estimated.
    ///
    /// # Errors
    /// As for [`Self::version`].
    pub fn count(&self) -> Result<u64, Failed> {
        // That it is reached at all has the target's own limit.
        self.version()?;
        let timeout_s = self.target.timeout_s.max(COUNT_TIMEOUT_S);
        let target = &Target { timeout_s, ..self.target.clone() };
        self.product.dispatch(Ask { target, question: Count })
    }

    fn ask<Q: Question>(&self, question: Q) -> Result<Q::Answer, Failed> {
        self.product.dispatch(Ask { target: &self.target, question })
    }
}

/// How long counting may take, in s. It reads a whole table, so how long an operation may take says nothing of it.
const COUNT_TIMEOUT_S: f64 = 600.0;
/// By how much longer all steps may take than one of them, whose own error explains more.
const MOMENT: Duration = Duration::from_millis(50);

/// Something that is asked of whichever database it is.
trait Question {
    type Answer;

    async fn put<D: Database>(self, database: &D) -> Result<Self::Answer, Failed>;
}

struct Version;

impl Question for Version {
    type Answer = String;

    async fn put<D: Database>(self, database: &D) -> Result<String, Failed> {
        database.version().await
    }
}

struct Exists;

impl Question for Exists {
    type Answer = bool;

    async fn put<D: Database>(self, database: &D) -> Result<bool, Failed> {
        database.exists().await
    }
}

struct IsOurs;

impl Question for IsOurs {
    type Answer = bool;

    async fn put<D: Database>(self, database: &D) -> Result<bool, Failed> {
        database.is_ours().await
    }
}

struct Create;

impl Question for Create {
    type Answer = ();

    async fn put<D: Database>(self, database: &D) -> Result<(), Failed> {
        database.create().await
    }
}

struct Remove;

impl Question for Remove {
    type Answer = ();

    async fn put<D: Database>(self, database: &D) -> Result<(), Failed> {
        database.remove().await
    }
}

struct Count;

impl Question for Count {
    type Answer = u64;

    async fn put<D: Database>(self, database: &D) -> Result<u64, Failed> {
        database.count().await
    }
}

/// Connects, asks, and waits for the answer.
struct Ask<'a, Q> {
    target: &'a Target,
    question: Q,
}

impl<Q: Question> OnDatabase for Ask<'_, Q> {
    type Output = Result<Q::Answer, Failed>;

    fn on<D: Database>(self) -> Self::Output {
        let runtime = runtime().map_err(|error| Failed::new(Failure::FdUnavailable, error.to_string()))?;
        let in_time = Duration::from_secs_f64(self.target.timeout_s) + MOMENT;
        let answer = runtime.block_on(async {
            let answered = async {
                let database = D::open(self.target, 1).await?;
                self.question.put(&database).await
            };
            tokio::time::timeout(in_time, answered).await
        });
        // A name server that is still being asked for an address is not waited for.
        runtime.shutdown_background();
        answer.unwrap_or_else(|_| Err(Failed::new(Failure::Timeout, "no answer within the timeout")))
    }
}

/// Checks a target without connecting.
struct Check<'a>(&'a Target);

impl OnDatabase for Check<'_> {
    type Output = Result<(), InvalidTarget>;

    fn on<D: Database>(self) -> Self::Output {
        D::check(self.0)
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
