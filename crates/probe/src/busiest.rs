//! Which process, and which thread, takes the most of a CPU: one that takes all of a CPU limits the server, however
//! idle the others are.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use serde::Serialize;

use crate::file::Buffer;
use crate::parse::process::scheduled;
use crate::threads::{Visit, Visits};

/// A processor time that is read again and again, in any unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    read_at: Duration,
    used: u64,
    growth_per_s: Option<f64>,
}

impl Meter {
    /// The first reading.
    pub(crate) fn new(now: Duration, used: u64) -> Self {
        Self { read_at: now, used, growth_per_s: None }
    }

    /// Another reading. A time that has fallen is that of another thread, which got the same id.
    pub(crate) fn read(&mut self, now: Duration, used: u64) {
        let passed_s = now.saturating_sub(self.read_at).as_secs_f64();
        let grown = used.checked_sub(self.used).filter(|_| passed_s > 0.0);
        *self = Self { read_at: now, used, growth_per_s: grown.map(|grown| grown as f64 / passed_s) };
    }
}

/// A process or a thread, and what it has used in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Use {
    pub(crate) pid: u32,
    /// The first thread has the id of the process.
    pub(crate) thread: u32,
    cpu_s: f64,
    /// Of a CPU, since the reading before.
    cpu_share: f64,
}

impl Use {
    /// What a meter says whose unit goes so often into a second; none before its second reading.
    pub(crate) fn of(pid: u32, thread: u32, meter: &Meter, units_per_s: f64) -> Option<Self> {
        let cpu_share = meter.growth_per_s? / units_per_s;
        Some(Self { pid, thread, cpu_s: meter.used as f64 / units_per_s, cpu_share })
    }
}

/// The one that has used the most since its reading before; of equals the one that has used the most altogether.
pub(crate) fn busiest(uses: impl Iterator<Item = Use>) -> Option<Use> {
    uses.max_by(|a, b| a.cpu_share.total_cmp(&b.cpu_share).then(a.cpu_s.total_cmp(&b.cpu_s)))
}

/// The nanoseconds of the scheduler's counts.
pub(crate) const NS_PER_S: f64 = 1e9;

/// The processor time of every thread of the processes that have several.
#[derive(Default)]
pub(crate) struct ThreadTimes {
    meters: HashMap<(u32, u32), Meter>,
    under_way: HashMap<(u32, u32), Meter>,
}

impl ThreadTimes {
    /// Visits a process or a thread at this moment; one that is no more is passed over.
    pub(crate) fn visit(&mut self, visit: Visit, left: &mut Visits, buffer: &mut Buffer, now: Duration) {
        let (pid, thread) = match visit {
            Visit::Process(pid) => return left.extend(Visit::threads_of(pid)),
            Visit::Thread { pid, thread } => (pid, thread),
        };
        let schedstat = buffer.read_path(format!("/proc/{pid}/task/{thread}/schedstat"));
        let Some(used_ns) = schedstat.ok().and_then(scheduled).map(|scheduled| scheduled.run_ns) else {
            return;
        };
        let before = self.meters.remove(&(pid, thread));
        let meter = before.map_or(Meter::new(now, used_ns), |mut meter| {
            meter.read(now, used_ns);
            meter
        });
        self.under_way.insert((pid, thread), meter);
    }

    /// Ends a round, and returns the busiest of its threads.
    pub(crate) fn end_round(&mut self) -> Option<Use> {
        self.meters = std::mem::take(&mut self.under_way);
        let uses = self.meters.iter();
        busiest(uses.filter_map(|(&(pid, thread), meter)| Use::of(pid, thread, meter, NS_PER_S)))
    }
}

/// The busiest process as it is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BusiestProcess {
    pid: u32,
    name: Option<String>,
    cpu_s: f64,
    cpu_share: f64,
}

/// The busiest thread as it is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BusiestThread {
    pid: u32,
    thread: u32,
    name: Option<String>,
    cpu_s: f64,
    cpu_share: f64,
}

impl From<Use> for BusiestProcess {
    fn from(Use { pid, thread, cpu_s, cpu_share }: Use) -> Self {
        Self { pid, name: name(pid, thread), cpu_s, cpu_share }
    }
}

impl From<Use> for BusiestThread {
    fn from(Use { pid, thread, cpu_s, cpu_share }: Use) -> Self {
        Self { pid, thread, name: name(pid, thread), cpu_s, cpu_share }
    }
}

/// The name that a thread has given itself, or else that of its program; none where it is no more.
fn name(pid: u32, thread: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/task/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Meter, NS_PER_S, Use, busiest};

    const SECOND: Duration = Duration::from_secs(1);

    fn used(pid: u32, cpu_s: f64, cpu_share: f64) -> Use {
        Use { pid, thread: pid, cpu_s, cpu_share }
    }

    #[test]
    fn a_share_is_of_the_time_since_the_reading_before() {
        let mut meter = Meter::new(SECOND, 5_000_000_000);
        assert_eq!(Use::of(1, 2, &meter, NS_PER_S), None, "one reading tells no share");
        meter.read(3 * SECOND, 6_500_000_000);
        let expected = Use { pid: 1, thread: 2, cpu_s: 6.5, cpu_share: 0.75 };
        assert_eq!(Use::of(1, 2, &meter, NS_PER_S), Some(expected));
        // 20 ticks of 10 ms within 400 ms.
        let mut meter = Meter::new(SECOND, 100);
        meter.read(SECOND + SECOND * 2 / 5, 120);
        assert!((Use::of(1, 1, &meter, 100.0).unwrap().cpu_share - 0.5).abs() < 1e-9);
    }

    #[test]
    fn another_thread_of_the_same_id_has_no_share_before_its_second_reading() {
        let mut meter = Meter::new(SECOND, 5_000);
        meter.read(2 * SECOND, 10);
        assert_eq!(Use::of(1, 1, &meter, NS_PER_S), None);
    }

    #[test]
    fn the_busiest_is_the_one_with_the_largest_share_and_not_the_one_that_has_used_the_most() {
        let uses = [used(1, 100.0, 0.2), used(2, 1.0, 0.9), used(3, 50.0, 0.5)];
        assert_eq!(busiest(uses.into_iter()), Some(uses[1]));
        let idle = [used(1, 1.0, 0.0), used(2, 7.0, 0.0)];
        assert_eq!(busiest(idle.into_iter()), Some(idle[1]));
        assert_eq!(busiest(std::iter::empty()), None);
    }
}
