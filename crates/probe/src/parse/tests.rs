//! Files as Linux 6.18 and 5.15 wrote them, and any other bytes.

use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;

use super::group::{self, GroupUsage, Throttled};
use super::inet_diag::{self, End, Queue};
use super::machine::{self, CpuTicks, Stalled};
use super::network::{named, paired};
use super::process::{self, Faults, Stat, Switches};
use super::text;

const STAT: &[u8] = b"1136 (nginx: a) S 1 (b) S 1 1135 1134 0 -1 4194624 312 7 1 0 41 52 63 74 20 0 3 0 12969 11370496 \
1066 18446744073709551615 94010741071872 94010741858425 140723463268064 0 0 0 0 1073746048 402745863 1 0 0 17 1 0 0 0 \
0 0 94010742030320 94010742142400 94011126747136 140723463274371 140723463274453 140723463274453 140723463274477 0\n";

const STATUS: &[u8] =
    b"Name:\tserver\nUmask:\t0022\nState:\tS (sleeping)\nThreads:\t1\nSigBlk:\t0000000000000000\n\
SigIgn:\t0000000000011000\nSigCgt:\t0000000000000000\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t812\n\
nonvoluntary_ctxt_switches:\t37\n";

const MACHINE_STAT: &[u8] = b"cpu  528344 38357 200904 1387714 5076 4 89072 490 0 0\n\
cpu0 218339 18534 94739 746434 1194 3 47001 213 0 0\ncpu11 310005 19822 106164 641279 3881 1 42071 276 7 0\n\
intr 24900304 0 0 10391\nctxt 60144342\nbtime 1795251418\nprocesses 253145\nprocs_running 1\n";

const SNMP: &[u8] = b"Ip: Forwarding DefaultTTL\nIp: 2 64\nIcmpMsg: InType3\nIcmpMsg: 2\n\
Tcp: RtoAlgorithm MaxConn AttemptFails EstabResets CurrEstab RetransSegs OutRsts\nTcp: 1 -1 5768 68041 6 46159 46333\n\
Udp: InDatagrams\nUdp: 2256\n";

const GROUP_V2: &[u8] =
    b"usage_usec 904311\nuser_usec 803200\nsystem_usec 101111\nnice_usec 0\nnr_periods 90\n\
nr_throttled 12\nthrottled_usec 345678\nnr_bursts 0\nburst_usec 0\n";

#[test]
fn a_name_with_blanks_and_parentheses_does_not_confuse() {
    let expected = Stat {
        // The kernel has fifteen bytes of a name.
        name: process::program_name(b"nginx: a) S 1 ("),
        parent: 1,
        session: 1134,
        ended: false,
        faults: Faults { minor: 312, major: 1 },
        children_faults: Faults { minor: 7, major: 0 },
        user_ticks: 41,
        system_ticks: 52,
        children_user_ticks: 63,
        children_system_ticks: 74,
        threads: 3,
    };
    assert_eq!(process::stat(STAT), Some(expected));
}

#[test]
fn a_process_that_calls_itself_something_runs_the_program_of_its_file() {
    let program = |name: &[u8], executable: &[u8], arguments: &[u8]| {
        process::program_of(process::program_name(name), executable, arguments).to_string()
    };
    assert_eq!(program(b"MainThread", b"/usr/bin/node", b"/usr/bin/node\0app.js\0"), "node");
    assert_eq!(
        program(b"postgres", b"/usr/lib/postgresql/15/bin/postgres", b"postgres: writer \0"),
        "postgres"
    );
    assert_eq!(program(b"nginx", b"/usr/sbin/nginx (deleted)", b"nginx: worker process"), "nginx");
    // What was started by the name of a link, or is the script of an interpreter, is called so.
    assert_eq!(program(b"sh", b"/usr/bin/dash", b"/bin/sh\0-c\0wait\0"), "sh");
    assert_eq!(
        program(b"manage.py", b"/usr/bin/python3.11", b"python3\0-u\0./manage.py\0serve\0"),
        "manage.py"
    );
    assert_eq!(
        program(b"a-server-with-a-long-name", b"/opt/a-server-with-a-long-name", b""),
        "a-server-with-a"
    );
}

