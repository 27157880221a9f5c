//! What the two sides of a connection agree on (RFC 9113 §6.5).

use super::frame::{DEFAULT_FRAME_BYTES, DEFAULT_WINDOW_BYTES, LARGEST_WINDOW_BYTES};
use crate::error::Http2Error;

/// The size of a dynamic table where nobody has agreed on another (RFC 9113 §6.5.2).
pub const DEFAULT_TABLE_BYTES: usize = 4096;

/// How the header fields of requests are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hpack {
    /// As browsers do: the first request of a connection puts its fields into the server's table, and those that follow
    /// point to them.
    #[default]
    Indexed,
    /// As literals, so that every block is the same and the server reads all of it every time.
    Literal,
}

/// What `:scheme` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scheme {
    /// In clear text.
    #[default]
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    pub(super) fn static_index(self) -> u8 {
        match self {
            Self::Http => 6,
            Self::Https => 7,
        }
    }
}

/// How a client speaks HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http2Settings {
    /// How header fields are sent.
    pub hpack: Hpack,
    /// What `:scheme` says.
    pub scheme: Scheme,
    /// How many bytes of one answer the server may send before the client asks for more.
    pub stream_window_bytes: u32,
    /// The same of all answers together; at least 65,535, with which every connection begins.
    pub connection_window_bytes: u32,
    /// The longest header block, before and after its compression is undone.
    pub header_bytes: usize,
}

impl Default for Http2Settings {
    /// Windows so large that they never hold an answer back.
    fn default() -> Self {
        Self {
            hpack: Hpack::default(),
            scheme: Scheme::default(),
            stream_window_bytes: (1 << 30) - 1,
            connection_window_bytes: (1 << 30) - 1,
            header_bytes: 64 * 1024,
        }
    }
}

/// The identifiers of settings.
pub(super) mod id {
    pub(in crate::h2) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in crate::h2) const ENABLE_PUSH: u16 = 2;
    pub(in crate::h2) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in crate::h2) use crate::error::INITIAL_WINDOW_SIZE;
    pub(in crate::h2) const MAX_FRAME_SIZE: u16 = 5;
    pub(in crate::h2) const MAX_HEADER_LIST_SIZE: u16 = 6;
    /// RFC 8441 §3.
    pub(in crate::h2) const ENABLE_CONNECT_PROTOCOL: u16 = 8;
}

/// What the server asks of its client.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerSettings {
    pub(super) header_table_bytes: usize,
    pub(super) concurrent_streams_max: usize,
    pub(super) initial_window_bytes: i64,
    pub(super) frame_bytes_max: usize,
    /// Whether it takes requests for a tunnel that carries another protocol (RFC 8441).
    pub(super) takes_tunnels: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            header_table_bytes: DEFAULT_TABLE_BYTES,
            concurrent_streams_max: usize::MAX,
            initial_window_bytes: DEFAULT_WINDOW_BYTES,
            frame_bytes_max: DEFAULT_FRAME_BYTES,
            takes_tunnels: false,
        }
    }
}

impl PeerSettings {
    /// Takes the payload of a SETTINGS frame, whose length is a multiple of six; unknown settings are ignored.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Http2Error> {
        for setting in payload.as_chunks::<6>().0 {
            let [i0, i1, v0, v1, v2, v3] = *setting;
            let (setting, value) = (u16::from_be_bytes([i0, i1]), u32::from_be_bytes([v0, v1, v2, v3]));
            let invalid = Err(Http2Error::Setting { setting, value });
            match setting {
                id::HEADER_TABLE_SIZE => self.header_table_bytes = value as usize,
                id::ENABLE_PUSH if value != 0 => return invalid,
                id::MAX_CONCURRENT_STREAMS => self.concurrent_streams_max = value as usize,
                id::INITIAL_WINDOW_SIZE => {
                    self.initial_window_bytes = i64::from(value);
                    if self.initial_window_bytes > LARGEST_WINDOW_BYTES {
                        return invalid;
                    }
                }
                id::MAX_FRAME_SIZE => {
                    self.frame_bytes_max = value as usize;
                    if !(DEFAULT_FRAME_BYTES..1 << 24).contains(&self.frame_bytes_max) {
                        return invalid;
                    }
                }
                // It may not be taken back (RFC 8441 §3).
                id::ENABLE_CONNECT_PROTOCOL => self.takes_tunnels |= value == 1,
                _ => {}
            }
        }
        Ok(())
    }
}
