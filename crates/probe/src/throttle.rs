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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::process;

    use super::{Limits, Throttling};
    use crate::file::Buffer;

    #[test]
    fn groups_of_both_versions_of_the_interface_add_up_in_seconds() {
        let folder = std::env::temp_dir().join(format!("loadcurve-throttle-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        let texts = [
            "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 1500000\n",
            "nr_periods 20\nnr_throttled 1\nthrottled_time 250000000\n",
        ];
        let open = |(number, text): (usize, &str)| {
            let path = folder.join(number.to_string());
            fs::write(&path, text).unwrap();
            File::open(path).unwrap()
        };
        let limits = Limits(texts.into_iter().enumerate().map(open).collect());
        fs::remove_dir_all(&folder).unwrap();
        let expected = Throttling { periods: 30, throttled_periods: 5, throttled_s: 1.75 };
        assert_eq!(limits.read(&mut Buffer::new()), Some(expected));
        assert_eq!(Limits::default().read(&mut Buffer::new()), None);
    }
}
