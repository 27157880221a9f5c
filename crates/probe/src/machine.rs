//! What the kernel counts for the whole machine and its network.

use std::fs::File;
use std::io;

use serde::Serialize;

use crate::file::{Buffer, Optional};
use crate::parse::machine::{CpuTicks, Stalled, cpus, forks, page_cache_bytes, refaulted_pages, stalled};
use crate::parse::network::{named, paired};

/// The counters of TCP since the machine's start, each absent where the kernel does not publish it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TcpCounters {
    /// Connections that a full listen queue turned away.
    listen_overflows: Option<u64>,
    /// Connection requests dropped at a listening socket, for a full queue or any other reason.
    listen_drops: Option<u64>,
    /// Connection requests, and answers to them, that were sent again.
    syn_retransmits: Option<u64>,
    /// Segments sent again.
    retransmits: Option<u64>,
    /// Segments that had arrived already when they arrived again, as the other end says (D-SACK, RFC 2883).
    dsacks_received: Option<u64>,
    /// Resets sent.
    resets_sent: Option<u64>,
    /// Established connections that a reset ended.
    connections_reset: Option<u64>,
}

/// Sockets of TCP that there are now; both ends of a connection within the machine count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Sockets {
    /// Established, or closed by the other side only.
    established: Option<u64>,
    /// Waiting for stray segments after the end of a connection.
    pub(crate) time_wait: Option<u64>,
    /// Without a process, before the end of a connection.
    orphaned: Option<u64>,
}

/// For how long work waited for each resource since the machine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pressure {
    pub(crate) cpu: Option<Stalled>,
    pub(crate) memory: Option<Stalled>,
    pub(crate) io: Option<Stalled>,
}

/// The page cache of the machine: what it holds of files in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PageCache {
    bytes: Option<u64>,
    /// What was read again since the machine's start, soon after it had been dropped from memory.
    refault_bytes: Option<u64>,
}

/// The files of `/proc` that are about the machine.
pub(crate) struct Machine {
    stat: File,
    snmp: Optional,
    netstat: Optional,
    sockstat: Optional,
    pressure: [Optional; 3],
    meminfo: Optional,
    vmstat: Optional,
}

impl Machine {
    /// Opens the files.
    ///
    /// # Errors
    /// When `/proc/stat` cannot be opened; the others may be missing.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self {
            stat: File::open("/proc/stat")?,
            snmp: Optional::open("/proc/net/snmp"),
            netstat: Optional::open("/proc/net/netstat"),
            sockstat: Optional::open("/proc/net/sockstat"),
            pressure: ["cpu", "memory", "io"].map(|name| Optional::open(format!("/proc/pressure/{name}"))),
            meminfo: Optional::open("/proc/meminfo"),
            vmstat: Optional::open("/proc/vmstat"),
        })
    }

    /// What every CPU did, and how many processes and threads were started.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn cpus(&self, buffer: &mut Buffer) -> io::Result<(Vec<CpuTicks>, Option<u64>)> {
        let bytes = buffer.read(&self.stat)?;
        Ok((cpus(bytes), forks(bytes)))
    }

    /// The counters of TCP, and its sockets of both address families.
    pub(crate) fn tcp(&self, buffer: &mut Buffer) -> (TcpCounters, Sockets) {
        let names = ["RetransSegs", "OutRsts", "EstabResets", "CurrEstab"];
        let [retransmits, resets_sent, connections_reset, established] =
            self.snmp.read(buffer, |bytes| Some(named(bytes, b"Tcp:", names))).unwrap_or_default();
        let names = ["ListenOverflows", "ListenDrops", "TCPSynRetrans", "TCPDSACKRecv"];
        let [listen_overflows, listen_drops, syn_retransmits, dsacks_received] =
            self.netstat.read(buffer, |bytes| Some(named(bytes, b"TcpExt:", names))).unwrap_or_default();
        let [time_wait, orphaned] = self
            .sockstat
            .read(buffer, |bytes| Some(paired(bytes, b"TCP:", ["tw", "orphan"])))
            .unwrap_or_default();
        let counters = TcpCounters {
            listen_overflows,
            listen_drops,
            syn_retransmits,
            retransmits,
            dsacks_received,
            resets_sent,
            connections_reset,
        };
        (counters, Sockets { established, time_wait, orphaned })
    }

    /// What the page cache holds, and what was read into it again.
    pub(crate) fn page_cache(&self, buffer: &mut Buffer) -> PageCache {
        let pages = self.vmstat.read(buffer, refaulted_pages);
        PageCache {
            bytes: self.meminfo.read(buffer, page_cache_bytes),
            refault_bytes: pages.and_then(|pages| pages.checked_mul(rustix::param::page_size() as u64)),
        }
    }

    /// For how long work waited for CPU, memory and disks.
    pub(crate) fn pressure(&self, buffer: &mut Buffer) -> Pressure {
        let [cpu, memory, io] = self.pressure.each_ref().map(|file| file.read(buffer, stalled));
        Pressure { cpu, memory, io }
    }
}
