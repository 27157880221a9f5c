//! How many operations one thread makes in a second where no database is asked: the goal is five million.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use loadcurve_plan::Share;
use loadcurve_ycsb::{InsertedKeys, Kind, Operation, Operations, Workload};
use rustix::time::{ClockId, clock_gettime};

const GOAL_PER_S: f64 = 5e6;
const RECORDS: u64 = 1_000_000;
const OPERATIONS: u64 = 1_000_000;
/// The median of this many counts: a machine that others use has slow moments.
const REPETITIONS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<26}  {:>9}  {:>12}", "phase and workload", "million/s", "of the goal");
    for name in Workload::PRESETS {
        let workload = Workload { records: RECORDS, ..Workload::preset(name).unwrap_or_default() };
        let inserted = Arc::new(InsertedKeys::new(&workload, Share::whole()));
        let operations = Operations::run(&workload, 1, Arc::clone(&inserted))?;
        print_rate(&format!("run {name}"), operations, Some(&inserted));
    }
    let verified =
        Workload { records: RECORDS, verify_values: true, ..Workload::preset("a").unwrap_or_default() };
    let inserted = Arc::new(InsertedKeys::new(&verified, Share::whole()));
    print_rate("run a, values verified", Operations::run(&verified, 1, inserted)?, None);
    let thousand_bytes = Workload { records: RECORDS, ..Workload::default() };
    print_rate("load, 10 fields of 100 B", Operations::load(&thousand_bytes, 1)?, None);
    let hundred_bytes = Workload { field_count: 1, ..thousand_bytes };
    print_rate("load, 1 field of 100 B", Operations::load(&hundred_bytes, 1)?, None);
    Ok(())
}

/// Prints how many operations a second of the thread's processor time makes; all that are inserted are acknowledged.
fn print_rate(what: &str, mut operations: Operations, inserted: Option<&InsertedKeys>) {
    let mut operation = Operation::default();
    let mut rates: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let start = thread_cpu_time();
            for number in 0..OPERATIONS {
                operations.make(number, &mut operation);
                if let (Kind::Insert, Some(inserted)) = (operation.kind, inserted) {
                    inserted.acknowledge(operation.record);
                }
                black_box(&operation);
            }
            OPERATIONS as f64 / thread_cpu_time().saturating_sub(start).as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let rate = rates[REPETITIONS / 2];
    println!("{what:<26}  {:>9.1}  {:>12.2}", rate / 1e6, rate / GOAL_PER_S);
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock; the library does not")]
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}
