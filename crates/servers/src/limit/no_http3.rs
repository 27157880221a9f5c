//! What takes the place of HTTP/3 in a build without TLS: nothing that could be made.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use rustix::event::Timespec;

use super::Admission;
use super::http2::Replies;
use super::script::Script;
use super::tls::Identity;

pub(super) const DATAGRAMS: u64 = u64::MAX - 1;

/// What no server has.
pub(super) enum Datagrams {}

impl Datagrams {
    pub(super) fn listen(_: SocketAddr, _: i32, _: Option<&Identity>, _: Admission) -> io::Result<Self> {
        Err(io::Error::other(
            "this build has no TLS, which HTTP/3 is never without: build it with `make setup`",
        ))
    }

    pub(super) fn watch(&self, _: BorrowedFd<'_>) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn open(&self) -> usize {
        match *self {}
    }

    pub(super) fn timeout(&self) -> Option<Timespec> {
        match *self {}
    }

    pub(super) fn hear(&mut self, _: Replies<'_>, _: Option<&mut Script>) {
        match *self {}
    }

    pub(super) fn accept_waiting(&mut self, _: Replies<'_>, _: Option<&mut Script>) -> bool {
        match *self {}
    }

    pub(super) fn keep_time(&mut self, _: Replies<'_>, _: Option<&mut Script>) {
        match *self {}
    }

    pub(super) fn go_on(&mut self, _: Replies<'_>, _: Option<&mut Script>) {
        match *self {}
    }

    pub(super) fn watch_room(&mut self, _: BorrowedFd<'_>) -> io::Result<()> {
        match *self {}
    }
}
