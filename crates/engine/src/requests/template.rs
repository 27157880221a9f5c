//! Requests as templates.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use loadcurve_plan::{Body, Expectation, HttpLoad, HttpVersion, Messages, Request};
use loadcurve_wire::{
    Body as WireBody, HttpExchange, InvalidRequest, Method, PROXY_AUTHORIZATION, Request as WireRequest,
    RequestKind, Response, Target, Version, call, websocket::INFLATED_BYTES_MAX,
};

use crate::error::StartError;
use crate::requests::body::BodyFile;
use crate::requests::body_lines::body_lines;
use crate::requests::grpc;

/// A longer message in a file is sent from there, uncompressed and without an id.
pub(super) const KEPT_BYTES_MAX: u64 = INFLATED_BYTES_MAX;

/// A request of the plan as its exchange writes it, and what else a worker must know of it.
pub(crate) struct Template<E: HttpExchange> {
    /// The head, and a body that was given as text.
    pub(crate) request: E::Template,
    /// The same with another body, one behind the other, where requests take turns with them.
    more: Vec<E::Template>,
    /// A body that is read while it is sent, behind the rest.
    pub(crate) body: Option<Arc<BodyFile>>,
    /// Of an answer that has a body.
    pub(crate) expected_body_bytes: Option<u64>,
    /// Whether answers may differ in length.
    pub(crate) body_varies: bool,
    /// The statuses that are right, where the template's requests have them in common.
    pub(crate) expected: Option<Expectation>,
}

impl<E: HttpExchange> Template<E> {
    /// What is sent the `turn`-th time, from zero.
    #[inline]
    pub(crate) fn at_turn(&self, turn: u64) -> &E::Template {
        if self.more.is_empty() {
            return &self.request;
        }
        let place = turn % (self.more.len() as u64 + 1);
        let behind = place.checked_sub(1).and_then(|place| self.more.get(usize::try_from(place).ok()?));
        behind.unwrap_or(&self.request)
    }

    /// Whether a successful answer has another body than the one that was verified.
    pub(crate) fn is_mismatched_by(&self, response: &Response) -> bool {
        let successful = (200..300).contains(&response.status);
        successful && self.expected_body_bytes.is_some_and(|expected| expected != response.content_bytes())
    }
}

/// Whether all requests of a template ask for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Targets {
    Same,
    Varying,
}

/// Makes the templates of a plan. The file of a body is opened once, however many of them carry it.
pub(crate) struct Templates<'a> {
    plan: &'a HttpLoad,
    bodies: HashMap<PathBuf, Arc<BodyFile>>,
}

impl<'a> Templates<'a> {
    pub(crate) fn of(plan: &'a HttpLoad) -> Self {
        Self { plan, bodies: HashMap::new() }
    }

