//! Answers, each on the stream of its request (RFC 9114 §4.1).

use std::num::NonZeroU16;

use super::fields::{HeadReader, SectionRead};
use super::frame::{FrameHeader, FrameReader, Part, Place, kind};
use super::incoming::{Hearer, one_integer};
use super::integer;
use super::qpack::Decoder;
use crate::answer::{self, Block, Head};
use crate::error::{Http3Error, Malformed, QpackError, Section};
use crate::grpc_status::{GrpcCoding, GrpcStatus};
use crate::response::Response;

/// More frames in a row that bring nothing of an answer are nothing but work.
const UNPRODUCTIVE_MAX: usize = 10_000;
/// What is acknowledged to a server is kept while that does not read, up to here.
const OUTPUT_MAX_BYTES: usize = 256 * 1024;

/// What the answers of a connection share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) heads: HeadReader,
    pub(super) limit_bytes: usize,
    pub(super) most_blocked: usize,
    /// How many answers wait for entries of the table.
    pub(super) blocked: usize,
    /// Whether the server answers no requests but those that are under way.
    pub(super) is_leaving: bool,
    /// The first stream that is not answered, once the server has said so.
    pub(super) first_unanswered: Option<u64>,
    /// Frames and instructions since anything came that is part of a response.
    pub(super) unproductive: usize,
}

/// The largest payload of a frame of the control stream, beside SETTINGS: one integer.
const GOAWAY_MAX_BYTES: u64 = integer::LONGEST_BYTES as u64;

impl Hearer for Shared {
    const PUSH: Http3Error = Http3Error::Push;

    fn control_frame(&mut self, header: FrameHeader) -> Result<bool, Http3Error> {
        let FrameHeader { kind, length: bytes } = header;
        match Place::of(kind) {
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
    fn control_payload(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Http3Error> {
        let stream = one_integer(header, payload)?;
        // A client's bidirectional streams have numbers that four divides (RFC 9000 §2.1).
        if !stream.is_multiple_of(4) || self.first_unanswered.is_some_and(|earlier| stream > earlier) {
            return Err(Http3Error::GoAway { stream });
        }
        self.first_unanswered = Some(stream);
        self.is_leaving = true;
        Ok(())
    }

    fn decoder(&mut self) -> &mut Decoder {
        self.heads.decoder_mut()
    }

    /// Counts what brings nothing of an answer.
    fn count_unproductive(&mut self, number: usize) -> Result<(), Http3Error> {
        self.unproductive += number;
        let is_flood =
            self.unproductive > UNPRODUCTIVE_MAX || self.heads.decoder().output_bytes() > OUTPUT_MAX_BYTES;
        if is_flood { Err(Http3Error::Flood) } else { Ok(()) }
    }
}

/// What one slice of a stream brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// All of it is read, or what follows waits for entries of the table.
    Waits,
    /// The answer has begun.
    Begun,
    /// The answer is complete.
    Answered(Response),
    /// It is none.
    Refused(Malformed),
}

/// An answer under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) stream: u64,
    is_head: bool,
    /// The status, once the final header block has come.
    status: Option<NonZeroU16>,
    has_trailers: bool,
    /// How a call of gRPC has ended, by the last section that has come, if nothing has come behind it.
    grpc_status: Option<GrpcStatus>,
    pub(super) grpc_coding: GrpcCoding,
    /// How many entries the section needs that waits for them.
    blocked: Option<u64>,
    content_length: Option<u64>,
    header_bytes: u64,
    body_bytes: u64,
    framing_bytes: u64,
}

impl Answer {
    pub(super) fn new(stream: u64, is_head: bool) -> Self {
        Self {
            stream,
            is_head,
            status: None,
            has_trailers: false,
            grpc_status: None,
            grpc_coding: GrpcCoding::default(),
            blocked: None,
            content_length: None,
            header_bytes: 0,
            body_bytes: 0,
            framing_bytes: 0,
        }
    }

