//! Requests, each on its stream (RFC 9114 §4.1).

use loadcurve_wire::h3::Hearer as _;
use loadcurve_wire::h3::frame::{FrameHeader, FrameReader, Part, Place, kind};
use loadcurve_wire::h3::qpack::Decoder;
use loadcurve_wire::{Http3Code, Http3Error};

use crate::fields::Fields;
use crate::http::Status;
use crate::reply::Reply;
use crate::service::Service;

use super::HEADER_BYTES_MAX;
use super::answer::Answer;
use super::hearing::Hearing;

/// A longer section is not remembered.
const LONGEST_REMEMBERED: usize = 1024;

/// The section breaks the rules, which ends its stream and not the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads the sections of a connection. One that equals the one before says the same.
#[derive(Debug)]
pub(super) struct HeadReader {
    /// What the request that was read last is answered with.
    pub(super) last: Answer,
    pub(super) last_content_length: Option<u64>,
    last_section: Vec<u8>,
    fields: Fields,
}

impl Default for HeadReader {
    fn default() -> Self {
        Self {
            last: Answer::new(Reply::plain(Status::BadRequest)),
            last_content_length: None,
            last_section: Vec::new(),
            fields: Fields::default(),
        }
    }
}

impl HeadReader {
    /// Makes [`Self::last`] the answer to the request of a complete section.
    #[inline]
    pub(super) fn read(
        &mut self,
        section: &[u8],
        decoder: &mut Decoder,
        stream: u64,
        service: &mut impl Service,
    ) -> Result<Result<(), Malformed>, Http3Error> {
        if !section.is_empty() && self.last_section == section {
            return Ok(Ok(()));
        }
        self.last_section.clear();
        self.decode(section, decoder, stream)?;
        if !self.fields.are_a_request_to_a_host() {
            return Ok(Err(Malformed));
        }
        let Fields { method, path, content_length, is_grpc, .. } = &self.fields;
        let reply = if *is_grpc { service.reply_to_call() } else { service.reply(method, path) };
        // Messages are echoed over HTTP/2 alone.
        let reply = if reply.echoes.is_some() { Reply::to_unknown_call() } else { reply };
        self.last = Answer::new(reply);
        self.last_content_length = *content_length;
        if section.len() <= LONGEST_REMEMBERED {
            self.last_section.extend_from_slice(section);
        }
        Ok(Ok(()))
    }

    fn read_trailers(
        &mut self,
        section: &[u8],
        decoder: &mut Decoder,
        stream: u64,
    ) -> Result<Result<(), Malformed>, Http3Error> {
        self.decode(section, decoder, stream)?;
        Ok(if self.fields.are_trailers() { Ok(()) } else { Err(Malformed) })
    }

    /// No section waits, as there is no table to wait for.
    fn decode(&mut self, section: &[u8], decoder: &mut Decoder, stream: u64) -> Result<(), Http3Error> {
        self.fields.clear();
        let read = decoder.decode(stream, section, |field| self.fields.take(field));
        read.map(|_| ()).map_err(Http3Error::FieldSection)
    }
}

/// The section that is all of a stream.
#[inline]
pub(super) fn only_section(bytes: &[u8]) -> Option<&[u8]> {
    let (header, header_bytes) = FrameHeader::parse(bytes)?;
    let section = &bytes[header_bytes..];
    let is_all = header.kind == kind::HEADERS
        && header.length == section.len() as u64
        && section.len() <= HEADER_BYTES_MAX;
    is_all.then_some(section)
}

/// What bytes of a request's stream have brought.
#[derive(Debug)]
pub(super) enum Taken {
    /// More is to come.
    Continues,
    /// All of the request is there.
    Whole(Answer),
    /// It is none, or more than is read of one.
    Refused(Http3Code),
}

/// A request of which a part is to come.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) stream: u64,
    reader: FrameReader,
    /// Its answer, once its head has come.
    answer: Option<Answer>,
    /// How much its content's length leaves, where that was stated.
    remaining_bytes: Option<u64>,
    has_trailers: bool,
}

impl Request {
    pub(super) fn new(stream: u64) -> Self {
        Self {
            stream,
            reader: FrameReader::default(),
            answer: None,
            remaining_bytes: None,
            has_trailers: false,
        }
    }

    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        heads: &mut HeadReader,
        hearing: &mut Hearing,
        service: &mut impl Service,
    ) -> Result<Taken, Http3Error> {
        let mut rest = bytes;
        loop {
            let (taken, part) = self.reader.next(rest);
            rest = &rest[taken..];
            let refused = match part {
                None => break,
                // No payload is passed on.
                Some(Part::Data(_)) => None,
                Some(Part::Header(header, _)) => self.frame(header, hearing)?,
                Some(Part::Whole(_, section)) => {
                    let is_head = self.answer.is_none();
                    let read = if is_head {
                        heads.read(section, &mut hearing.decoder, self.stream, service)?
                    } else {
                        self.has_trailers = true;
                        heads.read_trailers(section, &mut hearing.decoder, self.stream)?
                    };
                    if is_head && read == Ok(()) {
                        self.answer = Some(heads.last.clone());
                        self.remaining_bytes = heads.last_content_length;
                    }
                    read.err().map(|Malformed| Http3Code::MESSAGE_ERROR)
                }
            };
            if let Some(code) = refused {
                return Ok(Taken::Refused(code));
            }
        }
        if is_end { self.end() } else { Ok(Taken::Continues) }
    }

    /// What is to be done with a frame whose header has come; data is skipped.
    fn frame(&mut self, header: FrameHeader, hearing: &mut Hearing) -> Result<Option<Http3Code>, Http3Error> {
        let FrameHeader { kind, length } = header;
        match Place::of(kind) {
            Place::Requests if self.has_trailers => Err(Http3Error::UnexpectedFrame { kind }),
            Place::Requests if kind == kind::HEADERS => {
                self.reader.keep(header);
                hearing.count_unproductive(1)?;
                Ok((length > HEADER_BYTES_MAX as u64).then_some(Http3Code::EXCESSIVE_LOAD))
            }
            Place::Requests if self.answer.is_none() => Err(Http3Error::UnexpectedFrame { kind }),
            Place::Requests => {
                if length > 0 {
                    hearing.unproductive = 0;
                } else {
                    hearing.count_unproductive(1)?;
                }
                let Some(remaining_bytes) = &mut self.remaining_bytes else { return Ok(None) };
                let left = remaining_bytes.checked_sub(length);
                *remaining_bytes = left.unwrap_or(0);
                Ok(left.is_none().then_some(Http3Code::MESSAGE_ERROR))
            }
            Place::Anywhere => {
                hearing.count_unproductive(1)?;
                Ok(None)
            }
            Place::Control | Place::FromClients | Place::Nowhere | Place::Pushes => {
                Err(Http3Error::UnexpectedFrame { kind })
            }
        }
    }

    /// The stream has ended.
    fn end(&mut self) -> Result<Taken, Http3Error> {
        if !self.reader.is_between_frames() {
            return Err(Http3Error::FrameCut);
        }
        Ok(match self.answer.take() {
            None => Taken::Refused(Http3Code::REQUEST_INCOMPLETE),
            Some(_) if self.remaining_bytes.is_some_and(|bytes| bytes > 0) => {
                Taken::Refused(Http3Code::MESSAGE_ERROR)
            }
            Some(answer) => Taken::Whole(answer),
        })
    }
}
