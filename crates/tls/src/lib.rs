//! TLS on the client's end of connections: a layer under any exchange, its settings, and what a server shows of itself;
//! for whatever else speaks TLS, such as drivers of databases, what is checked of certificates, and their files.
//!
//! What a TLS library is asked for stands in `client` and `session` and nowhere else, so that another version of it, or
//! another one, changes these two.

mod certificate;
mod client;
mod exchange;
mod failure;
mod files;
mod look;
mod names;
mod session;
mod tickets;
mod verifier;

pub use certificate::Certificate;
pub use client::{Client, InvalidSettings};
pub use exchange::{Settings, Tls};
pub use failure::{is_of_an_authority, presented_names, requires_client_certificate};
pub use files::{certificates, private_key};
pub use look::{Look, NoTls, look};
pub use names::{group_name, suite_name, version_name};
pub use verifier::{Authorities, Proof, Verifier};
