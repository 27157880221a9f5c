//! Whole loads on a database in memory whose times are known, on a clock that jumps: what is measured is compared with
//! what arithmetic gives.

mod closed;
mod failures;
mod memory;
mod open;
mod phases;
mod simulated;

use loadcurve_engine::LoadResult;
use loadcurve_plan::{Arrivals, IoChoice, Model, Rate, Stop, Waiting};
use loadcurve_record::Class;
use loadcurve_ycsb::{Mix, Workload};

use crate::database::Settings;
use crate::plan::{DatabaseLoad, Phase, Ycsb};

/// A workload of few small records.
fn workload(mix: Mix) -> Workload {
    Workload { mix, records: 100, field_count: 2, field_bytes: 8, ..Workload::default() }
}

const READS: Mix =
    Mix { read: 1.0, update: 0.0, insert: 0.0, scan: 0.0, read_modify_write: 0.0, delete: 0.0 };

/// The run phase of a workload in a closed loop on one thread.
fn run_phase(mix: Mix, clients: usize, stop: Stop) -> DatabaseLoad {
    DatabaseLoad {
        model: Model::Closed { connections: clients },
        stop,
        warmup_s: 0.0,
        timeout_s: 10.0,
        seed: 1,
        threads: 1,
        cpus: vec![],
        io: IoChoice::Auto,
        waiting: Waiting::Auto,
        work: Ycsb {
            url: "mongodb://127.0.0.1".into(),
            namespace: "loadcurve".into(),
            table: "usertable".into(),
            settings: Settings::new(),
            workload: workload(mix),
            phase: Phase::Run,
            batch: 1,
        },
    }
}

/// The same at a rate.
fn open_loop(mix: Mix, clients: usize, rate_rps: f64, stop: Stop) -> DatabaseLoad {
    let model = Model::Open {
        connections: clients,
        rate_rps: Rate::Constant(rate_rps),
        arrivals: Arrivals::Constant,
    };
    DatabaseLoad { model, ..run_phase(mix, clients, stop) }
}

/// The load phase of that workload.
fn load_phase(clients: usize, batch: usize) -> DatabaseLoad {
    let plan = run_phase(READS, clients, Stop::RequestsTotal(100));
    plan.with(|work| (work.phase, work.batch) = (Phase::Load, batch))
}

fn codes(result: &LoadResult) -> Vec<&str> {
    result.verdict.reasons.iter().map(|reason| reason.code.code()).collect()
}
