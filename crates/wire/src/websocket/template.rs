//! Messages of a client, as they are written again and again.

use crate::request::{Body, Request};

/// A message: the body of a request. The rest of the request is that of the handshake, which is one for all.
#[derive(Debug)]
pub struct WebSocketTemplate {
    /// Not masked: each frame has another key.
    pub(super) kept: Vec<u8>,
    /// The length of what is read while it is sent.
    pub(super) following_bytes: u64,
}

impl WebSocketTemplate {
    pub(super) fn new(request: &Request<'_>) -> Self {
        match request.body {
            Body::Bytes(bytes) => Self { kept: bytes.to_vec(), following_bytes: 0 },
            Body::Following(following_bytes) => Self { kept: Vec::new(), following_bytes },
        }
    }

    pub(super) fn body_bytes(&self) -> u64 {
        self.kept.len() as u64 + self.following_bytes
    }
}
