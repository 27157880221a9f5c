//! Each doubt with the evidence that calls for it, and without.

use loadcurve_plan::{Nanos, Stop};
use loadcurve_record::{
    Disruptions, Failure, FailureCounts, OfStatus, StatusClass, StatusCounts, Unserved, WarmUpCounts,
};

use super::{
    Busy, Code, Evidence, GeneratorEvidence, KeptUp, Loaded, OddBody, PeriodMeans, Reason, Scheduled, Status,
    TimeSeries, Verdict,
};
use crate::result::{Lateness, Requests};

mod endings;
mod resumption;
mod settling;
mod streams;

const REQUESTS: Requests = Requests {
    due: 100_000,
    sent: 100_000,
    answered: 100_000,
    ok: 100_000,
    failed: 0,
    unanswered: 0,
    moved: 0,
    never_sent: 0,
};
const SCHEDULED: Scheduled = Scheduled { due_rps: 10_000.0, sent_rps: 10_000.0, never_sent_while_free: 0 };
const PUNCTUAL: Lateness = Lateness { p50: Some(0.01), p99: Some(0.05), p99_9: Some(0.1), max: Some(0.2) };

const PERIOD: PeriodMeans = PeriodMeans { width_s: 1.0, answered: 10_000, mean_latency_ms: Some(5.0) };

/// Fifty connections for ten seconds, 10,000 requests per second, 5 ms each: nothing to object to.
pub(super) fn closed() -> Evidence {
    Evidence {
        loaded: Loaded::WebServer,
        stop: Stop::DurationS(10.0),
        interrupted: false,
        duration_s: 10.0,
        requests: REQUESTS,
        began_late_s: 0.0,
        silent_at_end_s: None,
        lost: None,
        cut_off: 0,
        warm_up: WarmUpCounts::default(),
        unserved: Unserved { asked: 50, served: 50, ..Unserved::default() },
        at_once: 50,
        failures: FailureCounts::default(),
        status: Some([(StatusClass::Success, 100_000)].into()),
        statuses: Vec::new(),
        unexpected_status: None,
        disruptions: Disruptions::default(),
        pipelined: false,
        redirection: None,
        tracking_drops: 0,
        is_local: false,
        odd_bodies: vec![],
        descriptors: None,
        ports: None,
        kept_up: Some(KeptUp { requests: 50, think_ms: 0.0 }),
        scheduled: None,
        declined: 0,
        fan_out: None,
        resumption: None,
        early_data: None,
        answered_rps: Some(10_000.0),
        mean_latency_ms: Some(5.0),
        time_series: TimeSeries { warmup_s: 2.0, rate_changes: false, periods: vec![PERIOD; 10] },
        generator: busy(0.5, 1),
    }
}

fn busy(cpu_share: f64, threads: usize) -> GeneratorEvidence {
    GeneratorEvidence { lateness: None, busy: Some(Busy { threads, cpu_share }) }
}

fn late(lateness: Lateness) -> GeneratorEvidence {
    GeneratorEvidence { lateness: Some(lateness), ..busy(0.5, 1) }
}

fn open() -> Evidence {
    Evidence { kept_up: None, scheduled: Some(SCHEDULED), generator: late(PUNCTUAL), ..closed() }
}

fn verdict(evidence: &Evidence) -> (Status, Vec<Code>) {
    let verdict = Verdict::of(evidence);
    (verdict.status, verdict.reasons.iter().map(|reason| reason.code).collect())
}

fn text_of(reasons: &[Reason], code: Code) -> &str {
    let reason = reasons.iter().find(|reason| reason.code == code);
    reason.map_or_else(|| panic!("no {code:?} in {reasons:?}"), |reason| reason.text.as_str())
}

