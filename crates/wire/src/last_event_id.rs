//! The field by which a client says behind which event it opens a stream again (HTML standard, section 9.2.4).

/// The name of the field that says the id of the last event, in HTTP/2 and HTTP/3.
pub(crate) const LAST_EVENT_ID: &[u8] = b"last-event-id";

/// An id as the value of a field, at whose ends there is no white space (RFC 9110 §5.5); `None` where nothing is left.
pub(crate) fn field_value(id: &[u8]) -> Option<&[u8]> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = id.iter().position(|byte| !is_space(byte))?;
    let end = id.iter().rposition(|byte| !is_space(byte))?;
    Some(&id[start..=end])
}
