//! Whether what was published has reached those it was meant for.

use loadcurve_record::Recorder;

use super::{Code, Evidence, Status, Verdict};
use crate::words::{grouped, percentage};

/// Deliveries or subscribers that are missing above this share spoil a result, as failed requests do.
const INVALID_SHARE: f64 = 0.01;

/// What is known of a fan-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FanOutEvidence {
    pub(crate) asked: u64,
    pub(crate) opened: u64,
    /// Before the load has ended.
    pub(crate) closed: u64,
    pub(crate) expected: u64,
    pub(crate) delivered: u64,
    /// What came without being a message of the load.
    pub(crate) foreign: u64,
}

impl FanOutEvidence {
    /// Of a load that asks for this many subscribers.
    pub(crate) fn of(asked: usize, recorder: &Recorder) -> Self {
        let deliveries = &*recorder.deliveries;
        Self {
            asked: asked as u64,
            opened: deliveries.subscribers.opened,
            closed: deliveries.subscribers.closed.total(),
            expected: deliveries.expected,
            delivered: deliveries.delivered,
            foreign: deliveries.unmarked + deliveries.of_other_loads,
        }
    }
}

impl Verdict {
    /// Subscribers that were not there, and deliveries that did not come.
    pub(super) fn judge_fan_out(&mut self, evidence: &Evidence) {
        let Some(fan_out) = evidence.fan_out else { return };
        let FanOutEvidence { asked, opened, closed, expected, delivered, foreign } = fan_out;
        let missing = asked - opened.min(asked) + closed;
        if missing > 0 {
            let text = format!(
                "{} of {} subscribers could not be opened, and {} were closed before the load ended: what was sent \
                 meanwhile was meant for fewer; the server's log may show why",
                grouped(asked - opened.min(asked)),
                grouped(asked),
                grouped(closed)
            );
            self.add(status_of(missing, asked), Code::SubscribersMissing, text);
        }
        if delivered < expected {
            let seen = match (delivered, foreign) {
                (0, 0) => {
                    "; nothing came to any subscriber: the server sends on nothing, or not to this path"
                        .into()
                }
                (0, _) => format!(
                    "; the {} messages that came carry no marker of this load: the server does not send on what \
                     was published as it is",
                    grouped(foreign)
                ),
                _ => String::new(),
            };
            let text = format!(
                "{} of {} deliveries ({}) did not come, so the reach is below 1{seen}; latencies of deliveries cover only \
                 those that came",
                grouped(expected - delivered),
                grouped(expected),
                percentage(expected - delivered, expected)
            );
            self.add(status_of(expected - delivered, expected), Code::Reach, text);
        }
    }
}

fn status_of(missing: u64, whole: u64) -> Status {
    if missing as f64 > INVALID_SHARE * whole as f64 { Status::Invalid } else { Status::Suspect }
}

#[cfg(test)]
mod tests {
    use super::FanOutEvidence;
    use crate::verdict::tests::closed;
    use crate::verdict::{Code, Evidence, Status, Verdict};

    const WHOLE: FanOutEvidence = FanOutEvidence {
        asked: 100,
        opened: 100,
        closed: 0,
        expected: 10_000,
        delivered: 10_000,
        foreign: 0,
    };

    /// The status that a fan-out gives, and the texts of its reasons.
    fn judged(fan_out: FanOutEvidence) -> (Status, Vec<(Code, String)>) {
        let mut verdict = Verdict::default();
        verdict.judge_fan_out(&Evidence { fan_out: Some(fan_out), ..closed() });
        (verdict.status, verdict.reasons.into_iter().map(|reason| (reason.code, reason.text)).collect())
    }

    #[test]
    fn what_has_reached_everybody_is_no_reason_whatever_else_came() {
        assert_eq!(judged(FanOutEvidence { foreign: 5, ..WHOLE }), (Status::Valid, vec![]));
    }

    #[test]
    fn a_reach_below_one_is_said_and_spoils_a_result_above_a_hundredth() {
        let (status, reasons) = judged(FanOutEvidence { delivered: 9_900, ..WHOLE });
        assert_eq!(status, Status::Suspect);
        assert!(reasons[0].1.contains("100 of 10,000 deliveries (1.0 %) did not come"), "{reasons:?}");
        let (status, _) = judged(FanOutEvidence { delivered: 9_899, ..WHOLE });
        assert_eq!(status, Status::Invalid);
    }

    #[test]
    fn where_nothing_comes_it_is_said_whether_something_else_did() {
        let nothing = FanOutEvidence { delivered: 0, ..WHOLE };
        assert!(judged(nothing).1[0].1.contains("nothing came to any subscriber"));
        let other = judged(FanOutEvidence { foreign: 7, ..nothing });
        assert!(other.1[0].1.contains("the 7 messages that came carry no marker"));
    }

    #[test]
    fn subscribers_that_are_not_there_are_said() {
        let (status, reasons) = judged(FanOutEvidence { opened: 99, closed: 2, ..WHOLE });
        assert_eq!((status, reasons[0].0), (Status::Invalid, Code::SubscribersMissing));
        assert!(reasons[0].1.starts_with("1 of 100 subscribers could not be opened, and 2 were closed"));
    }
}
