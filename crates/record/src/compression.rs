//! What the compression of messages did to a load.

use serde::{Deserialize, Serialize};

/// Over all WebSockets of a load that have offered compression, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compression {
    /// On how many WebSockets the server has agreed to what, in the order of the texts.
    pub agreed: Vec<(String, u64)>,
    /// On how many it has agreed to none.
    pub declined: u64,
    /// Of the messages that were sent compressed.
    pub sent: Spared,
    /// Of those that came compressed.
    pub received: Spared,
}

/// Messages with compression, and what they would be without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spared {
    /// How many.
    pub messages: u64,
    /// Their lengths.
    pub bytes: u64,
    /// Their lengths on the wire, without the headers of frames.
    pub compressed_bytes: u64,
}

impl Compression {
    /// The server has agreed to this on a number of WebSockets.
    pub fn agree(&mut self, text: &str, websockets: u64) {
        match self.agreed.binary_search_by(|(known, _)| known.as_str().cmp(text)) {
            Ok(at) => self.agreed[at].1 += websockets,
            Err(at) => self.agreed.insert(at, (text.to_owned(), websockets)),
        }
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        for (text, websockets) in &other.agreed {
            self.agree(text, *websockets);
        }
        self.declined += other.declined;
        self.sent.merge(other.sent);
        self.received.merge(other.received);
    }
}

impl Spared {
    /// Adds others.
    pub fn merge(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.compressed_bytes += other.compressed_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::{Compression, Spared};

    #[test]
    fn websockets_add_up_by_what_was_agreed_on_in_whatever_order_they_merge() {
        let one = |text: Option<&str>, bytes| {
            let mut one = Compression { declined: u64::from(text.is_none()), ..Compression::default() };
            if let Some(text) = text {
                one.agree(text, 1);
            }
            one.received = Spared { messages: 1, bytes, compressed_bytes: bytes / 2 };
            one
        };
        let parts = [one(Some("b"), 10), one(None, 20), one(Some("a"), 40), one(Some("b"), 80)];
        for first in 0..parts.len() {
            let mut all = Compression::default();
            parts[first..].iter().chain(&parts[..first]).for_each(|part| all.merge(part));
            assert_eq!(all.agreed, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
            assert_eq!(all.declined, 1);
            assert_eq!(all.received, Spared { messages: 4, bytes: 150, compressed_bytes: 75 });
        }
    }
}
