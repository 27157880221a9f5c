//! What goes to the server on streams, as far as QUIC does not take it at once.

use std::collections::VecDeque;

use loadcurve_wire::{BodyPart, Tag, WrittenBody};

use crate::connection::{Connection, Then};

/// The bodies of requests, and what else waits for windows.
#[derive(Debug)]
pub(super) struct Uploads {
    by_tag: Box<[Upload]>,
    /// The tags of those that can go on, which take turns.
    turns: VecDeque<Tag>,
    /// What waits on streams of the client alone.
    own: Vec<(u64, Vec<u8>)>,
}

/// The request of a tag, and what of it is not with QUIC yet.
#[derive(Clone, Debug, Default)]
struct Upload {
    stream: u64,
    /// How much of the body was read.
    offset: u64,
    left: u64,
    /// What was read and is not taken yet.
    held: Vec<u8>,
}

impl Upload {
    fn is_under_way(&self) -> bool {
        self.left > 0 || !self.held.is_empty()
    }

    /// What follows the bytes that are held.
    fn then(&self) -> Then {
        if self.left == 0 { Then::End } else { Then::More }
    }

    /// Gives QUIC what is held; whether it has taken all.
    fn flush(&mut self, connection: &mut Connection) -> bool {
        let then = self.then();
        let taken = connection.write(self.stream, &self.held, then);
        self.held.drain(..taken);
        self.held.is_empty()
    }
}

impl Uploads {
    pub(super) fn new(most: usize) -> Self {
        Self { by_tag: vec![Upload::default(); most].into(), turns: VecDeque::new(), own: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.by_tag.iter_mut().for_each(|upload| (upload.left, upload.held) = (0, Vec::new()));
        self.turns.clear();
        self.own.clear();
    }

    /// A request has begun on a stream, which has not taken the last bytes of it.
    #[inline]
    pub(super) fn begin(&mut self, tag: Tag, stream: u64, left: u64, untaken: &[u8]) {
        let upload = &mut self.by_tag[tag];
        (upload.stream, upload.offset, upload.left) = (stream, 0, left);
        upload.held.extend_from_slice(untaken);
        if left > 0 && untaken.is_empty() {
            self.turns.push_back(tag);
        }
    }

    /// The stream of the request that a tag stands for.
    pub(super) fn stream(&self, tag: Tag) -> u64 {
        self.by_tag[tag].stream
    }

    /// Nothing more of a request is sent.
    #[inline]
    pub(super) fn end(&mut self, tag: Tag) {
        let upload = &mut self.by_tag[tag];
        if upload.is_under_way() {
            upload.left = 0;
            upload.held.clear();
            self.turns.retain(|one| *one != tag);
        }
    }

    pub(super) fn can_go_on(&self) -> bool {
        !self.turns.is_empty()
    }

    #[inline]
    pub(super) fn is_under_way(&self, tag: Tag) -> bool {
        self.by_tag.get(tag).is_some_and(Upload::is_under_way)
    }

    /// Writes the next part of the body whose turn it is.
    pub(super) fn write<F>(
        &mut self,
        connection: &mut Connection,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        let Some(tag) = self.turns.pop_front() else { return Ok(None) };
        let upload = &mut self.by_tag[tag];
        let bytes = usize::try_from(upload.left).unwrap_or(usize::MAX).min(most_bytes);
        let before = to.len();
        read(BodyPart { tag, offset: upload.offset, bytes }, to)?;
        upload.offset += bytes as u64;
        upload.left -= bytes as u64;
        let taken = connection.write(upload.stream, &to[before..], upload.then());
        upload.held.extend_from_slice(&to[before + taken..]);
        if upload.held.is_empty() && upload.left > 0 {
            self.turns.push_back(tag);
        }
        Ok(Some(WrittenBody { tag, bytes }))
    }

    /// A stream takes bytes again.
    pub(super) fn go_on(&mut self, connection: &mut Connection, stream: u64, tag: Option<Tag>) {
        self.own.retain_mut(|(own, bytes)| {
            if *own == stream {
                let taken = connection.write(stream, bytes, Then::More);
                bytes.drain(..taken);
            }
            !bytes.is_empty()
        });
        let Some(tag) = tag else { return };
        let upload = &mut self.by_tag[tag];
        let was_held = !upload.held.is_empty();
        if was_held && upload.flush(connection) && upload.left > 0 {
            self.turns.push_back(tag);
        }
    }

    /// Writes on a stream of the client alone.
    pub(super) fn write_own(&mut self, connection: &mut Connection, stream: u64, bytes: &[u8]) {
        if let Some((_, waiting)) = self.own.iter_mut().find(|(own, _)| *own == stream) {
            waiting.extend_from_slice(bytes);
            return;
        }
        let taken = connection.write(stream, bytes, Then::More);
        if taken < bytes.len() {
            self.own.push((stream, bytes[taken..].to_vec()));
        }
    }
}
