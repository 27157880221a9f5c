//! A connection, driven by whoever waits for an answer on it.
//!
//! The driver leaves it open who moves its bytes. Here it is the task that asks: no second task has to be woken for each
//! request and each answer, and the cause of a connection's end is known where it is met.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use loadcurve_record::Failure;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{Client, Config, Error, NoTls, Socket};

use super::failures::failed;
use crate::database::Failed;

type Wire = tokio_postgres::Connection<Socket, NoTlsStream>;

/// A connection to the server, ready for requests.
pub(super) struct Connection {
    client: Client,
    wire: Wire,
    timeout: Duration,
}

impl Connection {
    /// Connects and authenticates, in time.
    pub(super) async fn open(config: &Config, timeout: Duration) -> Result<Self, Failed> {
        match tokio::time::timeout(timeout, config.connect(NoTls)).await {
            Ok(Ok((client, wire))) => Ok(Self { client, wire, timeout }),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(Failed::new(Failure::ConnectTimeout, "no connection in time")),
        }
    }

    /// The answer to what is asked of the client, or why there is none, in time.
    pub(super) async fn answer<'a, T, F>(&'a mut self, ask: impl FnOnce(&'a Client) -> F) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, Error>> + 'a,
    {
        match tokio::time::timeout(self.timeout, driven(&mut self.wire, ask(&self.client))).await {
            Ok(answer) => answer,
            Err(_) => Err(Failed::new(Failure::Timeout, "no answer in time")),
        }
    }
}

/// Moves the connection's bytes until the request is answered.
async fn driven<T>(wire: &mut Wire, request: impl Future<Output = Result<T, Error>>) -> Result<T, Failed> {
    let mut request = pin!(request);
    let mut end = None;
    poll_fn(|context| {
        if end.is_none() {
            if let Poll::Ready(over) = Pin::new(&mut *wire).poll(context) {
                end = Some(over);
            }
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
