//! A connection, driven by whoever waits for an answer on it.
//!
//! The driver leaves it open who moves its bytes. Here it is the task that asks: no second task has to be woken for each
//! request and each answer, and the cause of a connection's end is known where it is met.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use loadcurve_record::Failure;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::encryption::Encryption;
use super::failures::{failed, is_of_handshake};
use crate::database::{Failed, InvalidTarget};

type Wire = tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// How connections to a server are made.
pub(super) struct Connector {
    first: Config,
    /// With encryption where the first is without, or without it.
    second: Option<Config>,
    tls: MakeRustlsConnect,
    timeout: Duration,
}

impl Connector {
    /// Each connection is to be there within the timeout, and each answer.
    pub(super) fn new(
        config: &Config,
        encryption: Encryption,
        timeout: Duration,
    ) -> Result<Self, InvalidTarget> {
        let (first, second) = encryption.attempts(config)?;
        Ok(Self { first, second, tls: encryption.connector, timeout })
    }

    async fn connect(&self) -> Result<(Client, Wire), Failed> {
        let error = match self.first.connect(self.tls.clone()).await {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        let refused = failed(&error);
        match &self.second {
            Some(second) if is_of_handshake(&error) || refused.failure == Failure::AccessDenied => {
                let connected = second.connect(self.tls.clone()).await;
                connected.map_err(|error| refused_twice(&refused, failed(&error), second.get_ssl_mode()))
            }
            _ => Err(refused),
        }
    }
}

/// What is said once a second attempt, with or without encryption as its mode says, has failed, too.
fn refused_twice(first: &Failed, second: Failed, mode: SslMode) -> Failed {
    if first.text == second.text {
        return second;
    }
    let how = if mode == SslMode::Disable { "without" } else { "with" };
    Failed::new(second.failure, format!("{}; {how} encryption: {}", first.text, second.text))
}

/// A connection to the server, ready for requests.
pub(super) struct Connection {
    client: Client,
    wire: Wire,
    timeout: Duration,
}

impl Connection {
    /// Connects and authenticates, in time.
    pub(super) async fn open(connector: &Connector) -> Result<Self, Failed> {
        let timeout = connector.timeout;
        match tokio::time::timeout(timeout, connector.connect()).await {
            Ok(Ok((client, wire))) => Ok(Self { client, wire, timeout }),
            Ok(Err(failed)) => Err(failed),
            Err(_) => Err(Failed::new(Failure::ConnectTimeout, "no connection within the timeout")),
        }
    }

    /// The answer to what is asked of the client, or why there is none, in time.
    pub(super) async fn answer<'a, T, F>(&'a mut self, ask: impl FnOnce(&'a Client) -> F) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, Error>> + 'a,
    {
        match tokio::time::timeout(self.timeout, driven(&mut self.wire, ask(&self.client))).await {
            Ok(answer) => answer,
            Err(_) => Err(Failed::new(Failure::Timeout, "no answer within the timeout")),
        }
    }
}

/// Moves the connection's bytes until the request is answered.
async fn driven<T>(wire: &mut Wire, request: impl Future<Output = Result<T, Error>>) -> Result<T, Failed> {
    let mut request = pin!(request);
    let mut end = None;
    poll_fn(|context| {
        if end.is_none()
            && let Poll::Ready(over) = Pin::new(&mut *wire).poll(context)
        {
            end = Some(over);
        }
        match (request.as_mut().poll(context), &end) {
            (Poll::Ready(Ok(answer)), _) => Poll::Ready(Ok(answer)),
            // The request knows only that the connection has ended, the connection knows why.
            (Poll::Ready(Err(error)), Some(Err(cause))) if error.is_closed() => {
                Poll::Ready(Err(failed(cause)))
            }
            (Poll::Ready(Err(error)), _) => Poll::Ready(Err(failed(&error))),
            (Poll::Pending, Some(Err(cause))) => Poll::Ready(Err(failed(cause))),
            (Poll::Pending, Some(Ok(()))) => {
                Poll::Ready(Err(Failed::new(Failure::ClosedEarly, "the server closed the connection")))
            }
            (Poll::Pending, None) => Poll::Pending,
        }
    })
    .await
}
