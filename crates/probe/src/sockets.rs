//! Sockets of TCP by their state, which the kernel reports through a separate socket.

use std::fs;

use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::Serialize;

use crate::listen_queue::kernel_socket;
use crate::parse::inet_diag::{End, Family, question_for_all, states};

/// What the kernel writes at a time: some two hundred sockets.
const PART_BYTES: usize = 16 * 1024;

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
    fn count(&mut self, state: u8) {
        let counter = match state {
            1 => &mut self.established,
            2 => &mut self.syn_sent,
            // A connection request that has no full socket yet is listed as 12.
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

/// Counts all sockets at one moment, of which `time_wait` are those that the kernel is not asked for; `None` if it
/// does not tell.
pub(crate) fn counted(time_wait: Option<u64>) -> Option<SocketStates> {
    let mut counted = SocketStates { time_wait: time_wait?, ..SocketStates::default() };
    let has_v6 = fs::exists("/proc/net/tcp6").unwrap_or(false);
    let families = [Some(Family::V4), has_v6.then_some(Family::V6)];
    families.into_iter().flatten().try_for_each(|family| counted.add(family))?;
    Some(counted)
}

impl SocketStates {
    fn add(&mut self, family: Family) -> Option<()> {
        let kernel = kernel_socket()?;
        send(&kernel, &question_for_all(family), SendFlags::empty()).ok()?;
        let mut part = vec![0; PART_BYTES];
        loop {
            let (length, _) = recv(&kernel, part.as_mut_slice(), RecvFlags::DONTWAIT).ok()?;
            match states(&part[..length], |state| self.count(state)) {
                End::Open => {}
                End::Done => return Some(()),
                End::Refused => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::{SocketStates, counted};

    #[test]
    fn both_ends_of_connections_are_counted_also_where_the_answer_has_several_parts() {
        // 72 bytes and a header of 16 for each socket, in parts of 16 KiB.
        const MANY: usize = 400;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connections: Vec<_> = (0..MANY)
            .map(|_| {
                (TcpStream::connect(listener.local_addr().unwrap()).unwrap(), listener.accept().unwrap())
            })
            .collect();
        let states = counted(Some(7)).unwrap();
        assert!(states.established >= 2 * MANY as u64, "{states:?}");
        assert!(states.listen >= 1);
        assert_eq!(states.time_wait, 7, "they are counted elsewhere");
        drop(connections);
    }

    #[test]
    fn without_a_count_of_those_in_time_wait_there_is_none_of_all() {
        assert_eq!(counted(None), None);
    }

    #[test]
    fn every_state_is_counted_under_its_name() {
        let mut states = SocketStates::default();
        for state in [1, 1, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11, 12, 99] {
            states.count(state);
        }
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
}
