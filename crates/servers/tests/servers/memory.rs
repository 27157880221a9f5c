//! A client in memory: its bytes arrive in given pieces, and what it is answered is kept.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loadcurve_servers::connection::{ClientStream, Connection};
use loadcurve_servers::site::Site;
use loadcurve_servers::{persistent, pipelined, simple};

/// A server, as far as one client is concerned.
pub(crate) type ServeClient = fn(&Site, Connection<Client>) -> io::Result<()>;
pub(crate) const SIMPLE: ServeClient = simple::serve_client;
pub(crate) const PERSISTENT: ServeClient = persistent::serve_client;
pub(crate) const PIPELINED: ServeClient = pipelined::serve_client;

/// What a client was answered, one entry for each write.
pub(crate) type Writes = Vec<Vec<u8>>;

/// A client that sends its pieces and closes.
pub(crate) struct Client {
    pieces: VecDeque<Vec<u8>>,
    /// The most bytes that the server may take at once: it has no place for more.
    most_bytes: usize,
    writes: Rc<RefCell<Writes>>,
    has_ended: bool,
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(self.has_ended || buffer.len() <= self.most_bytes);
        assert!(!buffer.is_empty(), "the server looks for more although it has no place for it");
        while self.pieces.front().is_some_and(Vec::is_empty) {
            self.pieces.pop_front();
        }
        let Some(piece) = self.pieces.front_mut() else { return Ok(0) };
        let taken = piece.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&piece[..taken]);
        piece.drain(..taken);
        Ok(taken)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(!self.has_ended, "nothing is written behind the end");
        self.writes.borrow_mut().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ClientStream for Client {
    fn end_writing(&mut self) -> io::Result<()> {
        self.has_ended = true;
        Ok(())
    }
}

/// Serves a client that sends these pieces, and returns what it was answered.
pub(crate) fn writes<'a>(
    serve_client: ServeClient,
    site: &Site,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    buffer_bytes: usize,
) -> Writes {
    let writes = Rc::new(RefCell::new(Vec::new()));
    let pieces = pieces.into_iter().map(<[u8]>::to_vec).collect();
    let client = Client { pieces, most_bytes: buffer_bytes, writes: Rc::clone(&writes), has_ended: false };
    serve_client(site, Connection::new(client, buffer_bytes, some_time)).expect("nothing breaks the stream");
    writes.take()
}

/// The same, as one stream of bytes.
pub(crate) fn answers<'a>(
    serve_client: ServeClient,
    site: &Site,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    buffer_bytes: usize,
) -> Vec<u8> {
    writes(serve_client, site, pieces, buffer_bytes).concat()
}

/// The example of RFC 9110 §5.6.7: Sun, 06 Nov 1994 08:49:37 GMT.
fn some_time() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(784_111_777)
}
