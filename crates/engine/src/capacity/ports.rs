//! Local ports: each connection to one address takes one, and keeps it for a while after its end.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;

use loadcurve_plan::Nanos;

use crate::listed_address;
use crate::ranges;
use crate::words::{choice, grouped, rate};

/// How long Linux keeps a connection that this side has closed first (`TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Nanos = Nanos::from_millis(60_000);
/// After how long in that state its port may be used again where reuse is allowed (ip-sysctl, `tcp_tw_reuse_delay`).
const REUSE_DELAY: Nanos = Nanos::from_millis(1_000);
/// The widest range that leaves the well-known ports alone.
const WIDEST: RangeInclusive<u16> = 1024..=65535;

/// What else gives connections ports, where this machine has or can be given more addresses.
const MORE_SOURCES: &str = "use more source addresses of this machine (source_addresses)";

/// The states of sockets in `/proc/net/tcp` that matter here (`include/net/tcp_states.h`).
const STATE_TIME_WAIT: &str = "06";
const STATE_LISTEN: &str = "0A";

/// The local ports that connections to one destination could take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPorts {
    destination: SocketAddr,
    /// What the kernel chooses from.
    range: RangeInclusive<u16>,
    /// Ports of the range that it must not choose.
    reserved: usize,
    /// Ports of the range that connections to the destination hold, or listeners.
    in_use: usize,
    /// Ports of the range that ended connections to the destination still hold.
    waiting: usize,
    /// How long a port is held after its connection was closed on this side first.
    held_for: Nanos,
    /// How many of this machine's addresses take turns, each of which has all these ports.
    sources: usize,
}

/// What the kernel publishes of ports, as text.
#[derive(Clone, Copy, Debug)]
struct Published<'a> {
    /// `net.ipv4.ip_local_port_range`, which holds for IPv6 too.
    range: &'a str,
    reserved: &'a str,
    /// `net.ipv4.tcp_tw_reuse`: 0 for never, 1 for always, 2 on the loopback interface.
    reuse: &'a str,
    /// In milliseconds; empty on kernels where it is not a setting.
    reuse_delay: &'a str,
    timestamps: &'a str,
    /// `/proc/net/tcp` and `/proc/net/tcp6`.
    sockets: [&'a str; 2],
}

impl LocalPorts {
    /// The ports towards `destination` now, as `proc`, which is `/proc`, tells; `None` if the kernel does not publish its
    /// range.
    #[must_use]
    pub fn towards(destination: SocketAddr, proc: &Path) -> Option<Self> {
        let text = |file: String| fs::read_to_string(proc.join(file)).unwrap_or_default();
        let setting = |name| text(format!("sys/net/ipv4/{name}"));
        let sockets = |name| text(format!("self/net/{name}"));
        let published = Published {
            range: &setting("ip_local_port_range"),
            reserved: &setting("ip_local_reserved_ports"),
            reuse: &setting("tcp_tw_reuse"),
            reuse_delay: &setting("tcp_tw_reuse_delay"),
            timestamps: &setting("tcp_timestamps"),
            sockets: [&sockets("tcp"), &sockets("tcp6")],
        };
        Self::from_published(destination, published)
    }

    fn from_published(destination: SocketAddr, published: Published<'_>) -> Option<Self> {
        let destination = listed_address::canonical(destination);
        let (low, high) = published.range.trim().split_once(char::is_whitespace)?;
        let range: RangeInclusive<u16> = low.parse().ok()?..=high.trim().parse().ok()?;
        let reserved_ranges = ranges::parse(published.reserved).unwrap_or_default();
        let is_reserved = |port: u16| reserved_ranges.iter().any(|ports| ports.contains(&usize::from(port)));
        let held_for = held_for(destination.ip(), published);
        let (mut in_use, mut waiting) = (HashSet::new(), HashSet::new());
        for socket in published.sockets.iter().flat_map(|table| table.lines()).filter_map(Socket::parse) {
            let port = socket.local.port();
            if !range.contains(&port) || is_reserved(port) {
                continue;
            }
            let is_towards = socket.remote == destination;
            if socket.state == STATE_LISTEN || is_towards && socket.state != STATE_TIME_WAIT {
                in_use.insert(port);
            } else if is_towards && held_for == TIME_WAIT {
                // Where ports are used again, those that wait are free within a second.
                waiting.insert(port);
            }
        }
        let reserved = range.clone().filter(|port| is_reserved(*port)).count();
        let waiting = waiting.difference(&in_use).count();
        Some(Self { destination, range, reserved, in_use: in_use.len(), waiting, held_for, sources: 1 })
    }

    /// The same where connections come from this number of addresses in turn.
    pub(super) fn of_each(self, sources: usize) -> Self {
        Self { sources, ..self }
    }

    /// How many more connections to the destination there can be. A port that is taken counts as taken for every address of
    /// this machine.
    #[must_use]
    pub fn available(&self) -> usize {
        self.sources * (self.range.len() - self.reserved - self.in_use - self.waiting)
    }

    /// How long a port is held after its connection was closed on this side first.
    #[must_use]
    pub fn held_for(&self) -> Nanos {
        self.held_for
    }

