//! `loadcurve-actix --listen ADDRESS --root FOLDER`: static files, served by actix-web with actix-files.

use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use actix_files::Files;
use actix_web::http::KeepAlive;
use actix_web::{App, HttpServer};
use lexopt::prelude::*;

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
  --version                 the version of actix-web
";

struct Arguments {
    listen: SocketAddr,
    root: PathBuf,
    workers: NonZero<usize>,
    backlog: u32,
    keepalive: KeepAlive,
    nodelay: bool,
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
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => listen = Some(parser.value()?.parse()?),
            Long("root") => root = Some(PathBuf::from(parser.value()?)),
            Long("workers") => workers = parser.value()?.parse()?,
            Long("backlog") => backlog = parser.value()?.parse()?,
            Long("keepalive") => keepalive = parser.value()?.parse()?,
            Long("keepalive-timeout") => keepalive_timeout_s = parser.value()?.parse()?,
            Long("nodelay") => nodelay = parser.value()?.parse()?,
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
        .tcp_nodelay(arguments.nodelay)
        .bind(arguments.listen)?;
    actix_web::rt::System::new().block_on(server.run())
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_version_is_a_current_one_of_actix_web() {
        assert!(version().starts_with("4."), "{}", version());
    }
}
