//! The requests of a load as messages of WebSocket: the first one's target and fields are those of the handshake, and the body
//! of each is a message.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::str;

use loadcurve_plan::{self as plan, Http, MessageType, Request, Requests};
use loadcurve_record::{self as record, Compression};
use loadcurve_wire::{
    Body, CompressionCounts, Handshake, Http2Settings, InvalidRequest, MessageKind, Method,
    PermessageDeflate, Request as WireRequest, Spared, Target, Version, WebSocketHttp2Settings,
    WebSocketSettings,
    websocket::{AnswerId, ID_PLACE, Text},
};

use super::body::BodyFile;
use super::body_lines::body_lines;
use super::template::{KEPT_BYTES_MAX, fields};
use crate::error::StartError;

/// How much of a file is looked at at once.
const PART_BYTES: usize = 64 * 1024;

/// How an exchange speaks WebSocket as a plan has it.
///
/// # Errors
/// The handshake cannot be sent, or a message that is to be text is none.
pub(crate) fn websocket_settings(
    work: &Http,
    websocket: &plan::WebSocket,
) -> Result<WebSocketSettings, StartError> {
    let offer = offered(websocket)?;
    let answer_id = match &websocket.answer_id {
        Some(name) => {
            given(work)?.iter().try_for_each(require_id)?;
            let text = || {
                StartError::Plan(
                    "an answer_id is the name of a field of JSON, without quotation marks".into(),
                )
            };
            Some(AnswerId::new(name).ok_or_else(text)?)
        }
        None => None,
    };
    settings(work, websocket, |request, kind, seed| {
        let handshake = Handshake::new(request)?;
        let handshake = match offer {
            Some(offer) => handshake.offering(offer),
            None => handshake,
        };
        let settings = WebSocketSettings::new(handshake, kind, seed);
        Ok(match answer_id {
            Some(answer_id) => settings.matching(answer_id),
            None => settings,
        })
    })
}

/// The same over HTTP/2, which is spoken so.
///
/// # Errors
/// As for [`websocket_settings`].
pub(crate) fn websocket_http2_settings(
    work: &Http,
    websocket: &plan::WebSocket,
    http2: Http2Settings,
) -> Result<WebSocketHttp2Settings, StartError> {
    let offer = offered(websocket)?;
    settings(work, websocket, |request, kind, seed| {
        WebSocketHttp2Settings::new(request, offer, kind, seed, http2)
    })
}

/// The compression that is offered, if any.
fn offered(websocket: &plan::WebSocket) -> Result<Option<PermessageDeflate>, StartError> {
    let offer = websocket.extension.as_deref().map(PermessageDeflate::offer).transpose();
    offer.map_err(|invalid| StartError::Plan(invalid.to_string()))
}

