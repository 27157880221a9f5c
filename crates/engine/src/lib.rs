//! The load generator: workers that join plan, wire, I/O and record.
//!
//! A [`HttpLoad`](loadcurve_plan::HttpLoad) goes in, a [`LoadResult`] comes out. Every load model and every I/O
//! backend runs through the one loop of `worker`; nothing of it depends on whether anyone watches.
//!
//! # Examples
//!
//! Ten requests over one connection, to a server that answers whatever it reads.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpListener;
//!
//! let listener = TcpListener::bind("127.0.0.1:0").unwrap();
//! let address = listener.local_addr().unwrap();
//! std::thread::spawn(move || {
//!     let (mut client, _) = listener.accept().unwrap();
//!     while client.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
//!         client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
//!     }
//! });
//! let plan = serde_json::from_value(serde_json::json!({
//!     "model": {"closed": {"connections": 1}},
//!     "stop": {"requests_total": 10},
//!     "warmup_s": 0.0,
//!     "timeout_s": 5.0,
//!     "threads": 1,
//!     "work": {
//!         "address": address,
//!         "authority": "localhost",
//!         "requests": {"given": [{"method": "GET", "target": "/"}]},
//!     },
//! }))
//! .unwrap();
//! let result = loadcurve_engine::start(&plan).unwrap().finish();
//! assert_eq!((result.requests.due, result.requests.answered), (10, 10));
//! assert_eq!(result.connections.opened, 1);
//! ```

mod activity;
mod agreement;
mod asking;
mod capacity;
mod clock;
mod compression;
mod connection;
mod deadlines;
mod deliveries;
mod dialogue;
mod echo;
mod error;
mod gathered;
mod http;
mod http3_summary;
mod io;
mod kernel;
mod last_second;
mod levels;
mod limit;
mod listed_address;
mod load;
mod merged;
mod messages;
// The models of `ycsb` use it, too.
#[cfg(loom)]
#[path = "../../ycsb/src/once_lock.rs"]
mod once_lock;
mod one_connection;
mod opening;
mod part;
mod part_row;
mod places;
#[cfg_attr(not(feature = "tls"), path = "no_protection.rs")]
mod protection;
mod ranges;
mod reach;
mod requests;
mod result;
mod running;
mod scheduler;
mod server_sockets;
mod spoken;
mod starving;
mod summary;
mod thread_group;
mod transport;
mod visitor;
// The tests of whole loads use it, too.
#[cfg(test)]
#[path = "../tests/load/support/file.rs"]
mod temporary_file;
mod thread;
mod verdict;
mod words;
mod work;
mod worker;
#[cfg(test)]
mod worker_tests;

/// Why a build without TLS refuses it.
pub const NO_TLS: &str =
    "this build has no TLS, which a first demo leaves out: build it with `make setup`, or install the wheel";

pub use activity::{Activity, LATENCY_COUNTS, LatencyCounts, latency_bounds};
pub use asking::{Answer, CallEnd, ask};
pub use capacity::{LocalPorts, allow_connections};
pub use clock::now;
pub use dialogue::Unanswered;
pub use echo::{ClockEcho, ClockExchange, Key, ask_clock};
pub use error::StartError;
pub use gathered::Gathered;
pub use kernel::TcpCounters;
pub use last_second::LastSecond;
pub use levels::{RunningLevels, start_levels};
pub use load::{result_of, start, start_part, start_to_begin, uring_refusal};
pub use loadcurve_wire::GrpcStatus;
pub use part::{CpuUse, Finished, InvalidPart, Part, Polling, WaitedBy};
pub use part_row::{PartFigures, PartRow};
pub use reach::{Heard, Reach};
pub use requests::{
    ListedRequest, RequestList, body_length, body_lines, expected_statuses, sample as sample_targets,
    with_recording,
};
pub use result::LoadResult;
pub use running::RunningLoad;
pub use scheduler::Scheduler;
pub use summary::Terms;
pub use thread_group::{Begins, CpuMeter, Member, NotBegun, Progress, ThreadGroup};
pub use verdict::{Code, CodeRow, KeptUp, Kind, Loaded, Reason, Reported, Status, Verdict};
