//! What is said where a readiness backend has no set of descriptors to wait for.

use rustix::io::Errno;

use crate::error::StartError;

pub(crate) use loadcurve_epoll::new_set;

/// The error of a load that has no backend, because of what the kernel said.
pub(crate) fn unavailable(errno: Errno) -> StartError {
    StartError::Machine(loadcurve_epoll::unavailable(errno))
}
