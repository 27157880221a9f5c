//! What an answer chooses for the WebSocket that it opens (RFC 6455 §4.2.2, RFC 8441 §5), in whichever version of HTTP.

use std::hash::{DefaultHasher, Hasher as _};

use crate::permessage_deflate::Extensions;

/// What an answer chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) extensions: Extensions,
    pub(crate) subprotocol: Chosen,
}

/// Which subprotocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Chosen {
    #[default]
    Nothing,
    One(Subprotocol),
    Several,
}

impl Choice {
    /// Takes a field of extensions.
    pub(crate) fn extensions(&mut self, extensions: Extensions) {
        self.extensions = self.extensions.and(extensions);
    }

    /// Takes a field with a subprotocol.
    pub(crate) fn subprotocol(&mut self, subprotocol: Subprotocol) {
        self.subprotocol = match self.subprotocol {
            Chosen::Nothing => Chosen::One(subprotocol),
            Chosen::One(_) | Chosen::Several => Chosen::Several,
        };
    }
}

/// The name of a subprotocol, as a number that is the same for the same name: what a header block says is copied for each
/// answer, and a name may have any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subprotocol(u64);

impl Subprotocol {
    pub(crate) fn of(name: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(name);
        Self(hasher.finish())
    }
}