    /// Whether its section waits for no more entries than these.
    pub(super) fn is_ready(&self, entries: u64) -> bool {
        self.blocked.is_some_and(|needed| needed <= entries)
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// What is to be done with a frame whose header has come.
    #[inline]
    fn frame(
        &mut self,
        header: FrameHeader,
        header_bytes: usize,
        reader: &mut FrameReader,
        shared: &mut Shared,
    ) -> Result<Option<Step>, Malformed> {
        let FrameHeader { kind, length } = header;
        self.framing_bytes += header_bytes as u64;
        match Place::of(kind) {
            Place::Requests if self.has_trailers => Err(Http3Error::UnexpectedFrame { kind }.into()),
            Place::Requests if kind == kind::HEADERS => {
                let limit_bytes = shared.limit_bytes;
                if length > limit_bytes as u64 {
                    let section = Section::HeaderBlock;
                    return Ok(Some(Step::Refused(Malformed::TooLarge { section, limit_bytes })));
                }
                reader.keep(header);
                Ok(None)
            }
            Place::Requests => {
                if self.status.is_none() {
                    return Err(Http3Error::UnexpectedFrame { kind }.into());
                }
                if length > 0 {
                    shared.unproductive = 0;
                } else {
                    shared.count_unproductive(1)?;
                }
                self.grpc_status = None;
                reader.pass(header);
                let body_bytes = usize::try_from(length).unwrap_or(usize::MAX);
                let checked = answer::check_data(body_bytes, self.is_head, self.status);
                Ok(checked.err().map(|problem| Step::Refused(problem.into())))
            }
            Place::Anywhere => {
                // No answer ends before all of it has come.
                self.framing_bytes += length;
                shared.count_unproductive(1)?;
                Ok(None)
            }
            Place::Pushes if kind == kind::PUSH_PROMISE => Err(Http3Error::Push.into()),
            Place::Control | Place::FromClients | Place::Nowhere | Place::Pushes => {
                Err(Http3Error::UnexpectedFrame { kind }.into())
            }
        }
    }

    /// Takes a field section that was read; `ends_directly` says that the rest of the answer is there, too.
    fn head(
        &mut self,
        head: &Head,
        bytes: usize,
        shared: &mut Shared,
        ends_directly: bool,
    ) -> Result<Option<Step>, Malformed> {
        let block = match head.block(self.status.is_some()) {
            Ok(block) => block,
            Err(problem) => return Ok(Some(Step::Refused(problem))),
        };
        match block {
            Block::Interim => {
                shared.count_unproductive(1)?;
                self.framing_bytes += bytes as u64;
            }
            Block::Final(status) => {
                shared.unproductive = 0;
                self.status = Some(status);
                self.content_length = head.content_length;
                self.header_bytes = bytes as u64;
                self.grpc_status = head.grpc_status;
                self.grpc_coding = head.grpc_coding;
            }
            Block::Trailers => {
                self.has_trailers = true;
                self.framing_bytes += bytes as u64;
                self.grpc_status = head.grpc_status;
                return Ok(None);
            }
        }
        Ok((!ends_directly).then_some(Step::Begun))
    }

    /// The stream has ended between two frames.
    fn end(&self, shared: &Shared) -> Step {
        let Some(status) = self.status else { return Step::Refused(Http3Error::ResponseCut.into()) };
        let checked = answer::check_length(self.content_length, self.body_bytes, self.is_head, self.status);
        if let Err(problem) = checked {
            return Step::Refused(problem.into());
        }
        Step::Answered(Response {
            status: status.get(),
            header_bytes: self.header_bytes,
            body_bytes: self.body_bytes,
            framing_bytes: self.framing_bytes,
            inflated_bytes: None,
            keep_alive: !shared.is_leaving,
            grpc_status: self.grpc_status,
        })
    }
}

/// What a tag has in memory, from request to request.
#[derive(Debug, Default)]
pub(super) struct AnswerPlace {
    pub(super) answer: Option<Answer>,
    reader: FrameReader,
    /// A field section that waits for entries of the table.
    section: Vec<u8>,
}

impl AnswerPlace {
    /// Makes ready for the next answer. The memory is kept.
    pub(super) fn open(&mut self, answer: Answer) {
        self.answer = Some(answer);
        self.reader.reset();
    }

