//! How long a thread polls for the next answer before it sleeps.
//!
//! An answer that comes over the same machine is delivered by the server's processor, which also has to wake the thread if
//! it sleeps. That takes a microsecond or more of what the server could do, so a generator that sleeps often lowers what it
//! measures. A thread with a processor of its own polls instead, as long as that finds answers.
//!
//! Each look takes the connection's lock, and what it finds is often the first piece of an answer: most servers write header
//! and body apart, some microseconds after each other. Then the server's processor meets that lock at the second piece, and
//! announces it a second time. So a thread pauses between two looks: for so small a share of the time that an answer takes
//! that the answers' times hardly show it, and for nothing where they come quickly.
//!
//! Polling for as long as it might have to wait, and then sleeping, is the rule of Karlin, Manasse, `McGeoch` and Owicki
//! (Competitive randomized algorithms for nonuniform problems, Algorithmica 11, 1994).

use loadcurve_plan::Nanos;

use crate::io::Looked;

/// How long it polls at most: a server that takes longer loses less than a five-hundredth of its time to the wake.
const LONGEST: Nanos = Nanos::from_millis(1);
/// Waits in credit at most; each that polling has covered, or would have, adds one.
const MOST_CREDIT: u32 = 16;
/// What a poll in vain costs: polling continues while it finds more than four answers of five.
const COST_IN_VAIN: u32 = 4;
/// Of the usual time of an answer, the part that a pause between two looks may take.
const PAUSE_DIVISOR: u64 = 32;
/// The longest pause: longer than servers take between the pieces of an answer.
const LONGEST_PAUSE: Nanos = Nanos(12_000);
/// A shorter pause spares the server nothing.
const SHORTEST_PAUSE: Nanos = Nanos(2_000);
/// The usual time of an answer is a moving mean over about this many answers.
const ANSWERS_OF_USUAL: u64 = 16;
/// How much polling shows whether others want the processor.
const PROBATION: Nanos = Nanos::from_millis(100);
/// The share of its polling that a thread loses to others before it gives polling up.
const MOST_LOST_SHARE: f64 = 0.1;

/// Whether polling pays, judged by the waits so far.
#[derive(Debug)]
pub(super) struct Patience {
    is_allowed: bool,
    credit: u32,
    /// A moving mean of the time between a request and its answer.
    usual_answer: Nanos,
    /// How long this wait has been polled.
    polled: Nanos,
    /// What polling took since the last look whether others want the processor, and what of that was lost.
    on_probation: Looked,
    /// How long the thread had waited for its processor when that was last asked, and when.
    delay_before: Option<(Nanos, Nanos)>,
}

impl Patience {
    /// That of a thread which may poll, or may not.
    pub(super) fn new(is_allowed: bool) -> Self {
        Self {
            is_allowed,
            credit: MOST_CREDIT,
            usual_answer: Nanos::ZERO,
            polled: Nanos::ZERO,
            on_probation: Looked::default(),
            delay_before: None,
        }
    }

    /// How much longer to poll before sleeping.
    pub(super) fn left(&self) -> Nanos {
        if self.is_allowed && self.credit > 0 { LONGEST - self.polled } else { Nanos::ZERO }
    }

    /// An answer took so long.
    pub(super) fn answered(&mut self, took: Nanos) {
        let Nanos(usual) = self.usual_answer;
        self.usual_answer = Nanos(usual - usual / ANSWERS_OF_USUAL + took.0 / ANSWERS_OF_USUAL);
    }

    /// How long to pause between two looks.
    pub(super) fn pause(&self) -> Nanos {
        let pause = Nanos(self.usual_answer.0 / PAUSE_DIVISOR);
        if pause < SHORTEST_PAUSE { Nanos::ZERO } else { pause.min(LONGEST_PAUSE) }
    }

    /// The thread has polled, and found something or not. Says whether it has lost so much time meanwhile that others may
    /// want its processor.
    ///
    /// `length` is all that passed. The first look is no polling yet and is in neither `spent` nor `lost`: where it takes
    /// what is left of this wait, only the length shows that the wait is over.
    pub(super) fn polled(&mut self, looked: Looked, length: Nanos, found: bool) -> bool {
        self.polled = self.polled + length;
        if found {
            self.credit = (self.credit + 1).min(MOST_CREDIT);
            self.polled = Nanos::ZERO;
        } else if self.polled >= LONGEST {
            self.credit = self.credit.saturating_sub(COST_IN_VAIN);
        }
        let Looked { spent, lost, .. } = &mut self.on_probation;
        (*spent, *lost) = (*spent + looked.spent, *lost + looked.lost);
        let all = *spent + *lost;
        if all < PROBATION {
            return false;
        }
        let lost_share = lost.as_secs_f64() / all.as_secs_f64();
        self.on_probation = Looked::default();
        lost_share > MOST_LOST_SHARE
    }

    /// The thread has slept until something happened.
    pub(super) fn slept(&mut self, length: Nanos) {
        self.polled = Nanos::ZERO;
        if length < LONGEST {
            self.credit = (self.credit + 1).min(MOST_CREDIT);
        }
    }

