//! The servers that this project writes, as far as they need neither socket nor process nor clock.
//!
//! [`simple`], [`persistent`] and [`pipelined`] serve one client each, over any stream of bytes, from the folder that a
//! [`site::Site`] is. The binary gives every client its own process, and these a socket.
//!
//! [`http2`] and [`http3`] answer from memory, with a [`reply::Reply`], as `limit` of the binary does over these versions;
//! [`websocket`] echoes messages.

pub mod connection;
mod fields;
pub mod http;
pub mod http2;
pub mod http3;
pub mod persistent;
pub mod pipelined;
pub mod reply;
mod service;
pub mod simple;
pub mod site;
pub mod websocket;
