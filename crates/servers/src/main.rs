//! `loadcurve-server KIND --listen ADDRESS --root FOLDER`: the servers that this project writes.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::prelude::*;

mod content;
mod limit;

const USAGE: &str = "\
Usage: loadcurve-server KIND --listen ADDRESS:PORT --root FOLDER [--backlog N]

Kinds:
  limit    answers from memory at the least cost the kernel allows; it calibrates a rig

Options:
  --listen ADDRESS:PORT  where to listen
  --root FOLDER          the files to serve, read once at the start
  --backlog N            length of the listen queue (default 4096)
  --version              the version
";

/// A command line that makes sense.
struct Arguments {
    listen: SocketAddr,
    root: PathBuf,
    backlog: i32,
}

enum Asked {
    Serve(Arguments),
    Print(String),
}

fn main() -> ExitCode {
    let asked = match parse(lexopt::Parser::from_env()) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("loadcurve-server: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match asked {
        Asked::Print(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Asked::Serve(arguments) => match serve(&arguments) {
            Ok(never) => match never {},
            Err(error) => {
                eprintln!("loadcurve-server: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn serve(arguments: &Arguments) -> Result<std::convert::Infallible, String> {
    let content = content::read(&arguments.root)
        .map_err(|error| format!("the files under {} cannot be read: {error}", arguments.root.display()))?;
    limit::serve(arguments.listen, arguments.backlog, content)
        .map_err(|error| format!("cannot serve on {}: {error}", arguments.listen))
}

fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    let (mut kind, mut listen, mut root, mut backlog) = (None, None, None, 4096);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => listen = Some(parser.value()?.parse()?),
            Long("root") => root = Some(PathBuf::from(parser.value()?)),
            Long("backlog") => backlog = parser.value()?.parse()?,
            Long("help") | Short('h') => return Ok(Asked::Print(USAGE.into())),
            Long("version") => {
                return Ok(Asked::Print(format!("loadcurve-server {}\n", env!("CARGO_PKG_VERSION"))));
            }
            Value(value) if kind.is_none() => kind = Some(value),
            other => return Err(other.unexpected()),
        }
    }
    match kind.as_ref().and_then(|kind: &OsString| kind.to_str()) {
        Some("limit") => {}
        Some(other) => return Err(format!("unknown kind {other:?}; expected limit").into()),
        None => return Err("missing KIND".into()),
    }
    Ok(Asked::Serve(Arguments {
        listen: listen.ok_or("missing --listen")?,
        root: root.ok_or("missing --root")?,
        backlog,
    }))
}
