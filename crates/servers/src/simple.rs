//! `simple`: one request on each connection.

use std::io;

use crate::connection::{ClientStream, Connection};
use crate::site::Site;

/// The most bytes of a request head, unless set otherwise.
pub const DEFAULT_BUFFER_BYTES: usize = 8 * 1024;

/// Answers a client's one request, and closes.
///
/// # Errors
/// When the client goes away before it has its answer.
pub fn serve_client(site: &Site, mut connection: Connection<impl ClientStream>) -> io::Result<()> {
    let Some(request) = connection.next_request()? else { return Ok(()) };
    connection.write(site.answer(request).and_close())?;
    connection.close()
}
