//! Whether it continues with a connection.

use std::ops::ControlFlow;

/// Continues with a connection, or breaks off because it is to be closed.
pub(super) type Step<T = ()> = ControlFlow<(), T>;
