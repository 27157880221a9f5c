//! `loadcurve-server KIND --listen ADDRESS --root FOLDER`: the servers that this project writes.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use loadcurve_servers::site::Site;

use arguments::Asked;

mod arguments;
mod clock;
mod content;
mod forking;
mod limit;
mod listening;
mod process;
mod quantities;

fn main() -> ExitCode {
    let asked = match arguments::parse(lexopt::Parser::from_env()) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("loadcurve-server: {error}\n(loadcurve-server --help lists all options)");
            return ExitCode::from(2);
        }
    };
    match obey(asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loadcurve-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does what was asked. A server that forks returns in the process of a client, when that client is served.
fn obey(asked: Asked) -> Result<(), String> {
    let unreadable =
        |root: &Path, error: io::Error| format!("the files under {} cannot be read: {error}", root.display());
    match asked {
        Asked::Print(text) => {
            print!("{text}");
            Ok(())
        }
        Asked::Limit { settings, root } => {
            let listen = settings.listen;
            let content = content::read(&root).map_err(|error| unreadable(&root, error))?;
            let Err(error) = limit::serve(*settings, content);
            Err(format!("cannot serve on {listen}: {error}"))
        }
        Asked::Forking { settings, root, serve_client } => {
            let site = Site::open(&root).map_err(|error| unreadable(&root, error))?;
            forking::serve(&settings, &site, serve_client)
                .map_err(|error| format!("cannot serve on {}: {error}", settings.listen))
        }
    }
}
