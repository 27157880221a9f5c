//! What the request for a WebSocket offers, and what its answer chooses of that (RFC 6455 §4.1, RFC 8441 §5).

use crate::error::WebSocketError;
use crate::framing::elements;
use crate::permessage_deflate::PermessageDeflate;
use crate::request::Request;
use crate::websocket_choice::{Choice, Chosen, Subprotocol};

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
