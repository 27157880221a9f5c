//! Connection IDs that say whose they are, where several connections share a socket of UDP.
//!
//! A client chooses the IDs of the packets that come to it (RFC 9000 §5.1). Of each, the first half is the number of the exchange, which
//! has one connection after the other, and the rest is drawn anew. Who is between both ends can tell from this which connections are of
//! one client's exchange, which the RFC would rather hide, and which does not matter for a load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid, RandomConnectionIdGenerator};

/// How long an ID is, and how much of it is the number of the exchange.
pub const LENGTH: usize = 8;
const NUMBER_BYTES: usize = 4;
/// The bit that headers of packets have which are sent before the handshake is over (RFC 9000 §17.2).
const LONG_HEADER: u8 = 0x80;
/// Where a long header has the length of the ID of the receiver: behind the first byte and the version.
const LENGTH_AT: usize = 5;
/// No stateless reset is shorter (RFC 9000 §10.3).
const RESET_BYTES_MIN: usize = 21;

/// The numbers of the exchanges of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers(Arc<AtomicU32>);

impl Numbers {
    /// Takes the next one.
    pub(crate) fn next(&self) -> Number {
        Number(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The number of an exchange among those of its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(u32);

impl Number {
    /// As the place in a list.
    #[must_use]
    pub fn place(self) -> usize {
        self.0 as usize
    }

    fn of(id: &[u8]) -> Option<Self> {
        let id: &[u8; LENGTH] = id.try_into().ok()?;
        id.first_chunk::<NUMBER_BYTES>().map(|number| Self(u32::from_be_bytes(*number)))
    }
}

/// Makes the IDs of one exchange.
pub(crate) struct Numbered {
    number: Number,
    rest: RandomConnectionIdGenerator,
}

impl Numbered {
    pub(crate) fn new(number: Number) -> Self {
        Self { number, rest: RandomConnectionIdGenerator::new(LENGTH - NUMBER_BYTES) }
    }
}

impl ConnectionIdGenerator for Numbered {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; LENGTH];
        id[..NUMBER_BYTES].copy_from_slice(&self.number.0.to_be_bytes());
        id[NUMBER_BYTES..].copy_from_slice(&self.rest.generate_cid());
        ConnectionId::new(&id)
    }

    /// A client has no answer to packets that are of none of its connections, whatever their ID.
    fn validate(&self, _: &ConnectionId) -> Result<(), InvalidCid> {
        Err(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// For the connection of which exchange a datagram is that has arrived, by the ID that its first packet is for; all packets of a datagram
/// are for one (RFC 9000 §12.2).
#[must_use]
pub fn addressee(datagram: &[u8]) -> Option<Number> {
    let (first, rest) = datagram.split_first()?;
    if first & LONG_HEADER == 0 {
        return rest.get(..LENGTH).and_then(Number::of);
    }
    let (destination, _) = ids_of_long_header(datagram)?;
    Number::of(destination)
}

/// The exchange whose connection has written a datagram, by the ID that its first packet gives itself: only packets with long headers do.
#[must_use]
pub fn sender(datagram: &[u8]) -> Option<Number> {
    datagram.first().filter(|first| *first & LONG_HEADER != 0)?;
    let (_, source) = ids_of_long_header(datagram)?;
    Number::of(source)
}

/// Whether a datagram that is for none of the connections may end one of them: a server that knows a connection no longer does not know
/// its ID either (RFC 9000 §10.3).
#[must_use]
pub fn may_be_reset(datagram: &[u8]) -> bool {
    datagram.len() >= RESET_BYTES_MIN && datagram[0] & LONG_HEADER == 0
}

/// The IDs of the receiver and of the sender.
fn ids_of_long_header(datagram: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = datagram.get(LENGTH_AT..)?.split_first()?;
    let (destination, rest) = rest.split_at_checked((*length).into())?;
    let (length, rest) = rest.split_first()?;
    Some((destination, rest.get(..(*length).into())?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use quinn_proto::ConnectionIdGenerator as _;

    use super::{Number, Numbered, Numbers, addressee, may_be_reset, sender};

    /// A long header of version 1 with these IDs (RFC 9000 §17.2).
    fn long(destination: &[u8], source: &[u8]) -> Vec<u8> {
        let mut packet = vec![0xc3, 0, 0, 0, 1];
        for id in [destination, source] {
            packet.push(u8::try_from(id.len()).unwrap());
            packet.extend_from_slice(id);
        }
        packet.extend_from_slice(&[0; 30]);
        packet
    }

    /// A short header (RFC 9000 §17.3).
    fn short(destination: &[u8]) -> Vec<u8> {
        [&[0x41], destination, &[0; 30]].concat()
    }

    #[test]
    fn no_id_comes_twice_and_all_of_an_exchange_have_its_number() {
        let numbers = Numbers::default();
        let mut seen = HashSet::new();
        for expected in 0..10 {
            let number = numbers.clone().next();
            assert_eq!(number.place(), expected);
            let mut made = Numbered::new(number);
            for _ in 0..100 {
                let id = made.generate_cid();
                assert!(seen.insert(id), "{id:?}");
                assert_eq!((id.len(), made.cid_len()), (8, 8));
                let (arrived, written) = (long(&id, &[1; 20]), long(&[1; 20], &id));
                assert_eq!((addressee(&arrived), sender(&written)), (Some(number), Some(number)));
                assert_eq!((sender(&arrived), addressee(&written)), (None, None));
                assert_eq!((addressee(&short(&id)), sender(&short(&id))), (Some(number), None));
            }
        }
    }

    #[test]
    fn datagrams_of_any_length_and_content_are_looked_at_without_harm() {
        let id = Numbered::new(Number(7)).generate_cid();
        for whole in [long(&id, &id), short(&id), long(&[], &[]), long(&[255; 255], &id), vec![0xff; 40]] {
            for length in 0..whole.len() {
                let part = &whole[..length];
                let (to, from) = (addressee(part), sender(part));
                assert!([to, from].into_iter().flatten().all(|number| number == Number(7)), "{part:?}");
            }
        }
    }

    #[test]
    fn only_short_headers_of_some_length_are_of_stateless_resets() {
        assert!(may_be_reset(&[0x40; 21]));
        assert!(!may_be_reset(&[0x40; 20]) && !may_be_reset(&[0xc0; 21]) && !may_be_reset(&[]));
    }
}
