//! The servers that this project writes, as far as they need neither socket nor process nor clock.
//!
//! [`simple`], [`persistent`] and [`pipelined`] serve one client each, over any stream of bytes, from the folder that a
//! [`site::Site`] is. The binary gives every client its own process, and these a socket.
//!
//! [`http2`] answers from memory, with a [`reply::Reply`], as `limit` of the binary does over HTTP/2.

pub mod connection;
pub mod http;
pub mod http2;
pub mod persistent;
pub mod pipelined;
pub mod reply;
pub mod simple;
pub mod site;
