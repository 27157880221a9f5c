//! What takes the place of TLS in a build without it: nothing that could be made.

use std::path::Path;

/// What no server has.
pub(crate) enum Identity {}

impl Identity {
    /// Refuses to read a certificate.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn read(_certificate: &Path, _key: &Path, _speaks_http2: bool) -> Result<Self, String> {
        Err("this build has no TLS, which a first demo leaves out: build it with `make setup`".into())
    }
}

#[expect(dead_code, reason = "nobody is there to be in these states")]
pub(super) enum Peer {
    Open,
    Done,
    Failed,
}

/// What no client has.
pub(super) enum Tls {}

impl Tls {
    pub(super) fn begin(identity: &Identity) -> Self {
        match *identity {}
    }

    pub(super) fn has_agreed_on_http2(&self) -> bool {
        match *self {}
    }

    pub(super) fn open(&mut self, _sealed: &[u8], _plain: &mut Vec<u8>) -> Peer {
        match *self {}
    }

    pub(super) fn sealed(&mut self, _plain: &[u8], _is_last: bool) -> Vec<u8> {
        match *self {}
    }
}
