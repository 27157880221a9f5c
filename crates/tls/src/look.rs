//! One handshake before a load: whether the server speaks TLS as it was asked for, and what it shows of itself.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use loadcurve_wire::Agreement;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustls::Error;

use crate::certificate::Certificate;
use crate::client::Client;
use crate::failure;
use crate::session::Session;

/// How long a server may take for what it sends to the last.
const LONGEST_GOODBYE: Duration = Duration::from_millis(100);
/// The longest sleep, so that an interruption is noticed soon.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// What a server has shown of itself in a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What was agreed on.
    pub agreement: Agreement,
    /// The protocol that it has chosen (ALPN).
    pub protocol: Option<String>,
    /// Its certificate; `None` if it cannot be read.
    pub certificate: Option<Certificate>,
}

/// Why there was no handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTls {
    /// There was no connection on which there could be one.
    Unreachable,
    /// The handshake failed, or was answered by what is not TLS: a sentence.
    Refused(String),
}

/// Makes one full handshake with a server, on a connection that waits for nothing by itself, and leaves; `left` says how much of the time for all of it is left, which is none
/// where nobody wants to know any more. It is asked at least every 50 ms.
///
/// # Errors
/// There is none.
pub fn look(connection: OwnedFd, client: &Client, left: impl Fn() -> Duration) -> Result<Look, NoTls> {
    // Nothing that is done with it depends on its family.
    let mut stream = TcpStream::from(connection);
    let refused = |error: &Error| NoTls::Refused(failure::in_words(error));
    let mut session =
        Session::new(client.full_config(), client.server_name.clone()).map_err(|error| refused(&error))?;
    let mut buffer = [0; 16 * 1024];
    loop {
        let mut output = Vec::new();
        session.protect(&mut output);
        write_all(&mut stream, &output, &left).map_err(|error| lost(error.kind()))?;
        if let Some(agreement) = session.agreement() {
            failure::require_protocol(client.required_protocol, session.protocol())
                .map_err(NoTls::Refused)?;
            let _ = leave(&mut stream, &mut session, &left);
            return Ok(Look {
                agreement,
                protocol: session.protocol().map(|chosen| String::from_utf8_lossy(chosen).into_owned()),
                certificate: Certificate::of(session.certificates()),
            });
        }
        let read = read(&mut stream, &mut buffer, &left).map_err(|error| lost(error.kind()))?;
        if read == 0 {
            return Err(lost(ErrorKind::UnexpectedEof));
        }
        let mut rest = &buffer[..read];
        // What comes behind the handshake is nobody's.
        while !rest.is_empty() && session.agreement().is_none() {
            let taken = session.receive(rest).map_err(|error| with_certificate(&error, client))?;
            rest = &rest[taken..];
        }
    }
}

/// Waits until a socket is ready, or its time is over.
fn wait(socket: &impl AsFd, wanted: PollFlags, left: &impl Fn() -> Duration) -> io::Result<()> {
    loop {
        let left = left().min(LONGEST_WAIT);
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(socket, wanted)], Some(&left)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn read(stream: &mut TcpStream, buffer: &mut [u8], left: &impl Fn() -> Duration) -> io::Result<usize> {
    loop {
        // Also where there is always something to be read, time passes.
        wait(stream, PollFlags::IN, left)?;
        match read_from(stream, buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

fn write_all(stream: &mut TcpStream, mut bytes: &[u8], left: &impl Fn() -> Duration) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait(stream, PollFlags::OUT, left)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Ends a connection so that nothing is on its way when it is closed: a server that has just sent tickets would meet a
/// reset. One that keeps sending meets it all the same.
fn leave(stream: &mut TcpStream, session: &mut Session, left: &impl Fn() -> Duration) -> io::Result<()> {
    let before = left();
    let left = || LONGEST_GOODBYE.saturating_sub(before.saturating_sub(left())).min(left());
    let mut goodbye = Vec::new();
    session.end(&mut goodbye);
    write_all(stream, &goodbye, &left)?;
    stream.shutdown(Shutdown::Write)?;
    while read(stream, &mut [0; 4096], &left)? > 0 {}
    Ok(())
}

/// Reads, whatever interrupts it. No signal is needed for that: the kernel also interrupts a thread to clear away the rings of
/// a load that has ended.
fn read_from(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The failure of a handshake, with the certificate that it is about.
fn with_certificate(error: &Error, client: &Client) -> NoTls {
    let text = failure::in_words(error);
    let shown = match error {
        Error::InvalidCertificate(_) => Certificate::of(&client.refused()),
        _ => None,
    };
    NoTls::Refused(shown.map_or(text.clone(), |certificate| format!("{text}; {}", certificate.in_words())))
}

fn lost(kind: ErrorKind) -> NoTls {
    NoTls::Refused(
        match kind {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                "the server did not answer the TLS handshake within the timeout; it may not support TLS on \
                this port"
            }
            _ => {
                "the server closed the connection during the TLS handshake; it may not support TLS on this \
                port"
            }
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind, Read, Result};

    use super::read_from;

    /// Reads that are interrupted so often, and then bring a byte.
    struct Interrupted(usize);

    impl Read for Interrupted {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            if let Some(left) = self.0.checked_sub(1) {
                self.0 = left;
                return Err(Error::from(ErrorKind::Interrupted));
            }
            buffer[0] = b'a';
            Ok(1)
        }
    }

    #[test]
    fn a_read_that_is_interrupted_is_no_end_of_the_connection() {
        for times in [0, 1, 3] {
            let mut buffer = [0; 4];
            assert_eq!(read_from(&mut Interrupted(times), &mut buffer).unwrap(), 1, "{times}");
            assert_eq!(buffer[0], b'a');
        }
    }
}
