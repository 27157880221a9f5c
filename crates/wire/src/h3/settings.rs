//! What the two sides of a connection agree on (RFC 9114 §7.2.4, RFC 9204 §5).

use super::{frame, integer, stream_kind};
use crate::error::Http3Error;
use crate::grpc::GrpcCalls;

/// How this side speaks HTTP/3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http3Settings {
    /// The longest field section, before and after its compression is undone.
    pub header_bytes: usize,
    /// The largest dynamic table that the other side may keep here.
    pub table_bytes: usize,
    /// How many field sections may wait for entries of that table.
    pub blocked_streams: usize,
    /// What is expected of the answers, where the requests are calls of gRPC.
    pub calls: Option<GrpcCalls>,
}

impl Default for Http3Settings {
    /// As browsers have them: a table of 4,096 bytes, for which 100 streams may wait.
    fn default() -> Self {
        Self { header_bytes: 64 * 1024, table_bytes: 4096, blocked_streams: 100, calls: None }
    }
}

/// The identifiers of settings.
mod id {
    pub(super) const QPACK_MAX_TABLE_CAPACITY: u64 = 0x1;
    pub(super) const MAX_FIELD_SECTION_SIZE: u64 = 0x6;
    pub(super) const QPACK_BLOCKED_STREAMS: u64 = 0x7;
}

/// A frame of settings of more bytes has more than anybody needs.
pub(super) const SETTINGS_MAX_BYTES: u64 = 4096;

impl Http3Settings {
    /// Appends what a control stream begins with: its type and these settings. The stream stays open.
    pub fn write_control_stream(&self, to: &mut Vec<u8>) {
        integer::write(stream_kind::CONTROL, to);
        self.write(to);
    }

    /// Appends them as a frame.
    fn write(&self, to: &mut Vec<u8>) {
        let mut payload = Vec::new();
        for (setting, value) in [
            (id::QPACK_MAX_TABLE_CAPACITY, self.table_bytes),
            (id::MAX_FIELD_SECTION_SIZE, self.header_bytes),
            (id::QPACK_BLOCKED_STREAMS, self.blocked_streams),
        ] {
            integer::write(setting, &mut payload);
            integer::write(value as u64, &mut payload);
        }
        frame::write(frame::kind::SETTINGS, &payload, to);
    }
}

/// What the server allows its client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeerSettings {
    /// The largest dynamic table that it would keep; this client makes no use of it.
    pub table_bytes: u64,
    /// The longest field section that it reads, if it has set a limit.
    pub field_section_bytes: Option<u64>,
    /// How many requests might wait for entries of its table.
    pub blocked_streams: u64,
}

impl PeerSettings {
    /// Reads the payload of a SETTINGS frame; unknown settings are ignored.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, Http3Error> {
        let cut = Http3Error::FrameLength { kind: frame::kind::SETTINGS, bytes: payload.len() as u64 };
        let [mut table_bytes, mut field_section_bytes, mut blocked_streams] = [None; 3];
        let mut rest = payload;
        while !rest.is_empty() {
            let (setting, setting_bytes) = integer::read(rest).ok_or(cut)?;
            let (value, value_bytes) = integer::read(&rest[setting_bytes..]).ok_or(cut)?;
            rest = &rest[setting_bytes + value_bytes..];
            let known = match setting {
                id::QPACK_MAX_TABLE_CAPACITY => &mut table_bytes,
                id::MAX_FIELD_SECTION_SIZE => &mut field_section_bytes,
                id::QPACK_BLOCKED_STREAMS => &mut blocked_streams,
                // ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE and MAX_FRAME_SIZE of HTTP/2 (RFC 9114 §7.2.4.1).
                0x2..=0x5 => return Err(Http3Error::Setting { setting, value }),
                _ => continue,
            };
            if known.replace(value).is_some() {
                return Err(Http3Error::Setting { setting, value });
            }
        }
        Ok(Self {
            table_bytes: table_bytes.unwrap_or(0),
            field_section_bytes,
            blocked_streams: blocked_streams.unwrap_or(0),
        })
    }
}
