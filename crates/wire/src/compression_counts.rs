//! What the compression of messages did to a connection, as any exchange hands it on.

use crate::permessage_deflate::PermessageDeflate;

/// What was counted of a connection that has offered compression, since it was opened, or since it was last asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompressionCounts {
    /// What both sides have agreed on; nothing where the server has declined.
    pub agreed: Option<PermessageDeflate>,
    /// Of the messages that were sent compressed.
    pub sent: Spared,
    /// Of those that came compressed.
    pub received: Spared,
}

/// Messages with compression, and what they would be without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spared {
    /// How many.
    pub messages: u64,
    /// Their lengths.
    pub bytes: u64,
    /// Their lengths on the wire, without the headers of frames.
    pub compressed_bytes: u64,
}

impl Spared {
    /// Adds a message.
    pub(crate) fn add(&mut self, bytes: u64, compressed_bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
        self.compressed_bytes += compressed_bytes;
    }
}
