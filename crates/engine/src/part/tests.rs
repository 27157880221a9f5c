//! Parts merge to the same in any order, before and after a journey; all of them together are one.

use loadcurve_pauses::Pause;
use loadcurve_plan::Nanos;
use loadcurve_record::{Answer, FailedRequest, Failure, Recorder, Window};
use loadcurve_wire::Response;
use proptest::prelude::*;
use serde_json::Value;

use super::{CpuUse, Finished, Part, Polling};
use crate::kernel::TcpCounters;
use crate::requests::shown;

const EPOCH: Nanos = Nanos(7_000_000_000_000);
const WINDOW: Window = Window { start: Nanos(EPOCH.0 + 500_000_000), end: Nanos(EPOCH.0 + 60_500_000_000) };

/// What became of a request, and which of the parts recorded it.
#[derive(Clone, Debug)]
struct Outcome {
    part: usize,
    operation: usize,
    /// Since the epoch.
    due: Nanos,
    latency: Nanos,
    ending: Ending,
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Answered { status: u16, body_bytes: u64 },
    Mismatched { body_bytes: u64 },
    Failed(Failure),
    NeverSent,
}

fn endings() -> impl Strategy<Value = Ending> {
    let failure = prop::sample::select(vec![Failure::Timeout, Failure::Reset, Failure::Rejected]);
    prop_oneof![
        8 => (100_u16..600, 0_u64..5_000)
            .prop_map(|(status, body_bytes)| Ending::Answered { status, body_bytes }),
        1 => (0_u64..5_000).prop_map(|body_bytes| Ending::Mismatched { body_bytes }),
        1 => failure.prop_map(Ending::Failed),
        1 => Just(Ending::NeverSent),
    ]
}

/// Outcomes in the order in which they end, as every worker meets its own.
fn outcomes(parts: usize) -> impl Strategy<Value = Vec<Outcome>> {
    let outcome = (0..parts, 0_usize..3, 0_u64..60_000_000_000, 1_u64..20_000_000_000, endings());
    let outcome = outcome.prop_map(|(part, operation, due, latency, ending)| Outcome {
        part,
        operation,
        due: Nanos(due),
        latency: Nanos(latency),
        ending,
    });
    prop::collection::vec(outcome, 0..100).prop_map(|mut outcomes| {
        outcomes.sort_by_key(|outcome| outcome.due + outcome.latency);
        outcomes
    })
}

/// What a thread records that has recorded these outcomes of all.
fn finished<'a>(outcomes: impl Iterator<Item = (u64, &'a Outcome)>) -> Finished {
    let mut recorder = Recorder::new(3);
    recorder.open_window(WINDOW);
    for (number, outcome) in outcomes {
        record(&mut recorder, number, outcome);
    }
    let polling = Polling { spent: Nanos(1), found: 5, longest_pause: Nanos(7) };
    let cpu = CpuUse { user: Nanos(3), system: Nanos(2), polling, voluntary_switches: 7 };
    let part = Part::of_thread(recorder, WINDOW, EPOCH, WINDOW.end, cpu);
    let kernel = TcpCounters { retransmits: Some(1), ..TcpCounters::default() };
    Finished::of(vec![part], kernel, false)
}

fn record(recorder: &mut Recorder, number: u64, outcome: &Outcome) {
    let Outcome { operation, latency, .. } = *outcome;
    let due = EPOCH + outcome.due;
    let done = due + latency;
    if !matches!(outcome.ending, Ending::NeverSent) {
        recorder.begun(due);
    }
    recorder.late_by(due, Nanos(number));
    let answer = |status, body_bytes| Answer {
        number,
        operation,
        connection: operation,
        due,
        sent: due,
        done,
        connect: None,
        shown: Some(shown(
            &Response {
                status,
                header_bytes: 9,
                body_bytes,
                framing_bytes: 0,
                inflated_bytes: None,
                keep_alive: true,
                grpc_status: None,
            },
            None,
            due,
        )),
    };
    let slow = match outcome.ending {
        Ending::Answered { status, body_bytes } => recorder.answered(&answer(status, body_bytes)),
        Ending::Mismatched { body_bytes } => recorder.mismatched(&answer(200, body_bytes)),
        Ending::Failed(failure) => {
            recorder.explained(due, failure, operation, ["disk full", "no such row"][operation % 2], None);
            let (sent, first_byte, connect) = (Some(due), None, Some(Nanos(number)));
            recorder.failed(&FailedRequest {
                number,
                operation,
                connection: 0,
                due,
                sent,
                first_byte,
                failed: done,
                connect,
                failure,
            })
        }
        Ending::NeverSent => {
            recorder.never_sent(1);
            None
        }
    };
    if let Some(slow) = slow {
        recorder.keep_slow(slow, None);
    }
}

