//! What a connection carries: clear text or TLS, and above it HTTP/1.1 or HTTP/2.

use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::files;
use crate::files::Body;

/// How ALPN calls them (RFC 7301, RFC 9113).
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// What all connections of the server may carry.
#[derive(Clone)]
pub(crate) struct Protocols {
    http1: http1::Builder,
    /// Without it, HTTP/1.1 alone is spoken.
    http2: Option<Http2>,
    tls: Option<TlsAcceptor>,
    /// How long a handshake may take.
    patience: Duration,
}

#[derive(Clone)]
struct Http2 {
    agreed: http2::Builder<TokioExecutor>,
    /// Reads in clear text which version it is that a client begins with.
    read: auto::Builder<TokioExecutor>,
}

impl Protocols {
    /// Speaks HTTP/1.1 in clear text. A request's header, and a handshake, must have arrived within a time.
    pub(crate) fn new(keepalive: bool, patience: Duration) -> Self {
        let mut http1 = http1::Builder::new();
        http1.keep_alive(keepalive).timer(TokioTimer::new()).header_read_timeout(patience);
        Self { http1, http2: None, tls: None, patience }
    }

    /// Speaks HTTP/2 as well: with whom it is agreed in the handshake, or with whom begins with it in clear text.
    pub(crate) fn with_http2(mut self, keepalive: bool) -> Self {
        let mut agreed = http2::Builder::new(TokioExecutor::new());
        agreed.timer(TokioTimer::new());
        let mut read = auto::Builder::new(TokioExecutor::new());
        read.http1().keep_alive(keepalive).timer(TokioTimer::new()).header_read_timeout(self.patience);
        read.http2().timer(TokioTimer::new());
        self.http2 = Some(Http2 { agreed, read });
        self
    }

    /// Speaks TLS below, with these settings.
    pub(crate) fn with_tls(mut self, mut config: ServerConfig) -> Self {
        config.alpn_protocols = self.http2.iter().map(|_| HTTP2.to_vec()).chain([HTTP1.to_vec()]).collect();
        self.tls = Some(TlsAcceptor::from(Arc::new(config)));
        self
    }

    /// Serves a connection to its end, in a task that is as small as what the connection may carry allows.
    pub(crate) fn serve(&self, stream: TcpStream, root: &Arc<Path>) {
        let root = Arc::clone(root);
        let service = service_fn(move |request| {
            let root = Arc::clone(&root);
            async move { Ok::<_, Infallible>(files::answer(&root, &request).await) }
        });
        // A connection that fails is the client's to notice; the others go on.
        if let Some(tls) = &self.tls {
            let (protocols, handshake) = (self.clone(), tls.accept(stream));
            tokio::spawn(async move {
                if let Ok(Ok(stream)) = timeout(protocols.patience, handshake).await {
                    protocols.serve_encrypted(stream, service).await;
                }
            });
        } else if let Some(http2) = &self.http2 {
            let read = http2.read.clone();
            tokio::spawn(async move { drop(read.serve_connection(TokioIo::new(stream), service).await) });
        } else {
            let connection = self.http1.serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { drop(connection.await) });
        }
    }

    async fn serve_encrypted<S>(&self, stream: TlsStream<TcpStream>, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
        S::Future: Send + 'static,
    {
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
        let stream = TokioIo::new(stream);
        match &self.http2 {
            Some(http2) if is_http2 => drop(http2.agreed.serve_connection(stream, service).await),
            _ => drop(self.http1.serve_connection(stream, service).await),
        }
    }
}

/// The settings of TLS with a certificate and its key from files in PEM.
pub(crate) fn tls_of(certificate: &Path, key: &Path) -> io::Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|error| unusable(certificate, error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private);
    config.map_err(|error| unusable(certificate, error))
}

fn unusable(file: &Path, error: impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", file.display()))
}
