//! `loadcurve-tonic --listen ADDRESS`: calls of gRPC of each kind, answered with the messages that were sent, by tonic on tokio.

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;

use lexopt::prelude::*;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tonic::codec::CompressionEncoding;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

mod echo;

use echo::{Counts, EchoServer, Echoing};

/// What was built, which names the exact version of each crate.
const LOCK_FILE: &str = include_str!("../Cargo.lock");

const USAGE: &str = "\
Usage: loadcurve-tonic --listen ADDRESS:PORT [options]

Options:
  --workers N               threads of the runtime (default 1)
  --counts                  print at the end how many calls and messages were answered, as JSON
  --version                 the version of tonic
";

struct Arguments {
    listen: SocketAddr,
    workers: NonZero<usize>,
    counts: bool,
}

enum Asked {
    Serve(Arguments),
    Print(String),
}

fn main() -> ExitCode {
    let served = match parse(lexopt::Parser::from_env()) {
        Ok(Asked::Print(text)) => {
            print!("{text}");
            Ok(())
        }
        Ok(Asked::Serve(arguments)) => run(&arguments),
        Err(error) => {
            eprintln!("loadcurve-tonic: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = served {
        eprintln!("loadcurve-tonic: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    let (mut listen, mut workers, mut counts) = (None, NonZero::<usize>::MIN, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => listen = Some(parser.value()?.parse()?),
            Long("workers") => workers = parser.value()?.parse()?,
            Long("counts") => counts = true,
            Long("help") | Short('h') => return Ok(Asked::Print(USAGE.into())),
            Long("version") => return Ok(Asked::Print(format!("loadcurve-tonic {}\n", version()))),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Asked::Serve(Arguments { listen: listen.ok_or("missing --listen")?, workers, counts }))
}

/// The version of tonic, which its own crate does not tell.
fn version() -> &'static str {
    let after = LOCK_FILE.split("name = \"tonic\"\nversion = \"").nth(1);
    after.and_then(|text| text.split('"').next()).expect("the lock file names tonic, which is a dependency")
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let counts = Arc::new(Counts::default());
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(arguments.workers.get())
        .enable_all()
        .build()?
        .block_on(serve(arguments, counts.clone()))?;
    if arguments.counts {
        println!("{}", counts.as_json());
    }
    Ok(())
}

/// Answers until it is asked to stop.
async fn serve(arguments: &Arguments, counts: Arc<Counts>) -> Result<(), Box<dyn Error>> {
    let mut stopping = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind(arguments.listen).await?;
    println!("listening on {}", listener.local_addr()?);
    let echo = EchoServer::new(Echoing::new(counts))
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(echo::DESCRIPTORS)
        .build_v1()?;
    // Loadcurve asks in HTTP/1.1 whether a server is ready.
    let server = Server::builder().accept_http1(true).add_service(echo).add_service(reflection);
    tokio::select! {
        ended = server.serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true))) => ended?,
        _ = stopping.recv() => {}
    }
    Ok(())
}
