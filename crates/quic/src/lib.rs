//! QUIC without I/O or clock, and HTTP/3 on it.
//!
//! What is asked of the library of QUIC is in two modules. [`connection`] has the streams of a connection and what becomes of
//! its datagrams; `handshake` has TLS inside of QUIC. [`Http3`] is the client's end of HTTP/3 as an exchange, which a load
//! speaks as it does any other. [`connection_ids`] says of a datagram whose it is, where connections share a socket of UDP.

pub mod connection;
pub mod connection_ids;
mod handshake;
mod http3;
mod parameters;
mod tags;

pub use http3::{Http3, Settings, TABLE_BYTES};
