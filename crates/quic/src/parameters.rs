//! What each end announces of itself, as it is written in the handshake (RFC 9000 §18).

use loadcurve_wire::{Announced, Moment};

/// The numbers of the parameters that are read.
mod number {
    pub(super) const IDLE_TIMEOUT: u64 = 0x01;
    pub(super) const CONNECTION_WINDOW: u64 = 0x04;
    /// Of streams that its reader opens.
    pub(super) const STREAM_WINDOW: u64 = 0x06;
    pub(super) const STREAMS: u64 = 0x08;
    pub(super) const ACK_DELAY: u64 = 0x0b;
    pub(super) const NO_MIGRATION: u64 = 0x0c;
    /// Of draft-ietf-quic-ack-frequency.
    pub(super) const LEAST_ACK_DELAY: u64 = 0xff04_de1b;
}

/// Reads what a server has announced; `None` where it is cut.
pub(crate) fn announced(encoded: &[u8]) -> Option<Announced> {
    let mut found = Announced::default();
    let mut rest = encoded;
    while !rest.is_empty() {
        let (id, mut value) = parameter(&mut rest)?;
        match id {
            number::NO_MIGRATION => found.refuses_migration = true,
            number::LEAST_ACK_DELAY => found.has_ack_frequency = true,
            number::IDLE_TIMEOUT => {
                let length = integer(&mut value)?;
                found.idle_timeout = (length > 0).then(|| Moment::from_millis(length));
            }
            number::CONNECTION_WINDOW => found.connection_window_bytes = integer(&mut value)?,
            number::STREAM_WINDOW => found.stream_window_bytes = integer(&mut value)?,
            number::STREAMS => found.streams = integer(&mut value)?,
            number::ACK_DELAY => found.ack_delay = Moment::from_millis(integer(&mut value)?),
            _ => {}
        }
    }
    Some(found)
}

/// What this end announces, without the parameter of no meaning that the library adds to try its peers (RFC 9000 §18.1); `None`
/// where it is cut.
///
/// nginx (1.26) takes the lowest 16 bits of an identifier for all of it. So one in 5,000 of these, which are random, was a window, a
/// limit or an idle timeout to it, with a random value, or ended the handshake.
pub(crate) fn without_reserved(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while !rest.is_empty() {
        let before = rest;
        let (id, _) = parameter(&mut rest)?;
        if id % 31 != 27 {
            kept.extend_from_slice(&before[..before.len() - rest.len()]);
        }
    }
    Some(kept)
}

/// The number and the value of the parameter at the beginning, which is taken off (RFC 9000 §18).
fn parameter<'a>(from: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let id = integer(from)?;
    let length = usize::try_from(integer(from)?).ok()?;
    let (value, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some((id, value))
}

/// The number at the beginning, which is taken off (RFC 9000 §16).
fn integer(from: &mut &[u8]) -> Option<u64> {
    let length = 1_usize << (from.first()? >> 6);
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    let number = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(number & (u64::MAX >> (66 - 8 * length.min(8))))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use loadcurve_wire::Announced;

    use super::{announced, integer, without_reserved};

    #[test]
    fn numbers_are_read_as_the_examples_of_the_specification_have_them() {
        // RFC 9000, appendix A.1.
        let examples: [(&[u8], u64); 4] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, number) in examples {
            let mut rest = bytes;
            assert_eq!((integer(&mut rest), rest), (Some(number), &[][..]));
            assert_eq!(integer(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn what_is_announced_is_found_whatever_lies_between() {
        let encoded = [
            // An unknown one of two bytes.
            &[0x3f, 2, 7, 7][..],
            &[0x01, 4, 0x80, 0x00, 0x75, 0x30],
            &[0x04, 4, 0x80, 0x10, 0, 0],
            &[0x06, 4, 0x80, 0x04, 0, 0],
            &[0x08, 2, 0x40, 0x64],
            &[0x0c, 0],
            &[0xc0, 0, 0, 0, 0xff, 0x04, 0xde, 0x1b, 1, 1],
        ];
        let found = announced(&encoded.concat()).unwrap();
        let expected = Announced {
            idle_timeout: Some(Duration::from_secs(30)),
            connection_window_bytes: 1 << 20,
            stream_window_bytes: 1 << 18,
            streams: 100,
            refuses_migration: true,
            has_ack_frequency: true,
            ..Announced::default()
        };
        assert_eq!(found, expected);
        assert_eq!(announced(&encoded.concat()[..5]), None);
        assert_eq!(announced(&[]), Some(Announced::default()));
    }

    #[test]
    fn a_parameter_of_no_meaning_is_left_out_and_no_other() {
        let before: &[u8] = &[0x04, 4, 0x80, 0x10, 0, 0];
        // 1,441,806 = 31 * 46,509 + 27 = 65,536 * 22 + 14, and 14 is the limit on connection IDs.
        let reserved: &[u8] = &[0x80, 0x16, 0x00, 0x0e, 2, 0x40, 0xff];
        let behind: &[u8] = &[0xc0, 0, 0, 0, 0xff, 0x04, 0xde, 0x1b, 1, 1];
        let all = [before, reserved, behind].concat();
        assert_eq!(without_reserved(&all), Some([before, behind].concat()));
        assert_eq!(without_reserved(&all[..all.len() - 1]), None);
        assert_eq!(without_reserved(&[]), Some(vec![]));
    }
}