fn merged(finished: &[Finished]) -> Part {
    let (first, others) = finished.split_first().unwrap();
    let mut part = first.part.clone();
    for other in others {
        part.merge(&other.part);
    }
    part
}

/// All that a part holds, as text; what is in no order is in that of merging.
fn all_of(mut part: Part) -> String {
    part.recorder.merge(&Recorder::new(3));
    Finished::of(vec![part], TcpCounters::default(), false).encode(EPOCH)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sixteen_parts_merge_in_any_order_to_what_one_would_have_recorded(
        (outcomes, order) in (outcomes(16), Just((0..16).collect::<Vec<usize>>()).prop_shuffle()),
    ) {
        let numbered = || (0_u64..).zip(&outcomes);
        let part_of = |part: &usize| finished(numbered().filter(|(_, outcome)| outcome.part == *part));
        let parts: Vec<Finished> = order.iter().map(part_of).collect();
        let one = finished(numbered());
        // Only the cost and the number of threads are those of sixteen.
        let together = Part { cpu: one.part.cpu, threads: 1, ..merged(&parts) };
        let first_mismatches = |part: &Part| -> Vec<_> {
            part.recorder.operations.iter().map(|tally| tally.mismatched_body).collect()
        };
        prop_assert_eq!(first_mismatches(&together), first_mismatches(&one.part));
        prop_assert_eq!(all_of(together), all_of(one.part));
    }

    #[test]
    fn what_has_travelled_merges_to_the_same_as_what_has_not(
        outcomes in outcomes(3), other_epoch in any::<u32>().prop_map(|epoch| Nanos(u64::from(epoch))),
    ) {
        let parts: Vec<Finished> = (0..3)
            .map(|part| finished((0_u64..).zip(&outcomes).filter(|(_, outcome)| outcome.part == part)))
            .collect();
        let travelled = |epoch| -> Vec<Finished> {
            parts.iter().map(|part| Finished::decode(&part.encode(EPOCH), epoch).unwrap()).collect()
        };
        prop_assert_eq!(all_of(merged(&travelled(EPOCH))), all_of(merged(&parts)));
        // On a machine with another clock the load is the same, counted from its own start.
        let elsewhere = merged(&travelled(other_epoch));
        prop_assert_eq!(elsewhere.window.start - other_epoch, WINDOW.start - EPOCH);
        let back = Finished::of(vec![elsewhere], TcpCounters::default(), false);
        prop_assert_eq!(all_of(Finished::decode(&back.encode(other_epoch), EPOCH).unwrap().part), all_of(merged(&parts)));
    }
}

