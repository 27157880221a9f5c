//! Requests as bytes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use loadcurve_plan::{Body, HttpVersion, LoadPlan, Request};
use loadcurve_wire::{
    Body as WireBody, InvalidRequest, Method, Request as WireRequest, RequestKind, Response, Version,
};

use crate::error::StartError;
use crate::requests::body::BodyFile;

/// A request of the plan, encoded once.
pub(crate) struct EncodedRequest {
    /// The head, and behind it a body that was given as text.
    pub(crate) bytes: Vec<u8>,
    /// Where in `bytes` the target stands, or belongs if it is left out.
    pub(crate) target_at: usize,
    /// A body that is read while it is sent, behind `bytes`.
    pub(crate) body: Option<Arc<BodyFile>>,
    pub(crate) kind: RequestKind,
    pub(crate) expected_body_bytes: Option<u64>,
}

impl EncodedRequest {
    /// Whether a successful answer has another body than the one that was verified.
    pub(crate) fn is_mismatched_by(&self, response: &Response) -> bool {
        let successful = (200..300).contains(&response.status);
        let has_body = self.kind != RequestKind::Head;
        successful
            && has_body
            && self.expected_body_bytes.is_some_and(|expected| expected != response.body_bytes)
    }
}

/// Encodes the requests of a plan. The file of a body is opened once, however many of them carry it.
pub(crate) struct Encoder<'a> {
    plan: &'a LoadPlan,
    bodies: HashMap<PathBuf, Arc<BodyFile>>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn of(plan: &'a LoadPlan) -> Self {
        Self { plan, bodies: HashMap::new() }
    }

    /// The whole request.
    ///
    /// # Errors
    /// It cannot be sent, or the file of its body cannot be read.
    pub(crate) fn encode(&mut self, request: &Request) -> Result<EncodedRequest, StartError> {
        let (body, wire_body) = match &request.body {
            Body::Empty => (None, WireBody::Bytes(&[])),
            Body::Text(text) => (None, WireBody::Bytes(text.as_bytes())),
            Body::File(path) => {
                let file = self.body_file(path)?;
                let length = file.length();
                (Some(file), WireBody::Following(length))
            }
        };
        let headers: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let invalid = |invalid: InvalidRequest| StartError::Plan(invalid.to_string());
        let method = Method::new(&request.method).map_err(invalid)?;
        let wire = WireRequest {
            version: match self.plan.http {
                HttpVersion::Http10 => Version::Http10,
                HttpVersion::Http11 => Version::Http11,
            },
            method,
            target: &request.target,
            authority: &self.plan.authority,
            headers: &headers,
            body: wire_body,
        };
        Ok(EncodedRequest {
            bytes: wire.encode().map_err(invalid)?,
            target_at: wire.target_range().start,
            body,
            kind: method.kind(),
            expected_body_bytes: request.expected_body_bytes,
        })
    }

    /// What stands around the target, for requests that have everything else in common.
    ///
    /// # Errors
    /// As for a whole request.
    pub(crate) fn encode_around_target(&mut self, request: &Request) -> Result<EncodedRequest, StartError> {
        let mut encoded = self.encode(request)?;
        encoded.bytes.drain(encoded.target_at..encoded.target_at + request.target.len());
        Ok(encoded)
    }

    fn body_file(&mut self, path: &PathBuf) -> Result<Arc<BodyFile>, StartError> {
        if let Some(file) = self.bodies.get(path) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(BodyFile::open(path).map_err(StartError::Plan)?);
        self.bodies.insert(path.clone(), Arc::clone(&file));
        Ok(file)
    }
}
