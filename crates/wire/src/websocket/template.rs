//! Messages of a client, as they are written again and again.

use crate::request::{Body, Request};

/// A message: the body of a request. The rest of the request is that of the handshake, which is one for all.
#[derive(Debug)]
pub struct WebSocketTemplate {
    /// Not masked: each frame has another key.
    pub(super) kept: Vec<u8>,
    /// The length of what is read while it is sent.
    pub(super) following_bytes: u64,
    /// Where the marker of a fan-out is put, in what is kept.
    pub(super) marker_at: usize,
}

/// In a body, the place of the marker of a fan-out; without one, the marker is in front, with a space behind it.
const MARKER_PLACE: &[u8] = b"{marker}";

impl WebSocketTemplate {
    pub(super) fn new(request: &Request<'_>, fans_out: bool) -> Self {
        let (kept, following_bytes) = match request.body {
            Body::Bytes(bytes) => (bytes, 0),
            Body::Following(following_bytes) => (&[][..], following_bytes),
        };
        if !fans_out || kept.is_empty() && following_bytes == 0 {
            return Self { kept: kept.to_vec(), following_bytes, marker_at: 0 };
        }
        let found = memchr::memmem::find(kept, MARKER_PLACE);
        let (before, between, behind) = match found {
            Some(at) => (&kept[..at], &b""[..], &kept[at + MARKER_PLACE.len()..]),
            None => (&b""[..], &b" "[..], kept),
        };
        Self { kept: [before, between, behind].concat(), following_bytes, marker_at: before.len() }
    }

    pub(super) fn body_bytes(&self) -> u64 {
        self.kept.len() as u64 + self.following_bytes
    }
}
