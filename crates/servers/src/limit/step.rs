//! Whether it goes on with a connection.

use std::ops::ControlFlow;

/// Goes on with a connection, or breaks off because it is to be closed.
pub(super) type Step<T = ()> = ControlFlow<(), T>;
