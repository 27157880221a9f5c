//! What a server hears on the streams that its client alone sends on (RFC 9114 §7.2).

use loadcurve_wire::Http3Error;
use loadcurve_wire::h3::frame::{FrameHeader, Place, kind};
use loadcurve_wire::h3::qpack::Decoder;
use loadcurve_wire::h3::{Hearer, integer, one_integer};

/// More frames in a row that bring nothing of a request are nothing but work.
const UNPRODUCTIVE_MAX: usize = 10_000;
/// The longest payload of a frame that is read: a number, and what a client says of a priority.
const PAYLOAD_MAX_BYTES: u64 = 1024;

/// What is kept of it.
#[derive(Debug)]
pub(super) struct Hearing {
    /// That of a table without room.
    pub(super) decoder: Decoder,
    pub(super) unproductive: usize,
    most_push: Option<u64>,
    first_unwanted_push: Option<u64>,
}

impl Default for Hearing {
    fn default() -> Self {
        Self { decoder: Decoder::new(0), unproductive: 0, most_push: None, first_unwanted_push: None }
    }
}

impl Hearer for Hearing {
    const PUSH: Http3Error = Http3Error::PushByClient;

    fn control_frame(&mut self, header: FrameHeader) -> Result<bool, Http3Error> {
        let FrameHeader { kind, length: bytes } = header;
        match Place::of(kind) {
            Place::Control | Place::FromClients if bytes > PAYLOAD_MAX_BYTES => {
                Err(Http3Error::FrameTooLarge { kind, bytes })
            }
            Place::Pushes if kind == kind::CANCEL_PUSH && bytes > integer::LONGEST_BYTES as u64 => {
                Err(Http3Error::FrameLength { kind, bytes })
            }
            Place::Pushes if kind == kind::CANCEL_PUSH => Ok(true),
            Place::Control | Place::FromClients => Ok(true),
            Place::Anywhere => Ok(false),
            Place::Requests | Place::Nowhere | Place::Pushes => Err(Http3Error::UnexpectedFrame { kind }),
        }
    }

    fn control_payload(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Http3Error> {
        let FrameHeader { kind, length: bytes } = header;
        let refused = |number| Err(Http3Error::Number { kind, number });
        match kind {
            kind::PRIORITY_UPDATE | kind::PRIORITY_UPDATE_OF_PUSH => {
                let Some((number, _)) = integer::read(payload) else {
                    return Err(Http3Error::FrameLength { kind, bytes });
                };
                // There is no push; requests have numbers that four divides (RFC 9218 §7.2).
                let is_a_request = kind == kind::PRIORITY_UPDATE && number.is_multiple_of(4);
                if is_a_request { Ok(()) } else { refused(number) }
            }
            kind::MAX_PUSH_ID => match one_integer(header, payload)? {
                number if self.most_push.is_some_and(|most| number < most) => refused(number),
                number => {
                    self.most_push = Some(number);
                    Ok(())
                }
            },
            kind::GOAWAY => match one_integer(header, payload)? {
                number if self.first_unwanted_push.is_some_and(|first| number > first) => refused(number),
                number => {
                    self.first_unwanted_push = Some(number);
                    Ok(())
                }
            },
            // A push that was never promised.
            _ => refused(one_integer(header, payload)?),
        }
    }

    fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    fn count_unproductive(&mut self, number: usize) -> Result<(), Http3Error> {
        self.unproductive += number;
        if self.unproductive > UNPRODUCTIVE_MAX { Err(Http3Error::Flood) } else { Ok(()) }
    }
}
