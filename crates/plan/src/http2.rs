//! How HTTP/2 is spoken.

use serde::{Deserialize, Serialize};

use crate::InvalidPlan;
use crate::limits::{CONNECTION_WINDOW_BYTES_MIN, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX};

/// How HTTP/2 is spoken, where the load speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http2 {
    /// How header fields are sent.
    pub hpack: Hpack,
    /// How many bytes of one answer the server may send before the client asks for more.
    pub stream_window_bytes: u32,
    /// The same of all answers on a connection together.
    pub connection_window_bytes: u32,
}

/// How header fields are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hpack {
    /// The first request of a connection puts its fields into the server's table, and those that follow point to them, as
    /// browsers do.
    #[default]
    Indexed,
    /// As literals in every request.
    Literal,
}

impl Default for Http2 {
    /// Windows so large that they never hold an answer back.
    fn default() -> Self {
        Self {
            hpack: Hpack::default(),
            stream_window_bytes: WINDOW_BYTES_DEFAULT,
            connection_window_bytes: WINDOW_BYTES_DEFAULT,
        }
    }
}

impl Http2 {
    /// Checks the numbers.
    ///
    /// # Errors
    /// When one is out of its range, with the number and the range.
    pub(crate) fn validate(&self) -> Result<(), InvalidPlan> {
        let windows = [
            ("stream", self.stream_window_bytes, 1),
            ("connection", self.connection_window_bytes, CONNECTION_WINDOW_BYTES_MIN),
        ];
        for (of, bytes, least) in windows {
            if !(least..=WINDOW_BYTES_MAX).contains(&bytes) {
                return Err(InvalidPlan(format!(
                    "a window of {bytes} bytes for each {of} is not between {least} and {WINDOW_BYTES_MAX}"
                )));
            }
        }
        Ok(())
    }
}
