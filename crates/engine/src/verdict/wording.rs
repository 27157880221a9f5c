//! What the sentences of a verdict call the things that a load consists of.

use loadcurve_record::Failure;

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

    /// What became of failed requests, behind their number.
    pub(super) fn happened(self, failure: Failure) -> &'static str {
        match self {
            Self::WebServer => failure.happened(),
            Self::Database => failure.happened_to_operations(),
        }
    }
}
