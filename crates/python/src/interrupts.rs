//! What Python raises while the engine is at work without it.

use std::cell::{Cell, RefCell};

use loadcurve_engine::{StartError, now};
use loadcurve_plan::Nanos;
use pyo3::prelude::*;

use crate::plan::start_error;

/// Between two looks whether somebody has pressed Ctrl-C.
const SIGNALS_EVERY: Nanos = Nanos::from_millis(50);

/// The first of what was raised, which ends what is under way.
pub(crate) struct Interrupts {
    raised: RefCell<Option<PyErr>>,
    looked_at: Cell<Nanos>,
}

impl Interrupts {
    /// Does something that asks now and then whether it was interrupted; what was raised meanwhile is its error.
    ///
    /// # Errors
    /// What was raised, or else why it cannot be.
    pub(crate) fn watching<T>(act: impl FnOnce(&Self) -> Result<T, StartError>) -> PyResult<T> {
        let interrupts = Self { raised: RefCell::new(None), looked_at: Cell::new(now()) };
        let outcome = act(&interrupts);
        match interrupts.raised.into_inner() {
            Some(error) => Err(error),
            None => outcome.map_err(start_error),
        }
    }

    /// Keeps what was raised.
    pub(crate) fn keep(&self, outcome: PyResult<()>) {
        if let Err(error) = outcome {
            self.raised.borrow_mut().get_or_insert(error);
        }
    }

    /// Whether something was raised, by a signal or otherwise.
    pub(crate) fn are_there(&self) -> bool {
        if now() - self.looked_at.get() >= SIGNALS_EVERY {
            self.looked_at.set(now());
            let checked = Python::attach(|py| {
                // The method by itself is of one lifetime, and the closure of any.
                py.check_signals()
            });
            self.keep(checked);
        }
        self.raised.borrow().is_some()
    }
}