#[test]
fn a_process_that_waits_to_be_reaped_has_ended() {
    let zombie = b"25937 (cat) Z 25925 25925 14043 0 -1 4227084 100 0 0 0 3 4 0 0 20 0 1 0 1136714 0 0";
    assert!(process::stat(zombie).unwrap().ended);
}

#[test]
fn a_file_that_is_cut_off_tells_nothing() {
    let threads_end = STAT.windows(5).position(|text| text == b" 0 3 ").unwrap() + 3;
    for length in 0..threads_end {
        assert_eq!(process::stat(&STAT[..length]), None, "{length}");
    }
    assert!(process::stat(&STAT[..=threads_end]).is_some());
}

#[test]
fn pages_are_the_second_number_of_statm() {
    assert_eq!(process::resident_pages(b"3133 410 382 5 0 122 0\n"), Some(410));
}

#[test]
fn a_process_has_run_where_its_time_or_its_slices_grew_in_schedstat() {
    let reading = |text: &[u8]| process::scheduled(text).unwrap();
    let first = reading(b"517 54963 1\n");
    assert_eq!((first.run_ns, first.wait_ns), (517, 54963));
    assert!(!reading(b"517 99999 1\n").has_run_since(&first), "time spent waiting is not time of running");
    assert!(reading(b"518 54963 1\n").has_run_since(&first));
    assert!(reading(b"517 54963 2\n").has_run_since(&first));
    // A kernel that does not count writes zeros.
    assert_eq!(process::scheduled(b"0 0 0\n"), None);
}

#[test]
fn context_switches_and_ignored_signals_are_in_status() {
    assert_eq!(process::switches(STATUS), Some(Switches { voluntary: 812, involuntary: 37 }));
    // Bits 12 and 16 are signals 13 and 17: SIGPIPE and SIGCHLD.
    assert_eq!(process::ignores_sigchld(STATUS), Some(true));
    assert_eq!(process::ignores_sigchld(b"SigIgn:\t0000000000001000\n"), Some(false));
}

#[test]
fn what_was_read_from_disks_is_not_what_was_read_from_files() {
    let io = b"rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 4096\nwrite_bytes: 0\n\
cancelled_write_bytes: 0\n";
    assert_eq!(process::disk_read_bytes(io), Some(4096));
}

#[test]
fn the_page_cache_is_of_files_and_holds_no_shared_memory() {
    let meminfo = b"MemTotal:       16384256 kB\nBuffers:            4000 kB\nCached:           100000 kB\n\
SwapCached:            7 kB\nShmem:             30000 kB\n";
    assert_eq!(machine::page_cache_bytes(meminfo), Some(74_000 * 1024));
    assert_eq!(machine::page_cache_bytes(b"MemTotal:       16384256 kB\n"), None);
}

#[test]
fn pages_that_were_read_again_are_those_of_files() {
    let now = b"workingset_nodes 5\nworkingset_refault_anon 3\nworkingset_refault_file 17\n";
    assert_eq!(machine::refaulted_pages(now), Some(17));
    assert_eq!(machine::refaulted_pages(b"workingset_refault 12\n"), Some(12), "as before Linux 5.9");
    assert_eq!(machine::refaulted_pages(b"pgfault 12\n"), None);
}

#[test]
fn proportional_memory_is_in_bytes() {
    let rollup =
        b"558c7d893000-7ffc38333000 ---p 00000000 00:00 0   [rollup]\nRss:    1784 kB\nPss:     282 kB\n\
Pss_Dirty:   112 kB\n";
    assert_eq!(process::proportional_bytes(rollup), Some(282 * 1024));
}

#[test]
fn a_variable_of_the_environment_is_compared_whole() {
    let environment = b"HOME=/root\0MARK=abc\0OTHER=MARK=abd\0";
    assert!(process::carries(environment, b"MARK=abc"));
    assert!(!process::carries(environment, b"MARK=ab"));
    assert!(!process::carries(environment, b"MARK=abd"));
}

