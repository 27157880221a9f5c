//! The codes with which this client ends streams and connections (RFC 9113 §7).

use super::settings::id::INITIAL_WINDOW_SIZE;
use crate::error::{Http2Error, Malformed};

const PROTOCOL_ERROR: u32 = 0x1;
const FLOW_CONTROL_ERROR: u32 = 0x3;
const STREAM_CLOSED: u32 = 0x5;
const FRAME_SIZE_ERROR: u32 = 0x6;
pub(super) const CANCEL: u32 = 0x8;
const COMPRESSION_ERROR: u32 = 0x9;
const ENHANCE_YOUR_CALM: u32 = 0xb;

/// The code with which a stream or a connection ends because of a fault of the server.
pub(super) fn code_of(fault: Malformed) -> u32 {
    let Malformed::Http2(error) = fault else { return PROTOCOL_ERROR };
    match error {
        Http2Error::FrameTooLarge { .. } | Http2Error::FrameLength { .. } => FRAME_SIZE_ERROR,
        Http2Error::WindowOverflow
        | Http2Error::FlowControl
        | Http2Error::Setting { setting: INITIAL_WINDOW_SIZE, .. } => FLOW_CONTROL_ERROR,
        Http2Error::StreamClosed { .. } => STREAM_CLOSED,
        Http2Error::Compression(_) => COMPRESSION_ERROR,
        Http2Error::Flood | Http2Error::ContinuationFlood => ENHANCE_YOUR_CALM,
        _ => PROTOCOL_ERROR,
    }
}
