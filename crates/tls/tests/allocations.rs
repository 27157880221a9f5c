//! What TLS allocates in the steady state: for each record, whatever number of requests it carries.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use loadcurve_tls::Tls;
use loadcurve_wire::{Event, Exchange as _, Http1};
use server::{ANSWER, Server, any_certificate, request, server_config, settings, shake_hands};

#[path = "support/server.rs"]
mod server;

/// The system's allocator, which counts what it is asked for.
struct Counting;

thread_local! {
    /// What this thread has asked for: the harness of the tests has another thread, which does not count.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count_one() {
    // Where the thread is ending, and its variables with it, nobody looks any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes on to the system's allocator with the caller's own promises; counting allocates nothing.
#[expect(unsafe_code, reason = "an allocator can only be replaced by one whose trait is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller keeps to the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count_one();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TURNS: u64 = 1_000;
/// One record is sent and one received, and the library has a vector for each.
const ALLOCATIONS_PER_TURN: u64 = 2;
/// Queues grow to the most that they ever hold.
const ALLOCATIONS_OF_QUEUES: u64 = 64;

/// What the client allocates in all turns, in each of which one record carries this number of requests.
fn allocations(pipeline: usize) -> u64 {
    let mut server = Server::of(&server_config(), ANSWER);
    let mut client = Tls::<Http1>::new(pipeline, &settings(&any_certificate(), "http/1.1", false));
    shake_hands(&mut client, &mut server, &[16_384]).unwrap();
    let template = request();
    let (mut plain, mut allocated) = (Vec::with_capacity(1 << 16), 0);
    for _ in 0..TURNS {
        plain.clear();
        let before = ALLOCATIONS.get();
        client.write_output(&mut plain);
        for tag in 0..pipeline {
            client.begin(tag, &template, None, &mut plain);
        }
        client.protect(&mut plain);
        allocated += ALLOCATIONS.get() - before;
        // What the server allocates in the same process does not count.
        let answers = server.serve(&plain);
        let before = ALLOCATIONS.get();
        let (mut rest, mut answered) = (&answers[..], 0);
        while !rest.is_empty() || client.has_input() {
            let received = client.receive(rest).unwrap();
            rest = &rest[received.consumed..];
            answered += usize::from(matches!(received.event, Some(Event::Answered(..))));
        }
        allocated += ALLOCATIONS.get() - before;
        assert_eq!(answered, pipeline);
    }
    allocated
}

#[test]
fn a_record_costs_one_allocation_and_the_requests_in_it_none() {
    for pipeline in [1, 16] {
        let allocated = allocations(pipeline);
        assert!(allocated <= ALLOCATIONS_PER_TURN * TURNS + ALLOCATIONS_OF_QUEUES, "{pipeline}: {allocated}");
    }
}
