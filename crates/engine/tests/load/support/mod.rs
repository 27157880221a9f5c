//! The scripted server, plans for it, and results as the values that `load --json` prints.

pub(crate) mod clock;
mod file;
mod listed;
mod measured;
mod plans;
mod reply;
mod server;
mod times;

pub(crate) use file::TemporaryFile;
pub(crate) use listed::Listed;
pub(crate) use measured::{Measured, measure, start};
pub(crate) use plans::{closed, get, open, sessions};
pub(crate) use reply::{Reply, Then, chunked, ok};
pub(crate) use server::{Seen, Server, refusing_address};
pub(crate) use times::{Comparison, among_others, compare_times};
