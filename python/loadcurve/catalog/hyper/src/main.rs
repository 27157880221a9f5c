//! `loadcurve-hyper --listen ADDRESS --root FOLDER`: static files, served by hyper on tokio, and by h3 on quinn.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use lexopt::prelude::*;
use tokio::net::{TcpListener, TcpSocket};

mod files;
mod protocols;
mod quic;

use protocols::Protocols;

/// What was built, which names the exact version of each crate.
const LOCK_FILE: &str = include_str!("../Cargo.lock");

const USAGE: &str = "\
Usage: loadcurve-hyper --listen ADDRESS:PORT --root FOLDER [options]

Options:
  --workers N               threads of the runtime (default 1)
  --backlog N               length of the listen queue (default 1024)
  --keepalive true|false    whether a connection may carry several requests (default true)
  --keepalive-timeout N     seconds to wait for a whole request header (default 30)
  --nodelay true|false      whether TCP_NODELAY is set (default true)
  --http2 true|false        whether HTTP/2 is spoken as well (default false)
  --http3 true|false        whether HTTP/3 is spoken as well, on the same port of UDP (default false)
  --certificate FILE        the certificate (PEM) that lets the server speak TLS; empty: none
  --certificate-key FILE    the key of the certificate (PEM)
  --version                 the version of hyper
";

/// How long no connection is accepted after accepting one has failed, for a lack of descriptors say.
const REST_AFTER_FAILURE: Duration = Duration::from_millis(50);

struct Arguments {
    listen: SocketAddr,
    root: PathBuf,
    workers: NonZero<usize>,
    backlog: u32,
    keepalive: bool,
    keepalive_timeout: Duration,
    nodelay: bool,
    http2: bool,
    /// Without it, the server speaks clear text.
    tls: Option<Tls>,
}

struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    /// Whether HTTP/3 is spoken as well, which is always encrypted.
    http3: bool,
}

enum Asked {
    Serve(Arguments),
    Print(String),
}

fn main() -> ExitCode {
    let asked = match parse(lexopt::Parser::from_env()) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("loadcurve-hyper: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match asked {
        Asked::Print(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Asked::Serve(arguments) => match run(arguments) {
            Ok(never) => match never {},
            Err(error) => {
                eprintln!("loadcurve-hyper: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    let (mut listen, mut root) = (None, None);
    let (mut workers, mut backlog) = (NonZero::<usize>::MIN, 1024);
    let (mut keepalive, mut keepalive_timeout_s, mut nodelay) = (true, 30, true);
    let (mut http2, mut http3) = (false, false);
    let (mut certificate, mut key) = (PathBuf::new(), PathBuf::new());
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
            Long("http3") => http3 = parser.value()?.parse()?,
            Long("certificate") => certificate = PathBuf::from(parser.value()?),
            Long("certificate-key") => key = PathBuf::from(parser.value()?),
            Long("help") | Short('h') => return Ok(Asked::Print(USAGE.into())),
            Long("version") => return Ok(Asked::Print(format!("loadcurve-hyper {}\n", version()))),
            other => return Err(other.unexpected()),
        }
    }
    let tls = (!certificate.as_os_str().is_empty()).then_some(Tls { certificate, key, http3 });
    if http3 && tls.is_none() {
        return Err("--http3 true requires --certificate: HTTP/3 is always encrypted".into());
    }
    Ok(Asked::Serve(Arguments {
        listen: listen.ok_or("missing --listen")?,
        root: root.ok_or("missing --root")?,
        workers,
        backlog,
        keepalive,
        keepalive_timeout: Duration::from_secs(keepalive_timeout_s),
        nodelay,
        http2,
        tls,
    }))
}

/// The version of hyper, which its own crate does not tell.
fn version() -> &'static str {
    let after = LOCK_FILE.split("name = \"hyper\"\nversion = \"").nth(1);
    after.and_then(|text| text.split('"').next()).expect("the lock file names hyper, which is a dependency")
}

fn run(arguments: Arguments) -> io::Result<Infallible> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(arguments.workers.get())
        .enable_all()
        .build()?
        .block_on(serve(arguments))
}

async fn serve(arguments: Arguments) -> io::Result<Infallible> {
    let listener = listen(arguments.listen, arguments.backlog)?;
    let root = Arc::<std::path::Path>::from(arguments.root);
    let mut protocols = Protocols::new(arguments.keepalive, arguments.keepalive_timeout);
    if arguments.http2 {
        protocols = protocols.with_http2(arguments.keepalive);
    }
    if let Some(Tls { certificate, key, http3 }) = &arguments.tls {
        let tls = protocols::tls_of(certificate, key)?;
        if *http3 {
            quic::serve(arguments.listen, &root, tls.clone(), arguments.keepalive_timeout)?;
        }
        protocols = protocols.with_tls(tls);
    }
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(REST_AFTER_FAILURE).await;
            continue;
        };
        if stream.set_nodelay(arguments.nodelay).is_err() {
            // The client has already gone.
            continue;
        }
        protocols.serve(stream, &root);
    }
}

fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_version_is_a_current_one_of_hyper() {
        assert!(version().starts_with("1."), "{}", version());
    }
}
