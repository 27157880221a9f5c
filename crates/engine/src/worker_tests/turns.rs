//! What begins in one turn of the loop, where reading and writing take time.

use loadcurve_plan::{HttpVersion, Nanos, Stop};
use loadcurve_wire::{Http2, Http2Settings};

use super::http2::{PREFACE, SETTINGS_ACKNOWLEDGED};
use super::peer::{self, Delays, Outcome, Peer};
use super::{ms, open};
use crate::io::Slot;

const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
const HEADERS: u8 = 1;

/// A server that answers each request at once, and then asks twice whether the client is there: just before the next
/// request is due, and just after.
struct Asking;

impl Peer for Asking {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        if bytes.starts_with(PREFACE) {
            return vec![(now, [SETTINGS, SETTINGS_ACKNOWLEDGED].concat())];
        }
        let [_, _, _, HEADERS, _, s0, s1, s2, s3, ..] = *bytes else { return Vec::new() };
        let answer = vec![0, 0, 1, HEADERS, 5, s0, s1, s2, s3, 0x88];
        vec![(now, answer), (now + ms(8), PING.to_vec()), (now + ms(11), PING.to_vec())]
    }
}

/// Two requests, the second of which is due 10 ms after the first.
fn asked(delays: Delays) -> Outcome {
    let plan = open(2, 100.0, Stop::RequestsTotal(2)).with(|http| http.http = HttpVersion::Http2);
    peer::run::<Http2>(&plan, Http2Settings::default(), delays, Asking)
}

#[test]
fn what_falls_due_during_a_turn_begins_before_anything_else_is_written_or_read() {
    // The first question comes at 8 ms. It is read by 11 ms, or answered, or both. To read or to answer the second, of
    // 11 ms, takes more time.
    for (reading, writing) in [(ms(3), ms(0)), (ms(0), ms(3)), (ms(3), ms(3)), (ms(1), ms(2))] {
        let outcome = asked(Delays { writing, reading, ..Delays::default() });
        let requests = outcome.written.iter().filter(|(_, bytes)| bytes[3] == HEADERS);
        let moments: Vec<Nanos> = requests.map(|(moment, _)| *moment).collect();
        assert_eq!(moments[1] - moments[0], ms(11), "reading takes {reading:?}, writing {writing:?}");
        // It is as late as it is written after it was due.
        assert_eq!(outcome.recorder.lateness.extremes(), Some((ms(0), ms(1))));
    }
}