    /// The template of a request.
    ///
    /// # Errors
    /// It cannot be sent, or the file of its body cannot be read.
    pub(crate) fn template<E: HttpExchange>(
        &mut self,
        request: &Request,
        targets: Targets,
    ) -> Result<Template<E>, StartError> {
        let (lines, messages);
        let mut more_lines: &[Vec<u8>] = &[];
        let grpc = self.plan.work.messages.as_ref().and_then(Messages::grpc);
        let (body, wire_body) = match &request.body {
            body if let Some(grpc) = grpc => {
                messages = grpc::messages(grpc, body).map_err(StartError::Plan)?;
                (None, WireBody::Bytes(&messages))
            }
            Body::Empty => (None, WireBody::Bytes(&[])),
            Body::Text(text) => (None, WireBody::Bytes(text.as_bytes())),
            Body::Bytes(bytes) => (None, WireBody::Bytes(bytes)),
            Body::File(path) => {
                let file = self.body_file(path)?;
                match self.kept_message(&file)? {
                    Some(bytes) => {
                        messages = bytes;
                        (None, WireBody::Bytes(&messages))
                    }
                    None => (Some(Arc::clone(&file)), WireBody::Following(file.length())),
                }
            }
            Body::Lines { file } => {
                lines = body_lines(file).map_err(StartError::Plan)?;
                let (first, more) = lines.split_at(1);
                more_lines = more;
                (None, WireBody::Bytes(&first[0]))
            }
        };
        let invalid = |invalid: InvalidRequest| StartError::Plan(invalid.to_string());
        let method = Method::new(&request.method).map_err(invalid)?;
        // Of a proxy, what is asked for in clear text has the form of a URL (RFC 9112, 3.2.2).
        let is_absolute = self.plan.work.way.proxied.is_some() && self.plan.work.tls.is_none();
        let of_proxy = self.plan.work.way.proxy_authorization.as_deref().filter(|_| is_absolute);
        let timeout = grpc.and_then(|grpc| grpc::timeout_of(grpc, self.plan));
        let of_call = grpc.map(|grpc| grpc::fields(grpc, timeout.as_deref())).unwrap_or_default();
        let headers = fields(request, of_proxy, &of_call);
        let prefix = if is_absolute { format!("http://{}", self.plan.work.authority) } else { String::new() };
        let whole = format!("{prefix}{}", request.target);
        let given = WireRequest {
            version: version_of(self.plan.work.http),
            method,
            target: target_of(targets, &whole, &prefix),
            authority: &self.plan.work.authority,
            headers: &headers,
            body: wire_body,
            is_chunked: request.chunked,
        };
        // Over HTTP/2 the exchange of calls does so.
        let mut headers_of_call = Vec::new();
        let wire = if grpc.is_some() && E::IS_HTTP3 { call(&given, &mut headers_of_call) } else { given };
        let encoded = |body| E::template(&WireRequest { body, ..wire }).map_err(invalid);
        let has_answer_body = method.kind() != RequestKind::Head;
        Ok(Template {
            request: encoded(wire.body)?,
            more: more_lines.iter().map(|line| encoded(WireBody::Bytes(line))).collect::<Result<_, _>>()?,
            body,
            expected_body_bytes: request.expected_body_bytes.filter(|_| has_answer_body),
            body_varies: request.body_varies,
            expected: request.expected.clone(),
        })
    }

    /// The bytes of a message in a file, where it may have to be compressed, or has an id.
    fn kept_message(&self, file: &BodyFile) -> Result<Option<Vec<u8>>, StartError> {
        let websocket = self.plan.work.messages.as_ref().and_then(Messages::websocket);
        if websocket.is_none_or(|websocket| websocket.extension.is_none() && websocket.answer_id.is_none()) {
            return Ok(None);
        }
        let is_short = file.length() <= KEPT_BYTES_MAX;
        is_short.then(|| file.whole().map_err(StartError::Plan)).transpose()
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

/// Where requests go: all to the same, or behind what they have in common.
fn target_of<'a>(targets: Targets, whole: &'a str, prefix: &'a str) -> Target<'a> {
    match targets {
        Targets::Same => Target::Fixed(whole),
        Targets::Varying if prefix.is_empty() => Target::Varying,
        Targets::Varying => Target::VaryingBehind(prefix),
    }
}

/// The version as requests say it in which what the wire does not say is the same.
fn version_of(http: HttpVersion) -> Version {
    match http {
        HttpVersion::Http10 => Version::Http10,
        HttpVersion::Http11 | HttpVersion::Http2 | HttpVersion::Http3 => Version::Http11,
    }
}

/// The header fields of a request, the credentials for a proxy, and those of a call of gRPC.
pub(super) fn fields<'a>(
    request: &'a Request,
    of_proxy: Option<&'a str>,
    of_call: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let own = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let of_proxy = of_proxy.map(|value| (PROXY_AUTHORIZATION, value));
    own.chain(of_proxy).chain(of_call.iter().copied()).collect()
}
