//! The backend of what is asked outside of a load.

use loadcurve_plan::HttpLoad;

use crate::error::StartError;
use crate::io::epoll::Epoll;
use crate::io::readiness;
use crate::io::route::Route;

/// The backend for one connection, whatever the kernel offers.
///
/// # Errors
/// The system refuses it.
pub(crate) fn epoll(plan: &HttpLoad) -> Result<Epoll, StartError> {
    Route::of(plan, 0, 1).and_then(|route| Epoll::new(route, 1)).map_err(readiness::unavailable)
}