    /// How many ports a turnover takes that never ends.
    #[must_use]
    pub fn needed_for_ever(&self, turnover_cps: f64) -> u64 {
        self.needed(0, turnover_cps, self.held_for)
    }

    /// The settings of sysctl that make more ports available, or for a shorter time; `None` if all is done.
    #[must_use]
    pub fn settings(&self) -> Vec<String> {
        self.wider_range().into_iter().chain(self.earlier_reuse()).collect()
    }

    /// Refuses connections at once that the ports do not suffice for.
    pub(super) fn require(&self, connections: usize) -> Result<(), String> {
        if connections <= self.available() {
            return Ok(());
        }
        let advice: Vec<String> = ["use fewer connections".into(), MORE_SOURCES.into()]
            .into_iter()
            .chain(self.widening())
            .collect();
        Err(format!(
            "{} concurrent connections require as many local ports towards {}; {} are free ({}): {}",
            grouped(connections as u64),
            self.destination,
            grouped(self.available() as u64),
            self.range_in_words(),
            choice(&advice)
        ))
    }

    /// How many ports a load takes at its worst: those of its open connections, and those that are held after the close
    /// where connections are closed at `turnover_cps` over `length`.
    pub(crate) fn needed(&self, connections: usize, turnover_cps: f64, length: Nanos) -> u64 {
        let held = turnover_cps * self.held_for.min(length).as_secs_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ports are few")]
        let held = held.ceil() as u64;
        connections as u64 + held
    }

    /// What a load needed that found no port for some connections, what there was, and what to change.
    pub(crate) fn shortage(&self, connections: usize, turnover_cps: f64, length: Nanos) -> String {
        let always = ["make more calls per connection".into(), "reduce the load".into(), MORE_SOURCES.into()];
        let advice: Vec<String> = always.into_iter().chain(self.reuse()).chain(self.widening()).collect();
        format!(
            "{} concurrent connections and {} new ones per second, each of which holds its port for {} s \
            after it is closed (TIME_WAIT), require about {} local ports towards {}; {} were free when the \
            load started ({}): {}",
            grouped(connections as u64),
            rate(turnover_cps),
            self.held_for.as_secs_f64(),
            grouped(self.needed(connections, turnover_cps, length)),
            self.destination,
            grouped(self.available() as u64),
            self.range_in_words(),
            choice(&advice)
        )
    }

    /// The range, and which ports of it are not free.
    fn range_in_words(&self) -> String {
        let range = format!("net.ipv4.ip_local_port_range is {} {}", self.range.start(), self.range.end());
        let addresses = (self.sources > 1).then(|| format!("for each of {} source addresses", self.sources));
        let taken = [
            (self.reserved, "reserved"),
            (self.in_use, "in use"),
            (self.waiting, "in TIME_WAIT for up to 60 s"),
        ];
        let taken = taken.into_iter().filter(|(count, _)| *count > 0);
        let taken = taken.map(|(count, how)| format!("{} {how}", grouped(count as u64)));
        [range].into_iter().chain(addresses).chain(taken).collect::<Vec<_>>().join(", ")
    }

    /// The advice to widen the range, where that is possible.
    fn widening(&self) -> Option<String> {
        self.wider_range().map(|setting| format!("widen the range (as root: sysctl -w {setting})"))
    }

    fn wider_range(&self) -> Option<String> {
        let (low, high) = (*WIDEST.start(), *WIDEST.end());
        (low < *self.range.start() || *self.range.end() < high)
            .then(|| format!("net.ipv4.ip_local_port_range=\"{low} {high}\""))
    }

    /// The advice to let ports be used again, where that is not so.
    fn reuse(&self) -> Option<String> {
        let advice =
            |setting| format!("allow ports to be reused after a second (as root: sysctl -w {setting})");
        self.earlier_reuse().map(advice)
    }

    fn earlier_reuse(&self) -> Option<String> {
        (self.held_for == TIME_WAIT).then(|| "net.ipv4.tcp_tw_reuse=1".into())
    }
}

/// How long the port of a connection to `destination` is held after its close on this side (ip-sysctl, `tcp_tw_reuse`).
fn held_for(destination: IpAddr, published: Published<'_>) -> Nanos {
    let is_reused = match published.reuse.trim() {
        "1" => true,
        "2" => destination.is_loopback(),
        _ => false,
    };
    // The kernel tells a segment of the old connection from one of the new by their timestamps.
    if !is_reused || published.timestamps.trim() == "0" {
        return TIME_WAIT;
    }
    published.reuse_delay.trim().parse().map_or(REUSE_DELAY, Nanos::from_millis)
}

/// One line of `/proc/net/tcp` or `/proc/net/tcp6`.
#[derive(Debug)]
struct Socket<'a> {
    local: SocketAddr,
    remote: SocketAddr,
    state: &'a str,
}

impl<'a> Socket<'a> {
    /// None for the line of titles.
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { local: listed_address::parse(local)?, remote: listed_address::parse(remote)?, state })
    }
}

#[cfg(test)]
mod tests;
