//! What was counted of one connection of HTTP/3, added to what is counted of all.

use loadcurve_record::{Failure, Quic, QuicHandshakeKind as Kind};
use loadcurve_wire::{Http3Code, Http3Counts, QuicCode, QuicEnd, QuicHandshakeKind};

const NO_TRANSPORT_ERROR: u64 = QuicCode::NO_ERROR.0;
const NO_ERROR: u64 = Http3Code::NO_ERROR.0;
const REFUSED: u64 = QuicCode::CONNECTION_REFUSED.0;

/// The class of the requests under way on a connection that has ended so, where the load has not ended it.
pub(crate) fn closed(end: Option<QuicEnd>) -> Failure {
    match end {
        // Without an error, or over TCP.
        None | Some(QuicEnd::Application(NO_ERROR) | QuicEnd::Transport(NO_TRANSPORT_ERROR)) => {
            Failure::ClosedEarly
        }
        Some(QuicEnd::Application(_)) => Failure::H3ConnectionError,
        Some(QuicEnd::Transport(REFUSED)) => Failure::QuicRefused,
        Some(QuicEnd::Transport(_) | QuicEnd::Broken(_)) => Failure::QuicError,
        Some(QuicEnd::Reset) => Failure::QuicStatelessReset,
        Some(QuicEnd::Idle) => Failure::QuicIdleTimeout,
        Some(QuicEnd::Version) => Failure::QuicVersion,
    }
}

/// That the server has reset a request's stream with this code.
pub(crate) fn reset_in_words(code: Http3Code) -> String {
    format!("the server reset the request's stream with {code}")
}

/// The class of a request whose stream the server has reset with this code (RFC 9114 §8.1).
pub(super) fn reset(code: Http3Code) -> Failure {
    match code {
        Http3Code::REQUEST_REJECTED => Failure::H3RequestRejected,
        Http3Code::REQUEST_CANCELLED => Failure::H3RequestCancelled,
        Http3Code::REQUEST_INCOMPLETE => Failure::H3RequestIncomplete,
        Http3Code::INTERNAL_ERROR => Failure::H3InternalError,
        Http3Code::EXCESSIVE_LOAD => Failure::H3ExcessiveLoad,
        Http3Code::MESSAGE_ERROR => Failure::H3MessageError,
        _ => Failure::H3StreamError,
    }
}

/// Adds what was counted of a connection, which was established or not.
pub(super) fn add(all: &mut Quic, connection: &Http3Counts, is_established: bool) {
    let Http3Counts { handshake, quic, announced, qpack, .. } = connection;
    if let Some(handshake) = handshake {
        all.handshake(kind(handshake.kind), handshake.length.into());
        // A session that continues has shown none.
        if handshake.certificate_bytes > 0 {
            all.certificate_bytes.add(handshake.certificate_bytes as u64);
        }
        let seen = &mut all.announced;
        seen.connection_window_bytes.add(announced.connection_window_bytes);
        seen.stream_window_bytes.add(announced.stream_window_bytes);
        seen.streams.add(announced.streams);
        if let Some(idle) = announced.idle_timeout {
            seen.idle_timeout_ms.add(u64::try_from(idle.as_millis()).unwrap_or(u64::MAX));
        }
        seen.ack_delay_ms.add(u64::try_from(announced.ack_delay.as_millis()).unwrap_or(u64::MAX));
        seen.ack_frequency += u64::from(announced.has_ack_frequency);
        seen.migration_refused += u64::from(announced.refuses_migration);
    }
    all.packets_sent += quic.packets_sent;
    all.packets_lost += quic.packets_lost;
    all.congestion_events += quic.congestion_events;
    all.black_holes += quic.black_holes;
    all.datagrams_sent += quic.datagrams_sent;
    all.datagrams_received += quic.datagrams_received;
    all.bytes_sent += quic.bytes_sent;
    all.bytes_received += quic.bytes_received;
    all.acks_sent += quic.acks_sent;
    all.acks_received += quic.acks_received;
    all.peer_blocked += quic.peer_blocked;
    all.blocked += quic.blocked;
    all.path_challenges += quic.path_challenges;
    all.key_updates += quic.key_updates;
    // Before the end of its handshake a connection has guessed them.
    if is_established && quic.datagrams_received > 0 {
        all.rtt.record(quic.rtt.into());
        all.rtt_min.record(quic.rtt_min.into());
        all.mtu_bytes.add(quic.mtu_bytes.into());
        all.qpack.capacity_bytes.add(qpack.capacity_bytes as u64);
        all.qpack.used_bytes.add(qpack.used_bytes as u64);
    }
    all.qpack.entries += qpack.entries;
    all.qpack.sections += qpack.sections;
    all.qpack.sections_with_entries += qpack.sections_with_entries;
    all.qpack.sections_blocked += qpack.sections_blocked;
    all.goaways += u64::from(connection.was_announced_to_end);
    all.requests_rejected += connection.requests_rejected;
    all.stream_limits_met += connection.stream_limits_met;
    if let Some(end) = connection.end {
        let ends = &mut all.ends;
        let count = match end {
            QuicEnd::Application(NO_ERROR) | QuicEnd::Transport(NO_TRANSPORT_ERROR) => &mut ends.closed,
            QuicEnd::Application(_) => &mut ends.application_errors,
            QuicEnd::Transport(_) | QuicEnd::Broken(_) => &mut ends.transport_errors,
            QuicEnd::Reset => &mut ends.stateless_resets,
            QuicEnd::Idle => &mut ends.idle_timeouts,
            QuicEnd::Version => &mut ends.other_versions,
        };
        *count += 1;
    }
}

fn kind(of: QuicHandshakeKind) -> Kind {
    match of {
        QuicHandshakeKind::Full => Kind::Full,
        QuicHandshakeKind::Resumed => Kind::Resumed,
        QuicHandshakeKind::EarlyAccepted => Kind::EarlyAccepted,
        QuicHandshakeKind::EarlyRejected => Kind::EarlyRejected,
        QuicHandshakeKind::AfterRetry => Kind::AfterRetry,
    }
}
