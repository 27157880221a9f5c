//! What the fields of an answer say together, the same in HTTP/2 (RFC 9113 §8.2 and §8.3) and HTTP/3 (RFC 9114 §4.2 and
//! §4.3).

mod end_message;
mod first_location;
mod meaning;

use std::num::NonZeroU16;

use crate::error::{AnswerError, Malformed, Section};
use crate::grpc_status::{GrpcCoding, GrpcStatus};

pub(crate) use end_message::EndMessage;
pub(crate) use first_location::FirstLocation;
pub(crate) use meaning::Meaning;

/// What the fields of one block say together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: Option<u16>,
    pub(crate) content_length: Option<u64>,
    /// How a call of gRPC has ended; of two fields, what the last one says.
    pub(crate) grpc_status: Option<GrpcStatus>,
    /// How messages of gRPC are compressed that are.
    pub(crate) grpc_coding: GrpcCoding,
    /// The first thing that may be in no response.
    pub(crate) problem: Option<Malformed>,
    has_regular: bool,
}

impl Head {
    fn take(&mut self, meaning: Meaning) {
        let problem = match meaning {
            Meaning::Regular
            | Meaning::GrpcMessage
            | Meaning::Location
            | Meaning::WebSocketExtensions(_)
            | Meaning::WebSocketSubprotocol(_) => {
                self.has_regular = true;
                return;
            }
            Meaning::GrpcEncoding(coding) => {
                self.has_regular = true;
                self.grpc_coding = coding;
                return;
            }
            Meaning::GrpcStatus(status) => {
                self.has_regular = true;
                self.grpc_status = Some(status);
                return;
            }
            Meaning::Status(_) if self.has_regular => Some(AnswerError::LatePseudoField.into()),
            Meaning::Status(_) if self.status.is_some() => Some(AnswerError::Status.into()),
            Meaning::Status(status) => {
                self.status = Some(status);
                None
            }
            Meaning::ContentLength(length) => {
                self.has_regular = true;
                let is_other = self.content_length.is_some_and(|earlier| earlier != length);
                self.content_length = Some(length);
                is_other.then_some(Malformed::ContentLengthConflict)
            }
            Meaning::Forbidden(problem) => Some(problem),
        };
        self.problem = self.problem.or(problem);
    }

    /// What the block is in its answer, whose final header block has come or not.
    ///
    /// # Errors
    /// No answer has such a block there.
    pub(crate) fn block(&self, has_header: bool) -> Result<Block, Malformed> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        match self.status {
            Some(_) if has_header => Err(AnswerError::PseudoField.into()),
            None if has_header => Ok(Block::Trailers),
            None => Err(AnswerError::Status.into()),
            Some(101) => Err(Malformed::UnexpectedUpgrade),
            Some(100..200) => Ok(Block::Interim),
            Some(status) => NonZeroU16::new(status).map(Block::Final).ok_or(AnswerError::Status.into()),
        }
    }
}

/// A header block of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// That of an interim (1xx) response; another one follows.
    Interim,
    /// With this status.
    Final(NonZeroU16),
    /// The fields behind the body.
    Trailers,
}

/// Whether an answer can have a body (RFC 9110 §6.4.1).
#[inline]
pub(crate) fn can_have_body(is_head: bool, status: Option<NonZeroU16>) -> bool {
    !is_head && !matches!(status.map(NonZeroU16::get), Some(204 | 304))
}

/// Whether data may come of an answer.
///
/// # Errors
/// Its header block is missing, or it can have no body.
#[inline]
pub(crate) fn check_data(bytes: usize, is_head: bool, status: Option<NonZeroU16>) -> Result<(), AnswerError> {
    if status.is_none() {
        Err(AnswerError::NoHeader)
    } else if bytes > 0 && !can_have_body(is_head, status) {
        Err(AnswerError::UnexpectedBody)
    } else {
        Ok(())
    }
}

/// Whether an answer that has ended is as long as it states; one that can have no body may state what it would have.
///
/// # Errors
/// It is not.
#[inline]
pub(crate) fn check_length(
    stated_bytes: Option<u64>,
    received_bytes: u64,
    is_head: bool,
    status: Option<NonZeroU16>,
) -> Result<(), AnswerError> {
    match stated_bytes {
        Some(stated_bytes) if stated_bytes != received_bytes && can_have_body(is_head, status) => {
            Err(AnswerError::ContentLength { stated_bytes, received_bytes })
        }
        _ => Ok(()),
    }
}

/// What a field counts beside its name and value (RFC 9113 §6.5.2, RFC 9114 §4.2.2).
const FIELD_OVERHEAD_BYTES: usize = 32;

/// A block whose fields are being read.
#[derive(Debug, Default)]
pub(crate) struct HeadUnderWay {
    head: Head,
    list_bytes: usize,
}

impl HeadUnderWay {
    /// Takes the next field, whose name and value have this number of bytes, and which has been understood.
    #[inline]
    pub(crate) fn take(&mut self, field_bytes: usize, meaning: Meaning) {
        self.list_bytes += field_bytes + FIELD_OVERHEAD_BYTES;
        self.head.take(meaning);
    }

    /// The status, once its field has come.
    #[inline]
    pub(crate) fn status(&self) -> Option<u16> {
        self.head.status
    }

    /// What all of its fields say; more than `limit_bytes` of them are too many.
    pub(crate) fn end(self, limit_bytes: usize) -> Head {
        let mut head = self.head;
        if self.list_bytes > limit_bytes {
            head.problem = Some(Malformed::TooLarge { section: Section::HeaderBlock, limit_bytes });
        }
        head
    }
}

/// The last block of a connection. Many are equal to the one before; where that has changed no table, and nothing has since,
/// this one says the same.
#[derive(Debug, Default)]
pub(crate) struct LastHead {
    block: Vec<u8>,
    head: Head,
    /// The state of the table in which the block was read, if it is to be remembered.
    changes: Option<u64>,
}

/// A longer block is not remembered.
const LONGEST_REMEMBERED: usize = 1024;

impl LastHead {
    /// Forgets the block, for a new connection. The memory is kept.
    pub(crate) fn forget(&mut self) {
        self.changes = None;
    }

    /// What a block says in this state of the table, if that is known.
    #[inline]
    pub(crate) fn get(&self, changes: u64, block: &[u8]) -> Option<Head> {
        (self.changes == Some(changes) && self.block == block).then_some(self.head)
    }

    /// Remembers a block that says this in this state of the table.
    pub(crate) fn remember(&mut self, changes: u64, block: &[u8], head: Head) {
        self.changes = None;
        if block.len() <= LONGEST_REMEMBERED {
            self.block.clear();
            self.block.extend_from_slice(block);
            self.head = head;
            self.changes = Some(changes);
        }
    }
}
