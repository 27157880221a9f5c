//! What the compression of messages did to WebSockets, as any exchange hands it on.

use crate::permessage_deflate::PermessageDeflate;

/// What was counted of WebSockets that have offered compression, and agreed alike, since their connection was opened, or since
/// this was last asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompressionCounts {
    /// What both sides have agreed on; nothing where the server has declined.
    pub agreed: Option<PermessageDeflate>,
    /// How many have agreed on it in this time.
    pub websockets: u64,
    /// Of the messages that were sent compressed.
    pub sent: Spared,
    /// Of those that came compressed.
    pub received: Spared,
}

impl CompressionCounts {
    /// Adds it to those of others, by what was agreed on.
    pub(crate) fn add_to(self, all: &mut Vec<Self>) {
        let Some(alike) = all.iter_mut().find(|one| one.agreed == self.agreed) else {
            all.push(self);
            return;
        };
        alike.websockets += self.websockets;
        alike.sent.merge(self.sent);
        alike.received.merge(self.received);
    }
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

    fn merge(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.compressed_bytes += other.compressed_bytes;
    }
}
