//! `pipelined`: as `persistent`, but requests that arrive together are answered together.

use std::io;

use crate::connection::{ClientStream, Connection};
use crate::site::Site;

/// The most bytes of requests that are buffered for a client, unless set otherwise.
pub const DEFAULT_BUFFER_BYTES: usize = 50 * 1024;

/// Answers all whole requests that were received, in order, and then sends the answers together, over and over: until
/// the client closes, wants to close, or is silent for too long.
///
/// # Errors
/// When the client goes away before it has its answers.
pub fn serve_client(site: &Site, mut connection: Connection<impl ClientStream>) -> io::Result<()> {
    while connection.receive()? {
        while let Some(request) = connection.buffered_request() {
            let answer = site.answer(request);
            let is_last = !answer.keeps_connection;
            connection.write(answer)?;
            if is_last {
                return connection.close();
            }
        }
        connection.flush()?;
    }
    Ok(())
}
