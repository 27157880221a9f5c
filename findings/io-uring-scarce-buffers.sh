#!/usr/bin/env bash
# Linux 6.18 by the crate io-uring 0.7.15: four connections whose peers never stop sending are received by multishot operations into
# one ring of 64 provided buffers. The program handles 32 buffers a turn, gives them back, and begins the operations anew, in order,
# that the kernel ended with ENOBUFS. One connection then gets every buffer, and others none for a hundred turns or more: the kernel
# lets an operation that goes on take 32 buffers before it looks at one that was begun. With an operation for each buffer all get some.
# A load generator that receives so blames servers for answers that have long arrived. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cat > "$folder/Cargo.toml" << 'END'
[package]
name = "scarce"
version = "0.1.0"
edition = "2024"

[dependencies]
io-uring = "=0.7.15"
END
cat > "$folder/src/main.rs" << 'END'
use std::collections::VecDeque;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{BufRingEntry, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};

const CONNECTIONS: usize = 4;
const BUFFERS: u16 = 64;
const BUFFER_BYTES: usize = 32 * 1024;
const HANDLED_A_TURN: usize = 32;
const NO_BUFFER: i32 = -105;

#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// Offers a buffer behind those that are offered.
unsafe fn offer(entries: *mut BufRingEntry, bytes: *mut u8, buffer: u16, tail: &mut u16) {
    unsafe {
        let entry = &mut *entries.add(usize::from(*tail % BUFFERS));
        entry.set_addr(bytes.add(usize::from(buffer) * BUFFER_BYTES) as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        *tail = tail.wrapping_add(1);
        AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()).store(*tail, Ordering::Release);
    }
}

/// For how many of 300 turns, at most, each connection has got no buffer.
fn starved(multishot: bool) -> Vec<usize> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut peer = listener.accept().unwrap().0;
            std::thread::spawn(move || while peer.write_all(&[0; 65536]).is_ok() {});
            client
        })
        .collect();
    let mut pages = Vec::from_iter((0..1).map(|_| Page([0; 4096])));
    let mut bytes = vec![0_u8; usize::from(BUFFERS) * BUFFER_BYTES];
    let entries = pages.as_mut_ptr().cast::<BufRingEntry>();
    let mut ring: IoUring =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(256).unwrap();
    unsafe { ring.submitter().register_buf_ring_with_flags(entries as u64, BUFFERS, 0, 0).unwrap() };
    let mut tail = 0;
    (0..BUFFERS).for_each(|buffer| unsafe { offer(entries, bytes.as_mut_ptr(), buffer, &mut tail) });
    let mut to_begin: VecDeque<usize> = (0..CONNECTIONS).collect();
    let mut filled: VecDeque<(usize, u16)> = VecDeque::new();
    let (mut last, mut longest) = (vec![0; CONNECTIONS], vec![0; CONNECTIONS]);
    for turn in 0..300 {
        for connection in to_begin.drain(..) {
            let socket = Fd(clients[connection].as_raw_fd());
            let entry = match multishot {
                true => opcode::RecvMulti::new(socket, 0).build(),
                false => opcode::Recv::new(socket, std::ptr::null_mut(), 0)
                    .buf_group(0)
                    .build()
                    .flags(squeue::Flags::BUFFER_SELECT),
            };
            unsafe { ring.submission().push(&entry.user_data(connection as u64)).unwrap() };
        }
        ring.submitter().submit_and_wait(usize::from(filled.is_empty())).unwrap();
        for completion in ring.completion() {
            let connection = completion.user_data() as usize;
            assert!(completion.result() > 0 || completion.result() == NO_BUFFER);
            if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                filled.push_back((connection, buffer));
            }
            if !cqueue::more(completion.flags()) {
                to_begin.push_back(connection);
            }
        }
        for _ in 0..HANDLED_A_TURN {
            let Some((connection, buffer)) = filled.pop_front() else { break };
            last[connection] = turn;
            // What is done with a buffer takes longer than it takes to fill another one.
            let until = Instant::now() + Duration::from_micros(100);
            while Instant::now() < until {}
            unsafe { offer(entries, bytes.as_mut_ptr(), buffer, &mut tail) };
        }
        longest.iter_mut().zip(&last).for_each(|(longest, last)| *longest = (turn - last).max(*longest));
    }
    drop((ring, pages, bytes));
    longest
}

fn main() {
    for multishot in [true, false] {
        let turns = starved(multishot);
        let how = if multishot { "multishot" } else { "one each" };
        println!("{how}: turns without a buffer, at most, by connection {turns:?}");
        let is_starved = turns.into_iter().max().unwrap() >= 50;
        assert_eq!(is_starved, multishot);
    }
}
END
uname -r
cargo run --quiet --release --manifest-path "$folder/Cargo.toml"
echo "one connection starves others only where operations go on receiving"
