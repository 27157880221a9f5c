//! Which process, and which thread, takes the most of a CPU: one that takes all of a CPU limits the server, however
//! idle the others are.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use serde::Serialize;

use crate::file::Buffer;
use crate::parse::process::{Scheduled, scheduled};
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

/// How long a thread could run and has waited for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) pid: u32,
    /// The first thread has the id of the process.
    pub(crate) thread: u32,
    /// Since its start.
    pub(crate) in_all_ns: u64,
    /// Since the visit before; of a thread that is visited for the first time since its start.
    pub(crate) since_last_ns: u64,
}

/// What was read of a thread.
#[derive(Clone, Copy, Debug)]
struct Thread {
    meter: Meter,
    waited_ns: u64,
}

/// The processor time of every thread of the processes that have several.
#[derive(Default)]
pub(crate) struct ThreadTimes {
    threads: HashMap<(u32, u32), Thread>,
    under_way: HashMap<(u32, u32), Thread>,
    /// A round has come to its end, so that a thread that was not met before is a new one.
    knows_all: bool,
}

impl ThreadTimes {
    /// Visits a process or a thread at this moment; one that is no more is passed over.
    pub(crate) fn visit(
        &mut self,
        visit: Visit,
        left: &mut Visits,
        buffer: &mut Buffer,
        now: Duration,
    ) -> Option<Waited> {
        match visit {
            Visit::Process(pid) => {
                left.extend(Visit::threads_of(pid));
                None
            }
            Visit::Thread { pid, thread } => {
                let schedstat = buffer.read_path(format!("/proc/{pid}/task/{thread}/schedstat"));
                Some(self.read(pid, thread, schedstat.ok().and_then(scheduled)?, now))
            }
        }
    }

    /// Takes what was read of a thread.
    fn read(
        &mut self,
        pid: u32,
        thread: u32,
        Scheduled { run_ns, wait_ns, .. }: Scheduled,
        now: Duration,
    ) -> Waited {
        let before = self.threads.remove(&(pid, thread));
        let mut meter = before.map_or(Meter::new(now, run_ns), |before| before.meter);
        if before.is_some() {
            meter.read(now, run_ns);
        }
        // One that has fallen is that of another thread, which got the same id.
        let known_ns = before.map(|before| before.waited_ns).filter(|before_ns| *before_ns <= wait_ns);
        let counted_ns = known_ns.unwrap_or(if self.knows_all { 0 } else { wait_ns });
        self.under_way.insert((pid, thread), Thread { meter, waited_ns: wait_ns });
        Waited { pid, thread, in_all_ns: wait_ns, since_last_ns: wait_ns - counted_ns }
    }

    /// Whether every thread has been visited once: what one waited before that is missing in what was counted.
    pub(crate) fn knows_all(&self) -> bool {
        self.knows_all
    }

    /// Ends a round, and returns the busiest of its threads.
    pub(crate) fn end_round(&mut self) -> Option<Use> {
        self.threads = std::mem::take(&mut self.under_way);
        self.knows_all = true;
        let uses = self.threads.iter();
        busiest(uses.filter_map(|(&(pid, thread), read)| Use::of(pid, thread, &read.meter, NS_PER_S)))
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

/// The name that a thread has given itself, or else that of its program; `None` if it is no more.
fn name(pid: u32, thread: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/task/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Meter, NS_PER_S, ThreadTimes, Use, busiest};
    use crate::parse::process::scheduled;

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

    /// How much of what these threads of process 1, each with its wait, have waited in all is new in this round.
    fn newly_waited_ns(times: &mut ThreadTimes, threads: &[(u32, u64)]) -> Vec<u64> {
        let newly = threads.iter().map(|(thread, wait_ns)| {
            let read = scheduled(format!("1 {wait_ns} 1").as_bytes()).unwrap();
            times.read(1, *thread, read, SECOND).since_last_ns
        });
        let newly = newly.collect();
        times.end_round();
        newly
    }

    #[test]
    fn a_thread_has_waited_since_the_round_before_and_a_new_one_since_its_start() {
        let mut times = ThreadTimes::default();
        assert!(!times.knows_all());
        // What was waited before anyone looked is no growth.
        assert_eq!(newly_waited_ns(&mut times, &[(2, 70), (3, 50)]), [0, 0]);
        assert!(times.knows_all());
        assert_eq!(newly_waited_ns(&mut times, &[(2, 75), (3, 50), (4, 8)]), [5, 0, 8]);
        assert_eq!(newly_waited_ns(&mut times, &[(2, 3), (4, 9)]), [3, 1], "thread 2 is another one now");
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