#[test]
fn each_cpu_is_read_and_their_sum_is_not() {
    let cpu_11 = CpuTicks {
        cpu: 11,
        user: 310_005 + 19_822,
        system: 106_164,
        idle: 641_279 + 3_881,
        irq: 1,
        softirq: 42_071,
        steal: 276,
    };
    let cpus = machine::cpus(MACHINE_STAT);
    assert_eq!(cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 11]);
    assert_eq!(cpus[1], cpu_11);
    assert_eq!(machine::forks(MACHINE_STAT), Some(253_145));
}

#[test]
fn pressure_is_the_total_and_full_is_not_always_reported() {
    let memory = b"some avg10=1.87 avg60=43.03 avg300=42.84 total=1306161019\n\
full avg10=0.00 avg60=0.00 avg300=0.00 total=730\n";
    assert_eq!(machine::stalled(memory), Some(Stalled { some_us: 1_306_161_019, full_us: Some(730) }));
    let cpu = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=17\n";
    assert_eq!(machine::stalled(cpu), Some(Stalled { some_us: 17, full_us: None }));
}

#[test]
fn counters_are_found_by_name_and_those_of_other_protocols_are_left() {
    let found =
        named(SNMP, b"Tcp:", ["RetransSegs", "OutRsts", "EstabResets", "CurrEstab", "MaxConn", "NotThere"]);
    // MaxConn is -1, which is no count.
    assert_eq!(found, [Some(46_159), Some(46_333), Some(68_041), Some(6), None, None]);
    assert_eq!(named(SNMP, b"TcpExt:", ["ListenDrops"]), [None]);
}

#[test]
fn sockets_are_found_by_name() {
    let sockstat = b"sockets: used 25\nTCP: inuse 9 orphan 1 tw 225 alloc 9 mem 191\nUDP: inuse 4 mem 0\n";
    assert_eq!(paired(sockstat, b"TCP:", ["tw", "orphan", "no"]), [Some(225), Some(1), None]);
}

/// What Linux 6.18 answered for a socket that listens with a backlog of 77 while three connections wait.
const LISTENING: &[u8] = &[
    // Length, type, flags, number, sender.
    88, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // Family, state, timer, retransmits.
    2, 10, 0, 0, // Ports, addresses, interface, cookie.
    0x94, 0xC7, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 1, 16, 0, 0, 0, 0, 0, 0, // Expiry, and the queues.
    0, 0, 0, 0, 3, 0, 0, 0, 77, 0, 0, 0, // User, inode.
    0, 0, 0, 0, 0x2A, 0x9C, 0, 0,
];

#[test]
fn the_queue_of_a_listening_socket_is_in_the_kernels_answer() {
    assert_eq!(inet_diag::queue(LISTENING), Some(Queue { waiting: 3, backlog: 77 }));
    for length in 0..80 {
        assert_eq!(inet_diag::queue(&LISTENING[..length]), None, "{length}");
    }
    // NLMSG_ERROR with ENOENT: nobody listens.
    assert_eq!(
        inet_diag::queue(&[36, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF]),
        None
    );
    // The queues of a connection (state 1) are of bytes.
    let mut established = LISTENING.to_vec();
    established[17] = 1;
    assert_eq!(inet_diag::queue(&established), None);
}

