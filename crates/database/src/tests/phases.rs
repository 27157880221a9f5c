//! What is asked in each phase, and what of it is kept.

use std::time::Duration;

use loadcurve_engine::{Code, LoadResult};
use loadcurve_plan::{Share, Stop};
use loadcurve_record::Failure;
use loadcurve_ycsb::{Mix, RequestDistribution, Workload};

use super::memory::{Asked, Reaction, Server};
use super::simulated::Simulation;
use super::{READS, load_phase, run_phase, workload};
use crate::load::operations;
use crate::plan::DatabaseLoad;

/// A server that holds the records of the workload, as a load phase leaves it.
fn loaded(workload: &Workload) -> Server {
    let plan = load_phase(4, 1).with(|work| work.workload = workload.clone());
    let records = Simulation::of(plan).run(Server::taking(0)).server.records;
    Server::taking(1).holding(records)
}

#[test]
fn the_load_phase_inserts_each_record_once_whatever_the_number_of_threads_and_clients() {
    for (threads, clients, batch) in [(1, 1, 1), (1, 8, 7), (3, 8, 1), (3, 5, 16)] {
        let plan = DatabaseLoad { threads, ..load_phase(clients, batch) };
        let outcome = Simulation::of(plan).run(Server::taking(2));
        let requests = outcome.result.requests;
        assert_eq!((requests.due, requests.answered, requests.ok), (100, 100, 100));
        // A record that is inserted twice is rejected.
        assert_eq!(outcome.server.records.len(), 100);
        assert!(outcome.server.records.values().all(|fields| fields.len() == 2));
    }
}

#[test]
fn a_load_that_is_to_begin_later_asks_for_nothing_before_that() {
    // Loads on several machines begin together, half a second after the last client of all has connected.
    let lead = Duration::from_millis(500);
    let outcome = Simulation { lead, ..Simulation::of(load_phase(2, 1)) }.run(Server::taking(10));
    assert_eq!(outcome.server.asked[0].at_ms, 500);
    assert_eq!((outcome.server.asked.len(), outcome.server.records.len()), (100, 100));
    let result = outcome.result;
    assert_eq!((result.requests.due, result.requests.answered), (100, 100));
    // 100 records by two clients are 50 rounds of 10 ms.
    assert!((result.duration_s - 0.5).abs() < 1e-9, "{}", result.duration_s);
}

#[test]
fn a_batch_is_one_request_and_each_of_its_records_an_operation_with_its_times() {
    // 100 records by one client in requests of at most 16: six of 16 and one of 4, of 3 ms each.
    let outcome = Simulation::of(load_phase(1, 16)).run(Server::taking(3));
    let sizes: Vec<usize> = outcome.server.asked.iter().map(|asked| asked.records).collect();
    assert_eq!(sizes, [16, 16, 16, 16, 16, 16, 4]);
    let result = outcome.result;
    assert_eq!(
        (result.latency_ms.count, result.latency_ms.min, result.latency_ms.max),
        (100, Some(3.0), Some(3.0))
    );
    assert_eq!(result.operations.len(), 1);
    assert_eq!((result.operations[0].operation.as_str(), result.operations[0].answered), ("insert", 100));
    assert!((result.duration_s - 0.021).abs() < 1e-9, "{}", result.duration_s);
}

#[test]
fn every_kind_of_operation_is_made_in_its_share_and_reported_under_its_name() {
    let mix = Mix { read: 0.4, update: 0.2, insert: 0.1, scan: 0.1, read_modify_write: 0.2, delete: 0.0 };
    let plan = run_phase(mix, 4, Stop::RequestsTotal(2_000));
    let outcome = Simulation::of(plan.clone()).run(loaded(&plan.work.workload));
    let operations = &outcome.result.operations;
    let names: Vec<&str> = operations.iter().map(|operation| operation.operation.as_str()).collect();
    assert_eq!(names, ["read", "update", "insert", "scan", "read-modify-write"]);
    for (operation, share) in operations.iter().zip([0.4, 0.2, 0.1, 0.1, 0.2]) {
        // Five standard deviations of a binomial distribution are 5 · √(2000 · 0.24) = 110 at most.
        let expected = 2_000.0 * share;
        assert!((operation.answered as f64 - expected).abs() < 110.0, "{operation:?}");
        assert_eq!(operation.failed, 0, "{operation:?}");
    }
    // A read-modify-write is two requests and one operation: it takes twice as long as the others.
    let means: Vec<_> = operations.iter().map(|operation| operation.latency_ms.max).collect();
    assert_eq!(means, [Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(2.0)]);
    assert_eq!(outcome.server.records.len() as u64, 100 + operations[2].answered);
}

