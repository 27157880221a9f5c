//! How much may be sent (RFC 9113 §5.2 and §6.9).

use std::ops::Range;

use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::LARGEST_WINDOW_BYTES;

use super::answer::write_window_update;
use super::{Output, WINDOW_BYTES};

/// What a client allows to be sent on one of its streams.
pub(super) struct SendWindows<'a> {
    pub(super) stream: &'a mut i64,
    pub(super) connection: &'a mut i64,
    /// The longest frame that it is sent.
    pub(super) frame_bytes_max: usize,
}

impl SendWindows<'_> {
    /// Sends a part of something in frames, as far as the windows and the output allow; gives up to where that is.
    pub(super) fn send(
        &mut self,
        part: Range<usize>,
        output: &mut Output<'_>,
        mut write_frame: impl FnMut(Range<usize>, &mut Vec<u8>),
    ) -> usize {
        let mut sent = part.start;
        while sent < part.end && output.has_room() {
            let window = usize::try_from((*self.stream).min(*self.connection)).unwrap_or(0);
            let length = window.min(self.frame_bytes_max).min(part.end - sent);
            if length == 0 {
                break;
            }
            write_frame(sent..sent + length, output.bytes);
            sent += length;
            // It fits, because it is not longer than a window.
            let taken = i64::try_from(length).unwrap_or(i64::MAX);
            *self.stream -= taken;
            *self.connection -= taken;
        }
        sent
    }
}

/// Enlarges a window as the client has it.
pub(super) fn enlarge(window: &mut i64, increment: i64) -> Result<(), ErrorCode> {
    if increment == 0 {
        return Err(ErrorCode::ProtocolError);
    }
    *window += increment;
    if *window > LARGEST_WINDOW_BYTES { Err(ErrorCode::FlowControlError) } else { Ok(()) }
}

/// Takes data from what the client may send.
pub(super) fn take(window: &mut i64, length: usize) -> Result<(), ErrorCode> {
    *window -= i64::try_from(length).unwrap_or(i64::MAX);
    if *window < 0 { Err(ErrorCode::FlowControlError) } else { Ok(()) }
}

/// Gives the client the rest of a window when half of it is used, so that few frames are sent for it.
pub(super) fn refill(window: &mut i64, stream: u32, output: &mut Output<'_>) {
    if *window <= WINDOW_BYTES / 2 {
        write_window_update(stream, WINDOW_BYTES - *window, output.bytes);
        *window = WINDOW_BYTES;
    }
}
