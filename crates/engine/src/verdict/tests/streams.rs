//! Streams of messages, which their clients may end.

use loadcurve_plan::Nanos;
use loadcurve_record::{Recorder, Window};

use super::super::{Code, Evidence, Status};
use super::{REQUESTS, open, verdict};
use crate::result::Requests;

/// What a load has recorded whose clients have ended a stream.
fn ended_by_client() -> Recorder {
    let mut recorder = Recorder::new(1);
    recorder.open_window(Window { start: Nanos::ZERO, end: Nanos::from_millis(10_000) });
    recorder.ended_by_client(Nanos::from_millis(1));
    recorder
}

#[test]
fn streams_that_clients_keep_are_no_lack_of_rate_where_all_were_sent() {
    let kept = || Evidence { answered_rps: Some(0.0), mean_latency_ms: Some(5_000.0), ..open() };
    assert_eq!(verdict(&kept()).1, [Code::RateNotReached]);
    let mut all_sent = kept();
    all_sent.consider_messages(None, &ended_by_client());
    assert_eq!(verdict(&all_sent), (Status::Valid, vec![]));
    let requests = Requests { answered: 90_000, ok: 90_000, sent: 90_000, never_sent: 10_000, ..REQUESTS };
    let mut some_sent = Evidence { requests, ..kept() };
    some_sent.consider_messages(None, &ended_by_client());
    assert_eq!(verdict(&some_sent).1, [Code::RateNotReached]);
}
