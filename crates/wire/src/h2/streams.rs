//! The streams of a connection, each in the place of its request's tag.

use std::collections::VecDeque;
use std::num::{NonZeroU16, NonZeroU32};

use super::window::ReceiveWindow;
use crate::exchange::Tag;
use crate::grpc_status::GrpcCoding;
use crate::request::RequestKind;
use crate::template::UploadBody;

/// The largest number of a stream.
pub(super) const LAST_ID: u32 = (1 << 31) - 1;

/// A request and its answer: one line of a cache, because each answer goes through those of all streams in turn.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) kind: RequestKind,
    /// Whether a part of the request's body has not been sent, or more of it may follow.
    pub(super) is_uploading: bool,
    /// The status of the answer, once its header block has come.
    pub(super) status: Option<NonZeroU16>,
    pub(super) content_length: Option<u64>,
    /// How messages of gRPC are compressed that are, as the header block says.
    pub(super) grpc_coding: GrpcCoding,
    /// The length of the answer's header block.
    pub(super) header_bytes: u32,
    pub(super) body_bytes: u64,
    pub(super) framing_bytes: u64,
    pub(super) receive_window: ReceiveWindow,
    /// What may be sent before the peer gives more; below zero where it has taken back what was used.
    pub(super) send_window: i32,
}

const _: () = assert!(size_of::<Option<Stream>>() == 64);

/// The body of a request, as far as it has not been sent.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) body: UploadBody,
    pub(super) offset: u64,
    /// Whether it has waited for a window.
    pub(super) was_delayed: bool,
    pub(super) ends_stream: EndsStream,
}

/// Whether what is sent on a stream is the last of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndsStream {
    Yes,
    /// More may follow: the stream is kept.
    No,
}

/// What is left of a stream that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) id: u32,
    /// Whether a part of its request's body had not been sent.
    pub(super) was_uploading: bool,
}

/// What became of a stream that a frame names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Open(Tag),
    /// It was given up by the client, which may have crossed the frame.
    GivenUp,
    Ended,
    /// It was never opened.
    Idle,
}

/// Under which tag a stream is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    id: NonZeroU32,
    tag: u32,
}

/// As many streams as may be under way, found by tag and by number.
#[derive(Debug)]
pub(super) struct Streams {
    by_tag: Box<[Option<Stream>]>,
    /// The rest of the bodies of requests, by tag, of streams that are uploading.
    uploads: Box<[Option<Upload>]>,
    /// Tags by number: an open hash table, whose length is a power of two and at least twice the streams.
    by_id: Box<[Option<Entry>]>,
    open: usize,
    next_id: u32,
    /// Streams that the client has given up, the oldest first; as many as there may be under way, and not fewer than 16.
    given_up: VecDeque<u32>,
    /// The newest of those that were given up so long ago that they are not kept.
    forgotten_id: u32,
}

impl Streams {
    pub(super) fn new(most: usize) -> Self {
        Self {
            by_tag: (0..most).map(|_| None).collect(),
            uploads: (0..most).map(|_| None).collect(),
            by_id: vec![None; (2 * most).max(2).next_power_of_two()].into(),
            open: 0,
            next_id: 1,
            given_up: VecDeque::with_capacity(most.max(16)),
            forgotten_id: 0,
        }
    }

    pub(super) fn reset(&mut self) {
        self.by_tag.fill_with(|| None);
        self.uploads.fill_with(|| None);
        self.by_id.fill(None);
        self.open = 0;
        self.next_id = 1;
        self.given_up.clear();
        self.forgotten_id = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.open
    }

    /// The number of the next stream to be opened.
    pub(super) fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Whether the numbers of streams are used up.
    pub(super) fn are_used_up(&self) -> bool {
        self.next_id > LAST_ID
    }

    #[cfg(test)]
    pub(super) fn skip_to(&mut self, id: u32) {
        self.next_id = id;
    }

    /// Opens a stream under a tag that is free, with the next number.
    pub(super) fn open(&mut self, tag: Tag, kind: RequestKind, windows: (ReceiveWindow, i32)) -> u32 {
        let id = self.next_id;
        self.next_id += 2;
        let (receive_window, send_window) = windows;
        self.by_tag[tag] = Some(Stream {
            id,
            kind,
            is_uploading: false,
            status: None,
            content_length: None,
            grpc_coding: GrpcCoding::default(),
            header_bytes: 0,
            body_bytes: 0,
            framing_bytes: 0,
            receive_window,
            send_window,
        });
        let mut place = self.home(id);
        while self.by_id[place].is_some() {
            place = self.behind(place);
        }
        self.by_id[place] = entry(id, tag);
        self.open += 1;
        id
    }

