//! What the request for a WebSocket offers, and what its answer chooses of that (RFC 6455 §4.1, RFC 8441 §5).

use std::hash::{DefaultHasher, Hasher as _};

use crate::error::WebSocketError;
use crate::framing::elements;
use crate::permessage_deflate::{Extensions, PermessageDeflate};
use crate::request::Request;

pub(super) const SUBPROTOCOL: &str = "Sec-WebSocket-Protocol";
pub(super) const EXTENSIONS: &str = "Sec-WebSocket-Extensions";

/// What is offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offer {
    subprotocols: Vec<Subprotocol>,
    pub(super) deflate: Option<PermessageDeflate>,
}

impl Offer {
    /// The subprotocols that the fields of a request offer, and this compression.
    pub(super) fn of(request: &Request<'_>, deflate: Option<PermessageDeflate>) -> Self {
        let offers = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(SUBPROTOCOL));
        let names = offers.flat_map(|(_, value)| elements(value.as_bytes()));
        Self { subprotocols: names.map(Subprotocol::of).collect(), deflate }
    }

    /// The compression that both sides agree on, if any.
    ///
    /// # Errors
    /// The answer chooses what was not offered.
    pub(super) fn answered(&self, choice: Choice) -> Result<Option<PermessageDeflate>, WebSocketError> {
        match choice.subprotocol {
            Chosen::Nothing => {}
            Chosen::One(one) if self.subprotocols.contains(&one) => {}
            Chosen::One(_) | Chosen::Several => return Err(WebSocketError::Subprotocol),
        }
        choice.extensions.answering(self.deflate)
    }
}

/// What an answer chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    extensions: Extensions,
    subprotocol: Chosen,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Chosen {
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
