//! The fields of requests of HTTP/2 and HTTP/3, whose rules are the same (RFC 9113 §8.2 and §8.3, RFC 9114 §4.2 and §4.3).

use loadcurve_wire::h3::qpack::Field;

/// Fields whose names and values have more bytes than this, once their compression is undone, are no request.
const LIST_BYTES_MAX: usize = 64 * 1024;

/// The pseudo-header fields of requests, as places in [`Fields::has_pseudo`].
const METHOD: usize = 0;
const SCHEME: usize = 1;
const PATH: usize = 2;
const AUTHORITY: usize = 3;
/// What a tunnel carries (RFC 8441 §4).
const PROTOCOL: usize = 4;

/// A WebSocket is asked for in a version that is not spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownVersion;

/// The fields of one block, as HTTP/2 and HTTP/3 have them. Memory is reused.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) method: Vec<u8>,
    pub(crate) path: Vec<u8>,
    pub(crate) content_length: Option<u64>,
    /// Whether the content is a call of gRPC.
    pub(crate) is_grpc: bool,
    websocket_version: Vec<u8>,
    /// What is offered of extensions of WebSocket, joined by commas.
    websocket_offers: Vec<u8>,
    protocol: Vec<u8>,
    authority: Vec<u8>,
    host: Option<Vec<u8>>,
    /// Which pseudo-header fields there were.
    has_pseudo: [bool; 5],
    has_regular: bool,
    are_malformed: bool,
    list_bytes: usize,
}

impl Fields {
    pub(crate) fn clear(&mut self) {
        self.method.clear();
        self.path.clear();
        self.authority.clear();
        self.host = None;
        self.content_length = None;
        self.is_grpc = false;
        self.websocket_version.clear();
        self.websocket_offers.clear();
        self.protocol.clear();
        self.has_pseudo = [false; 5];
        self.has_regular = false;
        self.are_malformed = false;
        self.list_bytes = 0;
    }

    pub(crate) fn take(&mut self, Field { name, value }: Field<'_>) {
        self.list_bytes += name.len() + value.len();
        if self.are_malformed {
            return;
        }
        self.are_malformed = self.list_bytes > LIST_BYTES_MAX
            || match name {
                [b':', name @ ..] => !self.take_pseudo(name, value),
                _ => !self.take_regular(name, value),
            };
    }

    /// Takes a pseudo-header field; says whether it may be here.
    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) -> bool {
        let place = match name {
            b"method" => METHOD,
            b"scheme" => SCHEME,
            b"path" => PATH,
            b"authority" => AUTHORITY,
            b"protocol" => PROTOCOL,
            _ => return false,
        };
        match place {
            METHOD => self.method.extend_from_slice(value),
            PATH => self.path.extend_from_slice(value),
            AUTHORITY => self.authority.extend_from_slice(value),
            PROTOCOL => self.protocol.extend_from_slice(value),
            _ => {}
        }
        !std::mem::replace(&mut self.has_pseudo[place], true) && !self.has_regular
    }

    /// Takes a field; says whether it may be in a request.
    fn take_regular(&mut self, name: &[u8], value: &[u8]) -> bool {
        self.has_regular = true;
        let is_of_name = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && *byte != b':';
        if name.is_empty() || !name.iter().all(is_of_name) {
            return false;
        }
        if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
            return false;
        }
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => false,
            b"host" => self.host.replace(value.to_vec()).is_none_or(|earlier| earlier == value),
            b"te" => value == b"trailers",
            b"content-type" => {
                self.is_grpc = value.starts_with(b"application/grpc");
                true
            }
            b"sec-websocket-version" => {
                self.websocket_version.extend_from_slice(value);
                true
            }
            b"sec-websocket-extensions" => {
                if !self.websocket_offers.is_empty() {
                    self.websocket_offers.push(b',');
                }
                self.websocket_offers.extend_from_slice(value);
                true
            }
            b"content-length" => {
                let length = decimal(value);
                let is_other = self.content_length.is_some_and(|earlier| Some(earlier) != length);
                self.content_length = length;
                length.is_some() && !is_other
            }
            _ => true,
        }
    }

    /// Whether this is a request: with all that belongs to one, of which a tunnel needs less that carries no other protocol.
    pub(crate) fn are_a_request(&self) -> bool {
        let has = self.has_pseudo;
        let has_path = has[SCHEME] && has[PATH] && !self.path.is_empty();
        let has_target = match self.method.as_slice() {
            b"CONNECT" if has[PROTOCOL] => has[AUTHORITY] && has_path,
            b"CONNECT" => has[AUTHORITY],
            _ => has_path && !has[PROTOCOL],
        };
        has[METHOD] && has_target && !self.are_malformed
    }

    /// Whether this request is for a tunnel that carries another protocol.
    pub(crate) fn ask_for_a_tunnel(&self) -> bool {
        self.has_pseudo[PROTOCOL]
    }

    /// Whether this request is for a WebSocket over HTTP/2 (RFC 8441 §5); where it is, what it offers of extensions in the version
    /// that is spoken.
    pub(crate) fn websocket(&self) -> Option<Result<&str, UnknownVersion>> {
        let is_websocket = self.has_pseudo[PROTOCOL] && self.protocol.eq_ignore_ascii_case(b"websocket");
        let is_known = self.websocket_version == b"13";
        let offers = str::from_utf8(&self.websocket_offers).unwrap_or_default();
        is_websocket.then_some(if is_known { Ok(offers) } else { Err(UnknownVersion) })
    }

    /// Whether this is a request that names its host, in one way or two that agree (RFC 9114 §4.3.1).
    pub(crate) fn are_a_request_to_a_host(&self) -> bool {
        let has_authority = self.has_pseudo[AUTHORITY] && !self.authority.is_empty();
        let names_one = match &self.host {
            Some(host) if self.has_pseudo[AUTHORITY] => *host == self.authority,
            Some(host) => !host.is_empty(),
            None => has_authority,
        };
        // Nobody has said that a tunnel may carry another protocol over HTTP/3.
        self.are_a_request() && names_one && !self.has_pseudo[PROTOCOL]
    }

    /// Whether this may follow a body.
    pub(crate) fn are_trailers(&self) -> bool {
        self.has_pseudo == [false; 5] && !self.are_malformed
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| str::from_utf8(text).ok()?.parse().ok())?
}
