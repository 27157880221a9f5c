//! What a server says beside an error status: the start of a body, followed as it comes.

use loadcurve_plan::Nanos;
use loadcurve_record::{Recorder, Shown};
use loadcurve_wire::Tag;

use crate::io::Slot;

/// From here on a status is an error, whose body says why.
const ERRORS_FROM: u16 = 400;
/// More than a recording keeps of a body.
const FOLLOWED_BYTES: usize = 1024;

/// The body of one answer at a time, which is kept where nothing is known yet of its status.
#[derive(Debug, Default)]
pub(super) struct ErrorBodies {
    /// Whose body is followed.
    of: Option<(Slot, Tag)>,
    start: Vec<u8>,
}

impl ErrorBodies {
    /// A part of a body of an answer with this status has come.
    #[inline]
    pub(super) fn came(&mut self, slot: Slot, tag: Tag, status: u16, part: &[u8], recorder: &Recorder) {
        if status >= ERRORS_FROM {
            self.follow(slot, tag, status, part, recorder);
        }
    }

    #[cold]
    fn follow(&mut self, slot: Slot, tag: Tag, status: u16, part: &[u8], recorder: &Recorder) {
        if self.of.is_none() && recorder.statuses.lacks_body(status) {
            self.of = Some((slot, tag));
            self.start.clear();
        }
        if self.of == Some((slot, tag)) {
            let room = FOLLOWED_BYTES - self.start.len();
            self.start.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    /// An answer is complete that counts, to a request due then.
    #[inline]
    pub(super) fn answered(
        &mut self,
        slot: Slot,
        tag: Tag,
        due: Nanos,
        shown: Option<&Shown>,
        to: &mut Recorder,
    ) {
        if self.of != Some((slot, tag)) {
            return;
        }
        self.of = None;
        if let Some(shown) = shown.filter(|shown| !shown.is_right && !self.start.is_empty()) {
            to.body_began(due, shown.status, &self.start);
        }
    }

    /// A request has ended in another way.
    #[inline]
    pub(super) fn ended(&mut self, slot: Slot, tag: Tag) {
        if self.of == Some((slot, tag)) {
            self.of = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;
    use loadcurve_record::{Recorder, Shown, Window};

    use super::ErrorBodies;

    fn shown(status: u16, is_right: bool) -> Shown {
        Shown {
            first_byte: Nanos::ZERO,
            status,
            is_right,
            was_expected: false,
            has_content: false,
            header_bytes: 0,
            body_bytes: 0,
            content_bytes: 0,
            framing_bytes: 0,
        }
    }

    fn recorder() -> Recorder {
        let mut recorder = Recorder::new(1);
        recorder.open_window(Window { start: Nanos(50), end: Nanos(100) });
        recorder
    }

    fn kept(recorder: &Recorder) -> Vec<(u16, Option<String>)> {
        recorder.statuses.in_order().into_iter().map(|one| (one.status, one.body)).collect()
    }

    #[test]
    fn parts_of_one_body_are_put_together_though_those_of_others_come_between() {
        let (mut bodies, mut to) = (ErrorBodies::default(), recorder());
        bodies.came(0, 3, 415, b"wants ", &to);
        bodies.came(0, 4, 415, b"NOT THIS", &to);
        bodies.came(1, 3, 415, b"NOR THIS", &to);
        bodies.came(0, 2, 200, b"a right one", &to);
        bodies.came(0, 3, 415, b"JSON", &to);
        bodies.answered(0, 4, Nanos(60), Some(&shown(415, false)), &mut to);
        bodies.answered(0, 3, Nanos(60), Some(&shown(415, false)), &mut to);
        assert_eq!(kept(&to), [(415, Some("wants JSON".into()))]);
    }

    #[test]
    fn a_body_that_breaks_off_or_is_of_an_expected_status_is_not_kept_and_the_next_one_is() {
        let (mut bodies, mut to) = (ErrorBodies::default(), recorder());
        bodies.came(0, 0, 500, b"cut o", &to);
        bodies.ended(0, 0);
        bodies.came(0, 0, 404, b"as expected", &to);
        bodies.answered(0, 0, Nanos(60), Some(&shown(404, true)), &mut to);
        bodies.came(0, 0, 500, b"whole", &to);
        bodies.answered(0, 0, Nanos(60), Some(&shown(500, false)), &mut to);
        assert_eq!(kept(&to), [(500, Some("whole".into()))]);
    }

    #[test]
    fn a_body_of_the_warm_up_is_not_kept() {
        let (mut bodies, mut to) = (ErrorBodies::default(), recorder());
        bodies.came(0, 0, 500, b"warming up", &to);
        bodies.answered(0, 0, Nanos(49), Some(&shown(500, false)), &mut to);
        assert_eq!(kept(&to), []);
    }
}
