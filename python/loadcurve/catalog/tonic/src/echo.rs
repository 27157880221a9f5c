//! Answers to calls of each kind, and how many there were.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use made::Message;
use made::echo_server::Echo;

pub(crate) use made::echo_server::EchoServer;

#[allow(unreachable_pub, clippy::pedantic, reason = "it is generated")]
mod made {
    tonic::include_proto!("loadcurve");
}

/// What reflection says of the service.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echo.binpb"));

/// Calls by their kind, and messages.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    unary: AtomicU64,
    server_streams: AtomicU64,
    client_streams: AtomicU64,
    bidirectional: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Counts {
    pub(crate) fn as_json(&self) -> String {
        let counts = [
            ("Unary", &self.unary),
            ("ServerStream", &self.server_streams),
            ("ClientStream", &self.client_streams),
            ("Bidirectional", &self.bidirectional),
            ("received", &self.received),
            ("sent", &self.sent),
        ];
        let listed = counts.map(|(name, count)| format!("\"{name}\": {}", count.load(Ordering::Relaxed)));
        format!("{{{}}}", listed.join(", "))
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Answers with the messages that were sent.
#[derive(Debug)]
pub(crate) struct Echoing {
    counts: Arc<Counts>,
}

impl Echoing {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        Self { counts }
    }
}

type Messages = Pin<Box<dyn Stream<Item = Result<Message, Status>> + Send>>;

#[tonic::async_trait]
impl Echo for Echoing {
    type ServerStreamStream = Messages;
    type BidirectionalStream = Messages;

    async fn unary(&self, request: Request<Message>) -> Result<Response<Message>, Status> {
        count(&self.counts.unary);
        count(&self.counts.received);
        count(&self.counts.sent);
        Ok(Response::new(request.into_inner()))
    }

    async fn server_stream(&self, request: Request<Message>) -> Result<Response<Messages>, Status> {
        count(&self.counts.server_streams);
        count(&self.counts.received);
        let message = request.into_inner();
        let answers = message.answers.max(1) as usize;
        let counts = self.counts.clone();
        let answers = tokio_stream::iter(std::iter::repeat_n(message, answers)).map(move |message| {
            count(&counts.sent);
            Ok(message)
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn client_stream(&self, request: Request<Streaming<Message>>) -> Result<Response<Message>, Status> {
        count(&self.counts.client_streams);
        let mut messages = request.into_inner();
        let mut last = Message::default();
        while let Some(message) = messages.message().await? {
            count(&self.counts.received);
            last = message;
        }
        count(&self.counts.sent);
        Ok(Response::new(last))
    }

    async fn bidirectional(
        &self,
        request: Request<Streaming<Message>>,
    ) -> Result<Response<Messages>, Status> {
        count(&self.counts.bidirectional);
        let counts = self.counts.clone();
        let answers = request.into_inner().map(move |message| {
            if message.is_ok() {
                count(&counts.received);
                count(&counts.sent);
            }
            message
        });
        Ok(Response::new(Box::pin(answers)))
    }
}
