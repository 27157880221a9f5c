//! Ports counted by hand, in tables written as the kernel writes them (proc(5), its states).

use std::net::SocketAddr;
use std::path::Path;

use loadcurve_plan::Nanos;

use super::{LocalPorts, Published};

const TITLES: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid";
const ESTABLISHED: &str = "01";
const TIME_WAIT: &str = "06";
const LISTEN: &str = "0A";

/// A kernel of a hundred local ports that never uses one again.
const SMALL: Published<'static> = Published {
    range: "40000\t40099\n",
    reserved: "\n",
    reuse: "0\n",
    reuse_delay: "",
    timestamps: "1\n",
    sockets: ["", ""],
};

fn hexadecimal(address: SocketAddr) -> String {
    let octets = match address {
        SocketAddr::V4(address) => address.ip().octets().to_vec(),
        SocketAddr::V6(address) => address.ip().octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap()));
    words.map(|word| format!("{word:08X}")).collect::<Vec<_>>().concat() + &format!(":{:04X}", address.port())
}

fn table(sockets: &[(&str, &str, &str)]) -> String {
    let lines = sockets.iter().enumerate().map(|(number, (local, remote, state))| {
        let [local, remote] = [local, remote].map(|address| hexadecimal(address.parse().unwrap()));
        format!(
            "{number:4}: {local} {remote} {state} 00000000:00000000 03:00000A2F 00000000     0        0 0 3"
        )
    });
    [TITLES.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

fn ports(destination: &str, published: Published<'_>) -> LocalPorts {
    LocalPorts::from_published(destination.parse().unwrap(), published).unwrap()
}

#[test]
fn ports_that_are_reserved_or_held_towards_the_destination_are_not_available() {
    let sockets = table(&[
        ("127.0.0.1:40000", "127.0.0.1:80", ESTABLISHED),
        ("127.0.0.1:40001", "127.0.0.1:80", TIME_WAIT),
        // Another server's, another address's and those outside the range leave the ports to this destination.
        ("127.0.0.1:40002", "127.0.0.1:81", ESTABLISHED),
        ("127.0.0.1:40003", "127.0.0.2:80", ESTABLISHED),
        ("127.0.0.1:39999", "127.0.0.1:80", ESTABLISHED),
        // The server's own side of the first connection.
        ("127.0.0.1:80", "127.0.0.1:40000", ESTABLISHED),
        // A port that listens is never chosen, whatever its address.
        ("0.0.0.0:40004", "0.0.0.0:0", LISTEN),
        // Reserved ports are not counted twice.
        ("127.0.0.1:40090", "127.0.0.1:80", ESTABLISHED),
    ]);
    let published = Published { reserved: "80,40090-40099\n", sockets: [&sockets, ""], ..SMALL };
    // 100 − 10 reserved − 2 in use − 1 in TIME_WAIT.
    assert_eq!(ports("127.0.0.1:80", published).available(), 87);
}

#[test]
fn connections_over_ipv6_are_found_and_those_to_mapped_addresses_too() {
    let sockets = table(&[
        ("[::1]:40000", "[::1]:80", ESTABLISHED),
        ("[::ffff:127.0.0.1]:40001", "[::ffff:127.0.0.1]:80", ESTABLISHED),
        ("[::ffff:127.0.0.1]:40002", "[::ffff:127.0.0.1]:80", ESTABLISHED),
    ]);
    let published = Published { sockets: ["", &sockets], ..SMALL };
    assert_eq!(ports("[::1]:80", published).available(), 99);
    assert_eq!(ports("127.0.0.1:80", published).available(), 98);
    // A connection to the unspecified address reaches this machine.
    assert_eq!(ports("0.0.0.0:80", published).available(), 98);
}

#[test]
fn how_long_a_port_is_held_follows_the_settings_of_the_kernel() {
    let (loopback, other) = ("127.0.0.1:80", "192.0.2.1:80");
    let held_ms = |published| [loopback, other].map(|to| ports(to, published).held_for.0 / 1_000_000);
    let kernel = |reuse| Published { reuse, ..SMALL };
    assert_eq!(held_ms(kernel("0")), [60_000, 60_000]);
    assert_eq!(held_ms(kernel("1")), [1_000, 1_000]);
    assert_eq!(held_ms(kernel("2")), [1_000, 60_000]);
    assert_eq!(held_ms(Published { reuse_delay: "250\n", ..kernel("2") }), [250, 60_000]);
    assert_eq!(held_ms(Published { timestamps: "0", ..kernel("1") }), [60_000, 60_000]);
}

#[test]
fn a_port_in_time_wait_that_may_be_used_again_is_available() {
    let sockets = table(&[("127.0.0.1:40001", "127.0.0.1:80", TIME_WAIT)]);
    let published = Published { reuse: "2", sockets: [&sockets, ""], ..SMALL };
    assert_eq!(ports("127.0.0.1:80", published).available(), 100);
}

#[test]
fn as_many_connections_as_ports_are_let_through_and_one_more_is_refused_with_the_numbers() {
    let published = Published { reserved: "40000-40009", ..SMALL };
    let ports = ports("127.0.0.1:80", published);
    assert_eq!(ports.require(90), Ok(()));
    let refusal = ports.require(91).unwrap_err();
    for part in
        ["91 concurrent connections", "127.0.0.1:80", "90 are free", "40000 40099, 10 reserved", "1024 65535"]
    {
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    }
}

#[test]
fn each_address_that_connections_come_from_has_all_ports() {
    let published = Published { reserved: "40000-40009", ..SMALL };
    let ports = ports("127.0.0.1:80", published).of_each(3);
    assert_eq!(ports.require(270), Ok(()));
    let refusal = ports.require(271).unwrap_err();
    for part in
        ["270 are free", "40000 40099, for each of 3 source addresses, 10 reserved", "source_addresses"]
    {
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    }
}

#[test]
fn widening_a_range_that_is_as_wide_as_can_be_is_not_advised() {
    let ports = ports("127.0.0.1:80", Published { range: "1024 65535", ..SMALL });
    assert_eq!(ports.available(), 64_512);
    let refusal = ports.require(70_000).unwrap_err();
    let advice = "use fewer connections or use more source addresses of this machine (source_addresses)";
    assert!(refusal.ends_with(&format!(": {advice}")), "{refusal}");
}

#[test]
fn connections_that_are_closed_again_and_again_need_a_port_for_as_long_as_each_is_held() {
    let seconds = |seconds: u64| Nanos::from_millis(1_000 * seconds);
    // 50 at once and 100 per second: for 60 s each they hold 6,000 more, in 20 s no more than 2,000, for 1 s each 100.
    let kept = ports("192.0.2.1:80", SMALL);
    assert_eq!(kept.needed(50, 100.0, seconds(300)), 6_050);
    assert_eq!(kept.needed(50, 100.0, seconds(20)), 2_050);
    assert_eq!(kept.needed(50, 0.0, seconds(300)), 50);
    let reused = ports("127.0.0.1:80", Published { reuse: "2", ..SMALL });
    assert_eq!(reused.needed(50, 100.0, seconds(300)), 150);
    // A turnover that never ends takes what it holds at any moment.
    assert_eq!((kept.needed_for_ever(100.0), reused.needed_for_ever(100.0)), (6_000, 100));
}

#[test]
fn the_settings_that_help_are_those_that_are_not_made_yet() {
    let range = "net.ipv4.ip_local_port_range=\"1024 65535\"";
    assert_eq!(ports("192.0.2.1:80", SMALL).settings(), [range, "net.ipv4.tcp_tw_reuse=1"]);
    assert_eq!(ports("192.0.2.1:80", Published { reuse: "1", ..SMALL }).settings(), [range]);
    let best = Published { range: "1024 65535", reuse: "1", ..SMALL };
    assert!(ports("192.0.2.1:80", best).settings().is_empty());
}

#[test]
fn a_shortage_is_reported_with_what_was_needed_what_there_was_and_the_settings() {
    let text = ports("192.0.2.1:80", SMALL).shortage(50, 100.0, Nanos::from_millis(300_000));
    for part in ["6,050", "192.0.2.1:80", "100 were free", "tcp_tw_reuse=1", "1024 65535"] {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[test]
fn this_machine_publishes_its_ports() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let before = LocalPorts::towards(address, Path::new("/proc")).unwrap();
    let connection = std::net::TcpStream::connect(address).unwrap();
    let during = LocalPorts::towards(address, Path::new("/proc")).unwrap();
    // The client's port is chosen from the range.
    assert!(during.range.contains(&connection.local_addr().unwrap().port()));
    assert_eq!(during.range, before.range);
    assert!(during.in_use > 0);
}

#[test]
fn a_kernel_that_publishes_no_range_is_not_asked_for_more() {
    let destination = "127.0.0.1:80".parse().unwrap();
    assert_eq!(LocalPorts::from_published(destination, Published { range: "", ..SMALL }), None);
}
