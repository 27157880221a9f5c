//! What is sent: the requests of the plan as bytes, each with what a worker must know to read its answer.

use std::sync::Arc;

use loadcurve_plan::{Body, HttpVersion, LoadPlan, Request};
use loadcurve_wire::{Body as EncodedBody, Method, Request as WireRequest, RequestKind, Response, Version};

use crate::load::StartError;

mod body;
mod file;

pub use body::body_length;

pub(crate) use body::BodyFile;

/// A request of the plan, encoded once.
pub(crate) struct EncodedRequest {
    /// The head, and behind it a body that was given as text.
    pub(crate) bytes: Vec<u8>,
    /// A body that is read while it is sent, behind `bytes`.
    pub(crate) body: Option<BodyFile>,
    pub(crate) kind: RequestKind,
    pub(crate) expected_body_bytes: Option<u64>,
}

impl EncodedRequest {
    fn new(plan: &LoadPlan, request: &Request) -> Result<Self, StartError> {
        let (body, encoded_body) = match &request.body {
            Body::Empty => (None, EncodedBody::Bytes(&[])),
            Body::Text(text) => (None, EncodedBody::Bytes(text.as_bytes())),
            Body::File(path) => {
                let file = BodyFile::open(path).map_err(StartError::Plan)?;
                let length = file.length();
                (Some(file), EncodedBody::Following(length))
            }
        };
        let headers: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let invalid = |invalid: loadcurve_wire::InvalidRequest| StartError::Plan(invalid.to_string());
        let method = Method::new(&request.method).map_err(invalid)?;
        let encoded = WireRequest {
            version: match plan.http {
                HttpVersion::Http10 => Version::Http10,
                HttpVersion::Http11 => Version::Http11,
            },
            method,
            target: &request.target,
            authority: &plan.authority,
            headers: &headers,
            body: encoded_body,
        };
        Ok(Self {
            bytes: encoded.encode().map_err(invalid)?,
            body,
            kind: method.kind(),
            expected_body_bytes: request.expected_body_bytes,
        })
    }

    /// Whether a successful answer has another body than the one that was verified.
    pub(crate) fn is_mismatched_by(&self, response: &Response) -> bool {
        let successful = (200..300).contains(&response.status);
        let has_body = self.kind != RequestKind::Head;
        successful
            && has_body
            && self.expected_body_bytes.is_some_and(|expected| expected != response.body_bytes)
    }
}

/// The requests of a plan, in their order.
pub(crate) fn encode(plan: &LoadPlan) -> Result<Arc<[EncodedRequest]>, StartError> {
    plan.requests.iter().map(|request| EncodedRequest::new(plan, request)).collect()
}
