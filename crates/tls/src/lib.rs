//! TLS on the client's end of connections: a layer under any exchange, its settings, and what a server shows of itself;
//! for whatever else speaks TLS, such as drivers of databases, what is checked of certificates, and their files.
//!
//! The library of TLS is met in `session`, where a connection's bytes go in and out, in `client`, which has its settings, and in
//! the modules that speak its vocabulary: `failure` its errors (which `exchange` and `look` pass on), `names` its suites and groups,
//! `tickets` its sessions, `verifier` its checks of certificates, `certificate` and `files` their form. What a load uses
//! ([`Client`], [`Tls`], [`Settings`], [`look()`]) names none of it, so another version of the library changes this crate alone
//! as far as web servers are concerned; drivers of databases take the library's own settings.

mod certificate;
mod client;
mod exchange;
mod failure;
mod files;
mod look;
mod names;
mod quic;
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
pub use quic::{QuicHandshake, QuicOutcome, QuicStart, alert_in_words, initial_suite};
pub use verifier::{Authorities, Proof, Verifier};
