//! What a result says of HTTP/3, of the QUIC below and of the datagrams that carried it.

use loadcurve_plan::HttpLoad;
use loadcurve_record::{DatagramCounts, Distribution, Extremes, Quic, QuicHandshakeKind as Kind, Recorder};
use serde::Serialize;

use crate::server_sockets::ServerSockets;

/// What was counted over a whole load, warm-up included. What nobody can know is `None`, and `unknown` has the reason.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the contract's own; its documentation describes them.
pub struct Http3Summary {
    pub version: &'static str,
    pub handshakes_ms: HandshakesByKind,
    pub certificate_bytes: Option<Range>,
    pub packets: Packets,
    pub acknowledgements: Acknowledgements,
    pub rtt_min_ms: Distribution,
    pub rtt_smoothed_ms: Distribution,
    pub mtu_bytes: Option<Range>,
    pub link_mtu_bytes: Option<Range>,
    pub congestion: Congestion,
    pub windows: Windows,
    pub streams: Streams,
    pub qpack: Qpack,
    pub sockets: Sockets,
    pub datagrams: Datagrams,
    pub dropped: Dropped,
    pub ends: Ends,
    pub bodies: Bodies,
    pub unknown: Vec<Unknown>,
}

/// The least and the greatest.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Range {
    pub min: u64,
    pub max: u64,
}

/// The handshakes by their class.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct HandshakesByKind {
    pub full: Distribution,
    pub resumed: Distribution,
    pub early_accepted: Distribution,
    pub early_rejected: Distribution,
    pub after_retry: Distribution,
}

/// Packets, and how many of them an answer took.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Packets {
    pub sent: u64,
    pub lost: u64,
    pub spurious: Option<u64>,
    /// How often the keys of a connection's packets were changed, by either side.
    pub key_updates: u64,
    /// Datagrams, each of which holds one packet but at the beginning of a connection.
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub sent_per_answer: Option<f64>,
    pub received_per_answer: Option<f64>,
}

/// Acknowledgements of both sides, and how they are put off.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Acknowledgements {
    pub sent: u64,
    pub received: u64,
    pub packets_each: u32,
    pub delay_max_ms: u64,
    pub server_delay_max_ms: Option<Range>,
    /// Whether one side has said how often the other one is to acknowledge.
    pub frequency_agreed: bool,
    /// Connections on which the server offers that.
    pub frequency_offered: u64,
}

/// How congestion is controlled.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Congestion {
    pub control: &'static str,
    pub initial_window_bytes: u64,
    pub is_paced: bool,
    pub events: u64,
    pub black_holes: u64,
    pub server_control: Option<&'static str>,
    pub server_initial_window_bytes: Option<u64>,
}

/// Windows of flow control.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Windows {
    pub stream_bytes: u64,
    pub connection_bytes: u64,
    pub server_stream_bytes: Option<Range>,
    pub server_connection_bytes: Option<Range>,
    /// How often the server said that one of the client's held it up.
    pub server_blocked: u64,
    /// How often one of the server's held the client up.
    pub blocked: u64,
}

/// Requests at once on a connection.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Streams {
    pub allowed_at_first: Option<Range>,
    pub limits_met: u64,
    pub wait_ms: Distribution,
    pub moved_wait_ms: Distribution,
    pub rejected: u64,
    pub answers_starved: u64,
}

/// The table of header fields.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Qpack {
    pub offered_bytes: u64,
    pub capacity_bytes: Option<Range>,
    pub used_bytes: Option<Range>,
    pub entries: u64,
    pub heads: u64,
    pub heads_with_entries: u64,
    pub heads_blocked: u64,
}

/// The client's sockets, one for each connection or one for those of a thread.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Sockets {
    pub opened: u64,
    pub receive_offload: u64,
    pub send_offload: u64,
    pub send_offload_refused: u64,
    pub receive_buffer_asked_bytes: u64,
    pub receive_buffer_granted_bytes: Option<Range>,
    pub send_buffer_asked_bytes: u64,
    pub send_buffer_granted_bytes: Option<Range>,
    /// Those that take what is sent to the server's address, where it runs on this machine.
    pub of_server: Option<u64>,
}

/// How the kernel took datagrams and handed them over.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Datagrams {
    pub sends: u64,
    pub sent: u64,
    pub per_send: Option<f64>,
    pub receives: u64,
    pub received: u64,
    pub per_receive: Option<f64>,
    /// Of those received: for no open connection of a shared socket.
    pub unattributed: u64,
    pub sends_put_off: u64,
    pub too_long: u64,
}

/// Datagrams that found no room where they arrived.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Dropped {
    pub by_client: Option<u64>,
    pub by_server: Option<u64>,
}

