//! Messages of a client, as they are written again and again.

use std::ops::Range;
use std::sync::OnceLock;

use super::answer_id::ID_PLACE;
use super::deflate::Deflated;
use crate::request::{Body, Request};

/// A message: the body of a request. The rest of the request is that of the handshake, which is one for all.
#[derive(Debug)]
pub struct WebSocketTemplate {
    /// Not masked: each frame has another key.
    pub(super) kept: Vec<u8>,
    /// The length of what is read while it is sent.
    pub(super) following_bytes: u64,
    /// The place of the marker of a fan-out, or of the id, in what is kept.
    open: Range<usize>,
    /// What is kept in compressed form, once that was needed.
    deflated: OnceLock<Deflated>,
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
            let open = memchr::memmem::find(kept, ID_PLACE).map_or(0..0, |at| at..at + ID_PLACE.len());
            return Self { kept: kept.to_vec(), following_bytes, open, deflated: OnceLock::new() };
        }
        let found = memchr::memmem::find(kept, MARKER_PLACE);
        let (before, between, behind) = match found {
            Some(at) => (&kept[..at], &b""[..], &kept[at + MARKER_PLACE.len()..]),
            None => (&b""[..], &b" "[..], kept),
        };
        let kept = [before, between, behind].concat();
        let open = before.len()..before.len();
        Self { kept, following_bytes, open, deflated: OnceLock::new() }
    }

    /// The message as it is sent with this window, in bits; nothing where it is read while it is sent, or was
    /// compressed with a greater window. Without compression a message may always be sent (RFC 7692 §6).
    pub(super) fn deflated(&self, window_bits: u8, opens: bool) -> Option<&Deflated> {
        if self.following_bytes > 0 {
            return None;
        }
        let (before, behind) = self.parts(opens);
        let deflated = self.deflated.get_or_init(|| Deflated::around(before, behind, window_bits));
        Some(deflated).filter(|deflated| deflated.window_bits <= window_bits)
    }

    /// What is kept before and behind what is put into each message; all of it behind where nothing is.
    #[inline]
    pub(super) fn parts(&self, opens: bool) -> (&[u8], &[u8]) {
        if opens { (&self.kept[..self.open.start], &self.kept[self.open.end..]) } else { (&[], &self.kept) }
    }
}
