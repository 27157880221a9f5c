//! `loadcurve-actix --listen ADDRESS --root FOLDER`: static files, served by actix-web with actix-files.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_files::Files;
use actix_web::http::KeepAlive;
use actix_web::{App, HttpServer};
use lexopt::prelude::*;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What was built, which names the exact version of each crate.
const LOCK_FILE: &str = include_str!("../Cargo.lock");

const USAGE: &str = "\
Usage: loadcurve-actix --listen ADDRESS:PORT --root FOLDER [options]

Options:
  --workers N               worker threads (default 1)
  --backlog N               length of the listen queue (default 2048)
  --keepalive true|false    whether a connection may carry several requests (default true)
  --keepalive-timeout N     seconds after which an idle connection is closed (default 5)
  --nodelay true|false      whether TCP_NODELAY is set (default true)
  --http2 true|false        whether HTTP/2 is spoken in clear text as well (default false)
  --certificate FILE        the certificate (PEM) that lets the server speak TLS; empty: none
  --certificate-key FILE    the key of the certificate (PEM)
  --version                 the version of actix-web
";

struct Arguments {
    listen: SocketAddr,
    root: PathBuf,
    workers: NonZero<usize>,
    backlog: u32,
    keepalive: KeepAlive,
    nodelay: bool,
    http2: bool,
    /// The files of a server that speaks TLS.
    certificate_and_key: Option<(PathBuf, PathBuf)>,
}

enum Asked {
    Serve(Arguments),
    Print(String),
}

fn main() -> ExitCode {
    let asked = match parse(lexopt::Parser::from_env()) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("loadcurve-actix: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match asked {
        Asked::Print(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Asked::Serve(arguments) => match serve(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("loadcurve-actix: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    let (mut listen, mut root) = (None, None);
    let (mut workers, mut backlog) = (NonZero::<usize>::MIN, 2048);
    let (mut keepalive, mut keepalive_timeout_s, mut nodelay) = (true, 5, true);
    let (mut http2, mut certificate, mut key) = (false, PathBuf::new(), PathBuf::new());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => listen = Some(parser.value()?.parse()?),
            Long("root") => root = Some(PathBuf::from(parser.value()?)),
            Long("workers") => workers = parser.value()?.parse()?,
            Long("backlog") => backlog = parser.value()?.parse()?,
            Long("keepalive") => keepalive = parser.value()?.parse()?,
            Long("keepalive-timeout") => keepalive_timeout_s = parser.value()?.parse()?,
            Long("nodelay") => nodelay = parser.value()?.parse()?,
            Long("http2") => http2 = parser.value()?.parse()?,
            Long("certificate") => certificate = PathBuf::from(parser.value()?),
            Long("certificate-key") => key = PathBuf::from(parser.value()?),
            Long("help") | Short('h') => return Ok(Asked::Print(USAGE.into())),
            Long("version") => return Ok(Asked::Print(format!("loadcurve-actix {}\n", version()))),
            other => return Err(other.unexpected()),
        }
    }
    let timeout = Duration::from_secs(keepalive_timeout_s);
    Ok(Asked::Serve(Arguments {
        listen: listen.ok_or("missing --listen")?,
        root: root.ok_or("missing --root")?,
        workers,
        backlog,
        keepalive: if keepalive { KeepAlive::Timeout(timeout) } else { KeepAlive::Disabled },
        nodelay,
        http2,
        certificate_and_key: (!certificate.as_os_str().is_empty()).then_some((certificate, key)),
    }))
}

/// The version of actix-web, which its own crate does not tell.
fn version() -> &'static str {
    let after = LOCK_FILE.split("name = \"actix-web\"\nversion = \"").nth(1);
    after
        .and_then(|text| text.split('"').next())
        .expect("the lock file names actix-web, which is a dependency")
}

fn serve(arguments: Arguments) -> io::Result<()> {
    let root = arguments.root;
    let server = HttpServer::new(move || App::new().service(Files::new("/", root.clone())))
        .workers(arguments.workers.get())
        .backlog(arguments.backlog)
        .keep_alive(arguments.keepalive)
        .tcp_nodelay(arguments.nodelay);
    let server = match &arguments.certificate_and_key {
        Some((certificate, key)) => server.bind_rustls_0_23(arguments.listen, tls(certificate, key)?)?,
        None if arguments.http2 => server.bind_auto_h2c(arguments.listen)?,
        None => server.bind(arguments.listen)?,
    };
    actix_web::rt::System::new().block_on(server.run())
}

/// What TLS is to be, from files in PEM; actix-web adds that HTTP/2 and HTTP/1.1 may be agreed on.
fn tls(certificate: &Path, key: &Path) -> io::Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|error| unusable(certificate, error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
    ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| unusable(certificate, error))
}

fn unusable(file: &Path, error: impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_version_is_a_current_one_of_actix_web() {
        assert!(version().starts_with("4."), "{}", version());
    }
}
