//! permessage-deflate (RFC 7692): what is offered of it in a handshake, and what a server answers.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::str;

use crate::error::{DeflateError, WebSocketError};

/// The name of the extension.
const NAME: &str = "permessage-deflate";
const SERVER_TAKEOVER: &str = "server_no_context_takeover";
const CLIENT_TAKEOVER: &str = "client_no_context_takeover";
const SERVER_BITS: &str = "server_max_window_bits";
const CLIENT_BITS: &str = "client_max_window_bits";

/// The window of DEFLATE, which is the greatest that there is.
pub(crate) const WINDOW_BITS_MAX: u8 = 15;
const WINDOW_BITS_MIN: u8 = 8;

/// The parameters of permessage-deflate, as they are offered or agreed on (RFC 7692 §7.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PermessageDeflate {
    /// Whether the server compresses each message by itself.
    pub server_no_context_takeover: bool,
    /// Whether the client says that it does so. This one always does.
    pub client_no_context_takeover: bool,
    /// Of how many bytes, as a power of two, the server's window is.
    pub server_max_window_bits: Option<u8>,
    /// The same of the client's; in an offer without a number it is whatever the server says.
    pub client_max_window_bits: Option<Option<u8>>,
}

/// Why a text is no offer of permessage-deflate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidOffer;

impl Display for InvalidOffer {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "an extension of WebSocket is \"{NAME}\" alone, or followed by each of these once: \"; {SERVER_TAKEOVER}\", \
             \"; {CLIENT_TAKEOVER}\", \"; {SERVER_BITS}=N\", \"; {CLIENT_BITS}\" or \"; {CLIENT_BITS}=N\", with N from \
             {WINDOW_BITS_MIN} to {WINDOW_BITS_MAX}"
        )
    }
}

impl Error for InvalidOffer {}

impl PermessageDeflate {
    /// Reads an offer.
    ///
    /// # Errors
    /// It is none.
    pub fn offer(text: &str) -> Result<Self, InvalidOffer> {
        read(text.as_bytes()).map_err(|_| InvalidOffer)
    }

    /// Whether an answer is one to this offer (RFC 7692 §7.1.1 and §7.1.2). A server may ask for less of itself, and of the client no
    /// window that nobody has offered.
    fn accepts(self, answer: Self) -> Result<(), DeflateError> {
        if self.server_no_context_takeover && !answer.server_no_context_takeover {
            return Err(DeflateError::Missing(SERVER_TAKEOVER));
        }
        match (self.server_max_window_bits, answer.server_max_window_bits) {
            (Some(_), None) => return Err(DeflateError::Missing(SERVER_BITS)),
            (Some(most), Some(bits)) if bits > most => return Err(DeflateError::NotOffered(SERVER_BITS)),
            _ => {}
        }
        match (self.client_max_window_bits, answer.client_max_window_bits) {
            (_, Some(None)) => Err(DeflateError::Value(CLIENT_BITS)),
            (None, Some(_)) => Err(DeflateError::NotOffered(CLIENT_BITS)),
            (Some(Some(most)), Some(Some(bits))) if bits > most => Err(DeflateError::NotOffered(CLIENT_BITS)),
            _ => Ok(()),
        }
    }

    /// The window with which the client may compress, as a power of two; that of the offer is a promise, whatever the answer says.
    pub(crate) fn client_bits(self, offer: Self) -> u8 {
        let bits = |parameters: Self| parameters.client_max_window_bits.flatten().unwrap_or(WINDOW_BITS_MAX);
        bits(self).min(bits(offer))
    }
}

/// What an answer says of extensions, whatever was offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Extensions {
    #[default]
    Absent,
    Deflate(PermessageDeflate),
    /// The same with something that it cannot have, or with another extension behind it.
    Wrong(DeflateError),
    Other,
}

impl Extensions {
    /// What one field says.
    pub(crate) fn of(value: &[u8]) -> Self {
        let name = value.split(|byte| matches!(byte, b';' | b',')).next().unwrap_or_default();
        if value.trim_ascii().is_empty() {
            Self::Absent
        } else if name.trim_ascii() != NAME.as_bytes() {
            Self::Other
        } else {
            read(value).map_or_else(Self::Wrong, Self::Deflate)
        }
    }

    /// What this and the next field say, which are one list (RFC 6455 §11.3.2).
    pub(crate) fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Absent, one) | (one, Self::Absent) => one,
            (Self::Other, _) => Self::Other,
            (Self::Deflate(_) | Self::Wrong(_), _) => Self::Wrong(DeflateError::Answer),
        }
    }

    /// What both sides agree on, where this answers an offer, or none.
    ///
    /// # Errors
    /// It does not answer that.
    pub(crate) fn answering(
        self,
        offer: Option<PermessageDeflate>,
    ) -> Result<Option<PermessageDeflate>, WebSocketError> {
        match (self, offer) {
            (Self::Absent, _) => Ok(None),
            (Self::Deflate(agreed), Some(offer)) => {
                offer.accepts(agreed)?;
                Ok(Some(agreed))
            }
            (Self::Wrong(error), Some(_)) => Err(error.into()),
            (Self::Deflate(_) | Self::Wrong(_), None) | (Self::Other, _) => Err(WebSocketError::Extension),
        }
    }
}

