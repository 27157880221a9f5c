//! One WebSocket on a stream of HTTP/2: what has come on it, and what waits to be sent.

use super::PONGS_BYTES_MAX;
use super::close::Close;
use super::compression::Compression;
use super::frame::{Opcode, mask, write_control, write_header};
use super::handshake::FirstLine;
use super::incoming::{ANSWERED, Incoming, Message, Said};
use super::random::Random;
use super::template::WebSocketTemplate;
use crate::error::Malformed;
use crate::exchange::{BodyPart, Tag};
use crate::permessage_deflate::PermessageDeflate;

/// How far a WebSocket is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// There is none, or its stream has ended.
    #[default]
    Ended,
    /// It was asked for.
    Opening,
    Open,
    /// The peer has closed it, and has not ended its stream.
    Closing,
}

/// A WebSocket, or the place for one.
#[derive(Debug, Default)]
pub(super) struct Tunnel {
    pub(super) state: State,
    /// Whose answer the next message of the peer is.
    pub(super) awaited: Option<Tag>,
    /// The message of that tag, before any of it is sent.
    unsent: Option<Unsent>,
    /// The message under way, where it is read while it is sent.
    upload: Option<Upload>,
    /// Control frames that are to be sent.
    controls: Vec<u8>,
    /// Whether it is among those that have something to send.
    pub(super) is_listed: bool,
    incoming: Incoming,
    pub(super) compression: Compression,
    /// What the peer says where it refuses the WebSocket.
    pub(super) refusal: FirstLine,
}

/// A message that waits to be sent.
#[derive(Debug)]
pub(super) enum Unsent {
    /// Its frame.
    Whole(Vec<u8>),
    Following(Upload),
}

/// A message that is read while it is sent.
#[derive(Debug)]
pub(super) struct Upload {
    /// The header of its frame.
    header: Vec<u8>,
    key: [u8; 4],
    length: u64,
}

/// What a part of a stream has brought.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The message that answers the one under way.
    pub(super) answered: Option<Message>,
    /// Whether such a message has begun.
    pub(super) begins: bool,
    pub(super) closed: Option<Close>,
    pub(super) fault: Option<Malformed>,
}

impl Tunnel {
    /// Makes ready for a new WebSocket.
    pub(super) fn begin(&mut self) {
        self.state = State::Opening;
        self.incoming.reset();
        self.compression = Compression::default();
        self.refusal.clear();
        self.forget_unsent();
        self.awaited = None;
    }

    /// The peer has opened it, with what was agreed on of an offer to compress messages.
    pub(super) fn open(&mut self, offer: Option<PermessageDeflate>, agreed: Option<PermessageDeflate>) {
        self.state = State::Open;
        self.compression.agree(offer, agreed);
        if agreed.is_some() {
            self.incoming.take_compressed();
        }
    }

    /// Forgets what is to be sent.
    pub(super) fn forget_unsent(&mut self) {
        self.unsent = None;
        self.upload = None;
        self.controls.clear();
    }