    /// Ends the answer; gives its stream.
    pub(super) fn end(&mut self, shared: &mut Shared) -> Option<Answer> {
        let answer = self.answer.take()?;
        shared.blocked -= usize::from(answer.is_blocked());
        Some(answer)
    }

    /// Reads bytes of the stream up to the next step; gives how many of them were read.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        shared: &mut Shared,
        take_body: &mut impl FnMut(u16, &[u8]),
    ) -> Result<(usize, Step), Malformed> {
        let Self { answer: Some(answer), reader, section } = self else {
            return Ok((bytes.len(), Step::Waits));
        };
        let mut consumed = 0;
        if let Some(entries) = answer.blocked {
            if entries > shared.heads.decoder().entries() {
                return Ok((0, Step::Waits));
            }
            answer.blocked = None;
            shared.blocked -= 1;
            let ends_directly = ends_directly(bytes, is_end);
            if let Some(step) = read_section(answer, section, shared, ends_directly)?.1 {
                return Ok((0, step));
            }
        }
        loop {
            let rest = &bytes[consumed..];
            let (taken, part) = reader.next(rest);
            consumed += taken;
            let step = match part {
                Some(Part::Data(data)) => {
                    take_body(answer.status.map_or(0, NonZeroU16::get), data);
                    answer.body_bytes += data.len() as u64;
                    None
                }
                Some(Part::Header(header, header_bytes)) => {
                    answer.frame(header, header_bytes, reader, shared)?
                }
                Some(Part::Whole(_, payload)) => {
                    let ends_directly = ends_directly(&bytes[consumed..], is_end);
                    let (is_blocked, step) = read_section(answer, payload, shared, ends_directly)?;
                    if is_blocked {
                        section.clear();
                        section.extend_from_slice(payload);
                        return Ok((consumed, Step::Waits));
                    }
                    step
                }
                None => break,
            };
            if let Some(step) = step {
                return Ok((consumed, step));
            }
        }
        match is_end {
            false => Ok((consumed, Step::Waits)),
            true if reader.is_between_frames() => Ok((consumed, answer.end(shared))),
            true => Err(Http3Error::FrameCut.into()),
        }
    }
}

/// Reads a field section of an answer; says whether it has to wait, and what it brings otherwise.
fn read_section(
    answer: &mut Answer,
    section: &[u8],
    shared: &mut Shared,
    ends_directly: bool,
) -> Result<(bool, Option<Step>), Malformed> {
    match shared.heads.read(answer.stream, section).map_err(Http3Error::FieldSection)? {
        SectionRead::Head(head) => Ok((false, answer.head(&head, section.len(), shared, ends_directly)?)),
        SectionRead::Blocked { entries } => {
            let most = shared.most_blocked;
            if shared.blocked == most {
                return Err(Http3Error::FieldSection(QpackError::TooManyBlocked { most }).into());
            }
            shared.blocked += 1;
            shared.heads.decoder_mut().count_blocked();
            answer.blocked = Some(entries);
            Ok((true, None))
        }
    }
}

/// Whether the answer ends with what follows: nothing, or one frame of data.
#[inline]
fn ends_directly(following: &[u8], is_end: bool) -> bool {
    is_end
        && match FrameHeader::parse(following) {
            Some((FrameHeader { kind: kind::DATA, length }, header_bytes)) => {
                (following.len() - header_bytes) as u64 == length
            }
            _ => following.is_empty(),
        }
}
