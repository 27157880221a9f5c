//! Sockets of TCP by their state, from the kernel's lists of all of them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;

use serde::Serialize;

use crate::parse::network::socket_state;
use crate::parse::text::split_at;

/// What is read of a list in one visit.
const CHUNK_BYTES: usize = 4096;

/// How many sockets are in each state of RFC 9293; both ends of a connection within the machine count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SocketStates {
    established: u64,
    syn_sent: u64,
    syn_received: u64,
    fin_wait_1: u64,
    fin_wait_2: u64,
    time_wait: u64,
    closed: u64,
    close_wait: u64,
    last_ack: u64,
    listen: u64,
    closing: u64,
}

impl SocketStates {
    /// Counts a state, in the kernel's numbers: `include/net/tcp_states.h`.
    fn count(&mut self, state: usize) {
        let counter = match state {
            1 => &mut self.established,
            2 => &mut self.syn_sent,
            // A request that has no socket of its own yet is listed as 12.
            3 | 12 => &mut self.syn_received,
            4 => &mut self.fin_wait_1,
            5 => &mut self.fin_wait_2,
            6 => &mut self.time_wait,
            7 => &mut self.closed,
            8 => &mut self.close_wait,
            9 => &mut self.last_ack,
            10 => &mut self.listen,
            11 => &mut self.closing,
            _ => return,
        };
        *counter += 1;
    }
}

/// A list of sockets that is being read.
pub(crate) struct List {
    file: Box<dyn Read>,
    /// The begin of a line whose end has not been read.
    begun: Vec<u8>,
}

impl List {
    /// The lists of both address families.
    pub(crate) fn all() -> Vec<Self> {
        let files = ["/proc/net/tcp", "/proc/net/tcp6"].map(File::open);
        files.into_iter().flatten().map(Self::new).collect()
    }

    fn new(file: impl Read + 'static) -> Self {
        Self { file: Box::new(file), begun: Vec::new() }
    }

    /// Reads some more of the list and counts its sockets; whether there is more.
    fn read_some(&mut self, states: &mut SocketStates) -> bool {
        let mut chunk = [0; CHUNK_BYTES];
        let count = self.file.read(&mut chunk).unwrap_or(0);
        self.begun.extend_from_slice(&chunk[..count]);
        let mut rest = self.begun.as_slice();
        while let Some((line, behind)) = split_at(rest, b'\n') {
            if let Some(state) = socket_state(line) {
                states.count(state);
            }
            rest = behind;
        }
        self.begun = rest.to_vec();
        count > 0
    }
}

/// Visits a list: reads some of it, and leaves the rest to be visited next.
pub(crate) fn visit(mut list: List, left: &mut VecDeque<List>, states: &mut SocketStates) {
    if list.read_some(states) {
        left.push_front(list);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::{CHUNK_BYTES, List, SocketStates, visit};

    const TITLE: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

    /// Counts the sockets of a list of these states, and the visits that this takes.
    fn counted(states: impl IntoIterator<Item = usize>) -> (SocketStates, usize) {
        let lines = states.into_iter().map(|state| {
            format!(
                "   7: 0100007F:1F90 0100007F:D431 {state:02X} 00000000:00000000 00:00000000 00000000     0"
            )
        });
        let mut text = format!("{TITLE:<149}\n");
        text.extend(lines.map(|line| format!("{line:<149}\n")));
        let mut left = VecDeque::from([List::new(std::io::Cursor::new(text.into_bytes()))]);
        let (mut states, mut visits) = (SocketStates::default(), 0);
        while let Some(list) = left.pop_front() {
            visit(list, &mut left, &mut states);
            visits += 1;
        }
        (states, visits)
    }

    #[test]
    fn every_state_is_counted_under_its_name() {
        let (states, _) = counted([1, 1, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11, 12, 99]);
        let expected = SocketStates {
            established: 3,
            syn_sent: 1,
            syn_received: 2,
            fin_wait_1: 1,
            fin_wait_2: 1,
            time_wait: 2,
            closed: 1,
            close_wait: 1,
            last_ack: 1,
            listen: 1,
            closing: 1,
        };
        assert_eq!(states, expected);
    }

    #[test]
    fn a_long_list_is_read_in_several_visits_that_may_end_within_a_line() {
        let (states, visits) = counted(std::iter::repeat_n(1, 1000));
        assert_eq!(states.established, 1000);
        // With the one that finds the end.
        assert_eq!(visits, (1001 * 150_usize).div_ceil(CHUNK_BYTES) + 1);
    }
}
