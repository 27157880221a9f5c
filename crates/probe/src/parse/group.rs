//! Control groups of both versions: where they are, what they used and for how long they were held back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::text::{fields, lines, number, number_after, split_at};

/// What `cpu.stat` of a group of version 2 counts, in µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
}

/// The processor time in `cpu.stat` of a group of version 2.
pub(crate) fn usage(bytes: &[u8]) -> Option<GroupUsage> {
    Some(GroupUsage {
        user_us: number_after(bytes, b"user_usec ")?,
        system_us: number_after(bytes, b"system_usec ")?,
    })
}

/// How a limit of processor time held a group back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Throttled {
    pub(crate) periods: u64,
    /// Periods in which the group used up its share.
    pub(crate) throttled_periods: u64,
    pub(crate) throttled_ns: u64,
}

/// The throttling in `cpu.stat` of a group of either version; `None` if no limit can be set.
pub(crate) fn throttled(bytes: &[u8]) -> Option<Throttled> {
    let in_us = number_after(bytes, b"throttled_usec ").and_then(|us| us.checked_mul(1000));
    Some(Throttled {
        periods: number_after(bytes, b"nr_periods ")?,
        throttled_periods: number_after(bytes, b"nr_throttled ")?,
        throttled_ns: in_us.or_else(|| number_after(bytes, b"throttled_time "))?,
    })
}

/// The process ids in `cgroup.procs`.
pub(crate) fn members(bytes: &[u8]) -> impl Iterator<Item = u32> {
    lines(bytes).filter_map(|line| u32::try_from(number(line)?).ok())
}

/// The folders whose `cpu.stat` may tell of throttling of a process: its own groups that can limit processor time, and
/// the groups around them.
///
/// `membership` is `/proc/PID/cgroup`, `mounts` is `/proc/PID/mountinfo`.
pub(crate) fn limiting_folders(membership: &[u8], mounts: &[u8]) -> Vec<PathBuf> {
    let hierarchies: Vec<_> = lines(mounts).filter_map(Hierarchy::parse).collect();
    lines(membership)
        .filter_map(|line| {
            let (_, rest) = split_at(line, b':')?;
            let (controllers, group) = split_at(rest, b':')?;
            let hierarchy = hierarchies.iter().find(|hierarchy| hierarchy.serves(controllers))?;
            Some(hierarchy.folders(Path::new(OsStr::from_bytes(group))))
        })
        .flatten()
        .collect()
}

/// A mounted tree of control groups that can limit processor time.
struct Hierarchy {
    version: Version,
    /// The group that is mounted: `/`, or the group of a container.
    root: PathBuf,
    folder: PathBuf,
}

enum Version {
    One,
    Two,
}

impl Hierarchy {
    /// Reads a line of `mountinfo`, see proc(5).
    fn parse(line: &[u8]) -> Option<Self> {
        let mut words = fields(line);
        let root = unescaped(words.nth(3)?);
        let folder = unescaped(words.next()?);
        // Optional fields end with a hyphen.
        words.find(|word| *word == b"-")?;
        let version = match words.next()? {
            b"cgroup2" => Version::Two,
            b"cgroup" if has_element(words.nth(1)?, b"cpu") => Version::One,
            _ => return None,
        };
        Some(Self { version, root, folder })
    }

    /// Whether a line of `/proc/PID/cgroup` with these controllers is about this hierarchy.
    fn serves(&self, controllers: &[u8]) -> bool {
        match self.version {
            Version::One => has_element(controllers, b"cpu"),
            Version::Two => controllers.is_empty(),
        }
    }

    /// The folder of a group and of all groups around it that can be seen.
    fn folders(&self, group: &Path) -> Vec<PathBuf> {
        let below =
            group.strip_prefix(&self.root).or_else(|_| group.strip_prefix("/")).unwrap_or(Path::new(""));
        below.ancestors().map(|group| self.folder.join(group)).collect()
    }
}

fn has_element(list: &[u8], element: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|one| one == element)
}

/// A path of `mountinfo`, in which blanks and backslashes are written as three octal digits.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, behind)) = rest.split_first() {
        let escaped = (first == b'\\').then(|| behind.get(..3)).flatten().and_then(octal);
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &behind[3..] } else { behind };
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}
