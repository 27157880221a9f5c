//! Close frames (RFC 6455 §5.5.1 and §7.4).

use std::str;

use crate::error::WebSocketError;

/// How a client ends a connection that it does not need any more.
pub(super) const NORMAL: u16 = 1000;
/// What stands for a close frame without a code, and is in none.
pub(super) const NO_CODE: u16 = 1005;

/// What stands for an end without a close frame, and is in none.
pub(super) const NO_CLOSE: u16 = 1006;

/// How a peer has closed a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Close {
    /// Its code; [`NO_CODE`] where it gives none.
    pub(super) code: u16,
    reason: String,
}

impl Close {
    /// Reads the body of a close frame.
    pub(super) fn read(body: &[u8]) -> Result<Self, WebSocketError> {
        let (code, reason) = match body {
            [] => (NO_CODE, &[][..]),
            [_] => return Err(WebSocketError::CloseBody),
            [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        };
        if !body.is_empty() && !may_be_sent(code) {
            return Err(WebSocketError::CloseCode { code });
        }
        let reason = str::from_utf8(reason).map_err(|_| WebSocketError::CloseBody)?;
        Ok(Self { code, reason: reason.to_owned() })
    }

    /// The body that answers it.
    pub(super) fn echo(&self) -> Vec<u8> {
        if self.code == NO_CODE { vec![] } else { self.code.to_be_bytes().to_vec() }
    }

    /// The reason, where there is one, as a person can read it.
    pub(super) fn shown_reason(&self) -> Option<String> {
        let shown = |character: char| if character.is_control() { ' ' } else { character };
        (!self.reason.is_empty()).then(|| self.reason.chars().map(shown).collect())
    }

    /// How it was, for a person.
    pub(super) fn in_words(&self) -> String {
        let how = match self.code {
            NO_CODE => "without a code".to_owned(),
            code => match meaning(code) {
                Some(meaning) => format!("with the code {code} ({meaning})"),
                None => format!("with the code {code}"),
            },
        };
        format!("the server closed the WebSocket {how}")
    }
}

/// Whether a close frame may have this code: 1004 to 1006 and 1015 are reserved, and numbers from 3000 on are for those who
/// use them.
fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// What a code says, as IANA has registered it.
fn meaning(code: u16) -> Option<&'static str> {
    Some(match code {
        1000 => "normal closure",
        1001 => "going away",
        1002 => "protocol error",
        1003 => "unsupported data",
        1007 => "invalid payload data",
        1008 => "policy violation",
        1009 => "message too big",
        1010 => "extension expected",
        1011 => "internal error",
        1012 => "service restart",
        1013 => "try again later",
        1014 => "bad gateway",
        _ => return None,
    })
}
