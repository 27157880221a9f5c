//! The unidirectional streams that the other side opens (RFC 9114 §6.2, RFC 9204 §4.2).

use super::frame::{FrameHeader, FrameReader, Part, kind};
use super::integer;
use super::qpack::{AcknowledgementReader, Decoder};
use super::settings::{PeerSettings, SETTINGS_MAX_BYTES};
use crate::error::{CriticalStream, Http3Error};

/// The types of unidirectional streams.
pub mod stream_kind {
    /// That of the settings.
    pub const CONTROL: u64 = 0x0;
    /// That of an answer that nobody has asked for.
    pub const PUSH: u64 = 0x1;
    /// That of the table of the field compression.
    pub const QPACK_ENCODER: u64 = 0x2;
    /// That of what was read of the table.
    pub const QPACK_DECODER: u64 = 0x3;
}

/// What is to be done with a stream of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// Read it further.
    Continues,
    /// Nobody needs it: end its reading, with [`Http3Code::STREAM_CREATION_ERROR`](crate::Http3Code::STREAM_CREATION_ERROR)
    /// if it has to be said why, and hand on no more of it.
    Unwanted,
}

/// More streams that are open at once than this are nobody's need: three have a meaning.
const STREAMS_MAX: usize = 64;

/// The side that hears: a client and a server allow each other different frames.
pub trait Hearer {
    /// How the other side breaks the protocol by opening a stream of pushes.
    const PUSH: Http3Error;

    /// A frame of the control stream has begun that is no SETTINGS; says whether its payload is wanted as a whole, and not skipped.
    ///
    /// # Errors
    /// It may not be there, or not be as long.
    fn control_frame(&mut self, header: FrameHeader) -> Result<bool, Http3Error>;

    /// The payload of a frame that was wanted.
    ///
    /// # Errors
    /// It is not what its type says.
    fn control_payload(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Http3Error>;

    /// What keeps the dynamic table that the other side fills.
    fn decoder(&mut self) -> &mut Decoder;

    /// Counts what is nothing but work.
    ///
    /// # Errors
    /// It is too much.
    fn count_unproductive(&mut self, number: usize) -> Result<(), Http3Error>;
}

#[derive(Debug, Clone, Copy)]
enum Known {
    /// A part of the type has come.
    Untyped {
        bytes: [u8; integer::LONGEST_BYTES],
        length: usize,
    },
    Critical(CriticalStream),
}

/// What the other side has said on its streams, and the parts of it that have come.
#[derive(Debug, Default)]
pub struct IncomingStreams {
    streams: Vec<(u64, Known)>,
    opened: [bool; 3],
    control: FrameReader,
    acknowledgements: AcknowledgementReader,
    settings: Option<PeerSettings>,
}

impl IncomingStreams {
    /// Makes ready for a new connection.
    pub fn reset(&mut self) {
        self.streams.clear();
        self.opened = [false; 3];
        self.control.reset();
        self.acknowledgements.reset();
        self.settings = None;
    }

    /// The settings of the other side, once they have come.
    #[must_use]
    pub fn settings(&self) -> Option<PeerSettings> {
        self.settings
    }

    /// Reads bytes of a unidirectional stream, all of them; `is_end` says that the stream ends behind them.
    ///
    /// # Errors
    /// The other side breaks the protocol. The connection is of no more use.
    pub fn receive(
        &mut self,
        stream: u64,
        bytes: &[u8],
        is_end: bool,
        side: &mut impl Hearer,
    ) -> Result<Incoming, Http3Error> {
        let place = match self.streams.iter().position(|(known, _)| *known == stream) {
            Some(place) => place,
            None if self.streams.len() == STREAMS_MAX => return Err(Http3Error::TooManyStreams),
            None => {
                self.streams.push((stream, Known::Untyped { bytes: [0; integer::LONGEST_BYTES], length: 0 }));
                self.streams.len() - 1
            }
        };
        let mut rest = bytes;
        let critical = loop {
            match &mut self.streams[place].1 {
                Known::Critical(critical) => break *critical,
                Known::Untyped { bytes, length } => {
                    if let Some((kind, _)) = integer::read(&bytes[..*length]) {
                        let Some(critical) = self.open(kind, side)? else {
                            self.streams.swap_remove(place);
                            return Ok(Incoming::Unwanted);
                        };
                        self.streams[place].1 = Known::Critical(critical);
                        break critical;
                    }
                    let Some((&byte, behind)) = rest.split_first() else {
                        // A stream may end before its type (RFC 9114 §6.2).
                        if is_end {
                            self.streams.swap_remove(place);
                        }
                        return Ok(Incoming::Continues);
                    };
                    bytes[*length] = byte;
                    *length += 1;
                    rest = behind;
                }
            }
        };
        match critical {
            CriticalStream::Control => self.control(rest, side)?,
            CriticalStream::Encoder => {
                let followed = side.decoder().receive(rest).map_err(Http3Error::EncoderStream)?;
                side.count_unproductive(followed)?;
            }
            CriticalStream::Decoder => {
                let followed = self.acknowledgements.receive(rest).map_err(Http3Error::DecoderStream)?;
                side.count_unproductive(followed)?;
            }
        }
        if is_end { Err(Http3Error::StreamClosed(critical)) } else { Ok(Incoming::Continues) }
    }