impl Display for PermessageDeflate {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAME)?;
        for (name, is_set) in [
            (SERVER_TAKEOVER, self.server_no_context_takeover),
            (CLIENT_TAKEOVER, self.client_no_context_takeover),
        ] {
            if is_set {
                write!(formatter, "; {name}")?;
            }
        }
        for (name, bits) in
            [(SERVER_BITS, self.server_max_window_bits.map(Some)), (CLIENT_BITS, self.client_max_window_bits)]
        {
            match bits {
                None => {}
                Some(None) => write!(formatter, "; {name}")?,
                Some(Some(bits)) => write!(formatter, "; {name}={bits}")?,
            }
        }
        Ok(())
    }
}

/// Reads the extension with its parameters, each of which may be there once.
fn read(text: &[u8]) -> Result<PermessageDeflate, DeflateError> {
    let mut parts = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    if parts.next() != Some(NAME.as_bytes()) {
        return Err(DeflateError::Answer);
    }
    let mut found = PermessageDeflate::default();
    for part in parts {
        if part.contains(&b',') {
            return Err(DeflateError::Answer);
        }
        let (name, value) = match part.iter().position(|byte| *byte == b'=') {
            Some(at) => (part[..at].trim_ascii_end(), Some(part[at + 1..].trim_ascii_start())),
            None => (part, None),
        };
        let flag = |is_set: &mut bool, name| match (value, std::mem::replace(is_set, true)) {
            (Some(_), _) => Err(DeflateError::Value(name)),
            (None, true) => Err(DeflateError::Repeated(name)),
            (None, false) => Ok(()),
        };
        match str::from_utf8(name).unwrap_or_default() {
            SERVER_TAKEOVER => flag(&mut found.server_no_context_takeover, SERVER_TAKEOVER)?,
            CLIENT_TAKEOVER => flag(&mut found.client_no_context_takeover, CLIENT_TAKEOVER)?,
            SERVER_BITS => {
                let bits = value.and_then(window_bits).ok_or(DeflateError::Value(SERVER_BITS))?;
                if found.server_max_window_bits.replace(bits).is_some() {
                    return Err(DeflateError::Repeated(SERVER_BITS));
                }
            }
            CLIENT_BITS => {
                let bits = value
                    .map(|value| window_bits(value).ok_or(DeflateError::Value(CLIENT_BITS)))
                    .transpose()?;
                if found.client_max_window_bits.replace(bits).is_some() {
                    return Err(DeflateError::Repeated(CLIENT_BITS));
                }
            }
            _ => return Err(DeflateError::Unknown),
        }
    }
    Ok(found)
}

/// A number from 8 to 15 without leading zeros, bare or in quotation marks (RFC 6455 §9.1).
fn window_bits(value: &[u8]) -> Option<u8> {
    let bare = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value);
    (WINDOW_BITS_MIN..=WINDOW_BITS_MAX).find(|bits| bits.to_string().as_bytes() == bare)
}

#[cfg(test)]
mod tests {
    use super::{Extensions, InvalidOffer, PermessageDeflate};
    use crate::error::{DeflateError, WebSocketError};

    const PLAIN: &str = "permessage-deflate";

    fn answered(offer: &str, answer: &str) -> Result<Option<String>, WebSocketError> {
        let offer = PermessageDeflate::offer(offer).unwrap();
        let agreed = Extensions::of(answer.as_bytes()).answering(Some(offer))?;
        Ok(agreed.map(|agreed| agreed.to_string()))
    }

