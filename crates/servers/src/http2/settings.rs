//! What a client asks of the server (RFC 9113 §6.5).

use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::{DEFAULT_FRAME_BYTES, DEFAULT_WINDOW_BYTES, LARGEST_WINDOW_BYTES};
use loadcurve_wire::h2::hpack::DEFAULT_TABLE_BYTES;

/// The identifiers of settings.
pub(super) mod id {
    pub(in crate::http2) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in crate::http2) const ENABLE_PUSH: u16 = 2;
    pub(in crate::http2) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in crate::http2) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(in crate::http2) const MAX_FRAME_SIZE: u16 = 5;
    /// RFC 8441 §3.
    pub(in crate::http2) const ENABLE_CONNECT_PROTOCOL: u16 = 8;
}

/// A longer frame than this saves nothing.
const FRAME_BYTES_MAX: usize = 64 * 1024;

/// The settings of a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerSettings {
    pub(super) initial_window_bytes: i64,
    /// The longest frame that it is sent.
    pub(super) frame_bytes_max: usize,
    /// Whether its table is smaller than that which nobody has to agree on.
    pub(super) has_small_table: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            initial_window_bytes: DEFAULT_WINDOW_BYTES,
            frame_bytes_max: DEFAULT_FRAME_BYTES,
            has_small_table: false,
        }
    }
}

/// A change of the table's size to nothing, which a client of a small table has to learn (RFC 7541 §4.2).
const EMPTY_TABLE: [u8; 1] = [0x20];

impl PeerSettings {
    /// What the next header block begins with, so that the client learns of it.
    pub(super) fn take_table_change(&mut self) -> &'static [u8] {
        if std::mem::take(&mut self.has_small_table) { &EMPTY_TABLE } else { &[] }
    }

    /// Takes the payload of a SETTINGS frame, whose length is a multiple of six; unknown settings are ignored.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), ErrorCode> {
        for setting in payload.as_chunks::<6>().0 {
            let [i0, i1, v0, v1, v2, v3] = *setting;
            let value = u32::from_be_bytes([v0, v1, v2, v3]);
            match u16::from_be_bytes([i0, i1]) {
                id::HEADER_TABLE_SIZE => self.has_small_table |= (value as usize) < DEFAULT_TABLE_BYTES,
                id::ENABLE_PUSH if value > 1 => return Err(ErrorCode::ProtocolError),
                id::INITIAL_WINDOW_SIZE if i64::from(value) > LARGEST_WINDOW_BYTES => {
                    return Err(ErrorCode::FlowControlError);
                }
                id::INITIAL_WINDOW_SIZE => self.initial_window_bytes = i64::from(value),
                id::MAX_FRAME_SIZE => {
                    let bytes = value as usize;
                    if !(DEFAULT_FRAME_BYTES..1 << 24).contains(&bytes) {
                        return Err(ErrorCode::ProtocolError);
                    }
                    self.frame_bytes_max = bytes.min(FRAME_BYTES_MAX);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
