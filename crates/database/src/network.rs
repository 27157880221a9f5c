//! What errors of sockets mean for an operation, whichever driver met them.

use std::io::{Error, ErrorKind};

use loadcurve_record::Failure;
use rustix::io::Errno;

use crate::database::Failed;
use crate::tls;

/// The failure that an error of a socket is. `trusted` is the option of an address that names the certificates to trust.
pub(crate) fn failed(error: &Error, trusted: &str) -> Failed {
    tls::failure_of(error, trusted).unwrap_or_else(|| Failed::new(failure_of(error), error.to_string()))
}

/// The class of an error of a socket. Drivers report their own deadline only for connecting.
fn failure_of(error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionRefused
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NotFound => Failure::ConnectRefused,
        ErrorKind::TimedOut => Failure::ConnectTimeout,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Failure::Reset,
        ErrorKind::UnexpectedEof | ErrorKind::NotConnected => Failure::ClosedEarly,
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Failure::Malformed,
        ErrorKind::AddrNotAvailable => Failure::AddressUnavailable,
        _ => match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE) => Failure::FdUnavailable,
            // What is left is met while a name is looked up or a connection is made.
            _ => Failure::ConnectRefused,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_sockets_keep_their_meaning() {
        let class = |kind: ErrorKind| failure_of(&Error::from(kind));
        assert_eq!(class(ErrorKind::ConnectionRefused), Failure::ConnectRefused);
        assert_eq!(class(ErrorKind::TimedOut), Failure::ConnectTimeout);
        assert_eq!(class(ErrorKind::ConnectionReset), Failure::Reset);
        assert_eq!(class(ErrorKind::BrokenPipe), Failure::Reset);
        assert_eq!(class(ErrorKind::UnexpectedEof), Failure::ClosedEarly);
        assert_eq!(class(ErrorKind::InvalidData), Failure::Malformed);
        assert_eq!(failure_of(&Error::from(Errno::MFILE)), Failure::FdUnavailable);
        assert_eq!(failure_of(&Error::from(Errno::ADDRNOTAVAIL)), Failure::AddressUnavailable);
    }
}
