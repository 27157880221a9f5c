//! The whole machine: `/proc/stat`, `/proc/pressure`, `/proc/meminfo` and `/proc/vmstat`.

use super::text::{after, fields, lines, number, number_after};

/// What one CPU did since the machine's start, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    pub(crate) cpu: u32,
    /// Nice processes and guests included.
    pub(crate) user: u64,
    pub(crate) system: u64,
    /// Waiting for a disk included.
    pub(crate) idle: u64,
    pub(crate) irq: u64,
    pub(crate) softirq: u64,
    /// The machine is virtual, and the CPU served others.
    pub(crate) steal: u64,
}

/// Reads the lines of `/proc/stat` for the single CPUs; empty where there are none.
pub(crate) fn cpus(bytes: &[u8]) -> Vec<CpuTicks> {
    lines(bytes).map_while(|line| line.strip_prefix(b"cpu")).filter_map(cpu).collect()
}

fn cpu(line: &[u8]) -> Option<CpuTicks> {
    // The first line, without a number, is the sum of all.
    if line.first()?.is_ascii_whitespace() {
        return None;
    }
    let mut numbers = fields(line).map(number);
    let mut next = || numbers.next().flatten();
    let cpu = u32::try_from(next()?).ok()?;
    let (user, nice, system, idle, waiting) = (next()?, next()?, next()?, next()?, next()?);
    let (irq, softirq, steal) = (next()?, next()?, next()?);
    Some(CpuTicks {
        cpu,
        user: user.checked_add(nice)?,
        system,
        idle: idle.checked_add(waiting)?,
        irq,
        softirq,
        steal,
    })
}

/// How many processes and threads were started since the machine's start.
pub(crate) fn forks(bytes: &[u8]) -> Option<u64> {
    number_after(bytes, b"processes ")
}

/// For how long work waited for a resource, in µs since the machine's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stalled {
    /// Some of it.
    pub(crate) some_us: u64,
    /// All of it at once; `None` if the kernel does not say.
    pub(crate) full_us: Option<u64>,
}

/// Reads a file of `/proc/pressure`.
pub(crate) fn stalled(bytes: &[u8]) -> Option<Stalled> {
    let total = |key| fields(after(bytes, key)?).find_map(|field| number(field.strip_prefix(b"total=")?));
    Some(Stalled { some_us: total(b"some ")?, full_us: total(b"full ") })
}

/// What files take of the memory, by `/proc/meminfo`, in bytes: without what is in memory alone, such as shared memory.
pub(crate) fn page_cache_bytes(bytes: &[u8]) -> Option<u64> {
    let kib = |key| number_after(bytes, key);
    let cached = kib(b"Cached:")?.checked_add(kib(b"Buffers:")?)?;
    cached.saturating_sub(kib(b"Shmem:")?).checked_mul(1024)
}

/// How many pages of files were read again since the machine's start, soon after they had been dropped from memory, by
/// `/proc/vmstat`.
pub(crate) fn refaulted_pages(bytes: &[u8]) -> Option<u64> {
    // Before Linux 5.9 there was one figure, of files alone.
    number_after(bytes, b"workingset_refault_file ").or_else(|| number_after(bytes, b"workingset_refault "))
}
