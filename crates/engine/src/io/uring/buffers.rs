//! Memory that the kernel fills on its own: a ring of buffers, which it takes in order and gets back in any.

#![expect(unsafe_code, reason = "the kernel writes into this memory while the program runs")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

/// The name of the one group of buffers.
pub(super) const BUFFER_GROUP: u16 = 0;

const PAGE_BYTES: usize = 4096;

/// Memory that begins where a page begins, as the kernel asks for.
#[derive(Clone)]
#[repr(C, align(4096))]
struct Page([u8; PAGE_BYTES]);

/// The buffers, and the ring in which they are offered to the kernel.
pub(super) struct BufferRing {
    /// The ring's entries and behind them the buffers. A pointer and no box, because the kernel writes here.
    pages: NonNull<[Page]>,
    /// Buffers offered so far, as the kernel counts them; it sees them when they are published.
    offered: u16,
    /// Buffers that are offered and not known to be filled.
    free: u16,
}

impl BufferRing {
    /// How many buffers there are: two turns' worth of events. The kernel takes them in turn, so all of them together
    /// should stay in the processor's cache.
    pub(super) const COUNT: u16 = 64;
    /// Large enough for every answer but long ones.
    const BUFFER_BYTES: u32 = 32 * 1024;

    const RING_PAGES: usize = (Self::COUNT as usize * size_of::<BufRingEntry>()).div_ceil(PAGE_BYTES);
    const BUFFER_PAGES: usize = Self::BUFFER_BYTES as usize / PAGE_BYTES;

    /// Buffers that are all offered.
    pub(super) fn new() -> Self {
        let page_count = Self::RING_PAGES + Self::COUNT as usize * Self::BUFFER_PAGES;
        let pages = vec![Page([0; PAGE_BYTES]); page_count].into_boxed_slice();
        let pages = NonNull::from(Box::leak(pages));
        let mut buffers = Self { pages, offered: 0, free: 0 };
        for buffer in 0..Self::COUNT {
            buffers.offer(buffer);
        }
        buffers.publish();
        buffers
    }

    /// Where the ring's entries are, for the kernel.
    pub(super) fn address(&self) -> u64 {
        self.entries().as_ptr() as u64
    }

    /// The first `length` bytes of a buffer that the kernel has filled.
    ///
    /// # Panics
    /// When there is no such buffer, or it is shorter.
    ///
    /// # Safety
    /// The kernel has filled the buffer so far, and it has not been offered again.
    pub(super) unsafe fn filled(&self, buffer: u16, length: usize) -> &[u8] {
        assert!(buffer < Self::COUNT && length <= Self::BUFFER_BYTES as usize);
        // SAFETY: the assertion keeps the slice inside this buffer's pages. Until it is offered again the kernel does
        // not write there, and offering it takes `&mut self`, which ends this borrow.
        unsafe { std::slice::from_raw_parts(self.start_of(buffer).as_ptr(), length) }
    }

    /// Gives a buffer back; the kernel sees it when it is published.
    ///
    /// # Panics
    /// When there is no such buffer.
    pub(super) fn offer(&mut self, buffer: u16) {
        assert!(buffer < Self::COUNT);
        let address = self.start_of(buffer).as_ptr() as u64;
        let index = usize::from(self.offered % Self::COUNT);
        // SAFETY: the index is below the number of entries, which lie in the first pages. The kernel does not read this
        // entry: there are as many entries as buffers, and this buffer is not offered, so at least one entry is free
        // and the one behind the last is. The entry is written field by field, because the first one's last field is
        // the tail, which the kernel reads.
        unsafe {
            let entry = self.entries().add(index).as_mut();
            entry.set_addr(address);
            entry.set_len(Self::BUFFER_BYTES);
            entry.set_bid(buffer);
        }
        self.offered = self.offered.wrapping_add(1);
        self.free += 1;
    }

    /// Counts a buffer that the kernel has filled.
    pub(super) fn filled_one(&mut self) {
        self.free -= 1;
    }

    /// How many buffers the kernel has to fill, as far as is known.
    pub(super) fn free(&self) -> u16 {
        self.free
    }

    /// Shows the kernel every buffer offered so far.
    pub(super) fn publish(&mut self) {
        // SAFETY: the tail lies in the first entry, is aligned as its type, and is only accessed atomically by both
        // sides. Releasing makes the entries before it visible with it.
        unsafe {
            let tail = BufRingEntry::tail(self.entries().as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.offered, Ordering::Release);
        }
    }

    fn entries(&self) -> NonNull<BufRingEntry> {
        self.pages.cast()
    }

    fn start_of(&self, buffer: u16) -> NonNull<u8> {
        let page = Self::RING_PAGES + usize::from(buffer) * Self::BUFFER_PAGES;
        // SAFETY: there are this many pages in front of each of the buffers, all in the one allocation.
        unsafe { self.pages.cast::<Page>().add(page).cast() }
    }
}

// SAFETY: the memory is owned by this value alone and by no thread; the kernel does not mind who drops it.
unsafe impl Send for BufferRing {}

impl Drop for BufferRing {
    fn drop(&mut self) {
        // SAFETY: the pages came out of a box of this length, and nobody else frees them.
        drop(unsafe { Box::from_raw(self.pages.as_ptr()) });
    }
}