    /// Takes a part of what comes on the stream, whose answer has this status.
    #[inline]
    pub(super) fn take(
        &mut self,
        status: u16,
        part: &[u8],
        random: &mut Random,
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Heard {
        match self.state {
            _ if !opens(status) => self.refusal.take(part),
            State::Open => return self.read(part, random, take_body),
            // What comes behind a close frame is nothing (RFC 6455 §5.5.1); and none comes before the answer that opens it.
            State::Opening | State::Closing | State::Ended => {}
        }
        Heard::default()
    }

    #[inline]
    fn read(
        &mut self,
        part: &[u8],
        random: &mut Random,
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Heard {
        let mut heard = Heard::default();
        let mut consumed = 0;
        while heard.closed.is_none() {
            // One message answers the one under way; another one is nobody's.
            let awaited = self.awaited.filter(|_| heard.answered.is_none());
            let mut take = |part: &[u8]| awaited.into_iter().for_each(|tag| take_body(tag, ANSWERED, part));
            match self.incoming.read(&part[consumed..], awaited.is_some(), &mut take) {
                Err(fault) => {
                    heard.fault = Some(fault);
                    break;
                }
                Ok((_, None)) => break,
                Ok((read, Some(said))) => {
                    consumed += read;
                    match said {
                        Said::Message(message) => {
                            self.compression.count(&message);
                            heard.answered = Some(message);
                        }
                        Said::Ping => self.answer_ping(random),
                        Said::Close(close) => heard.closed = Some(close),
                    }
                }
            }
        }
        heard.begins = heard.answered.is_none() && self.incoming.begins();
        heard
    }

    /// Of more pings than there is room for, the last ones are answered (RFC 6455 §5.5.3).
    fn answer_ping(&mut self, random: &mut Random) {
        if self.controls.len() + self.incoming.control().len() > PONGS_BYTES_MAX {
            self.controls.clear();
        }
        write_control(Opcode::Pong, self.incoming.control(), random.mask(), &mut self.controls);
    }

    /// The peer has closed the WebSocket, which is answered; nothing else is sent.
    pub(super) fn close(&mut self, closed: &Close, random: &mut Random) {
        self.state = State::Closing;
        self.forget_unsent();
        write_control(Opcode::Close, &closed.echo(), random.mask(), &mut self.controls);
    }

    /// Whether something is to be sent, as soon as the stream takes it.
    pub(super) fn has_output(&self) -> bool {
        match self.state {
            State::Ended | State::Opening => false,
            State::Open => self.unsent.is_some() || !self.controls.is_empty(),
            State::Closing => !self.controls.is_empty(),
        }
    }

    /// The control frames that are to be sent.
    pub(super) fn controls(&mut self) -> &mut Vec<u8> {
        &mut self.controls
    }

    /// Whether nothing of the message under way is sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent.is_some()
    }

    /// Keeps a message until the stream takes it. One that waits for the answer which opens the WebSocket is sent as it is, whatever
    /// is agreed on by that (RFC 7692 §6).
    pub(super) fn keep(&mut self, template: &WebSocketTemplate, opcode: Opcode, key: [u8; 4]) {
        self.unsent = Some(if template.following_bytes == 0 {
            let mut frame = Vec::new();
            self.compression.write_message(template, None, (opcode, key), &mut frame);
            Unsent::Whole(frame)
        } else {
            let (mut header, length) = (Vec::new(), template.following_bytes);
            write_header(opcode, length, key, &mut header);
            Unsent::Following(Upload { header, key, length })
        });
    }

    /// The stream takes the message now: gives its frame, or how long that is where it is read while it is sent.
    pub(super) fn take_unsent(&mut self) -> Option<Result<Vec<u8>, u64>> {
        Some(match self.unsent.take()? {
            Unsent::Whole(frame) => Ok(frame),
            Unsent::Following(upload) => {
                let bytes = upload.header.len() as u64 + upload.length;
                self.upload = Some(upload);
                Err(bytes)
            }
        })
    }

    /// Appends a part of the frame that is read while it is sent.
    pub(super) fn write_part<F>(
        &self,
        part: BodyPart,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<(), F> {
        let (Some(Upload { header, key, .. }), Some(tag)) = (&self.upload, self.awaited) else {
            return Ok(());
        };
        let at = usize::try_from(part.offset).unwrap_or(usize::MAX).min(header.len());
        let of_header = part.bytes.min(header.len() - at);
        to.extend_from_slice(&header[at..at + of_header]);
        let bytes = part.bytes - of_header;
        if bytes > 0 {
            let offset = part.offset + of_header as u64 - header.len() as u64;
            let begin = to.len();
            read(BodyPart { tag, offset, bytes }, to)?;
            mask(&mut to[begin..], *key, offset);
        }
        Ok(())
    }
}

/// Whether a status is that of a WebSocket that is open (RFC 8441 §5).
pub(super) const fn opens(status: u16) -> bool {
    matches!(status, 200..300)
}