    /// The other side has ended a stream without its rest.
    ///
    /// # Errors
    /// It is one that may not be closed. The connection is of no more use.
    pub fn was_reset(&mut self, stream: u64) -> Result<(), Http3Error> {
        let Some(place) = self.streams.iter().position(|(known, _)| *known == stream) else { return Ok(()) };
        match self.streams.swap_remove(place).1 {
            Known::Critical(critical) => Err(Http3Error::StreamClosed(critical)),
            Known::Untyped { .. } => Ok(()),
        }
    }

    /// What a stream of this type is for; nothing where it is unknown (RFC 9114 §9).
    fn open<H: Hearer>(&mut self, kind: u64, _: &H) -> Result<Option<CriticalStream>, Http3Error> {
        let (critical, place) = match kind {
            stream_kind::CONTROL => (CriticalStream::Control, 0),
            stream_kind::QPACK_ENCODER => (CriticalStream::Encoder, 1),
            stream_kind::QPACK_DECODER => (CriticalStream::Decoder, 2),
            stream_kind::PUSH => return Err(H::PUSH),
            _ => return Ok(None),
        };
        if std::mem::replace(&mut self.opened[place], true) {
            return Err(Http3Error::StreamTwice(critical));
        }
        Ok(Some(critical))
    }

    fn control(&mut self, bytes: &[u8], side: &mut impl Hearer) -> Result<(), Http3Error> {
        let mut rest = bytes;
        loop {
            let (taken, part) = self.control.next(rest);
            rest = &rest[taken..];
            match part {
                None => return Ok(()),
                Some(Part::Header(header, _)) => {
                    let is_wanted = match (header.kind, self.settings) {
                        (kind::SETTINGS, None) => check_settings(header)?,
                        (kind @ kind::SETTINGS, Some(_)) => return Err(Http3Error::UnexpectedFrame { kind }),
                        (_, None) => return Err(Http3Error::NoSettings),
                        (_, Some(_)) => side.control_frame(header)?,
                    };
                    if is_wanted {
                        self.control.keep(header);
                    }
                    side.count_unproductive(1)?;
                }
                Some(Part::Whole(FrameHeader { kind: kind::SETTINGS, .. }, payload)) => {
                    self.settings = Some(PeerSettings::parse(payload)?);
                }
                Some(Part::Whole(header, payload)) => side.control_payload(header, payload)?,
                // No payload is passed on.
                Some(Part::Data(_)) => {}
            }
        }
    }
}

fn check_settings(header: FrameHeader) -> Result<bool, Http3Error> {
    let FrameHeader { kind, length: bytes } = header;
    if bytes > SETTINGS_MAX_BYTES { Err(Http3Error::FrameTooLarge { kind, bytes }) } else { Ok(true) }
}

/// The one integer that is the payload of a frame.
///
/// # Errors
/// It is not one integer.
pub fn one_integer(header: FrameHeader, payload: &[u8]) -> Result<u64, Http3Error> {
    let FrameHeader { kind, length: bytes } = header;
    match integer::read(payload) {
        Some((value, length)) if length == payload.len() => Ok(value),
        _ => Err(Http3Error::FrameLength { kind, bytes }),
    }
}