#[test]
fn a_record_that_was_added_is_asked_for_only_after_the_database_has_acknowledged_it() {
    // Every second operation inserts, slowly, and the others read the newest records: none is ever missing.
    let mix = Mix { read: 0.5, insert: 0.5, ..Mix { read: 0.0, ..READS } };
    let plan = run_phase(mix, 8, Stop::RequestsTotal(2_000));
    let latest = RequestDistribution::Latest;
    let workload = Workload { request_distribution: latest, ..plan.work.workload.clone() };
    let before = loaded(&workload).records;
    let server = Server::reacting(|asked| Reaction::Answer(if asked.what == "insert" { 50 } else { 1 }))
        .holding(before.clone());
    let outcome = Simulation::of(plan.with(|work| work.workload = workload)).run(server);
    assert_eq!(outcome.result.errors[Failure::NotFound], 0, "{:?}", outcome.result.errors);
    let is_of_added = |asked: &&Asked| asked.what == "read" && !before.contains_key(&asked.key);
    // Of the reads, most ask for one of the newest, of which there are soon more than there were before.
    assert!(outcome.server.asked.iter().filter(is_of_added).count() > 500);
}

#[test]
fn two_machines_that_divide_a_load_add_different_records_and_bring_home_one_result() {
    let mix = Mix { read: 0.5, insert: 0.5, ..Mix { read: 0.0, ..READS } };
    let plan = DatabaseLoad { threads: 2, ..run_phase(mix, 9, Stop::RequestsTotal(1_000)) };
    let server = loaded(&plan.work.workload);
    let outcome = Simulation { machines: 2, ..Simulation::of(plan) }.run(server);
    // A record that is inserted twice is rejected, and one that is not there is not found.
    let requests = outcome.result.requests;
    assert_eq!((requests.due, requests.answered, requests.ok), (1_000, 1_000, 1_000));
    let operations = &outcome.result.operations;
    assert_eq!(outcome.server.records.len() as u64, 100 + operations[1].answered);
    assert_eq!((outcome.server.attempts, outcome.result.generator.threads), (9, 4));
}

#[test]
fn a_load_that_deletes_cannot_be_divided_among_machines() {
    let plan = run_phase(Mix { read: 0.5, delete: 0.5, ..READS }, 4, Stop::RequestsTotal(10));
    let refusal = operations(&plan, Share::new(0, 2)).err().unwrap().to_string();
    assert!(refusal.contains("a workload with deletes cannot be divided among machines"), "{refusal}");
    assert!(operations(&plan, Share::whole()).is_ok());
}

#[test]
fn a_missing_record_is_not_found_and_no_answer() {
    let plan = run_phase(READS, 2, Stop::RequestsTotal(10));
    let outcome = Simulation::of(plan).run(Server::taking(1));
    let result = outcome.result;
    assert_eq!(
        (result.requests.answered, result.requests.failed, result.errors[Failure::NotFound]),
        (0, 10, 10)
    );
    let message = &result.error_messages[0];
    assert_eq!(
        (message.operation.as_str(), message.text.as_str(), message.count),
        ("read", "no such record", 10)
    );
    // Nothing is wrong with the connection.
    assert_eq!(outcome.server.attempts, 2);
}

#[test]
fn verified_values_are_compared_with_what_was_written_and_a_wrong_one_is_a_mismatch() {
    let verified = Workload { verify_values: true, ..workload(READS) };
    let plan = run_phase(READS, 2, Stop::RequestsTotal(400)).with(|work| work.workload = verified.clone());
    let server = loaded(&verified);
    let sound = Simulation::of(plan.clone()).run(server);
    assert_eq!((sound.result.requests.answered, sound.result.errors[Failure::Mismatch]), (400, 0));
    let mut server = loaded(&verified);
    for fields in server.records.values_mut() {
        fields.insert(1, "wrong!!!".into());
    }
    let wrong = Simulation::of(plan).run(server).result;
    assert_eq!((wrong.requests.answered, wrong.errors[Failure::Mismatch]), (0, 400));
    let verdict = &wrong.verdict.reasons.iter().find(|reason| reason.code == Code::Errors).unwrap().text;
    assert!(verdict.contains("got a value other than the one expected"), "{verdict}");
}

