//! HTTP/3 by h3 on quinn, on the UDP port of the same number.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h3::error::StreamError;
use h3::server::RequestStream;
use h3_quinn::BidiStream;
use h3_quinn::quinn::crypto::rustls::QuicServerConfig;
use h3_quinn::quinn::{Endpoint, Incoming, ServerConfig, TransportConfig, VarInt};
use http_body_util::BodyExt;
use hyper::Request;
use tokio_rustls::rustls;

use crate::files;

/// How ALPN calls it (RFC 9114).
const HTTP3: &[u8] = b"h3";

/// Serves HTTP/3 in a task for as long as the process lives; a connection that is idle for `idle` has ended.
pub(crate) fn serve(
    address: SocketAddr,
    root: &Arc<Path>,
    mut tls: rustls::ServerConfig,
    idle: Duration,
) -> io::Result<()> {
    tls.alpn_protocols = vec![HTTP3.to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
    let mut transport = TransportConfig::default();
    let idle_ms = u64::try_from(idle.as_millis()).map_err(io::Error::other)?;
    transport.max_idle_timeout(Some(VarInt::from_u64(idle_ms).map_err(io::Error::other)?.into()));
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, address)?;
    let root = Arc::clone(root);
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(serve_connection(incoming, Arc::clone(&root)));
        }
    });
    Ok(())
}

/// Serves a connection to its end. One that fails is the client's to notice; the others go on.
async fn serve_connection(incoming: Incoming, root: Arc<Path>) {
    let Ok(connection) = incoming.await else { return };
    let connection = h3_quinn::Connection::new(connection);
    let Ok(mut connection) = h3::server::Connection::new(connection).await else { return };
    while let Ok(Some(request)) = connection.accept().await {
        let root = Arc::clone(&root);
        tokio::spawn(async move {
            if let Ok((request, stream)) = request.resolve_request().await {
                drop(answer(&root, &request, stream).await);
            }
        });
    }
}

async fn answer(
    root: &Path,
    request: &Request<()>,
    mut stream: RequestStream<BidiStream<Bytes>, Bytes>,
) -> Result<(), StreamError> {
    let (head, mut body) = files::answer(root, request).await.into_parts();
    stream.send_response(hyper::Response::from_parts(head, ())).await?;
    while let Some(frame) = body.frame().await {
        // What cannot be read any more ends the stream before its length is reached.
        let Some(data) = frame.ok().and_then(|frame| frame.into_data().ok()) else { return Ok(()) };
        stream.send_data(data).await?;
    }
    stream.finish().await
}