/// Gives every count below here a number that differs from all others.
fn number_counts(counts: &mut Value, last: &mut u64) {
    match counts {
        Value::Number(count) => {
            *last += 1;
            *count = (*last).into();
        }
        Value::Object(members) => members.values_mut().for_each(|member| number_counts(member, last)),
        Value::Array(items) => items.iter_mut().for_each(|item| number_counts(item, last)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[test]
fn a_recording_that_merges_into_an_empty_one_loses_no_count_whatever_it_counts() {
    // These are not counts, or their items have a separate order.
    const OTHERS: [&str; 6] = ["answered_slots", "begins", "operations", "series", "slowest", "window"];
    let mut written = serde_json::to_value(&finished([].into_iter()).part.recorder).unwrap();
    let mut last = 0;
    for (name, member) in written.as_object_mut().unwrap() {
        if !OTHERS.contains(&name.as_str()) {
            number_counts(member, &mut last);
        }
    }
    let full: Recorder = serde_json::from_value(written.clone()).unwrap();
    let mut merged = finished([].into_iter()).part.recorder;
    merged.merge(&full);
    assert!(last > 30, "{last} counts");
    assert_eq!(serde_json::to_value(&merged).unwrap(), written);
}

#[test]
fn threads_that_began_at_different_moments_say_how_far_these_were_apart() {
    let part = |began_ns: u64| Part { began: EPOCH + Nanos(began_ns), ..finished([].into_iter()).part };
    for order in [[5, 30, 10], [30, 10, 5], [10, 5, 30]] {
        let mut together = part(order[0]);
        for began_ns in &order[1..] {
            together.merge(&part(*began_ns));
        }
        assert_eq!((together.began, together.began_within), (EPOCH + Nanos(5), Nanos(25)));
        assert_eq!((together.threads, together.cpu.working()), (3, Nanos(12)));
        assert_eq!(together.cpu.voluntary_switches, 21);
        assert_eq!(together.cpu.polling, Polling { spent: Nanos(3), found: 15, longest_pause: Nanos(7) });
    }
}

#[test]
fn a_load_was_interrupted_where_any_of_its_parts_was() {
    let part = |interrupted| Finished { interrupted, ..finished([].into_iter()) };
    for one in [false, true] {
        for other in [false, true] {
            let mut together = part(one);
            together.merge(part(other));
            assert_eq!(together.interrupted, one || other, "{one} and {other}");
        }
    }
}

#[test]
fn pauses_travel_with_their_part_but_for_those_before_it_began() {
    let pause = |ms: u64| {
        let begin = EPOCH + Nanos::from_millis(ms);
        Pause { earliest: begin - Nanos(9), latest: begin, end: begin + Nanos::from_millis(25) }
    };
    let before = Pause { earliest: EPOCH - Nanos(40), latest: EPOCH - Nanos(30), end: EPOCH - Nanos(20) };
    let finished = Finished { pauses: Some(vec![before, pause(1), pause(60)]), ..finished([].into_iter()) };
    let travelled = Finished::decode(&finished.encode(EPOCH), EPOCH).unwrap();
    assert_eq!(travelled.pauses, Some(vec![pause(1), pause(60)]));
}

#[test]
fn a_text_of_another_form_is_refused_by_name_and_a_damaged_one_by_what_is_wrong() {
    let text = finished([].into_iter()).encode(EPOCH);
    let problem = |text: &str| Finished::decode(text, EPOCH).unwrap_err().to_string();
    assert!(problem(&text.replace(super::FORMAT, "loadcurve-part/1")).contains("\"loadcurve-part/1\""));
    assert!(problem(&text[..text.len() / 2]).contains("EOF"));
    assert!(problem("{}").contains("format"));
    assert!(problem(&text.replace("\"width_ns\":1000000,", "\"width_ns\":0,")).contains("slots of time"));
}

#[test]
fn a_part_whose_requests_do_not_add_up_is_damaged_and_says_by_how_much() {
    let outcome = Outcome {
        part: 0,
        operation: 0,
        due: Nanos(1_000_000_000),
        latency: Nanos(1),
        ending: Ending::Answered { status: 200, body_bytes: 1 },
    };
    let text = finished([(0, &outcome), (1, &outcome)].into_iter()).encode(EPOCH);
    for (place, by, said) in [
        (
            ["requests", "due"],
            3,
            "3 requests were due, but 2 answered + 0 failed + 0 unanswered + 0 never sent",
        ),
        (
            ["requests", "never_sent"],
            7,
            "2 requests were due, but 2 answered + 0 failed + 0 unanswered + 7 never",
        ),
        (
            ["requests", "failed"],
            u64::MAX,
            "2 requests were due, but 2 answered + 18446744073709551615 failed",
        ),
        (
            ["warm_up", "begun"],
            1,
            "1 requests of the warm-up began, but 0 answered + 0 failed + 0 unanswered",
        ),
    ] {
        let mut changed: Value = serde_json::from_str(&text).unwrap();
        changed["finished"]["part"]["recorder"][place[0]][place[1]] = by.into();
        let problem = Finished::decode(&changed.to_string(), EPOCH).unwrap_err().to_string();
        assert!(problem.contains(said), "{problem}");
    }
}
