//! Databases that are not there, go away, fall silent or refuse.

use loadcurve_engine::Code;
use loadcurve_plan::Stop;
use loadcurve_record::Failure;

use super::memory::{Asked, Reaction, Server};
use super::simulated::Simulation;
use super::{READS, codes, load_phase, open_loop, run_phase};
use crate::plan::DatabaseLoad;

fn reacting(react: impl FnMut(&Asked) -> Reaction + 'static) -> Server {
    let records = Simulation::of(load_phase(1, 100)).run(Server::taking(0)).server.records;
    Server::reacting(react).holding(records)
}

#[test]
fn an_operation_without_an_answer_in_time_has_failed_and_its_session_is_replaced() {
    let plan = DatabaseLoad { timeout_s: 0.2, ..run_phase(READS, 1, Stop::RequestsTotal(10)) };
    let server = reacting(|asked| if asked.number == 4 { Reaction::Never } else { Reaction::Answer(10) });
    let outcome = Simulation::of(plan).run(server);
    let result = outcome.result;
    assert_eq!((result.requests.answered, result.errors[Failure::Timeout]), (9, 1));
    assert_eq!(outcome.server.attempts, 2);
    // Deadlines are looked at every tenth of the timeout, so this one is noticed after 200 to 220 ms.
    let slowest = &result.slowest[0];
    assert!((200.0..=220.0).contains(&slowest.latency_ms), "{slowest:?}");
    assert_eq!(slowest.error, Some(Failure::Timeout));
}

#[test]
fn a_client_whose_connection_is_lost_connects_again() {
    let plan = run_phase(READS, 2, Stop::RequestsTotal(20));
    let server = reacting(|asked| match asked.number {
        5 => Reaction::Fail(1, Failure::Reset, "connection reset by peer"),
        _ => Reaction::Answer(10),
    });
    let outcome = Simulation::of(plan).run(server);
    assert_eq!((outcome.result.requests.answered, outcome.result.errors[Failure::Reset]), (19, 1));
    assert_eq!((outcome.server.attempts, outcome.result.connections.opened), (3, 3));
    let message = &outcome.result.error_messages[0];
    assert_eq!((message.error, message.text.as_str()), (Failure::Reset, "connection reset by peer"));
}

#[test]
fn nobody_there_is_said_without_flooding_the_machine() {
    let server = Server::taking(1).accepting(|_| Reaction::Fail(0, Failure::ConnectRefused, "refused"));
    let outcome = Simulation::of(run_phase(READS, 1, Stop::DurationS(1.0))).run(server);
    let result = outcome.result;
    // One attempt before the load; then after rests of 10, 20, 40 … ms: at 0, 10, 30, 70, 150, 310 and 630.
    assert_eq!(outcome.server.attempts, 1 + 7);
    assert_eq!((result.requests.failed, result.errors[Failure::ConnectRefused]), (7, 7));
    assert_eq!((result.requests.sent, result.connections.failed), (0, 8));
    assert_eq!(codes(&result), ["nothing_answered", "errors"]);
}

#[test]
fn a_driver_that_finds_nobody_only_when_it_is_asked_is_not_asked_in_a_loop() {
    // A session costs nothing and every operation fails at once: at 0, 10, 30, 70, 150, 310 and 630 ms.
    let server = Server::reacting(|_| Reaction::Fail(0, Failure::ConnectRefused, "refused"));
    let result = Simulation::of(run_phase(READS, 1, Stop::DurationS(1.0))).run(server).result;
    assert_eq!((result.requests.sent, result.errors[Failure::ConnectRefused]), (7, 7));
}

#[test]
fn a_database_that_comes_back_is_asked_again() {
    // It refuses ten attempts, the last of them after 2.55 s, and serves from 3.83 s on.
    let server = reacting(|_| Reaction::Answer(10)).accepting(|attempt| match attempt {
        0..10 => Reaction::Fail(0, Failure::ConnectRefused, "refused"),
        _ => Reaction::Answer(3),
    });
    let result = Simulation::of(run_phase(READS, 1, Stop::DurationS(6.0))).run(server).result;
    assert_eq!(result.errors[Failure::ConnectRefused], 9);
    assert!(result.requests.answered > 100);
    // The operation that waits for its connection is as slow as both together.
    assert_eq!(result.slowest.iter().find_map(|slow| slow.connect_ms), Some(3.0));
    assert_eq!(result.latency_ms.max, Some(13.0));
}

#[test]
fn a_database_that_dies_halfway_gives_no_valid_result_although_few_operations_fail() {
    let dies_at_ms = 10_000;
    let server = reacting(move |asked| match asked.at_ms {
        at_ms if at_ms < dies_at_ms => Reaction::Answer(1),
        _ => Reaction::Fail(0, Failure::ClosedEarly, "terminating connection"),
    });
    let server = server.accepting(|attempt| match attempt {
        0 => Reaction::Answer(0),
        _ => Reaction::Fail(0, Failure::ConnectRefused, "refused"),
    });
    let result = Simulation::of(run_phase(READS, 1, Stop::DurationS(20.0))).run(server).result;
    // The connection that is lost; then attempts after 0, 10, 30, 70, 150, 310, 630, 1,270, 2,550, 3,830 … 8,950 ms.
    assert_eq!((result.requests.answered, result.requests.failed), (10_000, 1 + 9 + 5));
    assert_eq!(codes(&result), ["errors", "stopped_answering"]);
    let text = &result.verdict.reasons[1].text;
    assert!(text.contains("the database stopped") && text.contains("10.0 of 20.0 s (50.0 %)"), "{text}");
}

