//! How the bytes of a protocol travel, and by which backends.

use loadcurve_plan::{HttpLoad, IoChoice, Load, Share};
use loadcurve_wire::{Carrier, Stream};
use rustix::io::Errno;

use crate::error::StartError;
use crate::io::Carries;
use crate::io::epoll::Epoll;
use crate::io::readiness;
use crate::io::route::Route;
use crate::io::uring::Uring;
use crate::one_connection::epoll;

/// A carrier for which there are backends.
pub(crate) trait Transport: Carrier + Sized {
    /// The backend of what is asked outside of a load.
    type Alone: Carries<Self>;

    /// The backend for one connection, whatever the kernel offers.
    ///
    /// # Errors
    /// The system refuses it.
    fn alone(plan: &HttpLoad) -> Result<Self::Alone, StartError>;

    /// Has the threads of a load started with the backends that its plan asks for, one for each of its shares; gives what
    /// results call them.
    ///
    /// # Errors
    /// The system refuses them, and as `starts` says.
    fn start<S: Starts<Self>>(
        plan: &HttpLoad,
        shares: &[Share],
        starts: S,
    ) -> Result<&'static str, StartError>;
}

/// What starts one thread for each backend, and gives what results call it.
pub(crate) trait Starts<C: Carrier> {
    /// # Errors
    /// The machine has no thread left.
    fn start<I: Carries<C> + Send + 'static>(self, backends: Vec<I>) -> Result<&'static str, StartError>;
}

impl Transport for Stream {
    type Alone = Epoll;

    fn alone(plan: &HttpLoad) -> Result<Epoll, StartError> {
        epoll(plan)
    }

    fn start<S: Starts<Self>>(
        plan: &HttpLoad,
        shares: &[Share],
        starts: S,
    ) -> Result<&'static str, StartError> {
        match plan.io {
            IoChoice::Epoll => starts.start(epolls(plan, shares)?),
            IoChoice::Uring => starts.start(urings(plan, shares)?),
            IoChoice::Auto => match urings(plan, shares) {
                Ok(backends) => starts.start(backends),
                Err(_) => starts.start(epolls(plan, shares)?),
            },
        }
    }
}

/// The numbers of the connections of a share.
pub(crate) fn numbers<P>(plan: &Load<P>, share: Share) -> impl ExactSizeIterator<Item = usize> + use<P> {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    (place(share.position(0))..plan.model.connections()).step_by(place(share.of()))
}

/// The route of each thread's connections, and their number.
fn routes(plan: &HttpLoad, shares: &[Share]) -> impl Iterator<Item = (Result<Route, Errno>, usize)> {
    let threads = shares.len();
    let numbered = shares.iter().enumerate();
    let listening = plan.work.subscribers().unwrap_or(0);
    numbered.map(move |(thread, share)| {
        (Route::of(plan, thread, threads), numbers(plan, *share).len() + listening)
    })
}

/// One backend for each thread.
fn epolls(plan: &HttpLoad, shares: &[Share]) -> Result<Vec<Epoll>, StartError> {
    let make = |(route, slots): (Result<_, _>, _)| Epoll::new(route?, slots);
    let backends: Result<_, _> = routes(plan, shares).map(make).collect();
    backends.map_err(readiness::unavailable)
}

/// One backend for each thread. They are made here, where a failure ends the start; each belongs to the thread that
/// first waits for it.
fn urings(plan: &HttpLoad, shares: &[Share]) -> Result<Vec<Uring>, StartError> {
    let make = |(route, slots): (Result<_, Errno>, _)| Uring::new(route?, slots);
    let backends: Result<_, _> = routes(plan, shares).map(make).collect();
    backends.map_err(|unavailable| StartError::Machine(unavailable.to_string()))
}

#[cfg(feature = "tls")]
mod datagrams {
    use loadcurve_plan::{HttpLoad, Share, Sockets};
    use loadcurve_wire::Datagrams;

    use super::{Route, StartError, Starts, Transport, routes};
    use crate::io::readiness;
    use crate::io::udp::Udp;

    impl Transport for Datagrams {
        type Alone = Udp;

        fn alone(plan: &HttpLoad) -> Result<Udp, StartError> {
            let backend = Route::of(plan, 0, 1).and_then(|route| Udp::new(route, 1, Sockets::Connection));
            backend.map_err(readiness::unavailable)
        }

        /// Readiness alone: `io_uring` has no joined datagrams for several sockets at once.
        fn start<S: Starts<Self>>(
            plan: &HttpLoad,
            shares: &[Share],
            starts: S,
        ) -> Result<&'static str, StartError> {
            let made = routes(plan, shares).map(|(route, slots)| Udp::new(route?, slots, plan.work.sockets));
            let backends: Result<Vec<_>, _> = made.collect();
            starts.start(backends.map_err(readiness::unavailable)?)
        }
    }
}
