//! What is in a request of HTTP/2 and HTTP/3 (RFC 9113 §8.3.1, RFC 9114 §4.3.1).

use std::sync::Arc;

use crate::request::{Body, InvalidRequest, Request, Target};

/// A field of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestField<'a> {
    /// The same every time: its name in lower case, and its value.
    Fixed(&'a str, &'a str),
    /// `:scheme`, which the connection decides.
    Scheme,
    /// `:path`, which is another one every time.
    Path,
}

/// Fields that belong to connections of HTTP/1.1 and are in no request of these versions (RFC 9113 §8.2.2, RFC 9114 §4.2).
const CONNECTION_FIELDS: [&str; 4] = ["connection", "keep-alive", "proxy-connection", "upgrade"];

/// Hands on the fields of a request in their order.
///
/// # Errors
/// The request cannot be said in these versions.
pub(crate) fn request_fields(
    request: &Request<'_>,
    mut take: impl FnMut(RequestField<'_>),
) -> Result<(), InvalidRequest> {
    let host = request.check()?;
    take(RequestField::Fixed(":method", request.method.as_str()));
    take(RequestField::Scheme);
    take(RequestField::Fixed(":authority", host.unwrap_or(request.authority)));
    take(match request.target {
        Target::Varying | Target::VaryingBehind(_) => RequestField::Path,
        // The asterisk is the target of OPTIONS alone, and a URL that of proxies.
        Target::Fixed(target) if target.starts_with('/') || target == "*" => {
            RequestField::Fixed(":path", target)
        }
        Target::Fixed(target) => return Err(InvalidRequest::AbsoluteTarget { target: target.to_owned() }),
    });
    for (name, value) in request.headers {
        let name = name.to_ascii_lowercase();
        if CONNECTION_FIELDS.contains(&name.as_str()) || (name == "te" && *value != "trailers") {
            return Err(InvalidRequest::ConnectionField { name });
        }
        if name != "host" {
            take(RequestField::Fixed(&name, value.trim_matches([' ', '\t'])));
        }
    }
    for (name, value) in request.added_fields() {
        take(RequestField::Fixed(&name.to_ascii_lowercase(), &value));
    }
    Ok(())
}

/// The body of a request.
#[derive(Debug, Clone)]
pub(crate) enum UploadBody {
    /// With these bytes.
    Kept(Arc<[u8]>),
    /// Of this length, which is read while it is sent.
    Following(u64),
}

impl UploadBody {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Kept(bytes) => bytes.len() as u64,
            Self::Following(length) => *length,
        }
    }
}

impl From<Body<'_>> for UploadBody {
    fn from(body: Body<'_>) -> Self {
        match body {
            Body::Bytes(bytes) => Self::Kept(bytes.into()),
            Body::Following(length) => Self::Following(length),
        }
    }
}
