//! How quiet the machine is: a loop that does nothing but wake at fixed times, and how late it woke.

use std::num::NonZeroU64;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::ClockId;
use serde::Serialize;

use crate::clock;

/// How late the loop woke.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Wakes {
    count: usize,
    lateness_ms: Lateness,
}

/// Quantiles by the nearest rank.
#[derive(Debug, PartialEq, Serialize)]
struct Lateness {
    p50: f64,
    p99: f64,
    p99_9: f64,
    max: f64,
}

/// Wakes at a fixed rate for a duration.
///
/// # Errors
/// No moment is due within the duration, or the kernel refuses to sleep.
pub(crate) fn run(rate_rps: f64, duration: Duration) -> Result<Wakes, String> {
    // Without this the timers are merely later, which is what is measured.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut lateness = Vec::new();
    let start = clock::now();
    for offset in due_times(rate_rps, duration) {
        let due = start + offset;
        sleep_until(due).map_err(|errno| format!("the kernel refuses to sleep: {errno}"))?;
        lateness.push(clock::now().saturating_sub(due));
    }
    summarise(lateness).ok_or_else(|| format!("nothing is due within {duration:?} at {rate_rps} per second"))
}

/// The moments that are due before the end, the first of them one interval after the start.
fn due_times(rate_rps: f64, duration: Duration) -> impl Iterator<Item = Duration> {
    (1_u32..)
        .map(move |index| Duration::from_secs_f64(f64::from(index) / rate_rps))
        .take_while(move |offset| *offset < duration)
}

fn sleep_until(due: Duration) -> Result<(), Errno> {
    let due = clock::timespec(due);
    rustix::io::retry_on_intr(|| rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &due))
}

fn summarise(mut lateness: Vec<Duration>) -> Option<Wakes> {
    lateness.sort_unstable();
    let count = lateness.len();
    let at_permille = |permille: usize| {
        let rank = (count * permille).div_ceil(1000);
        Some(lateness.get(rank.checked_sub(1)?)?.as_secs_f64() * 1e3)
    };
    Some(Wakes {
        count,
        lateness_ms: Lateness {
            p50: at_permille(500)?,
            p99: at_permille(990)?,
            p99_9: at_permille(999)?,
            max: at_permille(1000)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{Lateness, Wakes, due_times, run, summarise};
    use std::time::Duration;

    #[test]
    fn quantiles_are_those_of_the_nearest_rank() {
        let lateness = (1..=1000).rev().map(Duration::from_millis).collect();
        let lateness_ms = Lateness { p50: 500.0, p99: 990.0, p99_9: 999.0, max: 1000.0 };
        let expected = Wakes { count: 1000, lateness_ms };
        assert_eq!(summarise(lateness), Some(expected));
        let lateness_ms = Lateness { p50: 7.0, p99: 7.0, p99_9: 7.0, max: 7.0 };
        let expected = Wakes { count: 1, lateness_ms };
        assert_eq!(summarise(vec![Duration::from_millis(7)]), Some(expected));
        assert_eq!(summarise(Vec::new()), None);
    }

    #[test]
    fn due_times_lie_one_interval_apart_and_before_the_end() {
        let expected: Vec<Duration> = [250, 500, 750].map(Duration::from_millis).into();
        assert_eq!(due_times(4.0, Duration::from_secs(1)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_loop_wakes_as_often_as_moments_are_due() {
        assert_eq!(run(1000.0, Duration::from_millis(50)).unwrap().count, 49);
        assert!(run(1.0, Duration::from_millis(50)).is_err());
    }
}