/// How connections have ended that the load has not ended.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Ends {
    pub announced: u64,
    pub closed: u64,
    pub application_errors: u64,
    pub transport_errors: u64,
    pub stateless_resets: u64,
    pub idle_timeouts: u64,
    /// After how long without a datagram the server ends a connection, as announced; `None` without such a time.
    pub server_idle_timeout_ms: Option<Range>,
    pub other_versions: u64,
    /// How often the server checked the path anew, as it does where the client's address has changed.
    pub path_challenges: u64,
    pub migration_refused: u64,
}

/// The bodies of the measured answers.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Bodies {
    /// Answers whose length was compared with that of the verified one.
    pub compared: u64,
    pub expected_bytes: u64,
    pub received_bytes: u64,
    pub other_length: u64,
}

/// How this side speaks QUIC, whatever the load.
pub(crate) struct OwnQuic {
    pub(crate) congestion_control: &'static str,
    pub(crate) initial_window_bytes: u64,
    pub(crate) packets_per_ack: u32,
    pub(crate) ack_delay_ms: u64,
    pub(crate) table_bytes: u64,
    pub(crate) socket_buffer_bytes: u64,
}

/// Why something is not known.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Unknown {
    pub field: &'static str,
    pub reason: &'static str,
}

impl Range {
    fn of(extremes: Extremes) -> Option<Self> {
        extremes.0.map(|(min, max)| Self { min, max })
    }
}

/// How many of `count` there were for each of `of`; none without any.
fn per(count: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64)
}

/// What a recording says of HTTP/3; the sockets of the server are known where it runs on this machine.
pub(crate) fn summary(
    plan: &HttpLoad,
    recorder: &Recorder,
    server: Option<ServerSockets>,
    bodies: Bodies,
    own: &OwnQuic,
) -> Http3Summary {
    let quic = &recorder.quic;
    let sockets = Sockets::of(&quic.datagrams, server, own);
    let has_memory = sockets.receive_buffer_granted_bytes.is_some();
    Http3Summary {
        version: "1",
        handshakes_ms: quic.into(),
        certificate_bytes: Range::of(quic.certificate_bytes),
        packets: Packets::of(quic, recorder.replies),
        acknowledgements: Acknowledgements::of(quic, own),
        rtt_min_ms: (&quic.rtt_min).into(),
        rtt_smoothed_ms: (&quic.rtt).into(),
        mtu_bytes: Range::of(quic.mtu_bytes),
        link_mtu_bytes: Range::of(quic.datagrams.link_mtu_bytes),
        congestion: Congestion::of(quic, own),
        windows: Windows::of(plan, quic),
        streams: recorder.into(),
        qpack: Qpack::of(quic, own),
        sockets,
        datagrams: (&quic.datagrams).into(),
        dropped: Dropped {
            by_client: has_memory.then_some(quic.datagrams.dropped),
            by_server: server.map(|server| server.dropped),
        },
        ends: quic.into(),
        bodies,
        unknown: unknown(server.is_some(), has_memory),
    }
}

/// What is not known, and why.
fn unknown(sees_server: bool, has_memory: bool) -> Vec<Unknown> {
    const ELSEWHERE: &str = "the server's UDP sockets were not seen: they are on another machine or in another network \
                             namespace, were closed before the end of the load, or several loads followed one another";
    let all = [
        (
            true,
            "packets.spurious",
            "the client's QUIC library (quinn-proto 0.11) counts a late packet as a lost one",
        ),
        (true, "congestion.server_control", "no server says how it controls congestion"),
        (true, "congestion.server_initial_window_bytes", "no server says how much it sends at first"),
        (!sees_server, "dropped.by_server", ELSEWHERE),
        (!sees_server, "sockets.of_server", ELSEWHERE),
        (
            !has_memory,
            "dropped.by_client",
            "the kernel does not report the memory of sockets (SO_MEMINFO, Linux 4.12)",
        ),
    ];
    all.into_iter().filter_map(|(is_so, field, reason)| is_so.then_some(Unknown { field, reason })).collect()
}

impl From<&Quic> for HandshakesByKind {
    fn from(quic: &Quic) -> Self {
        let of = |kind: Kind| Distribution::from(quic.handshakes_of(kind));
        Self {
            full: of(Kind::Full),
            resumed: of(Kind::Resumed),
            early_accepted: of(Kind::EarlyAccepted),
            early_rejected: of(Kind::EarlyRejected),
            after_retry: of(Kind::AfterRetry),
        }
    }
}