#[test]
fn the_states_of_all_sockets_come_in_messages_of_which_the_last_says_so() {
    let done = [20_u8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let reported = |answer: &[u8]| {
        let mut states = Vec::new();
        let end = inet_diag::states(answer, |state| states.push(state));
        (states, end)
    };
    assert_eq!(reported(&[LISTENING, LISTENING].concat()), (vec![10, 10], End::Open));
    assert_eq!(reported(&[LISTENING, &done].concat()), (vec![10], End::Done));
    assert_eq!(reported(&LISTENING[..40]), (vec![], End::Refused));
}

#[test]
fn a_group_tells_what_it_used_and_how_it_was_held_back() {
    assert_eq!(group::usage(GROUP_V2), Some(GroupUsage { user_us: 803_200, system_us: 101_111 }));
    let throttled = Throttled { periods: 90, throttled_periods: 12, throttled_ns: 345_678_000 };
    assert_eq!(group::throttled(GROUP_V2), Some(throttled));
    // Version 1 counts nanoseconds.
    let v1 = b"nr_periods 90\nnr_throttled 12\nthrottled_time 345678000\n";
    assert_eq!(group::throttled(v1), Some(throttled));
    // A group whose processor time cannot be limited.
    assert_eq!(group::throttled(b"usage_usec 904311\nuser_usec 803200\nsystem_usec 101111\n"), None);
}

#[test]
fn the_groups_around_a_process_are_found_where_they_are_mounted() {
    let mounts = b"23 1 0:22 / /proc rw - proc proc rw\n\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    let membership = b"5:memory:/a\n3:cpuacct,cpu:/b/c\n0::/d\n";
    let expected = ["cpu,cpuacct/b/c", "cpu,cpuacct/b", "cpu,cpuacct/", "unified/d", "unified/"];
    let folders = group::limiting_folders(membership, mounts);
    assert_eq!(folders, expected.map(|folder| PathBuf::from("/sys/fs/cgroup").join(folder)));
}

#[test]
fn a_container_sees_its_own_group_as_the_root() {
    let mounts = b"900 899 0:27 /docker/f00d /sys/fs/a\\040cgroup ro - cgroup2 cgroup rw,nsdelegate\n";
    let folder = PathBuf::from("/sys/fs/a cgroup");
    assert_eq!(
        group::limiting_folders(b"0::/docker/f00d/web\n", mounts),
        [folder.join("web"), folder.join("")]
    );
}

#[test]
fn numbers_are_digits_only_and_fit() {
    assert_eq!(text::number(b"18446744073709551615"), Some(u64::MAX));
    for wrong in ["", "-1", "+1", "1.0", "0x1", " 1", "18446744073709551616"] {
        assert_eq!(text::number(wrong.as_bytes()), None, "{wrong:?}");
    }
}

/// Bytes that look like such a file in parts: its words in any order, with any bytes between.
fn nearly_a_file() -> impl Strategy<Value = Vec<u8>> {
    let pressure = b"some total=1\nfull total=2\n";
    let groups = b"0::/a\n41 31 0:38 / /s \\0 - cgroup2 x rw\n";
    let files = [STAT, STATUS, MACHINE_STAT, SNMP, GROUP_V2, pressure, groups];
    let words: Vec<Vec<u8>> = files
        .iter()
        .flat_map(|file| file.split_inclusive(u8::is_ascii_whitespace))
        .map(<[u8]>::to_vec)
        .collect();
    vec(prop_oneof![4 => proptest::sample::select(words), 1 => vec(any::<u8>(), 0..4)], 0..80)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop_oneof![nearly_a_file(), vec(any::<u8>(), 0..300)]) {
        let _ = process::stat(&bytes);
        let _ = process::resident_pages(&bytes);
        let _ = process::scheduled(&bytes);
        let _ = process::switches(&bytes);
        let _ = process::ignores_sigchld(&bytes);
        let _ = process::proportional_bytes(&bytes);
        let _ = process::disk_read_bytes(&bytes);
        let _ = process::carries(&bytes, b"A=b");
        let _ = machine::cpus(&bytes);
        let _ = machine::forks(&bytes);
        let _ = machine::stalled(&bytes);
        let _ = machine::page_cache_bytes(&bytes);
        let _ = machine::refaulted_pages(&bytes);
        let _ = named(&bytes, b"Tcp:", ["RetransSegs"]);
        let _ = paired(&bytes, b"TCP:", ["tw"]);
        let _ = inet_diag::states(&bytes, |_| ());
        let _ = inet_diag::queue(&bytes);
        let _ = group::usage(&bytes);
        let _ = group::throttled(&bytes);
        let _ = group::members(&bytes).count();
        let _ = group::limiting_folders(&bytes, &bytes);
    }

    #[test]
    fn a_number_is_read_as_the_standard_library_reads_it(digits in "[0-9]{1,22}") {
        prop_assert_eq!(text::number(digits.as_bytes()), digits.parse().ok());
    }

    #[test]
    fn lines_are_those_of_the_standard_library(text in "[a-c\n]{0,40}") {
        let found: Vec<&[u8]> = text::lines(text.as_bytes()).collect();
        let expected: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        prop_assert_eq!(found, expected);
    }
}
