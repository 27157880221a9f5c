//! How connections ended, with requests unanswered or by redirections.

use loadcurve_record::{Disruptions, StatusClass};

use super::super::{Code, Evidence, Redirection, Status, Verdict};
use super::closed;

fn notes(evidence: &Evidence) -> Vec<(Code, String)> {
    Verdict::of(evidence).notes.into_iter().map(|note| (note.code, note.text)).collect()
}

#[test]
fn a_server_that_answers_only_the_first_of_pipelined_requests_makes_a_load_invalid() {
    let of = |pipelined, pipelines, pipelines_answered_once| Evidence {
        pipelined,
        disruptions: Disruptions { pipelines, pipelines_answered_once, ..Disruptions::default() },
        ..closed()
    };
    let verdict = Verdict::of(&of(true, 1_200, 600));
    assert_eq!((verdict.status, verdict.reasons[0].code), (Status::Invalid, Code::NotPipelined));
    assert!(verdict.reasons[0].text.contains("on 600 of the 1,200 connections"), "{:?}", verdict.reasons);
    let some = Disruptions { pipelines_answered_some: 400, ..of(true, 1_200, 200).disruptions };
    let text = Verdict::of(&Evidence { disruptions: some, ..of(true, 1_200, 200) }).reasons[0].text.clone();
    assert!(text.contains("leaves some of the pipelined requests unanswered, as on 600 of"), "{text}");
    let closed_so = Disruptions { kept_connection: 600, ..of(true, 1_200, 600).disruptions };
    assert_eq!(notes(&Evidence { disruptions: closed_so, ..of(true, 1_200, 600) }), []);
    // A server that closes connections by another rule, and one that has answered all.
    for sound in [of(true, 1_200, 599), of(true, 0, 0), of(false, 1_200, 1_200)] {
        assert_eq!(Verdict::of(&sound).status, Status::Valid);
    }
}

#[test]
fn three_causes_of_closed_connections_have_a_note_each_with_its_own_advice() {
    let of = |answer_begun, kept_connection, new_connection| Evidence {
        disruptions: Disruptions { answer_begun, kept_connection, new_connection, ..Disruptions::default() },
        ..closed()
    };
    for (evidence, code, begin, advice) in [
        (of(1, 0, 0), Code::AnswersCutOff, "1 answer was cut off", "error log"),
        (of(0, 1_000, 0), Code::KeptConnectionsClosed, "1,000 requests were on the way", "idle timeout"),
        (of(0, 0, 2), Code::NewConnectionsClosed, "2 requests got no answer", "limit on connections"),
    ] {
        let [(found, text)] = &notes(&evidence)[..] else { panic!("{evidence:?}") };
        assert_eq!(*found, code);
        assert!(text.starts_with(begin) && text.contains(advice), "{text}");
    }
    assert_eq!(notes(&of(1, 1, 1)).len(), 3);
    assert_eq!(notes(&closed()), []);
}

#[test]
fn answers_that_are_all_redirections_are_noted_with_where_they_lead() {
    let of = |redirections: u64, place: Option<&str>, is_only| Evidence {
        status: Some(
            [(StatusClass::Redirection, redirections), (StatusClass::Success, 100_000 - redirections)].into(),
        ),
        redirection: place.map(|place| Redirection { place: place.into(), is_only }),
        ..closed()
    };
    for (is_only, expected) in [
        (true, "100,000 of 100,000 answers redirect to /there: load that path,"),
        (false, "100,000 of 100,000 answers redirect, such as to /there: load those paths,"),
    ] {
        let found = notes(&of(100_000, Some("/there"), is_only));
        let [(Code::Redirected, text)] = &found[..] else { panic!("{found:?}") };
        assert!(text.starts_with(expected), "{text}");
    }
    // Some may be meant; an answer that nothing has changed (304) leads nowhere.
    for (redirections, place) in [(99_999, Some("/there")), (100_000, None), (0, Some("/there"))] {
        assert_eq!(notes(&of(redirections, place, true)), []);
    }
}
