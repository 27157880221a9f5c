//! What TLS allocates in the steady state: for each record, whatever number of requests it carries.

use loadcurve_tls::Tls;
use loadcurve_wire::{Event, Exchange as _, Http1};
use server::{ANSWER, Server, any_certificate, request, server_config, settings, shake_hands};

#[path = "support/server.rs"]
mod server;

#[path = "../../wire/tests/support/allocations.rs"]
mod counting;

const TURNS: u64 = 1_000;
/// One record is sent and one received, and the library has a vector for each.
const ALLOCATIONS_PER_TURN: u64 = 2;
/// Queues grow to the most that they ever hold.
const ALLOCATIONS_OF_QUEUES: u64 = 64;

/// What the client allocates in all turns, each of which carries this number of requests in one record.
fn allocations(pipeline: usize) -> u64 {
    let mut server = Server::of(&server_config(), ANSWER);
    let mut client = Tls::<Http1>::new(pipeline, &settings(&any_certificate(), "http/1.1", false));
    shake_hands(&mut client, &mut server, &[16_384]).unwrap();
    let template = request();
    let (mut plain, mut allocated) = (Vec::with_capacity(1 << 16), 0);
    for _ in 0..TURNS {
        plain.clear();
        let before = counting::allocations();
        client.write_output(&mut plain);
        for tag in 0..pipeline {
            client.begin(tag, &template, None, &mut plain);
        }
        client.protect(&mut plain);
        allocated += counting::allocations() - before;
        // What the server allocates in the same process does not count.
        let answers = server.serve(&plain);
        let before = counting::allocations();
        let (mut rest, mut answered) = (&answers[..], 0);
        while !rest.is_empty() || client.has_input() {
            let received = client.receive(rest).unwrap();
            rest = &rest[received.consumed..];
            answered += usize::from(matches!(received.event, Some(Event::Answered(..))));
        }
        allocated += counting::allocations() - before;
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
