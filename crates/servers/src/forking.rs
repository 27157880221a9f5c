//! A process for each client: what `simple`, `persistent` and `pipelined` share.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use loadcurve_servers::connection::Connection;
use loadcurve_servers::site::Site;
use rustix::event::{Timespec, poll};
use rustix::net::SocketFlags;

use crate::clock;
use crate::listening;
use crate::process::{self, Fork};

/// How long the listen queue is left alone after a connection could not be accepted.
const REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Where and how clients are served.
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) backlog: i32,
    /// The time after which a client that neither sends nor takes anything is closed.
    pub(crate) idle_timeout: Duration,
    /// How many bytes of requests are buffered for each client.
    pub(crate) buffer_bytes: usize,
}

/// Serves one client to the end.
pub(crate) type ServeClient = fn(&Site, Connection<TcpStream>) -> io::Result<()>;

/// Accepts clients until the process is ended, and serves each in its own process. There it returns `Ok`.
///
/// # Errors
/// When the address cannot be listened on.
pub(crate) fn serve(settings: &Settings, site: &Site, serve_client: ServeClient) -> io::Result<()> {
    process::leave_reaping_to_the_kernel()?;
    let listener = listening::listen(settings.listen, settings.backlog, SocketFlags::empty())?;
    loop {
        let client = match listener.accept() {
            Ok((client, _)) => client,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(error) => {
                eprintln!("loadcurve-server: connections cannot be accepted at the moment: {error}");
                // A signal that ends the rest early does no harm.
                let _ = poll(&mut [], Some(&REST));
                continue;
            }
        };
        match process::fork() {
            Ok(Fork::Parent) => {}
            Ok(Fork::Child) => {
                // Nobody shall be able to connect to the port once the server has ended.
                drop(listener);
                let connection = connection(client, settings);
                // A client that goes away is no fault of the server.
                let _ = connection.and_then(|connection| serve_client(site, connection));
                return Ok(());
            }
            Err(error) => eprintln!(
                "loadcurve-server: a client was refused, because no process could be \
                started for it: {error}"
            ),
        }
    }
}

fn connection(client: TcpStream, settings: &Settings) -> io::Result<Connection<TcpStream>> {
    client.set_nodelay(true)?;
    client.set_read_timeout(Some(settings.idle_timeout))?;
    client.set_write_timeout(Some(settings.idle_timeout))?;
    Ok(Connection::new(client, settings.buffer_bytes, clock::now))
}
