//! Requests of HTTP/2, encoded once (RFC 9113 §8.3.1).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::hpack::{EncodedField, Part};
use super::streams::UploadBody;
use crate::request::{Body, InvalidRequest, Request, RequestKind, Target};

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

/// Fields that belong to connections of HTTP/1.1 and are in no request of HTTP/2 (RFC 9113 §8.2.2).
const CONNECTION_FIELDS: [&str; 4] = ["connection", "keep-alive", "proxy-connection", "upgrade"];

impl Http2Template {
    pub(super) fn new(request: &Request<'_>) -> Result<Self, InvalidRequest> {
        let host = request.check()?;
        let mut parts = vec![
            field(":method", request.method.as_str()),
            Part::Scheme,
            field(":authority", host.unwrap_or(request.authority)),
            match request.target {
                Target::Varying | Target::VaryingBehind(_) => Part::Path,
                // The asterisk is the target of OPTIONS alone, and a URL that of proxies.
                Target::Fixed(target) if target.starts_with('/') || target == "*" => field(":path", target),
                Target::Fixed(target) => {
                    return Err(InvalidRequest::AbsoluteTarget { target: target.to_owned() });
                }
            },
        ];
        for (name, value) in request.headers {
            let name = name.to_ascii_lowercase();
            if CONNECTION_FIELDS.contains(&name.as_str()) || (name == "te" && *value != "trailers") {
                return Err(InvalidRequest::ConnectionField { name });
            }
            if name != "host" {
                parts.push(field(&name, value.trim_matches([' ', '\t'])));
            }
        }
        for (name, value) in request.added_fields() {
            parts.push(field(&name.to_ascii_lowercase(), &value));
        }
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let body = match request.body {
            Body::Bytes(bytes) => UploadBody::Kept(bytes.into()),
            Body::Following(length) => UploadBody::Following(length),
        };
        Ok(Self { number, parts, kind: request.method.kind(), body })
    }
}

fn field(name: &str, value: &str) -> Part {
    Part::Field(Arc::new(EncodedField::new(name, value)))
}
