//! What errors of the kernel are called.

use loadcurve_record::Failure;
use rustix::io::Errno;

use crate::io::{broken_failure, connect_failure};

#[test]
fn errors_of_connect_are_named_by_who_has_refused() {
    // As connect(2) describes them.
    for (errno, failure) in [
        (Errno::ADDRNOTAVAIL, Failure::AddressUnavailable),
        (Errno::ADDRINUSE, Failure::AddressUnavailable),
        (Errno::MFILE, Failure::FdUnavailable),
        (Errno::NFILE, Failure::FdUnavailable),
        (Errno::TIMEDOUT, Failure::ConnectTimeout),
        (Errno::CONNREFUSED, Failure::ConnectRefused),
        (Errno::HOSTUNREACH, Failure::ConnectRefused),
    ] {
        assert_eq!(connect_failure(errno), failure, "{errno}");
    }
}

#[test]
fn errors_of_an_open_connection_tell_its_end_from_its_reset() {
    for (errno, failure) in [
        (Errno::PIPE, Failure::ClosedEarly),
        (Errno::CONNRESET, Failure::Reset),
        (Errno::TIMEDOUT, Failure::Timeout),
    ] {
        assert_eq!(broken_failure(errno), failure, "{errno}");
    }
}
