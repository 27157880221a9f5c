//! Requests of HTTP/2, encoded once (RFC 9113 §8.3.1).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::hpack::{EncodedField, Part};
use crate::request::{InvalidRequest, Request, RequestKind};
use crate::template::{RequestField, UploadBody, request_fields};

/// A request of HTTP/2: the fields of its header block, each encoded once, and its body.
#[derive(Debug)]
pub struct Http2Template {
    /// Another one for each template of the process.
    pub(super) number: u64,
    pub(super) parts: Vec<Part>,
    pub(super) kind: RequestKind,
    pub(super) body: UploadBody,
}

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

impl Http2Template {
    pub(super) fn new(request: &Request<'_>) -> Result<Self, InvalidRequest> {
        let mut parts = Vec::new();
        request_fields(request, |field| {
            parts.push(match field {
                RequestField::Fixed(name, value) => Part::Field(Arc::new(EncodedField::new(name, value))),
                RequestField::Scheme => Part::Scheme,
                RequestField::Path => Part::Path,
            });
        })?;
        Ok(Self::of(parts, request))
    }

    /// The request for a tunnel that carries another protocol, by what is otherwise a GET (RFC 8441 §4).
    pub(crate) fn of_tunnel(request: &Request<'_>, protocol: &str) -> Result<Self, InvalidRequest> {
        let fixed = |name: &str, value: &str| Part::Field(Arc::new(EncodedField::new(name, value)));
        let mut parts = Vec::new();
        request_fields(request, |field| match field {
            RequestField::Fixed(":method", _) => {
                parts.extend([fixed(":method", "CONNECT"), fixed(":protocol", protocol)]);
            }
            RequestField::Fixed(name, value) => parts.push(fixed(name, value)),
            RequestField::Scheme => parts.push(Part::Scheme),
            RequestField::Path => parts.push(Part::Path),
        })?;
        Ok(Self::of(parts, request))
    }

    fn of(parts: Vec<Part>, request: &Request<'_>) -> Self {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { number, parts, kind: request.method.kind(), body: request.body.into() }
    }
}
