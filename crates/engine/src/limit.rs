//! Until when a server is asked something before a load.

use loadcurve_plan::Nanos;

use crate::clock;
use crate::error::StartError;

/// The end of all that is asked, however the server draws it out.
#[derive(Clone, Copy)]
pub(crate) struct Limit<'a> {
    end: Nanos,
    /// Whether nobody wants to know any more.
    pub(crate) is_interrupted: &'a dyn Fn() -> bool,
}

impl<'a> Limit<'a> {
    /// That of what is asked within `timeout` from now on.
    pub(crate) fn new(timeout: Nanos, is_interrupted: &'a dyn Fn() -> bool) -> Self {
        Self { end: clock::now() + timeout, is_interrupted }
    }

    /// How much time is left, none after an interruption.
    pub(crate) fn left(&self) -> Nanos {
        if (self.is_interrupted)() { Nanos::ZERO } else { self.end - clock::now() }
    }

    /// The same for what knows nothing of a plan.
    #[cfg(feature = "tls")]
    pub(crate) fn left_duration(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.left().0)
    }

    /// Ends what was begun where it was interrupted.
    ///
    /// # Errors
    /// It was.
    pub(crate) fn go_on(&self) -> Result<(), StartError> {
        if (self.is_interrupted)() {
            return Err(StartError::Machine("interrupted before the load was started".into()));
        }
        Ok(())
    }
}
