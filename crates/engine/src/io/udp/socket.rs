//! A connected socket of UDP, of one connection or of several.

use std::os::fd::{AsFd as _, OwnedFd};

use loadcurve_datagrams::{MESSAGES_MAX, Received};
use loadcurve_record::DatagramCounts;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::appetite::Appetite;
use super::sending::Unsent;
use super::{MESSAGE_BYTES, SOCKET_BUFFER_BYTES};
use crate::io::Slot;
use crate::io::route::Route;

#[derive(Default)]
pub(super) struct Socket {
    pub(super) descriptor: Option<OwnedFd>,
    /// Counts how often it was opened, so that a late event of the kernel is recognised.
    pub(super) generation: u32,
    pub(super) unsent: Unsent,
    /// Whose batches are to be followed by an event that reports that all is taken.
    pub(super) notifying: Vec<Slot>,
    /// Whether something is gathered that is sent before the next wait.
    pub(super) is_gathering: bool,
    /// Whether the kernel is to say when it takes datagrams again.
    watches_room: bool,
    /// Datagrams that found no room, as far as they are counted.
    dropped: u32,
    appetite: Appetite,
}

impl Socket {
    /// Opens it towards the address of a slot, as number `number` of a set.
    pub(super) fn open(
        &mut self,
        number: usize,
        set: &OwnedFd,
        route: &Route,
        slot: Slot,
        counts: &mut DatagramCounts,
    ) -> Result<(), Errno> {
        let descriptor = route.datagram_socket(slot)?;
        // Where the kernel grants less, more may be lost, and that is counted.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&descriptor, SOCKET_BUFFER_BYTES);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&descriptor, SOCKET_BUFFER_BYTES);
        let joins = loadcurve_datagrams::prepare(descriptor.as_fd());
        rustix::net::connect(&descriptor, route.address(slot))?;
        counts.sockets += 1;
        counts.sockets_joining += u64::from(joins);
        if let Some(mtu_bytes) = loadcurve_datagrams::link_mtu_bytes(descriptor.as_fd()) {
            counts.link_mtu_bytes.add(mtu_bytes.into());
        }
        self.generation = self.generation.wrapping_add(1);
        self.dropped = 0;
        self.appetite = Appetite::default();
        epoll::add(set, &descriptor, self.event_data(number), EventFlags::IN)?;
        self.descriptor = Some(descriptor);
        Ok(())
    }

    /// Closes it; what it has not sent is left out.
    pub(super) fn close(&mut self, counts: &mut DatagramCounts) {
        self.count_memory(counts);
        // Closing the only descriptor of a socket takes it out of the epoll set, too.
        self.descriptor = None;
        self.unsent.clear();
        self.notifying.clear();
        self.watches_room = false;
    }

    /// Adds what the kernel grants it, and what it has dropped since that was counted last.
    pub(super) fn count_memory(&mut self, counts: &mut DatagramCounts) {
        let Some(descriptor) = &self.descriptor else { return };
        let Some(memory) = loadcurve_datagrams::memory(descriptor.as_fd()) else { return };
        counts.dropped += u64::from(memory.dropped.wrapping_sub(self.dropped));
        self.dropped = memory.dropped;
        counts.receive_buffer_bytes.add(memory.receive_buffer_bytes.into());
        counts.send_buffer_bytes.add(memory.send_buffer_bytes.into());
    }

    /// Whether datagrams wait until the kernel says that it takes them.
    pub(super) fn watches_room(&self) -> bool {
        self.watches_room
    }

    /// Has the kernel say when it takes datagrams again, where some wait.
    pub(super) fn watch(&mut self, number: usize, set: &OwnedFd) -> Result<(), Errno> {
        let waits = !self.unsent.is_empty();
        if waits == self.watches_room {
            return Ok(());
        }
        self.watches_room = waits;
        let Some(descriptor) = &self.descriptor else { return Ok(()) };
        let interest = if waits { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        epoll::modify(set, descriptor, self.event_data(number), interest)
    }

    /// Takes messages that wait into a buffer with room for each; gives how many, and whether several were asked for that have all come.
    pub(super) fn receive(
        &mut self,
        buffer: &mut [u8],
        messages: &mut [Received; MESSAGES_MAX],
    ) -> Result<(usize, bool), Errno> {
        let Some(descriptor) = &self.descriptor else { return Ok((0, false)) };
        let asks = self.appetite.asks();
        let to = &mut buffer[..asks * MESSAGE_BYTES];
        let count = if asks == 1 {
            messages[0] = loadcurve_datagrams::receive(descriptor.as_fd(), to)?;
            1
        } else {
            loadcurve_datagrams::receive_several(descriptor.as_fd(), to, &mut messages[..asks])?
        };
        self.appetite = self.appetite.fed(count);
        Ok((count, asks > 1 && count == asks))
    }

    fn event_data(&self, number: usize) -> epoll::EventData {
        epoll::EventData::new_u64(u64::from(self.generation) << 32 | number as u64)
    }
}

/// The number of a socket and its generation, of which the kernel's data of an event was made.
pub(super) fn number_and_generation(data: u64) -> (usize, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the data are cut apart here")]
    let (number, generation) = (data as u32, (data >> 32) as u32);
    (number as usize, generation)
}
