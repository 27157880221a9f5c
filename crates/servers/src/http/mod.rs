//! HTTP/1.x as a server of files speaks it: bytes in, bytes out.

mod answer;
mod date;
mod request;
mod status;
mod target;

pub use answer::{Answer, Content};
pub use date::HttpDate;
pub use request::{Method, Parsed, Request, parse};
pub use status::Status;
pub use target::path_of;
