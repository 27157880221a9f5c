//! QUIC without I/O or clock, and HTTP/3 on it.
//!
//! What is asked of the library of QUIC is in three modules. [`connection`] has the streams of a connection and what becomes of
//! its datagrams; `handshake` has TLS inside of QUIC, [`congestion`] the control of what is sent at once. [`Http3`] is the
//! client's end of HTTP/3 as an exchange, which a load speaks as it does any other. [`connection_ids`] says of a datagram
//! whose it is, where connections share a socket of UDP.

pub mod congestion;
pub mod connection;
pub mod connection_ids;
mod handshake;
mod http3;
mod parameters;
mod tags;

pub use http3::{Http3, Settings, TABLE_BYTES};