    /// Gives polling up where the time was lost to other programs, which waited for this processor as the thread did: the
    /// host's pauses delay it as well, but are no reason. `delay` is how long the thread has waited for its processor
    /// since it began, which the kernel may not tell.
    pub(super) fn lost_time(&mut self, now: Nanos, delay: Option<Nanos>) {
        let Some(delay) = delay else {
            self.is_allowed = false;
            return;
        };
        if let Some((before, then)) = self.delay_before {
            let share = (delay - before).as_secs_f64() / (now - then).as_secs_f64();
            self.is_allowed &= share <= MOST_LOST_SHARE;
        }
        self.delay_before = Some((delay, now));
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::{LONGEST, Patience};
    use crate::io::Looked;

    fn ms(milliseconds: u64) -> Nanos {
        Nanos::from_millis(milliseconds)
    }

    fn looked(spent: Nanos, lost: Nanos) -> Looked {
        Looked { spent, lost, ..Looked::default() }
    }

    /// What polling the rest of this wait finds, answers being so far apart.
    fn wait(patience: &mut Patience, until_answer: Nanos) -> Nanos {
        let polled = patience.left().min(until_answer);
        if polled > Nanos::ZERO {
            patience.polled(looked(polled, Nanos::ZERO), polled, polled == until_answer);
        }
        if polled < until_answer {
            patience.slept(until_answer);
        }
        polled
    }

    #[test]
    fn a_thread_that_may_not_poll_never_does() {
        assert_eq!(Patience::new(false).left(), Nanos::ZERO);
    }

    #[test]
    fn frequent_answers_are_always_polled_for() {
        let mut patience = Patience::new(true);
        for _ in 0..1_000 {
            assert_eq!(wait(&mut patience, Nanos(20_000)), Nanos(20_000));
        }
    }

    #[test]
    fn rare_answers_are_slept_for_after_a_few_polls_in_vain() {
        let mut patience = Patience::new(true);
        let polled = (0..100).fold(Nanos::ZERO, |polled, _| polled + wait(&mut patience, ms(20)));
        assert_eq!(polled, ms(4));
    }

    #[test]
    fn a_wait_whose_rest_is_too_short_for_a_second_look_is_slept_for() {
        let mut patience = Patience::new(true);
        let all_but_the_first_look = LONGEST - Nanos(150);
        patience.polled(looked(all_but_the_first_look, Nanos::ZERO), all_but_the_first_look, false);
        assert_eq!(patience.left(), Nanos(150));
        patience.polled(looked(Nanos::ZERO, Nanos::ZERO), Nanos(900), false);
        assert_eq!(patience.left(), Nanos::ZERO);
    }

    #[test]
    fn polling_begins_again_when_sleeps_have_become_short() {
        let mut patience = Patience::new(true);
        for _ in 0..10 {
            wait(&mut patience, ms(20));
        }
        assert_eq!(patience.left(), Nanos::ZERO);
        wait(&mut patience, Nanos(50_000));
        assert_eq!(patience.left(), LONGEST);
    }

    #[test]
    fn looks_pause_for_a_thirty_second_part_of_an_answer_and_12_us_at_most() {
        let pause_beside = |answer| {
            let mut patience = Patience::new(true);
            assert_eq!(patience.pause(), Nanos::ZERO);
            (0..1_000).for_each(|_| patience.answered(answer));
            patience.pause()
        };
        assert_eq!(pause_beside(Nanos(60_000)), Nanos::ZERO);
        assert!((Nanos(4_950)..=Nanos(5_000)).contains(&pause_beside(Nanos(160_000))));
        assert_eq!(pause_beside(ms(8)), Nanos(12_000));
    }

    #[test]
    fn a_thread_gives_polling_up_when_other_programs_take_more_than_a_tenth_of_it() {
        let mut patience = Patience::new(true);
        assert!(!patience.polled(looked(ms(95), ms(4)), ms(99), true), "not yet enough to judge");
        assert!(!patience.polled(looked(ms(1), ms(0)), ms(1), true), "4 of 100 ms");
        assert!(patience.polled(looked(ms(80), ms(20)), ms(100), true), "20 of 100 ms");
        patience.lost_time(ms(1_000), Some(ms(7)));
        assert!(patience.left() > Nanos::ZERO, "nothing to compare with");
        patience.lost_time(ms(1_100), Some(ms(17)));
        assert!(patience.left() > Nanos::ZERO, "it waited for 10 of 100 ms; the host took the rest");
        patience.lost_time(ms(1_200), Some(ms(28)));
        assert_eq!(patience.left(), Nanos::ZERO);
    }

    #[test]
    fn a_thread_does_not_poll_on_where_the_kernel_hides_who_took_its_time() {
        let mut patience = Patience::new(true);
        patience.lost_time(ms(1_000), None);
        assert_eq!(patience.left(), Nanos::ZERO);
    }
}