fn assert_says(evidence: &Evidence, code: Code, parts: &[&str]) {
    let verdict = Verdict::of(evidence);
    let text = text_of(&verdict.reasons, code);
    for part in parts {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[test]
fn sound_loads_are_valid_without_a_reason_and_without_a_note() {
    for sound in [closed(), open()] {
        assert_eq!(Verdict::of(&sound), Verdict::default());
    }
}

#[test]
fn websockets_that_were_to_be_compressed_and_are_not_are_a_note() {
    let evidence = Evidence { declined: 50, ..closed() };
    let Verdict { status, reasons, notes } = Verdict::of(&evidence);
    assert_eq!((status, reasons.len()), (Status::Valid, 0));
    assert!(
        text_of(&notes, Code::CompressionDeclined).contains("declined to compress messages on 50 WebSockets")
    );
}

#[test]
fn a_load_without_an_answer_is_invalid() {
    let nothing = Requests { answered: 0, ok: 0, failed: 0, unanswered: 100_000, ..REQUESTS };
    let evidence = Evidence { requests: nothing, mean_latency_ms: None, answered_rps: None, ..closed() };
    assert_eq!(verdict(&evidence), (Status::Invalid, vec![Code::NothingAnswered, Code::Unanswered]));
    assert_says(&evidence, Code::NothingAnswered, &["none of the 100,000 requests"]);
}

#[test]
fn a_part_that_begins_within_the_window_casts_doubt_from_a_tenth_of_a_second_and_one_percent_of_it() {
    let began = |began_late_s, duration_s| Evidence { duration_s, began_late_s, ..closed() };
    for punctual in [began(0.09, 1.0), began(0.19, 20.0)] {
        assert_eq!(verdict(&punctual), (Status::Valid, vec![]));
    }
    for late in [began(0.1, 1.0), began(0.2, 20.0), began(15.0, 20.0)] {
        assert_eq!(verdict(&late), (Status::Suspect, vec![Code::BeganLate]));
    }
    assert_says(&began(15.0, 20.0), Code::BeganLate, &["began 15.00 s after"]);
}

#[test]
fn failures_cast_doubt_and_above_one_percent_spoil_the_result() {
    let failing = |failed| Evidence {
        requests: Requests { failed, answered: 100_000 - failed, ok: 100_000 - failed, ..REQUESTS },
        failures: [(Failure::Reset, failed)].into(),
        ..closed()
    };
    assert_eq!(verdict(&failing(1)), (Status::Suspect, vec![Code::Errors]));
    assert_eq!(verdict(&failing(1_000)), (Status::Suspect, vec![Code::Errors]));
    assert_eq!(verdict(&failing(1_001)), (Status::Invalid, vec![Code::Errors]));
    assert_says(
        &failing(2_500),
        Code::Errors,
        &[
            "2,500 of 100,000 requests (2.5 %) failed",
            "had their \
        connection reset",
        ],
    );
}

#[test]
fn a_silence_of_failures_up_to_the_end_spoils_a_result_from_the_share_from_which_failures_do() {
    let silent = |silent_s, duration_s| Evidence {
        silent_at_end_s: Some(silent_s),
        stop: Stop::DurationS(duration_s),
        duration_s,
        ..closed()
    };
    assert_eq!(verdict(&silent(5.0, 10.0)), (Status::Invalid, vec![Code::StoppedAnswering]));
    assert_says(
        &silent(5.0, 10.0),
        Code::StoppedAnswering,
        &["the last 5.0 of 10.0 s (50.0 %)", "server's log"],
    );
    assert_eq!(verdict(&silent(0.11, 10.0)), (Status::Invalid, vec![Code::StoppedAnswering]));
    assert_eq!(verdict(&silent(0.5, 60.0)), (Status::Suspect, vec![Code::StoppedAnswering]));
    assert_eq!(verdict(&silent(0.09, 1.0)), (Status::Valid, vec![]), "a pause");
    let counted = Evidence { stop: Stop::RequestsTotal(100_000), ..silent(5.0, 10.0) };
    assert_eq!(verdict(&counted), (Status::Valid, vec![]), "each of its requests has its own end");
}

#[test]
fn packets_that_the_kernel_dropped_come_before_the_failures_that_they_caused() {
    let dropped = Evidence { tracking_drops: 1_234, ..closed() };
    assert_eq!(
        verdict(&dropped),
        (Status::Suspect, vec![Code::TrackingFull]),
        "they were sent again in time"
    );
    let failed = Evidence {
        requests: Requests { failed: 20, answered: 99_980, ok: 99_980, ..REQUESTS },
        failures: [(Failure::ConnectTimeout, 20)].into(),
        silent_at_end_s: Some(5.0),
        ..dropped
    };
    assert_eq!(verdict(&failed), (Status::Invalid, vec![Code::TrackingFull, Code::Errors]));
    assert_says(&failed, Code::TrackingFull, &["1,234 packets", "nf_conntrack_max", "not the server's"]);
}

#[test]
fn answers_with_an_error_status_are_no_answers_to_rank_by() {
    let refusing = Evidence {
        requests: Requests { ok: 0, ..REQUESTS },
        status: Some([(StatusClass::ClientError, 99_000), (StatusClass::ServerError, 1_000)].into()),
        ..closed()
    };
    assert_eq!(verdict(&refusing), (Status::Invalid, vec![Code::ErrorStatus]));
    assert_says(&refusing, Code::ErrorStatus, &["100 %", "99,000 of 4xx and 1,000 of 5xx", "check the path"]);
}

#[test]
fn error_statuses_are_judged_by_their_share_of_the_answers_however_few_of_the_requests_were_answered() {
    let requests = Requests { sent: 10_000, never_sent: 90_000, answered: 10_000, ok: 9_100, ..REQUESTS };
    let overloaded = Evidence { requests, ..open() };
    assert_eq!(verdict(&overloaded), (Status::Invalid, vec![Code::ErrorStatus]));
    assert_says(&overloaded, Code::ErrorStatus, &["900 of 10,000 answers (9.0 %)"]);
}

#[test]
fn error_statuses_are_named_one_by_one_where_they_are_known_the_most_frequent_first() {
    let of = |status, answered, wrong| OfStatus { status, answered, wrong, body: None };
    let refusing = Evidence {
        requests: Requests { ok: 90_000, ..REQUESTS },
        statuses: vec![of(200, 90_000, 0), of(404, 1, 1), of(415, 9_998, 9_998), of(500, 1, 1)],
        ..closed()
    };
    assert_says(&refusing, Code::ErrorStatus, &["9,998 of 415, 1 of 404 and 1 of 500: an error page"]);
    let early = Evidence { statuses: vec![of(200, 90_000, 0), of(425, 10_000, 10_000)], ..refusing };
    assert_says(
        &early,
        Code::ErrorStatus,
        &["10,000 of 425 (Too Early: the server does not process it before"],
    );
}

#[test]
fn a_status_that_the_list_expects_is_right_and_another_one_is_not() {
    let status = Some([(StatusClass::Success, 60_000), (StatusClass::ClientError, 40_000)].into());
    let as_expected = Evidence { status, unexpected_status: Some(StatusCounts::default()), ..closed() };
    assert_eq!(verdict(&as_expected), (Status::Valid, vec![]));
    let otherwise = Evidence {
        requests: Requests { ok: 98_000, ..REQUESTS },
        unexpected_status: Some([(StatusClass::Success, 2_000)].into()),
        ..as_expected
    };
    assert_eq!(verdict(&otherwise), (Status::Invalid, vec![Code::ErrorStatus]));
    assert_says(
        &otherwise,
        Code::ErrorStatus,
        &["2,000 of 100,000", "another status than the list", "2,000 of 2xx"],
    );
}

#[test]
fn answers_of_another_length_than_verified_are_reported_with_both_lengths() {
    let mismatched = Evidence {
        requests: Requests { failed: 3, answered: 99_997, ok: 99_997, ..REQUESTS },
        failures: [(Failure::Mismatch, 3)].into(),
        odd_bodies: vec![OddBody::Mismatched {
            operation: "GET /1k.txt".into(),
            verified_bytes: 1_024,
            found_bytes: 512,
        }],
        ..closed()
    };
    assert_eq!(verdict(&mismatched), (Status::Suspect, vec![Code::Errors, Code::Mismatch]));
    assert_says(&mismatched, Code::Mismatch, &["3 of 100,000", "512 instead of 1,024 bytes for GET /1k.txt"]);
}

#[test]
fn lengths_that_differ_where_none_was_verified_cast_doubt() {
    let differing = |operation: &str, longest_bytes| OddBody::Differing {
        operation: operation.into(),
        shortest_bytes: 20,
        longest_bytes,
    };
    let evidence =
        Evidence { odd_bodies: vec![differing("GET /a", 1_024), differing("GET /b", 30)], ..closed() };
    assert_eq!(verdict(&evidence), (Status::Suspect, vec![Code::LengthsDiffer]));
    let parts = ["from 20 to 1,024 bytes for GET /a", "from 20 to 30 bytes for GET /b"];
    assert_says(&evidence, Code::LengthsDiffer, &parts);
}

#[test]
fn of_many_operations_a_few_are_named_and_the_others_counted() {
    let differing = |number: u64| OddBody::Differing {
        operation: format!("GET /{number}"),
        shortest_bytes: 20,
        longest_bytes: 30,
    };
    let evidence = Evidence { odd_bodies: (1..=10).map(differing).collect(), ..closed() };
    assert_says(&evidence, Code::LengthsDiffer, &["GET /3 and 7 more"]);
}

#[test]
fn a_shortage_of_this_machine_is_told_apart_from_a_failure_of_the_server() {
    let short = |failures| Evidence {
        requests: Requests { failed: 10, answered: 99_990, ok: 99_990, ..REQUESTS },
        failures,
        descriptors: Some("few files".into()),
        ports: Some("few ports".into()),
        ..closed()
    };
    let of_files = short([(Failure::FdUnavailable, 10)].into());
    assert_eq!(verdict(&of_files), (Status::Suspect, vec![Code::Errors, Code::DescriptorsShort]));
    assert_says(
        &of_files,
        Code::DescriptorsShort,
        &["10 requests found no free file descriptor", "few files"],
    );
    let of_ports = short([(Failure::AddressUnavailable, 10)].into());
    assert_eq!(verdict(&of_ports), (Status::Suspect, vec![Code::Errors, Code::PortsShort]));
    assert_says(&of_ports, Code::PortsShort, &["10 requests found no free local port", "few ports"]);
}

#[test]
fn a_rate_that_is_not_answered_is_said() {
    assert_eq!(verdict(&Evidence { answered_rps: Some(9_900.0), ..open() }).0, Status::Valid);
    let requests = Requests { sent: 99_000, never_sent: 1_000, answered: 98_000, ok: 98_000, ..REQUESTS };
    let short = Evidence { answered_rps: Some(9_800.0), requests, ..open() };
    assert_eq!(verdict(&short), (Status::Suspect, vec![Code::RateNotReached]));
    let parts =
        ["10,000 requests per second fell due and 9,800 were answered", "1,000 in all were never sent"];
    assert_says(&short, Code::RateNotReached, &parts);
}

#[test]
fn requests_still_under_way_at_the_end_of_a_short_window_are_no_lack_of_rate() {
    // Ten requests fall due in a second, each is answered after 150 ms: the last two come after the end.
    let scheduled = Scheduled { due_rps: 10.0, sent_rps: 10.0, ..SCHEDULED };
    let requests = Requests { due: 10, sent: 10, answered: 10, ok: 10, ..REQUESTS };
    let window = Evidence {
        duration_s: 1.0,
        requests,
        scheduled: Some(scheduled),
        mean_latency_ms: Some(150.0),
        ..open()
    };
    assert_eq!(verdict(&Evidence { answered_rps: Some(8.0), ..window.clone() }).0, Status::Valid);
    let overloaded = Evidence { answered_rps: Some(5.0), ..window };
    assert_eq!(verdict(&overloaded).1, [Code::RateNotReached]);
}

#[test]
fn requests_that_were_not_sent_although_a_connection_was_free_are_the_generators_doing() {
    let held_up = |count| {
        let requests = Requests { sent: 100_000 - count, never_sent: count, ..REQUESTS };
        let requests = Requests { answered: requests.sent, ok: requests.sent, ..requests };
        let rps = requests.sent as f64 / 10.0;
        let scheduled = Scheduled { sent_rps: rps, never_sent_while_free: count, ..SCHEDULED };
        Evidence { requests, scheduled: Some(scheduled), answered_rps: Some(rps), ..open() }
    };
    assert_eq!(verdict(&held_up(1_000)).0, Status::Valid);
    assert_eq!(verdict(&held_up(5_000)), (Status::Suspect, vec![Code::RateNotSent, Code::RateNotReached]));
    let parts = ["10,000 requests per second fell due and 9,500 were sent", "5,000 of 100,000 (5.0 %)"];
    assert_says(&held_up(5_000), Code::RateNotSent, &parts);
}

#[test]
fn a_late_generator_is_said_and_a_very_late_one_spoils_the_result() {
    let late = |ms| Evidence { generator: late(Lateness { p99: Some(ms), ..PUNCTUAL }), ..open() };
    assert_eq!(verdict(&late(2.0)), (Status::Suspect, vec![Code::GeneratorLate]));
    assert_eq!(verdict(&late(20.0)), (Status::Invalid, vec![Code::GeneratorLate]));
    assert_says(&late(2.0), Code::GeneratorLate, &["1 of 100 requests 2.00 ms or more"]);
}

#[test]
fn where_requests_are_too_few_for_a_percentile_the_latest_of_them_speaks() {
    let lateness = Lateness { p50: None, p99: None, p99_9: None, max: Some(3.0) };
    let late = Evidence { generator: late(lateness), ..open() };
    assert_eq!(verdict(&late), (Status::Suspect, vec![Code::GeneratorLate]));
    assert_says(&late, Code::GeneratorLate, &["a request 3.00 ms"]);
}

#[test]
fn a_saturated_generator_is_said() {
    let saturated = Evidence { generator: busy(0.99, 2), ..closed() };
    assert_eq!(verdict(&saturated), (Status::Suspect, vec![Code::GeneratorSaturated]));
    assert_says(&saturated, Code::GeneratorSaturated, &["2 threads were busy 99 %"]);
}

#[test]
fn of_several_generators_the_latest_and_the_busiest_count_whichever_comes_first() {
    let punctual_but_busy = GeneratorEvidence { lateness: Some(PUNCTUAL), ..busy(0.99, 2) };
    let late_but_idle = late(Lateness { p99: Some(20.0), ..PUNCTUAL });
    for generator in [
        punctual_but_busy.or_slower(late_but_idle),
        late_but_idle.or_slower(punctual_but_busy),
        GeneratorEvidence::default().or_slower(late_but_idle).or_slower(punctual_but_busy),
    ] {
        let together = Evidence { generator, ..open() };
        assert_eq!(
            verdict(&together),
            (Status::Invalid, vec![Code::GeneratorLate, Code::GeneratorSaturated])
        );
        assert_says(&together, Code::GeneratorSaturated, &["2 threads were busy 99 %"]);
    }
}

#[test]
fn latencies_that_do_not_fill_the_connections_break_littles_law() {
    // 10,000 per second of 2 ms keep 20 connections busy, not 50; with 3 ms of thought each they do.
    let broken = Evidence { mean_latency_ms: Some(2.0), ..closed() };
    assert_eq!(verdict(&broken), (Status::Suspect, vec![Code::LittlesLaw]));
    assert_says(&broken, Code::LittlesLaw, &["20.0 requests under way, but 50 were kept under way"]);
    let kept_up = Some(KeptUp { requests: 50, think_ms: 3.0 });
    assert_eq!(verdict(&Evidence { kept_up, ..broken }).0, Status::Valid);
}

#[test]
fn more_under_way_than_was_kept_is_no_time_that_the_generator_spends() {
    // 10,000 per second of 8 ms would keep 80 under way, and 50 were.
    let more = Evidence { mean_latency_ms: Some(8.0), ..closed() };
    assert_eq!(verdict(&more), (Status::Suspect, vec![Code::LittlesLaw]));
    assert_says(&more, Code::LittlesLaw, &["80.0 requests under way, but 50", "a longer load has fewer"]);
    assert!(!text_of(&Verdict::of(&more).reasons, Code::LittlesLaw).contains("generator"));
}

#[test]
fn what_waited_through_the_window_was_under_way() {
    // 20 of 2 ms at 10,000 per second, and 30 that waited, are the 50 that were kept.
    let unserved =
        Unserved { requests: 30, connections: 30, oldest: Nanos(12_000_000_000), asked: 50, served: 20 };
    let starved = Evidence { mean_latency_ms: Some(2.0), unserved, ..closed() };
    assert_eq!(verdict(&starved), (Status::Invalid, vec![Code::NeverServed]));
    let parts = [
        "30 requests, on 30 of 50 connections, waited through the whole window; the oldest 12.0 s",
        "other 20",
    ];
    assert_says(&starved, Code::NeverServed, &parts);
    let hidden = Evidence { mean_latency_ms: Some(1.0), ..starved };
    assert_says(
        &hidden,
        Code::LittlesLaw,
        &["10.0 requests under way beside the 30 that waited through the window"],
    );
}

#[test]
fn connections_whose_requests_all_fail_are_not_served() {
    let unserved = |served| Unserved { asked: 200, served, ..Unserved::default() };
    let failing = |served| Evidence { unserved: unserved(served), at_once: 200, ..closed() };
    assert_eq!(verdict(&failing(198)), (Status::Suspect, vec![Code::NeverServed]));
    assert_eq!(verdict(&failing(197)), (Status::Invalid, vec![Code::NeverServed]));
    assert_says(&failing(197), Code::NeverServed, &["on 3 of 200 connections no request was answered"]);
    // Where none is, that is the reason.
    assert_eq!(verdict(&failing(0)).0, Status::Valid);
}

#[test]
fn a_stream_that_waits_beside_others_that_are_answered_has_waited_on_a_served_connection() {
    let unserved =
        Unserved { requests: 1, connections: 1, oldest: Nanos(12_000_000_000), asked: 1, served: 1 };
    let one_stream = Evidence { unserved, at_once: 100, ..closed() };
    assert_eq!(verdict(&one_stream), (Status::Suspect, vec![Code::NeverServed]));
    assert_says(&one_stream, Code::NeverServed, &["1 request, on 1 of 1 connections", "had other answers"]);
}

#[test]
fn a_rate_of_which_all_that_is_missing_failed_at_once_is_kept() {
    let failing = |failure| {
        let requests = Requests { answered: 75_000, ok: 75_000, failed: 25_000, ..REQUESTS };
        Evidence { answered_rps: Some(7_500.0), requests, failures: [(failure, 25_000)].into(), ..open() }
    };
    assert_eq!(verdict(&failing(Failure::Reset)), (Status::Invalid, vec![Code::Errors]));
    // What has waited for the timeout may be what a server beyond its capacity leaves behind.
    assert_eq!(verdict(&failing(Failure::Timeout)).1, [Code::Errors, Code::RateNotReached]);
}

#[test]
fn an_interrupted_load_says_how_far_it_came() {
    let interrupted = Evidence { interrupted: true, duration_s: 3.21, ..closed() };
    assert_eq!(verdict(&interrupted), (Status::Suspect, vec![Code::Interrupted]));
    assert_says(&interrupted, Code::Interrupted, &["3.21 s", "was to last 10 s"]);
    let of_requests = Evidence { stop: Stop::RequestsTotal(200_000), ..interrupted };
    assert_says(&of_requests, Code::Interrupted, &["was to last 200,000 requests"]);
}

#[test]
fn a_load_that_is_interrupted_in_its_warm_up_has_measured_nothing() {
    let nothing = Requests { due: 0, sent: 0, answered: 0, ok: 0, ..REQUESTS };
    let warm_up = WarmUpCounts { begun: 4_200, answered: 4_200, ..WarmUpCounts::default() };
    let evidence = Evidence {
        requests: nothing,
        warm_up,
        interrupted: true,
        duration_s: 0.0,
        answered_rps: None,
        mean_latency_ms: None,
        generator: GeneratorEvidence::default(),
        ..closed()
    };
    assert_eq!(verdict(&evidence), (Status::Invalid, vec![Code::NothingAnswered, Code::Interrupted]));
    assert_says(&evidence, Code::NothingAnswered, &["no request fell due"]);
    let at_once = Evidence { warm_up: WarmUpCounts::default(), ..evidence.clone() };
    assert_says(&at_once, Code::Interrupted, &["before its first request"]);
    assert_says(&evidence, Code::Interrupted, &["in its warm-up, after 4,200 requests"]);
}

#[test]
fn requests_under_way_at_an_interruption_are_reported_from_one_percent_on() {
    let stopped = |unanswered| Evidence {
        interrupted: true,
        requests: Requests {
            unanswered,
            answered: 100_000 - unanswered,
            ok: 100_000 - unanswered,
            ..REQUESTS
        },
        ..open()
    };
    assert_eq!(verdict(&stopped(1_000)).1, [Code::Interrupted]);
    assert_eq!(verdict(&stopped(1_001)).1, [Code::Interrupted, Code::Unanswered]);
}

#[test]
fn percentiles_that_the_answers_do_not_bound_are_a_note_and_no_doubt() {
    let requests = Requests { due: 1_000, sent: 1_000, answered: 1_000, ok: 1_000, ..REQUESTS };
    let verdict = Verdict::of(&Evidence { requests, ..closed() });
    assert_eq!((verdict.status, verdict.reasons.len()), (Status::Valid, 0));
    let text = text_of(&verdict.notes, Code::TooFewSamples);
    let needs = "1,000 answers are too few";
    assert!(
        text.contains(needs) && text.contains("p99.9 requires 3,688 and p99.99 requires 36,887"),
        "{text}"
    );
    let requests = Requests { due: 1, sent: 1, answered: 1, ok: 1, ..REQUESTS };
    let verdict = Verdict::of(&Evidence { requests, ..closed() });
    assert!(text_of(&verdict.notes, Code::TooFewSamples).starts_with("1 answer is too few"), "{verdict:?}");
}

#[test]
fn failures_of_the_warm_up_are_a_note_and_no_doubt() {
    let warm_up = WarmUpCounts { begun: 400, answered: 300, failed: 100, ..WarmUpCounts::default() };
    let verdict = Verdict::of(&Evidence { warm_up, ..closed() });
    assert_eq!((verdict.status, verdict.reasons.len()), (Status::Valid, 0));
    let text = text_of(&verdict.notes, Code::WarmupErrors);
    assert!(text.contains("100 of 400 requests of the warm-up (25 %) failed"), "{text}");
}

#[test]
fn a_replay_that_ends_before_its_recording_says_how_many_requests_it_left_out() {
    let verdict = Verdict::of(&Evidence { cut_off: 1_234, ..open() });
    assert_eq!(verdict.status, Status::Valid);
    assert!(
        text_of(&verdict.notes, Code::RecordingCut).contains("1,234 of the recorded requests"),
        "{verdict:?}"
    );
}