    fn refused(offer: &str, answer: &str) -> DeflateError {
        match answered(offer, answer) {
            Err(WebSocketError::Deflate(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_offer_is_written_as_it_was_read() {
        for offer in [
            PLAIN,
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
            "permessage-deflate; server_max_window_bits=10; client_max_window_bits",
            "permessage-deflate; client_max_window_bits=8",
        ] {
            assert_eq!(PermessageDeflate::offer(offer).unwrap().to_string(), offer);
        }
        for wrong in [
            "",
            "deflate",
            "permessage-deflate;",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=7",
            "permessage-deflate; client_max_window_bits=16",
            "permessage-deflate; client_max_window_bits=08",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; client_max_window_bits; client_max_window_bits=9",
            "permessage-deflate, permessage-deflate",
        ] {
            assert_eq!(PermessageDeflate::offer(wrong), Err(InvalidOffer), "{wrong}");
        }
    }

    /// The examples of RFC 7692 §7.1.3 and what §7.1.1 and §7.1.2 let a server add.
    #[test]
    fn an_answer_may_have_what_was_offered_and_what_a_server_may_ask_for_by_itself() {
        let agreed = |offer: &str, answer: &str| answered(offer, answer).unwrap().unwrap();
        assert_eq!(agreed(PLAIN, PLAIN), PLAIN);
        for own in ["server_no_context_takeover", "client_no_context_takeover", "server_max_window_bits=10"] {
            let answer = format!("{PLAIN}; {own}");
            assert_eq!(agreed(PLAIN, &answer), answer);
        }
        let offer = "permessage-deflate; client_max_window_bits; server_max_window_bits=10";
        let quoted = "permessage-deflate ; server_max_window_bits = \"10\"; client_max_window_bits=9";
        assert_eq!(agreed(offer, quoted), quoted.replace(" ;", ";").replace(" = \"10\"", "=10"));
        assert_eq!(agreed("permessage-deflate; client_max_window_bits", PLAIN), PLAIN);
        assert_eq!(answered(PLAIN, " "), Ok(None));
    }

    #[test]
    fn an_answer_that_rfc_7692_does_not_allow_fails_by_what_is_wrong_with_it() {
        for (offer, answer, error) in [
            ("", "; mystery", DeflateError::Unknown),
            ("", ";", DeflateError::Unknown),
            ("", "; Server_No_Context_Takeover", DeflateError::Unknown),
            ("", ", permessage-deflate", DeflateError::Answer),
            ("", "; server_no_context_takeover, other", DeflateError::Answer),
            (
                "",
                "; server_no_context_takeover; server_no_context_takeover",
                DeflateError::Repeated("server_no_context_takeover"),
            ),
            (
                "",
                "; server_max_window_bits=10; server_max_window_bits=10",
                DeflateError::Repeated("server_max_window_bits"),
            ),
            ("", "; server_max_window_bits", DeflateError::Value("server_max_window_bits")),
            ("", "; server_max_window_bits=16", DeflateError::Value("server_max_window_bits")),
            ("", "; server_max_window_bits=\"10", DeflateError::Value("server_max_window_bits")),
            ("", "; client_no_context_takeover=true", DeflateError::Value("client_no_context_takeover")),
            ("", "; client_max_window_bits=10", DeflateError::NotOffered("client_max_window_bits")),
            (
                "; client_max_window_bits",
                "; client_max_window_bits",
                DeflateError::Value("client_max_window_bits"),
            ),
            (
                "; client_max_window_bits=9",
                "; client_max_window_bits=10",
                DeflateError::NotOffered("client_max_window_bits"),
            ),
            (
                "; server_max_window_bits=9",
                "; server_max_window_bits=10",
                DeflateError::NotOffered("server_max_window_bits"),
            ),
            ("; server_max_window_bits=9", "", DeflateError::Missing("server_max_window_bits")),
            ("; server_no_context_takeover", "", DeflateError::Missing("server_no_context_takeover")),
        ] {
            let found = refused(&format!("{PLAIN}{offer}"), &format!("{PLAIN}{answer}"));
            assert_eq!(found, error, "{offer:?} answered by {answer:?}");
        }
        let other = answered(PLAIN, "permessage-bzip2");
        assert_eq!(other, Err(WebSocketError::Extension));
    }

    #[test]
    fn several_fields_are_one_list_of_which_the_first_extension_decides() {
        let of = |fields: [&str; 2]| {
            let [first, second] = fields.map(|field| Extensions::of(field.as_bytes()));
            first.and(second).answering(PermessageDeflate::offer(PLAIN).ok())
        };
        assert_eq!(of([" ", PLAIN]), Ok(PermessageDeflate::offer(PLAIN).ok()));
        assert_eq!(of([PLAIN, ""]), Ok(PermessageDeflate::offer(PLAIN).ok()));
        assert_eq!(of([PLAIN, PLAIN]), Err(WebSocketError::Deflate(DeflateError::Answer)));
        assert_eq!(of([PLAIN, "other"]), Err(WebSocketError::Deflate(DeflateError::Answer)));
        assert_eq!(of(["other", PLAIN]), Err(WebSocketError::Extension));
    }

    #[test]
    fn without_an_offer_any_extension_is_one_too_many() {
        for answer in [PLAIN, "permessage-deflate; mystery", "other"] {
            let answer = Extensions::of(answer.as_bytes()).answering(None);
            assert_eq!(answer, Err(WebSocketError::Extension));
        }
        assert_eq!(Extensions::of(b"").answering(None), Ok(None));
    }

    #[test]
    fn a_client_compresses_with_the_lesser_of_the_windows_that_are_offered_and_agreed_on() {
        let of = |text: &str| PermessageDeflate::offer(&format!("{PLAIN}{text}")).unwrap();
        for (offer, answer, bits) in [
            ("", "", 15),
            ("; client_max_window_bits", "; client_max_window_bits=9", 9),
            ("; client_max_window_bits=10", "", 10),
            ("; client_max_window_bits=10", "; client_max_window_bits=8", 8),
        ] {
            assert_eq!(of(answer).client_bits(of(offer)), bits, "{offer:?} {answer:?}");
        }
    }
}