#[test]
fn records_that_were_loaded_without_values_to_verify_are_named_as_such() {
    let loaded_without = Workload { field_bytes: 100, ..workload(READS) };
    let verified = Workload { verify_values: true, ..loaded_without.clone() };
    let plan = run_phase(READS, 2, Stop::RequestsTotal(400)).with(|work| work.workload = verified);
    let result = Simulation::of(plan).run(loaded(&loaded_without)).result;
    assert_eq!((result.requests.answered, result.errors[Failure::Mismatch]), (0, 400));
    let message = &result.error_messages[0];
    assert_eq!(
        (message.text.as_str(), message.count),
        (
            "the records were not written with values that can be verified: load them with --verify-values, too \
            (verify_values = true in a study)",
            400
        )
    );
}

#[test]
fn the_same_seed_asks_for_the_same_records_however_many_threads_divide_them() {
    let mix = Mix { read: 0.5, update: 0.5, ..Mix { read: 0.0, ..READS } };
    let updates = |threads| {
        let plan = run_phase(mix, 4, Stop::RequestsTotal(300));
        let server = loaded(&plan.work.workload);
        let plan = DatabaseLoad { threads, ..plan };
        let outcome = Simulation::of(plan).run(server);
        outcome.result.operations.iter().map(|operation| operation.answered).collect::<Vec<_>>()
    };
    assert_eq!(updates(1), updates(4));
}

#[test]
fn an_interrupted_load_phase_keeps_what_it_has_inserted() {
    // One client, 10 ms for each record: stopped after 95 ms, nine are inserted and the tenth is under way.
    let simulation = Simulation { stop_at: Duration::from_millis(95), ..Simulation::of(load_phase(1, 1)) };
    let result = simulation.run(Server::taking(10)).result;
    assert!(result.interrupted);
    let requests = result.requests;
    assert_eq!((requests.due, requests.answered, requests.unanswered), (10, 9, 1));
    let text = &result.verdict.reasons.iter().find(|reason| reason.code == Code::Interrupted).unwrap().text;
    assert!(text.contains("was to last 100 operations"), "{text}");
}

#[test]
fn a_batch_that_is_under_way_at_an_interruption_is_unanswered_with_all_its_records() {
    // Batches of 16 records take 15 ms; at 20 ms the second is under way.
    let simulation = Simulation { stop_at: Duration::from_millis(16), ..Simulation::of(load_phase(1, 16)) };
    let requests = simulation.run(Server::taking(15)).result.requests;
    assert_eq!((requests.due, requests.answered, requests.unanswered), (32, 16, 16));
}

#[test]
fn a_batch_that_fails_fails_with_all_its_records() {
    let server = Server::reacting(|asked| match asked.number {
        1 => Reaction::Fail(1, Failure::Rejected, "disk full"),
        _ => Reaction::Answer(1),
    });
    let result = Simulation::of(load_phase(1, 10)).run(server).result;
    assert_eq!((result.requests.answered, result.errors[Failure::Rejected]), (90, 10));
    assert_eq!((result.error_messages[0].text.as_str(), result.error_messages[0].count), ("disk full", 10));
}

/// What comes of a mix with deletes that asks 8 clients at once for the newest of 100 records.
fn with_deletes(mix: Mix, operations: u64) -> LoadResult {
    let latest = RequestDistribution::Latest;
    let workload = Workload { request_distribution: latest, ..workload(mix) };
    let server = loaded(&workload);
    let plan = run_phase(READS, 8, Stop::RequestsTotal(operations)).with(|work| work.workload = workload);
    Simulation::of(plan).run(server).result
}

#[test]
fn records_that_are_deleted_meanwhile_are_no_failures_and_are_asked_for_no_more() {
    let mix = Mix { read: 0.5, update: 0.1, insert: 0.15, scan: 0.0, read_modify_write: 0.1, delete: 0.15 };
    let result = with_deletes(mix, 10_000);
    assert_eq!((result.requests.answered, result.requests.failed), (10_000, 0), "{:?}", result.errors);
}

#[test]
fn where_all_records_are_deleted_operations_fail() {
    let mix = Mix { delete: 0.5, ..READS };
    let result = with_deletes(mix, 1_000);
    assert_eq!(result.errors[Failure::NotFound], result.requests.failed);
    let deletes = result.operations.iter().find(|operation| operation.operation == "delete").unwrap();
    assert_eq!(deletes.answered, 100, "each record once");
}