    /// Whether a number is that of a stream which the client has opened.
    pub(super) fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next_id
    }

    /// What became of a stream.
    #[inline]
    pub(super) fn named(&self, id: u32) -> Named {
        let mut place = self.home(id);
        while let Some(known) = self.by_id[place] {
            if known.id.get() == id {
                return Named::Open(known.tag as usize);
            }
            place = self.behind(place);
        }
        if !self.was_opened(id) {
            Named::Idle
        } else if id <= self.forgotten_id || self.given_up.contains(&id) {
            Named::GivenUp
        } else {
            Named::Ended
        }
    }

    pub(super) fn get(&self, tag: Tag) -> Option<&Stream> {
        self.by_tag.get(tag)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, tag: Tag) -> Option<&mut Stream> {
        self.by_tag.get_mut(tag)?.as_mut()
    }

    /// Keeps the body of a request before any of it is sent.
    pub(super) fn begin_upload(&mut self, tag: Tag, body: &UploadBody, ends_stream: EndsStream) {
        if let Some(stream) = self.get_mut(tag) {
            stream.is_uploading = true;
            self.uploads[tag] =
                Some(Upload { body: body.clone(), offset: 0, was_delayed: false, ends_stream });
        }
    }

    /// Whether something is to be sent on a stream now.
    pub(super) fn has_upload(&self, tag: Tag) -> bool {
        self.uploads[tag].is_some()
    }

    /// Whether a part of the body of a request has not been sent.
    pub(super) fn is_uploading(&self, tag: Tag) -> bool {
        self.by_tag.get(tag).and_then(Option::as_ref).is_some_and(|stream| stream.is_uploading)
    }

    /// A stream with the rest of its request's body, if there is any.
    pub(super) fn uploading(&mut self, tag: Tag) -> Option<(&mut Stream, &mut Upload)> {
        Some((self.by_tag.get_mut(tag)?.as_mut()?, self.uploads[tag].as_mut()?))
    }

    /// The body of a request has been sent, or what there is of it now.
    pub(super) fn end_upload(&mut self, tag: Tag, ends_stream: EndsStream) {
        if let Some(stream) = self.get_mut(tag)
            && ends_stream == EndsStream::Yes
        {
            stream.is_uploading = false;
        }
        self.uploads[tag] = None;
    }

    /// Whether the window of a stream lets its request go on.
    pub(super) fn can_send(&self, tag: Tag) -> bool {
        self.by_tag[tag].as_ref().is_some_and(|stream| stream.send_window > 0)
    }

    /// All that are open, in no order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.by_tag.iter_mut().flatten()
    }

    /// The tag of a stream behind this one, if there is one.
    pub(super) fn any_behind(&self, last_id: u32) -> Option<Tag> {
        self.by_tag.iter().position(|stream| stream.as_ref().is_some_and(|stream| stream.id > last_id))
    }

    /// Ends a stream.
    #[inline]
    pub(super) fn end(&mut self, tag: Tag) -> Option<Ended> {
        let place = self.by_tag.get_mut(tag)?;
        let Stream { id, is_uploading: was_uploading, .. } = *place.as_ref()?;
        *place = None;
        if was_uploading {
            self.uploads[tag] = None;
        }
        self.open -= 1;
        let mut place = self.home(id);
        while self.by_id[place] != entry(id, tag) {
            place = self.behind(place);
        }
        self.close_gap(place);
        Some(Ended { id, was_uploading })
    }

    /// Notes that the client has given a stream up, whose frames are ignored from now on.
    pub(super) fn give_up(&mut self, id: u32) {
        if self.given_up.len() == self.given_up.capacity() {
            let forgotten = self.given_up.pop_front().unwrap_or(0);
            self.forgotten_id = self.forgotten_id.max(forgotten);
        }
        self.given_up.push_back(id);
    }

    #[inline]
    fn home(&self, id: u32) -> usize {
        // The streams of a connection have consecutive numbers. Side by side they would be one long run, which each that
        // ends would have to walk; multiplied by the golden ratio they lie far apart (Knuth, TAOCP 6.4).
        const GOLDEN_RATIO: u32 = 0x9e37_79b9;
        let bits = self.by_id.len().trailing_zeros();
        ((id >> 1).wrapping_mul(GOLDEN_RATIO) >> (u32::BITS - bits)) as usize
    }

    #[inline]
    fn behind(&self, place: usize) -> usize {
        (place + 1) & (self.by_id.len() - 1)
    }

    /// Frees a place, and moves up what has stood behind it only because the places before were taken.
    #[inline]
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.by_id.len() - 1;
        let mut place = gap;
        loop {
            self.by_id[gap] = None;
            loop {
                place = self.behind(place);
                let Some(Entry { id, .. }) = self.by_id[place] else { return };
                // It may move if its home is not between the gap and its place.
                let from_home = place.wrapping_sub(self.home(id.get())) & mask;
                let from_gap = place.wrapping_sub(gap) & mask;
                if from_home >= from_gap {
                    break;
                }
            }
            self.by_id[gap] = self.by_id[place];
            gap = place;
        }
    }
}

fn entry(id: u32, tag: Tag) -> Option<Entry> {
    // No connection has as many streams as there are numbers.
    Some(Entry { id: NonZeroU32::new(id)?, tag: u32::try_from(tag).ok()? })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Named, ReceiveWindow, Streams};
    use crate::request::RequestKind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn streams_are_found_by_number_whatever_the_order_in_which_they_end(
            most in 1_usize..9, steps in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
        ) {
            let mut streams = Streams::new(most);
            let mut open = HashMap::new();
            for step in steps {
                // A third of the steps end a stream; the others open one where there is room.
                let step = step.index(3 * most);
                if step < most {
                    let ended = streams.end(step).map(|stream| stream.id);
                    prop_assert_eq!(ended, open.remove(&step));
                } else if let Some(tag) = (0..most).find(|tag| !open.contains_key(tag)) {
                    open.insert(tag, streams.open(tag, RequestKind::Other, (ReceiveWindow::default(), 0)));
                }
                prop_assert_eq!(streams.len(), open.len());
                for id in (1..streams.next_id).step_by(2) {
                    let tag = open.iter().find(|(_, open)| **open == id).map(|(tag, _)| *tag);
                    prop_assert_eq!(streams.named(id), tag.map_or(Named::Ended, Named::Open));
                }
                prop_assert_eq!(streams.named(streams.next_id), Named::Idle);
            }
        }
    }
}
