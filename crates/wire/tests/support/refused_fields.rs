//! Fields that refuse an answer of HTTP/2 and of HTTP/3, whose rules are the same (RFC 9113 §8, RFC 9114 §4).

use loadcurve_wire::AnswerError;

const STATUS: (&str, &str) = (":status", "200");

/// The fields of answers, and what each is refused for.
pub(crate) const REFUSED_FIELDS: [(&[(&str, &str)], AnswerError); 17] = [
    // RFC 9113 §8.3.2, RFC 9114 §4.3.2.
    (&[], AnswerError::Status),
    (&[("server", "x")], AnswerError::Status),
    (&[STATUS, STATUS], AnswerError::Status),
    (&[(":status", "20")], AnswerError::Status),
    (&[(":status", "600")], AnswerError::Status),
    // RFC 9113 §8.3, RFC 9114 §4.3.
    (&[STATUS, (":path", "/")], AnswerError::PseudoField),
    (&[STATUS, (":unknown", "x")], AnswerError::PseudoField),
    (&[("server", "x"), STATUS], AnswerError::LatePseudoField),
    // RFC 9113 §8.2.1, RFC 9114 §4.2.
    (&[STATUS, ("Server", "x")], AnswerError::FieldName),
    (&[STATUS, ("a b", "x")], AnswerError::FieldName),
    (&[STATUS, ("a", "x\0")], AnswerError::FieldValue),
    (&[STATUS, ("a", " x")], AnswerError::FieldValue),
    // RFC 9113 §8.2.2, RFC 9114 §4.2.
    (&[STATUS, ("connection", "keep-alive")], AnswerError::ConnectionField),
    (&[STATUS, ("keep-alive", "timeout=5")], AnswerError::ConnectionField),
    (&[STATUS, ("proxy-connection", "close")], AnswerError::ConnectionField),
    (&[STATUS, ("transfer-encoding", "chunked")], AnswerError::ConnectionField),
    (&[STATUS, ("upgrade", "h2c")], AnswerError::ConnectionField),
];
