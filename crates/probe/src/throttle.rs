//! For how long a limit of processor time held the server back.

use std::fs::{self, File};

use serde::Serialize;

use crate::file::Buffer;
use crate::parse::group::{Throttled, limiting_folders, throttled};

/// The groups around a process that can limit its processor time.
#[derive(Default)]
pub(crate) struct Limits(Vec<File>);

/// The throttling of all these groups together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Throttling {
    periods: u64,
    throttled_periods: u64,
    /// Summed over the CPUs on which the group had to wait.
    throttled_s: f64,
}

impl Limits {
    /// The groups around a process, `None` if they cannot be found.
    pub(crate) fn around(pid: u32, buffer: &mut Buffer) -> Self {
        let membership = fs::read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
        let mut can_limit = |file: &File| buffer.read(file).ok().and_then(throttled).is_some();
        let files = limiting_folders(&membership, &mounts)
            .into_iter()
            .filter_map(|folder| File::open(folder.join("cpu.stat")).ok());
        Self(files.filter(|file| can_limit(file)).collect())
    }

    /// What the groups tell together; `None` if there is none, or one cannot be read.
    pub(crate) fn read(&self, buffer: &mut Buffer) -> Option<Throttling> {
        let groups: Option<Vec<Throttled>> =
            self.0.iter().map(|file| throttled(buffer.read(file).ok()?)).collect();
        let groups = groups.filter(|groups| !groups.is_empty())?;
        let sum = |part: fn(&Throttled) -> u64| groups.iter().map(part).sum::<u64>();
        Some(Throttling {
            periods: sum(|group| group.periods),
            throttled_periods: sum(|group| group.throttled_periods),
            throttled_s: seconds_of_ns(sum(|group| group.throttled_ns)),
        })
    }
}

fn seconds_of_ns(ns: u64) -> f64 {
    ns as f64 / 1e9
}
