//! The machine's TCP counters, as the kernel publishes them.

use std::collections::HashMap;
use std::fs;

use serde::{Deserialize, Serialize};

/// TCP counters of this machine (or of the increase between two readings); `None` if the kernel does not publish it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpCounters {
    /// Connection requests sent again because nothing answered them.
    pub syn_retransmits: Option<u64>,
    /// Segments sent again.
    pub retransmits: Option<u64>,
    /// Connections that a full listen queue turned away.
    pub listen_overflows: Option<u64>,
    /// Connection requests dropped at a listening socket, for a full queue or any other reason.
    pub listen_drops: Option<u64>,
    /// Acknowledgements that waited for a timer, because nothing was sent that could have carried them.
    pub delayed_acks: Option<u64>,
    /// Packets dropped because the table of tracked connections was full; `None` where no connection is tracked.
    pub tracking_drops: Option<u64>,
    /// Datagrams of UDP that were dropped because the buffer of their receiver was full.
    #[serde(default)]
    pub udp_receive_buffer_errors: Option<u64>,
    /// Datagrams of UDP that were not sent because there was no memory for them.
    #[serde(default)]
    pub udp_send_buffer_errors: Option<u64>,
}

impl TcpCounters {
    /// The counters now, of the network namespace of this process.
    #[must_use]
    pub fn read() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            tracking_drops: tracking_drops(&read("/proc/self/net/stat/nf_conntrack")),
            ..Self::parse(&read("/proc/self/net/snmp"), &read("/proc/self/net/netstat"))
        }
        .with_udp_over_ipv6(&read("/proc/self/net/snmp6"))
    }

    /// How much each counter has grown since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let growth = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            syn_retransmits: growth(self.syn_retransmits, earlier.syn_retransmits),
            retransmits: growth(self.retransmits, earlier.retransmits),
            listen_overflows: growth(self.listen_overflows, earlier.listen_overflows),
            listen_drops: growth(self.listen_drops, earlier.listen_drops),
            delayed_acks: growth(self.delayed_acks, earlier.delayed_acks),
            tracking_drops: growth(self.tracking_drops, earlier.tracking_drops),
            udp_receive_buffer_errors: growth(
                self.udp_receive_buffer_errors,
                earlier.udp_receive_buffer_errors,
            ),
            udp_send_buffer_errors: growth(self.udp_send_buffer_errors, earlier.udp_send_buffer_errors),
        }
    }

    /// The counters of several machines together; `None` if one of them does not publish it.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        Self {
            syn_retransmits: sum(self.syn_retransmits, other.syn_retransmits),
            retransmits: sum(self.retransmits, other.retransmits),
            listen_overflows: sum(self.listen_overflows, other.listen_overflows),
            listen_drops: sum(self.listen_drops, other.listen_drops),
            delayed_acks: sum(self.delayed_acks, other.delayed_acks),
            tracking_drops: sum(self.tracking_drops, other.tracking_drops),
            udp_receive_buffer_errors: sum(self.udp_receive_buffer_errors, other.udp_receive_buffer_errors),
            udp_send_buffer_errors: sum(self.udp_send_buffer_errors, other.udp_send_buffer_errors),
        }
    }

    fn parse(snmp: &str, netstat: &str) -> Self {
        let (tcp, extended) = (named_values(snmp, "Tcp:"), named_values(netstat, "TcpExt:"));
        let udp = named_values(snmp, "Udp:");
        Self {
            syn_retransmits: extended.get("TCPSynRetrans").copied(),
            retransmits: tcp.get("RetransSegs").copied(),
            listen_overflows: extended.get("ListenOverflows").copied(),
            listen_drops: extended.get("ListenDrops").copied(),
            delayed_acks: extended.get("DelayedACKs").copied(),
            tracking_drops: None,
            udp_receive_buffer_errors: udp.get("RcvbufErrors").copied(),
            udp_send_buffer_errors: udp.get("SndbufErrors").copied(),
        }
    }

    /// The same with what is counted of UDP over IPv6, which has a separate file with a line for each name.
    fn with_udp_over_ipv6(self, snmp6: &str) -> Self {
        let value = |name: &str| {
            let line = snmp6.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let more = |known: Option<u64>, name| known.map(|count| count + value(name));
        Self {
            udp_receive_buffer_errors: more(self.udp_receive_buffer_errors, "Udp6RcvbufErrors"),
            udp_send_buffer_errors: more(self.udp_send_buffer_errors, "Udp6SndbufErrors"),
            ..self
        }
    }
}

