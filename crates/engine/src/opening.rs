//! Whether a server begins to speak a protocol.

use loadcurve_plan::HttpLoad;
use loadcurve_record::Failure;
use loadcurve_wire::{HttpExchange, Stream};

use crate::dialogue::{Dialogue, Patience, Unanswered};
use crate::error::StartError;
use crate::limit::Limit;
use crate::one_connection::epoll;

/// Begins to speak with the server of a plan, on one connection; gives why it does not, where it can be reached.
///
/// # Errors
/// Nothing can be asked of any server.
pub(crate) fn refused<E: HttpExchange<Carrier = Stream>>(
    plan: &HttpLoad,
    limit: Limit<'_>,
    settings: &E::Settings,
) -> Result<Option<String>, StartError> {
    let patience = Patience {
        timeout: limit.left(),
        counted_bytes_max: 0,
        is_stream: false,
        is_interrupted: limit.is_interrupted,
    };
    Ok(match Dialogue::<_, E>::open(epoll(plan)?, settings, patience) {
        Ok(dialogue) => {
            dialogue.say_goodbye();
            None
        }
        Err(Unanswered { failure: Failure::ConnectRefused | Failure::ConnectTimeout, .. }) => None,
        Err(Unanswered { text, .. }) => Some(text),
    })
}