impl Packets {
    fn of(quic: &Quic, answers: u64) -> Self {
        Self {
            sent: quic.packets_sent,
            lost: quic.packets_lost,
            spurious: None,
            key_updates: quic.key_updates,
            datagrams_sent: quic.datagrams_sent,
            datagrams_received: quic.datagrams_received,
            bytes_sent: quic.bytes_sent,
            bytes_received: quic.bytes_received,
            sent_per_answer: per(quic.datagrams_sent, answers),
            received_per_answer: per(quic.datagrams_received, answers),
        }
    }
}

impl Acknowledgements {
    fn of(quic: &Quic, own: &OwnQuic) -> Self {
        Self {
            sent: quic.acks_sent,
            received: quic.acks_received,
            packets_each: own.packets_per_ack,
            delay_max_ms: own.ack_delay_ms,
            server_delay_max_ms: Range::of(quic.announced.ack_delay_ms),
            frequency_agreed: false,
            frequency_offered: quic.announced.ack_frequency,
        }
    }
}

impl Congestion {
    fn of(quic: &Quic, own: &OwnQuic) -> Self {
        Self {
            control: own.congestion_control,
            initial_window_bytes: own.initial_window_bytes,
            is_paced: true,
            events: quic.congestion_events,
            black_holes: quic.black_holes,
            server_control: None,
            server_initial_window_bytes: None,
        }
    }
}

impl Windows {
    fn of(plan: &HttpLoad, quic: &Quic) -> Self {
        Self {
            stream_bytes: plan.work.h2.stream_window_bytes.into(),
            connection_bytes: plan.work.h2.connection_window_bytes.into(),
            server_stream_bytes: Range::of(quic.announced.stream_window_bytes),
            server_connection_bytes: Range::of(quic.announced.connection_window_bytes),
            server_blocked: quic.peer_blocked,
            blocked: quic.blocked,
        }
    }
}

impl From<&Recorder> for Streams {
    fn from(recorder: &Recorder) -> Self {
        Self {
            allowed_at_first: Range::of(recorder.quic.announced.streams),
            limits_met: recorder.quic.stream_limits_met,
            wait_ms: (&recorder.multiplexing.stream_wait).into(),
            moved_wait_ms: (&recorder.multiplexing.moved_wait).into(),
            rejected: recorder.quic.requests_rejected,
            answers_starved: recorder.multiplexing.answers_starved,
        }
    }
}

impl Qpack {
    fn of(quic: &Quic, own: &OwnQuic) -> Self {
        Self {
            offered_bytes: own.table_bytes,
            capacity_bytes: Range::of(quic.qpack.capacity_bytes),
            used_bytes: Range::of(quic.qpack.used_bytes),
            entries: quic.qpack.entries,
            heads: quic.qpack.sections,
            heads_with_entries: quic.qpack.sections_with_entries,
            heads_blocked: quic.qpack.sections_blocked,
        }
    }
}

impl Sockets {
    fn of(datagrams: &DatagramCounts, server: Option<ServerSockets>, own: &OwnQuic) -> Self {
        Self {
            opened: datagrams.sockets,
            receive_offload: datagrams.sockets_joining,
            send_offload: datagrams.sockets_dividing,
            send_offload_refused: datagrams.divisions_refused,
            receive_buffer_asked_bytes: own.socket_buffer_bytes,
            receive_buffer_granted_bytes: Range::of(datagrams.receive_buffer_bytes),
            send_buffer_asked_bytes: own.socket_buffer_bytes,
            send_buffer_granted_bytes: Range::of(datagrams.send_buffer_bytes),
            of_server: server.map(|server| server.sockets),
        }
    }
}

impl From<&DatagramCounts> for Datagrams {
    fn from(counts: &DatagramCounts) -> Self {
        Self {
            sends: counts.sends,
            sent: counts.sent,
            per_send: per(counts.sent, counts.sends),
            receives: counts.receives,
            received: counts.received,
            per_receive: per(counts.received, counts.receives),
            unattributed: counts.unattributed,
            sends_put_off: counts.sends_put_off,
            too_long: counts.too_long,
        }
    }
}

impl From<&Quic> for Ends {
    fn from(quic: &Quic) -> Self {
        Self {
            announced: quic.goaways,
            closed: quic.ends.closed,
            application_errors: quic.ends.application_errors,
            transport_errors: quic.ends.transport_errors,
            stateless_resets: quic.ends.stateless_resets,
            idle_timeouts: quic.ends.idle_timeouts,
            server_idle_timeout_ms: Range::of(quic.announced.idle_timeout_ms),
            other_versions: quic.ends.other_versions,
            path_challenges: quic.path_challenges,
            migration_refused: quic.announced.migration_refused,
        }
    }
}
