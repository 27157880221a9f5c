//! Requests that fall due at moments which were recorded.

use std::sync::Arc;

use crate::limits::REPLAY_S_MAX;
use crate::{InvalidPlan, Nanos};

/// The moments of recorded requests, counted from the start of the recording, in their order.
///
/// All threads of a load share them, so they take 8 bytes for each request, however many threads there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    moments: Arc<[Nanos]>,
}

impl Recording {
    /// A recording of these moments.
    ///
    /// # Errors
    /// One is earlier than the previous one.
    pub fn new(moments: impl Into<Arc<[Nanos]>>) -> Result<Self, InvalidPlan> {
        let moments = moments.into();
        if let Some(place) = moments.windows(2).position(|pair| pair[1] < pair[0]) {
            let text =
                format!("request {} of a recording is earlier than the previous one: sort them", place + 2);
            return Err(InvalidPlan(text));
        }
        Ok(Self { moments })
    }

    /// How many requests were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.moments.len() as u64
    }

    /// The moment of the last request.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.moments.last().copied().unwrap_or_default()
    }
}

/// A recording that is replayed at a speed: request `k` of the load is due when request `k` was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    recording: Recording,
    speed: f64,
}

impl Replay {
    /// A replay that is `speed` times as fast as the recording was.
    #[must_use]
    pub fn new(recording: Recording, speed: f64) -> Self {
        Self { recording, speed }
    }

    /// How many requests it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.recording.count()
    }

    /// When request `number` (from zero) is due; never, after the last one.
    ///
    /// Division and rounding keep the order, so due times rise with the number as the moments do.
    #[must_use]
    pub fn due(&self, number: u64) -> Nanos {
        let moment = usize::try_from(number).ok().and_then(|number| self.recording.moments.get(number));
        moment.map_or(Nanos::NEVER, |moment| self.scaled(*moment))
    }

    /// How many requests are due before `time`.
    #[must_use]
    pub fn count_before(&self, time: Nanos) -> u64 {
        self.recording.moments.partition_point(|moment| self.scaled(*moment) < time) as u64
    }

    /// When the last request is due.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.scaled(self.recording.length())
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn scaled(&self, moment: Nanos) -> Nanos {
        Nanos((moment.0 as f64 / self.speed).round() as u64)
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// There is no request, or the speed gives no time to send them in.
    pub(crate) fn validate(&self) -> Result<(), InvalidPlan> {
        let Self { recording, speed } = self;
        let refuse = |text: String| Err(InvalidPlan(text));
        if !(*speed > 0.0 && speed.is_finite()) {
            return refuse(format!("a speed of {speed} is not above 0: 2 is twice as fast as recorded"));
        }
        if recording.count() == 0 {
            return refuse("a replay requires the times of at least one request".into());
        }
        let length_s = recording.length().as_secs_f64() / speed;
        if length_s > REPLAY_S_MAX {
            return refuse(format!(
                "a replay of {length_s:.0} s is longer than {REPLAY_S_MAX} s: give a higher speed"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Recording, Replay};
    use crate::Nanos;

    fn replay(moments: &[u64], speed: f64) -> Replay {
        Replay::new(Recording::new(moments.iter().copied().map(Nanos).collect::<Vec<_>>()).unwrap(), speed)
    }

    fn due(replay: &Replay) -> Vec<u64> {
        (0..replay.count()).map(|number| replay.due(number).0).collect()
    }

    #[test]
    fn at_speed_one_requests_are_due_at_their_moments_to_the_nanosecond() {
        // The last one, after 104 days, is the greatest up to which each whole number has 53 bits.
        let moments = [0, 1, 1, 999_999_999, 9_007_199_254_740_991];
        assert_eq!(due(&replay(&moments, 1.0)), moments);
    }

    #[test]
    fn twice_as_fast_is_due_after_half_the_time_and_half_as_fast_after_twice_the_time() {
        let moments = [0, 1_000, 1_000, 5_000];
        assert_eq!(due(&replay(&moments, 2.0)), [0, 500, 500, 2_500]);
        assert_eq!(due(&replay(&moments, 0.5)), [0, 2_000, 2_000, 10_000]);
    }

    #[test]
    fn due_times_are_rounded_to_the_nearest_nanosecond() {
        // 1000/3 = 333.3 and 2000/3 = 666.7.
        assert_eq!(due(&replay(&[1_000, 2_000], 3.0)), [333, 667]);
    }

    #[test]
    fn behind_the_last_request_none_is_due() {
        let replay = replay(&[0, 10], 1.0);
        assert_eq!((replay.due(2), replay.due(u64::MAX)), (Nanos::NEVER, Nanos::NEVER));
        assert_eq!(replay.length(), Nanos(10));
    }

    #[test]
    fn requests_are_counted_up_to_a_moment_without_those_at_the_moment_itself() {
        let replay = replay(&[0, 10, 10, 30], 2.0);
        let counts = [0, 1, 5, 6, 15, 16].map(|time| replay.count_before(Nanos(time)));
        assert_eq!(counts, [0, 1, 1, 3, 3, 4]);
    }

    #[test]
    fn moments_that_go_backwards_are_refused_with_the_place() {
        let refused = Recording::new([Nanos(5), Nanos(7), Nanos(6)]).unwrap_err();
        assert!(refused.0.contains("request 3"), "{refused}");
    }

    #[test]
    fn speeds_and_recordings_that_cannot_be_replayed_are_refused() {
        for (moments, speed, part) in [
            (vec![1], 0.0, "speed of 0"),
            (vec![1], -1.0, "speed of -1"),
            (vec![1], f64::NAN, "speed of NaN"),
            (vec![1], f64::INFINITY, "speed of inf"),
            (vec![], 1.0, "at least one request"),
            (vec![3_000_000_000_000], 1e-3, "longer than 1000000 s"),
        ] {
            let refused = replay(&moments, speed).validate().unwrap_err();
            assert!(refused.0.contains(part), "{refused}");
        }
        assert_eq!(replay(&[0, 3_000_000_000_000], 1e3).validate(), Ok(()));
    }
}
