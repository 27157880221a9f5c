//! The names of codes, as the registries of the specifications have them.

use loadcurve_wire::{Http3Code, QuicCode};

/// RFC 9114 §8.1, in the order of the numbers from 0x100 on.
const HTTP3: [&str; 17] = [
    "H3_NO_ERROR",
    "H3_GENERAL_PROTOCOL_ERROR",
    "H3_INTERNAL_ERROR",
    "H3_STREAM_CREATION_ERROR",
    "H3_CLOSED_CRITICAL_STREAM",
    "H3_FRAME_UNEXPECTED",
    "H3_FRAME_ERROR",
    "H3_EXCESSIVE_LOAD",
    "H3_ID_ERROR",
    "H3_SETTINGS_ERROR",
    "H3_MISSING_SETTINGS",
    "H3_REQUEST_REJECTED",
    "H3_REQUEST_CANCELLED",
    "H3_REQUEST_INCOMPLETE",
    "H3_MESSAGE_ERROR",
    "H3_CONNECT_ERROR",
    "H3_VERSION_FALLBACK",
];

/// RFC 9204 §6, from 0x200 on.
const QPACK: [&str; 3] =
    ["QPACK_DECOMPRESSION_FAILED", "QPACK_ENCODER_STREAM_ERROR", "QPACK_DECODER_STREAM_ERROR"];

/// RFC 9000 §20.1, from 0x00 on.
const QUIC: [&str; 17] = [
    "NO_ERROR",
    "INTERNAL_ERROR",
    "CONNECTION_REFUSED",
    "FLOW_CONTROL_ERROR",
    "STREAM_LIMIT_ERROR",
    "STREAM_STATE_ERROR",
    "FINAL_SIZE_ERROR",
    "FRAME_ENCODING_ERROR",
    "TRANSPORT_PARAMETER_ERROR",
    "CONNECTION_ID_LIMIT_ERROR",
    "PROTOCOL_VIOLATION",
    "INVALID_TOKEN",
    "APPLICATION_ERROR",
    "CRYPTO_BUFFER_EXCEEDED",
    "KEY_UPDATE_ERROR",
    "AEAD_LIMIT_REACHED",
    "NO_VIABLE_PATH",
];

#[test]
fn codes_of_http3_have_the_names_of_their_specifications() {
    for (code, name) in (0x100..).zip(HTTP3).chain((0x200..).zip(QPACK)) {
        assert_eq!(Http3Code(code).name(), Some(name));
        assert_eq!(Http3Code(code).to_string(), format!("{name} ({code:#x})"));
    }
    for unknown in [0, 0xff, 0x111, 0x1ff, 0x203, u64::MAX] {
        assert_eq!(Http3Code(unknown).to_string(), format!("the unknown code {unknown:#x}"));
    }
}

#[test]
fn codes_of_quic_have_the_names_of_their_specifications_and_those_of_alerts_are_known() {
    for (code, name) in (0..).zip(QUIC) {
        assert_eq!((QuicCode(code).name(), QuicCode(code).is_alert()), (Some(name), false));
    }
    // RFC 9001 §4.8: 0x0100 and the alert.
    for alert in [0x100, 0x12a, 0x178, 0x1ff] {
        assert_eq!((QuicCode(alert).name(), QuicCode(alert).is_alert()), (Some("CRYPTO_ERROR"), true));
    }
    assert_eq!(QuicCode(0x12a).to_string(), "CRYPTO_ERROR (0x12a)");
    for unknown in [0x11, 0xff, 0x200] {
        assert_eq!((QuicCode(unknown).name(), QuicCode(unknown).is_alert()), (None, false));
    }
}
