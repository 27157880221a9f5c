//! Requests of HTTP/3, encoded once (RFC 9114 §4.3.1).

use super::frame::{FrameHeader, kind};
use super::{integer, qpack};
use crate::last_event_id::{LAST_EVENT_ID, field_value};
use crate::request::{InvalidRequest, Request, RequestKind};
use crate::template::{RequestField, UploadBody, request_fields};

/// A request of HTTP/3: its field section, encoded but for a path that varies, and its body.
///
/// The section refers to nothing but the static table, so that it is the same on every connection and no answer waits for
/// what the server has read of a table.
#[derive(Debug)]
pub struct Http3Template {
    /// The whole frame, or what of its payload precedes the path.
    before: Vec<u8>,
    /// Where in that the payload begins.
    payload_at: usize,
    /// What follows a path that varies.
    after: Option<Vec<u8>>,
    pub(super) kind: RequestKind,
    pub(super) body: UploadBody,
}

/// The header of a HEADERS frame whose length has two bytes, up to 16,383.
const SHORT_HEADER_BYTES: usize = 3;

impl Http3Template {
    /// Encodes a request.
    ///
    /// # Errors
    /// It cannot be said in this protocol.
    pub fn new(request: &Request<'_>) -> Result<Self, InvalidRequest> {
        let (mut before, mut after) = (Vec::from(qpack::NO_ENTRIES), None);
        request_fields(request, |field| {
            let to = after.as_mut().unwrap_or(&mut before);
            match field {
                RequestField::Fixed(name, value) => {
                    qpack::encode_field(name.as_bytes(), value.as_bytes(), to);
                }
                RequestField::Scheme => qpack::encode_field(b":scheme", b"https", to),
                RequestField::Path => after = Some(Vec::new()),
            }
        })?;
        let mut payload_at = 0;
        if after.is_none() {
            let mut frame = Vec::new();
            super::frame::write(kind::HEADERS, &before, &mut frame);
            payload_at = frame.len() - before.len();
            before = frame;
        }
        Ok(Self { before, payload_at, after, kind: request.method.kind(), body: request.body.into() })
    }

    /// Appends the frames that begin the request: its fields, and, where there is a body, the header of the one frame that
    /// it is in, with the body if the template keeps it. Gives how many bytes of the body have to follow. `last_id` is that
    /// of the last event of the stream of events that the request opens again.
    #[inline]
    pub(super) fn write(&self, target: Option<&[u8]>, last_id: &[u8], to: &mut Vec<u8>) -> u64 {
        if self.after.is_none() && last_id.is_empty() {
            to.extend_from_slice(&self.before);
        } else {
            self.write_varying(target.unwrap_or(b"/"), last_id, to);
        }
        let length = self.body.length();
        if length > 0 {
            FrameHeader { kind: kind::DATA, length }.write(to);
        }
        match &self.body {
            UploadBody::Kept(bytes) => {
                to.extend_from_slice(bytes);
                0
            }
            UploadBody::Following(length) => *length,
        }
    }

    fn write_varying(&self, path: &[u8], last_id: &[u8], to: &mut Vec<u8>) {
        let start = to.len();
        to.extend_from_slice(&[0; SHORT_HEADER_BYTES]);
        to.extend_from_slice(&self.before[self.payload_at..]);
        if let Some(after) = &self.after {
            qpack::encode_path(path, to);
            to.extend_from_slice(after);
        }
        if let Some(value) = field_value(last_id) {
            qpack::encode_field(LAST_EVENT_ID, value, to);
        }
        let length = to.len() - start - SHORT_HEADER_BYTES;
        if let Ok(short @ 0..0x4000) = u16::try_from(length) {
            let [high, low] = (short | 0x4000).to_be_bytes();
            to[start..start + SHORT_HEADER_BYTES].copy_from_slice(&[1, high, low]);
        } else {
            let mut header = vec![1];
            integer::write(length as u64, &mut header);
            to.splice(start..start + SHORT_HEADER_BYTES, header);
        }
    }
}
