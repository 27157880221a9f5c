//! The set of descriptors that something waits for (epoll(7)), and what is said where the kernel has none.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// An empty set, with which the kernel can wait.
///
/// # Errors
/// The kernel has no place for it, or cannot wait for a time in nanoseconds, as before Linux 5.11 ([`Errno::NOSYS`]): whoever
/// waits would otherwise find that out at each of its waits.
pub fn new_set() -> Result<OwnedFd, Errno> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::wait(&set, &mut [MaybeUninit::uninit()], Some(&AT_ONCE))?;
    Ok(set)
}

/// Why there is no set, by what the kernel said.
#[must_use]
pub fn unavailable(errno: Errno) -> String {
    match errno {
        Errno::NOSYS => {
            "the kernel cannot wait for a time in nanoseconds (epoll_pwait2): Linux 5.11 or newer is needed"
                .to_owned()
        }
        _ => format!("epoll is not available: {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_waits_on_this_kernel_and_an_old_one_is_named() {
        assert!(new_set().is_ok());
        assert!(unavailable(Errno::NOSYS).contains("Linux 5.11 or newer"));
        assert!(unavailable(Errno::MFILE).starts_with("epoll is not available: "));
    }
}
