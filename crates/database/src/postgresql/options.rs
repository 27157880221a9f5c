//! From an address and settings to the driver's configuration.

use std::time::Duration;

use tokio_postgres::Config;

use super::connection::Connector;
use super::encryption::{self, Encryption};
use crate::database::{InvalidTarget, Target};
use crate::settings::{chosen, refuse_unknown};

/// The settings that this module knows.
const SETTINGS: [&str; 2] = ["layout", "synchronous_commit"];

/// The longest name, in bytes, that the server does not cut off.
const NAME_BYTES_MAX: usize = 63;

/// How a record is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A column of text for each field, as YCSB's and go-ycsb's bindings do it: the default.
    Columns,
    /// One column of JSON with all fields.
    Jsonb,
}

impl Layout {
    pub(super) fn of(target: &Target) -> Result<Self, InvalidTarget> {
        let layouts = [("columns", Self::Columns), ("jsonb", Self::Jsonb)];
        Ok(chosen(&target.settings, "layout", &layouts)?.unwrap_or(Self::Columns))
    }
}

/// Checks what can be checked of a target without asking anybody.
pub(super) fn check(target: &Target) -> Result<(), InvalidTarget> {
    refuse_unknown(&target.settings, "postgresql", &SETTINGS)?;
    Layout::of(target)?;
    connector(target)?;
    check_name("the namespace", &target.namespace)?;
    check_name("the table", &target.table)?;
    let workload = &target.workload;
    check_name(
        "the last field",
        &format!("{}{}", workload.field_prefix, workload.field_count.saturating_sub(1)),
    )?;
    if target.namespace.starts_with("pg_") || target.namespace == "information_schema" {
        return Err(InvalidTarget(format!(
            "the namespace {:?} is reserved by PostgreSQL: choose another one",
            target.namespace
        )));
    }
    Ok(())
}

fn check_name(what: &str, name: &str) -> Result<(), InvalidTarget> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
        return Err(InvalidTarget(format!(
            "{what} {name:?} cannot be used: PostgreSQL's names have 1 to {NAME_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}

/// How connections to a target are made.
pub(super) fn connector(target: &Target) -> Result<Connector, InvalidTarget> {
    let (url, options) = encryption::taken_from(&target.url).ok_or_else(unreadable)?;
    let config = configuration(&url, target)?;
    Connector::new(&config, Encryption::of(&options)?, Duration::from_secs_f64(target.timeout_s))
}

/// What is said of an address that cannot be read.
fn unreadable() -> InvalidTarget {
    InvalidTarget(
        "the address of the database cannot be read; expected an address such as \
        postgresql://127.0.0.1:5432/DATABASE, with USER:PASSWORD@ before the host where needed, \
        percent-encoded (@ is %40, : is %3A, / is %2F), and PostgreSQL's options after ? (for \
        encryption sslmode, sslrootcert, sslcert, sslkey, sslnegotiation)"
            .into(),
    )
}

/// The driver's configuration: what the address says, and what our settings add.
fn configuration(url: &str, target: &Target) -> Result<Config, InvalidTarget> {
    // The driver's text may quote what it could not read, which may be a part of a password.
    let mut config: Config = url.parse().map_err(|_| unreadable())?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(InvalidTarget(
            "the address of the database has no host; expected one such as \
            postgresql://127.0.0.1:5432/DATABASE"
                .into(),
        ));
    }
    if config.get_hosts().is_empty() {
        // An encrypted connection is to a host.
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    }
    let words = ["on", "off", "local", "remote_write", "remote_apply"].map(|word| (word, word));
    if let Some(word) = chosen(&target.settings, "synchronous_commit", &words)? {
        let before = config.get_options().map(|options| format!("{options} ")).unwrap_or_default();
        config.options(format!("{before}-c synchronous_commit={word}"));
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs_f64(target.timeout_s));
    }
    if config.get_application_name().is_none() {
        config.application_name("loadcurve");
    }
    Ok(config)
}