#[test]
fn a_database_that_dies_ends_a_number_of_operations_after_the_timeout() {
    let server = reacting(|asked| match asked.at_ms {
        0..1_000 => Reaction::Answer(10),
        _ => Reaction::Fail(0, Failure::ClosedEarly, "terminating connection"),
    });
    let server = server.accepting(|attempt| match attempt {
        0 => Reaction::Answer(0),
        _ => Reaction::Fail(0, Failure::ConnectRefused, "refused"),
    });
    let result = Simulation::of(run_phase(READS, 1, Stop::RequestsTotal(1_000))).run(server).result;
    // The connection that is lost, and 14 attempts within the timeout of 10 s: after 0, 10, 30 … 7,670 and 8,950 ms.
    assert_eq!((result.requests.answered, result.requests.failed), (100, 1 + 14));
    assert_eq!((result.requests.due, result.requests.never_sent), (1_000, 885));
    assert_eq!(codes(&result), ["errors", "server_lost"]);
    let text = &result.verdict.reasons[1].text;
    assert!(
        text.contains("the database could not be reached any more: it was last heard 1.00 s after"),
        "{text}"
    );
}

#[test]
fn a_database_that_answers_with_errors_up_to_the_end_has_not_stopped_answering() {
    let server = reacting(|asked| match asked.at_ms {
        0..1_000 => Reaction::Answer(1),
        _ => Reaction::Fail(1, Failure::Rejected, "read-only transaction"),
    });
    let result = Simulation::of(run_phase(READS, 1, Stop::DurationS(2.0))).run(server).result;
    assert_eq!(codes(&result), ["errors"]);
}

#[test]
fn a_wrong_password_is_no_lost_connection() {
    let server =
        Server::taking(1).accepting(|_| Reaction::Fail(2, Failure::AccessDenied, "authentication failed"));
    let result = Simulation::of(run_phase(READS, 2, Stop::DurationS(0.5))).run(server).result;
    assert_eq!(result.requests.answered, 0);
    assert_eq!(result.errors[Failure::AccessDenied], result.requests.failed);
    assert_eq!(result.error_messages[0].text, "authentication failed");
    let text = &result.verdict.reasons[1].text;
    assert!(text.contains("were denied access"), "{text}");
}

#[test]
fn a_database_that_never_lets_connect_is_given_up_after_the_timeout() {
    let plan = DatabaseLoad { timeout_s: 0.5, ..run_phase(READS, 1, Stop::DurationS(1.0)) };
    let result = Simulation::of(plan).run(Server::taking(1).accepting(|_| Reaction::Never)).result;
    // From 0 to 0.5 s, and after a rest of 10 ms to 1.01 s.
    assert_eq!((result.requests.failed, result.errors[Failure::ConnectTimeout]), (2, 2));
}

#[test]
fn errors_of_an_open_loop_count_from_due_and_all_operations_are_accounted_for() {
    let server = reacting(|asked| match asked.number % 4 {
        0 => Reaction::Fail(1, Failure::Rejected, "duplicate key"),
        _ => Reaction::Answer(1),
    });
    let result = Simulation::of(open_loop(READS, 2, 100.0, Stop::DurationS(1.0))).run(server).result;
    assert_eq!((result.requests.answered, result.errors[Failure::Rejected]), (75, 25));
    assert_eq!(result.error_messages.len(), 1);
    // All that is missing failed at once: the database keeps the rate, and does not fall behind.
    assert_eq!(codes(&result), ["errors"]);
}

#[test]
fn clients_that_wait_through_the_window_are_in_its_result() {
    // Of 20 clients the database answers 5, each after 10 ms: 5 · 100 · 2 s. The others' first operations wait on, due in a
    // warm-up of 1 s, and fail after the window.
    let plan = DatabaseLoad { warmup_s: 1.0, ..run_phase(READS, 20, Stop::DurationS(2.0)) };
    let server = reacting(|asked| match asked.number {
        5..20 => Reaction::Never,
        _ => Reaction::Answer(10),
    });
    let result = Simulation::of(plan).run(server).result;
    let waited = result.waited_through.unwrap();
    assert_eq!((waited.requests, waited.connections, waited.of_connections), (15, 15, 20));
    assert_eq!((waited.oldest_ms, result.requests.answered, result.requests.failed), (3_000.0, 1_000, 0));
    assert_eq!(codes(&result), ["never_served"]);
    let text = &result.verdict.reasons[0].text;
    assert!(text.contains("15 operations, on 15 of 20 clients, waited through the whole window"), "{text}");
    assert!(!result.verdict.notes.iter().any(|note| note.code == Code::WarmupErrors), "{:?}", result.verdict);
}

#[test]
fn failures_of_the_warm_up_are_in_no_figure() {
    let plan = DatabaseLoad { warmup_s: 0.5, ..run_phase(READS, 1, Stop::DurationS(0.5)) };
    let server = reacting(|asked| match asked.at_ms {
        0..300 => Reaction::Fail(10, Failure::Rejected, "warming up"),
        _ => Reaction::Answer(10),
    });
    let result = Simulation::of(plan).run(server).result;
    assert_eq!((result.requests.failed, result.requests.answered), (0, 50));
    assert!(result.error_messages.is_empty(), "{:?}", result.error_messages);
    assert!(result.verdict.notes.iter().any(|note| note.code == Code::WarmupErrors), "{:?}", result.verdict);
}
