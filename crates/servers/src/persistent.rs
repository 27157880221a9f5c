//! `persistent`: as `simple`, but a connection carries as many requests as the client likes.

use std::io;

use crate::connection::{ClientStream, Connection};
use crate::simple;
use crate::site::Site;

/// The most bytes of a request head, unless set otherwise.
pub const DEFAULT_BUFFER_BYTES: usize = simple::DEFAULT_BUFFER_BYTES;

/// Answers a client's requests one by one, until it closes, wants to close, or is silent for too long.
///
/// # Errors
/// When the client goes away before it has its answers.
pub fn serve_client(site: &Site, mut connection: Connection<impl ClientStream>) -> io::Result<()> {
    while let Some(request) = connection.next_request()? {
        let answer = site.answer(request);
        let is_last = !answer.keeps_connection;
        connection.write(answer)?;
        if is_last {
            return connection.close();
        }
        connection.flush()?;
    }
    Ok(())
}
