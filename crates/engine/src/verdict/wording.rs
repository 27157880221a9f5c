//! What the sentences of a verdict call the things that a load consists of.

use crate::summary::Loaded;

impl Loaded {
    pub(super) fn request(self) -> &'static str {
        match self {
            Self::WebServer => "request",
            Self::Database => "operation",
        }
    }

    pub(super) fn a_request(self) -> &'static str {
        match self {
            Self::WebServer => "a request",
            Self::Database => "an operation",
        }
    }

    pub(super) fn requests(self) -> &'static str {
        match self {
            Self::WebServer => "requests",
            Self::Database => "operations",
        }
    }

    /// What a request needs to be sent.
    pub(super) fn connection(self) -> &'static str {
        match self {
            Self::WebServer => "connection",
            Self::Database => "client",
        }
    }

    pub(super) fn connections(self) -> &'static str {
        match self {
            Self::WebServer => "connections",
            Self::Database => "clients",
        }
    }

    pub(super) fn server(self) -> &'static str {
        match self {
            Self::WebServer => "server",
            Self::Database => "database",
        }
    }

    /// What happened to requests whose answer could not be read.
    pub(super) fn malformed(self) -> &'static str {
        match self {
            Self::WebServer => "were answered with something that is not HTTP",
            Self::Database => "were answered with something that the driver cannot read",
        }
    }

    /// What happened to requests whose answer was another one than expected.
    pub(super) fn mismatch(self) -> &'static str {
        match self {
            Self::WebServer => "were answered with another length than the verified one",
            Self::Database => "were answered with another value than the one that was written",
        }
    }
}