/// What `make` makes of the request for a WebSocket, of what its messages are, and of a seed.
fn settings<S>(
    work: &Http,
    websocket: &plan::WebSocket,
    make: impl FnOnce(&WireRequest<'_>, MessageKind, u64) -> Result<S, InvalidRequest>,
) -> Result<S, StartError> {
    let requests = given(work)?;
    let Some(first) = requests.first() else {
        return Err(StartError::Plan("a load requires at least one request".into()));
    };
    let kind = match websocket.message_type {
        MessageType::Text => {
            requests.iter().try_for_each(require_text)?;
            MessageKind::Text
        }
        MessageType::Binary => MessageKind::Binary,
    };
    let headers = fields(first, None, &[]);
    let request = WireRequest {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed(&first.target),
        authority: &work.authority,
        headers: &headers,
        body: Body::Bytes(&[]),
        is_chunked: false,
    };
    // Another key and another mask each time, also where a load is repeated.
    let seed = RandomState::new().hash_one(&first.target);
    make(&request, kind, seed).map_err(|invalid| StartError::Plan(invalid.to_string()))
}

/// The requests whose bodies are messages.
fn given(work: &Http) -> Result<&[Request], StartError> {
    let Requests::Given(requests) = &work.requests else {
        let text = "messages are the bodies of requests, which a list does not have";
        return Err(StartError::Plan(text.into()));
    };
    Ok(requests)
}

/// Sees that the message of a request has the place of its id.
fn require_id(request: &Request) -> Result<(), StartError> {
    let has = |message: &[u8]| memchr::memmem::find(message, ID_PLACE).is_some();
    let has_place = match &request.body {
        plan::Body::Empty => false,
        plan::Body::Text(text) => has(text.as_bytes()),
        plan::Body::Bytes(bytes) => has(bytes),
        plan::Body::Lines { file } => {
            body_lines(file).map_err(StartError::Plan)?.iter().all(|line| has(line))
        }
        plan::Body::File(path) => {
            let file = BodyFile::open(path).map_err(StartError::Plan)?;
            require_within(&file, path)?;
            has(&file.whole().map_err(StartError::Plan)?)
        }
    };
    if has_place {
        return Ok(());
    }
    Err(StartError::Plan(
        "a message has no {id}, in whose place its id is put (answer_id): write it where the server looks for the id".into(),
    ))
}

/// Sees that a message in a file is not so long that it is sent as it is, without an id.
fn require_within(file: &BodyFile, path: &Path) -> Result<(), StartError> {
    let bytes = file.length();
    if bytes <= KEPT_BYTES_MAX {
        return Ok(());
    }
    let path = path.display();
    Err(StartError::Plan(format!(
        "{path}: {bytes} bytes, and a message with an id (answer_id) has at most {KEPT_BYTES_MAX}"
    )))
}

/// Adds what was counted of the compression of WebSockets that agreed alike to what is counted of all.
pub(super) fn add(all: &mut Compression, alike: &CompressionCounts) {
    match alike.agreed {
        Some(agreed) => all.agree(&agreed.to_string(), alike.websockets),
        None => all.declined += alike.websockets,
    }
    let spared =
        |Spared { messages, bytes, compressed_bytes }| record::Spared { messages, bytes, compressed_bytes };
    all.sent.merge(spared(alike.sent));
    all.received.merge(spared(alike.received));
}

/// Sees that the message of a request is UTF-8: a server closes the connection of a text that is not.
fn require_text(request: &Request) -> Result<(), StartError> {
    let is_text = match &request.body {
        plan::Body::Empty | plan::Body::Text(_) => true,
        plan::Body::Bytes(bytes) => str::from_utf8(bytes).is_ok(),
        plan::Body::Lines { file } => {
            let lines = body_lines(file).map_err(StartError::Plan)?;
            lines.iter().all(|line| str::from_utf8(line).is_ok())
        }
        plan::Body::File(path) => {
            let file = BodyFile::open(path).map_err(StartError::Plan)?;
            is_text_file(&file)
                .ok_or_else(|| StartError::Plan(format!("{}: cannot be read", path.display())))?
        }
    };
    if is_text {
        return Ok(());
    }
    Err(StartError::Plan(
        "a message is not UTF-8, which text must be: send it as bytes (message_type = \"binary\")".into(),
    ))
}

/// Whether a file is UTF-8; none where it cannot be read.
fn is_text_file(file: &BodyFile) -> Option<bool> {
    let (mut offset, mut part, mut text) = (0, Vec::new(), Text::default());
    while offset < file.length() {
        let bytes = usize::try_from(file.length() - offset).unwrap_or(usize::MAX).min(PART_BYTES);
        part.clear();
        file.append(offset, bytes, &mut part).ok()?;
        offset += bytes as u64;
        if !text.read(&part) {
            return Some(false);
        }
    }
    Some(text.is_whole())
}

#[cfg(test)]
mod tests {
    use super::{BodyFile, KEPT_BYTES_MAX, require_within};
    use crate::temporary_file::TemporaryFile;

    #[test]
    fn a_message_that_would_be_sent_without_its_id_for_its_length_is_refused() {
        let file = TemporaryFile::holding(br#"{"id":"{id}"}"#);
        for (length, is_refused) in [(KEPT_BYTES_MAX, false), (KEPT_BYTES_MAX + 1, true)] {
            file.set_length(length);
            let required = require_within(&BodyFile::open(file.path()).unwrap(), file.path());
            let said = required.err().map(|error| error.to_string());
            let expected =
                format!("{length} bytes, and a message with an id (answer_id) has at most 67108864");
            assert_eq!(said.as_ref().is_some_and(|said| said.contains(&expected)), is_refused, "{said:?}");
        }
    }
}