/// The packets that all processors have dropped for want of room, from a line of names and a line of hexadecimal counts
/// for each processor.
fn tracking_drops(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let place = lines.next()?.split_whitespace().position(|name| name == "drop")?;
    lines.map(|line| u64::from_str_radix(line.split_whitespace().nth(place)?, 16).ok()).sum()
}

/// The values of one protocol: a line of names and a line of values, both beginning with `prefix`.
fn named_values<'a>(text: &'a str, prefix: &str) -> HashMap<&'a str, u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return HashMap::new() };
    let values = values.split_whitespace().map(str::parse);
    names.split_whitespace().zip(values).filter_map(|(name, value)| Some((name, value.ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{TcpCounters, tracking_drops};

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 17\n\
        Udp: InDatagrams RcvbufErrors SndbufErrors\nUdp: 9 20 30\n";
    const NETSTAT: &str = "TcpExt: DelayedACKs ListenOverflows ListenDrops TCPSynRetrans\nTcpExt: 6 3 4 5\nIpExt: InOctets\nIpExt: 9\n";

    #[test]
    fn counters_are_found_by_name() {
        let counters = TcpCounters::parse(SNMP, NETSTAT);
        let expected = TcpCounters {
            syn_retransmits: Some(5),
            retransmits: Some(17),
            listen_overflows: Some(3),
            listen_drops: Some(4),
            delayed_acks: Some(6),
            tracking_drops: None,
            udp_receive_buffer_errors: Some(20),
            udp_send_buffer_errors: Some(30),
        };
        assert_eq!(counters, expected);
    }

    #[test]
    fn datagrams_over_both_versions_of_ip_are_added_up_where_they_are_counted_at_all() {
        let snmp6 =
            "Udp6InDatagrams \t7\nUdp6RcvbufErrors                \t4\nUdp6SndbufErrors                \t5\n";
        let both = TcpCounters::parse(SNMP, NETSTAT).with_udp_over_ipv6(snmp6);
        assert_eq!((both.udp_receive_buffer_errors, both.udp_send_buffer_errors), (Some(24), Some(35)));
        let none = TcpCounters::default().with_udp_over_ipv6(snmp6);
        assert_eq!(none, TcpCounters::default());
    }

    #[test]
    fn dropped_packets_of_all_processors_are_added_up_in_hexadecimal() {
        let text = "entries  found new drop early_drop\n0002941f  00000001 00000000 00000099 00000007\n\
                    0002941f  00000000 00000000 0000000a 00000000\n";
        assert_eq!(tracking_drops(text), Some(0x99 + 10));
    }

    #[test]
    fn where_no_connection_is_tracked_nothing_is_known_of_dropped_packets() {
        assert_eq!(tracking_drops(""), None);
        assert_eq!(tracking_drops("entries found\n00000001 00000000\n"), None);
    }

    #[test]
    fn a_counter_that_is_not_published_is_absent_and_not_zero() {
        let counters = TcpCounters::parse("", "TcpExt: ListenDrops\nTcpExt: 4\n");
        assert_eq!(counters, TcpCounters { listen_drops: Some(4), ..TcpCounters::default() });
        assert_eq!(counters.since(TcpCounters::default()), TcpCounters::default());
    }

    #[test]
    fn only_what_was_counted_since_an_earlier_reading_is_growth() {
        let counters = |first: u64| TcpCounters {
            syn_retransmits: Some(first),
            retransmits: Some(10 * first),
            listen_overflows: Some(100 * first),
            listen_drops: Some(1_000 * first),
            delayed_acks: Some(10_000 * first),
            tracking_drops: Some(100_000 * first),
            udp_receive_buffer_errors: Some(1_000_000 * first),
            udp_send_buffer_errors: Some(10_000_000 * first),
        };
        assert_eq!(counters(7).since(counters(5)), counters(2));
        assert_eq!(counters(7).and(counters(5)), counters(12));
    }

    #[test]
    fn this_machine_publishes_its_counters() {
        assert!(TcpCounters::read().retransmits.is_some());
    }
}
