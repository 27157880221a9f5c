//! The scripted server, plans for it, and results as the values that `load --json` prints.

mod file;
mod measured;
mod plans;
mod reply;
mod server;

pub(crate) use file::TemporaryFile;
pub(crate) use measured::{Measured, measure, start};
pub(crate) use plans::{closed, get, open};
pub(crate) use reply::{Reply, Then, chunked, ok};
pub(crate) use server::{Seen, Server, refusing_address};
