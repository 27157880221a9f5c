//! Whole loads on a database in memory whose times are known, on a clock that jumps: what is measured is compared with
//! what arithmetic gives.

mod closed;
mod failures;
mod memory;
mod open;
mod phases;
mod simulated;

use loadcurve_engine::LoadResult;
use loadcurve_plan::{Rate, Stop};
use loadcurve_ycsb::{Mix, Workload};

use crate::description::DatabaseDescription;
use crate::plan::{DatabasePlan, Phase, Settings};

/// A workload of few small records.
fn workload(mix: Mix) -> Workload {
    Workload { mix, records: 100, field_count: 2, field_bytes: 8, ..Workload::default() }
}

const READS: Mix =
    Mix { read: 1.0, update: 0.0, insert: 0.0, scan: 0.0, read_modify_write: 0.0, delete: 0.0 };

/// The run phase of a workload in a closed loop on one thread.
fn run_phase(mix: Mix, threads: usize, stop: Stop) -> DatabasePlan {
    DatabasePlan {
        url: "mongodb://127.0.0.1".into(),
        namespace: "loadcurve".into(),
        table: "usertable".into(),
        settings: Settings::new(),
        workload: workload(mix),
        workload_name: None,
        phase: Phase::Run,
        threads,
        batch: 1,
        rate_rps: None,
        arrivals: None,
        stop,
        warmup_s: 0.0,
        timeout_s: 10.0,
        seed: 1,
        generator_threads: 1,
        cpus: vec![],
    }
}

/// The same at a rate.
fn open_loop(mix: Mix, threads: usize, rate_rps: f64, stop: Stop) -> DatabasePlan {
    DatabasePlan { rate_rps: Some(Rate::Constant(rate_rps)), ..run_phase(mix, threads, stop) }
}

/// The load phase of that workload.
fn load_phase(threads: usize, batch: usize) -> DatabasePlan {
    let plan = run_phase(READS, threads, Stop::RequestsTotal(100));
    DatabasePlan { phase: Phase::Load, batch, ..plan }
}

fn codes(result: &LoadResult<DatabaseDescription>) -> Vec<&str> {
    result.verdict.reasons.iter().map(|reason| reason.code).collect()
}
