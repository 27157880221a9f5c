//! The unidirectional streams that a server opens (RFC 9114 §6.2, RFC 9204 §4.2).

use super::answers::Shared;
use super::frame::{FrameHeader, FrameReader, Part, Place, kind};
use super::integer;
use super::qpack::AcknowledgementReader;
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

/// What is to be done with a stream of the server.
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

#[derive(Debug, Clone, Copy)]
enum Known {
    /// A part of the type has come.
    Untyped {
        bytes: [u8; integer::LONGEST_BYTES],
        length: usize,
    },
    Critical(CriticalStream),
}

/// The largest payload of a frame of the control stream that is read as a whole, beside SETTINGS: one integer.
const GOAWAY_MAX_BYTES: u64 = integer::LONGEST_BYTES as u64;

/// What a server has said on its streams, and the parts of it that have come.
#[derive(Debug, Default)]
pub(super) struct IncomingStreams {
    streams: Vec<(u64, Known)>,
    opened: [bool; 3],
    control: FrameReader,
    acknowledgements: AcknowledgementReader,
    pub(super) settings: Option<PeerSettings>,
    /// The first stream that is not answered, once the server has said so.
    pub(super) first_unanswered: Option<u64>,
}

impl IncomingStreams {
    pub(super) fn reset(&mut self) {
        self.streams.clear();
        self.opened = [false; 3];
        self.control.reset();
        self.acknowledgements.reset();
        self.settings = None;
        self.first_unanswered = None;
    }

    pub(super) fn receive(
        &mut self,
        stream: u64,
        bytes: &[u8],
        is_end: bool,
        shared: &mut Shared,
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
                        let Some(critical) = self.open(kind)? else {
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
            CriticalStream::Control => self.control(rest, shared)?,
            CriticalStream::Encoder => {
                let followed = shared.heads.decoder_mut().receive(rest).map_err(Http3Error::EncoderStream)?;
                shared.count_unproductive(followed)?;
            }
            CriticalStream::Decoder => {
                let followed = self.acknowledgements.receive(rest).map_err(Http3Error::DecoderStream)?;
                shared.count_unproductive(followed)?;
            }
        }
        if is_end { Err(Http3Error::StreamClosed(critical)) } else { Ok(Incoming::Continues) }
    }

    /// The server has ended a stream without its rest.
    pub(super) fn was_reset(&mut self, stream: u64) -> Result<(), Http3Error> {
        let Some(place) = self.streams.iter().position(|(known, _)| *known == stream) else { return Ok(()) };
        match self.streams.swap_remove(place).1 {
            Known::Critical(critical) => Err(Http3Error::StreamClosed(critical)),
            Known::Untyped { .. } => Ok(()),
        }
    }

    /// What a stream of this type is for; nothing where it is unknown (RFC 9114 §9).
    fn open(&mut self, kind: u64) -> Result<Option<CriticalStream>, Http3Error> {
        let (critical, place) = match kind {
            stream_kind::CONTROL => (CriticalStream::Control, 0),
            stream_kind::QPACK_ENCODER => (CriticalStream::Encoder, 1),
            stream_kind::QPACK_DECODER => (CriticalStream::Decoder, 2),
            stream_kind::PUSH => return Err(Http3Error::Push),
            _ => return Ok(None),
        };
        if std::mem::replace(&mut self.opened[place], true) {
            return Err(Http3Error::StreamTwice(critical));
        }
        Ok(Some(critical))
    }

    fn control(&mut self, bytes: &[u8], shared: &mut Shared) -> Result<(), Http3Error> {
        let mut rest = bytes;
        loop {
            let (taken, part) = self.control.next(rest);
            rest = &rest[taken..];
            match part {
                None => return Ok(()),
                Some(Part::Header(header, _)) => {
                    let has_settings = self.settings.is_some();
                    if check(header, has_settings)? {
                        self.control.keep(header);
                    }
                    shared.count_unproductive(1)?;
                }
                Some(Part::Whole(FrameHeader { kind: kind::SETTINGS, .. }, payload)) => {
                    self.settings = Some(PeerSettings::parse(payload)?);
                }
                Some(Part::Whole(header, payload)) => {
                    let stream = go_away(header, payload, self.first_unanswered)?;
                    self.first_unanswered = Some(stream);
                    shared.is_leaving = true;
                }
                // No payload is passed on.
                Some(Part::Data(_)) => {}
            }
        }
    }
}

/// Whether a frame of the control stream is read; another one is skipped.
fn check(header: FrameHeader, has_settings: bool) -> Result<bool, Http3Error> {
    let FrameHeader { kind, length: bytes } = header;
    if !has_settings && kind != kind::SETTINGS {
        return Err(Http3Error::NoSettings);
    }
    match Place::of(kind) {
        Place::Control if kind == kind::SETTINGS => match bytes {
            _ if has_settings => Err(Http3Error::UnexpectedFrame { kind }),
            0..=SETTINGS_MAX_BYTES => Ok(true),
            _ => Err(Http3Error::FrameTooLarge { kind, bytes }),
        },
        Place::Control if bytes > GOAWAY_MAX_BYTES => Err(Http3Error::FrameLength { kind, bytes }),
        Place::Control => Ok(true),
        Place::Anywhere => Ok(false),
        Place::Pushes if kind == kind::CANCEL_PUSH => Err(Http3Error::Push),
        Place::Requests | Place::FromClients | Place::Nowhere | Place::Pushes => {
            Err(Http3Error::UnexpectedFrame { kind })
        }
    }
}

/// The first stream that is not answered; a later GOAWAY names no later one (RFC 9114 §5.2).
fn go_away(header: FrameHeader, payload: &[u8], earlier: Option<u64>) -> Result<u64, Http3Error> {
    let FrameHeader { kind, length: bytes } = header;
    let stream = match integer::read(payload) {
        Some((stream, length)) if length == payload.len() => stream,
        _ => return Err(Http3Error::FrameLength { kind, bytes }),
    };
    // A client's bidirectional streams have numbers that four divides (RFC 9000 §2.1).
    if !stream.is_multiple_of(4) || earlier.is_some_and(|earlier| stream > earlier) {
        return Err(Http3Error::GoAway { stream });
    }
    Ok(stream)
}
