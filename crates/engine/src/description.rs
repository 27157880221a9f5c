//! The load as it was run, as results show it.

use loadcurve_plan::{Arrivals, HttpVersion, LoadPlan, Pick, Rate, Stop};
use serde::Serialize;

/// The load as it was run; what does not belong to its model is none.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the contract's own; its documentation describes them.
pub struct LoadDescription {
    pub address: String,
    pub http: HttpVersion,
    pub requests: Vec<String>,
    pub pick: Pick,
    pub model: &'static str,
    pub connections: usize,
    pub rate_rps: Option<Rate>,
    pub connection_rate_cps: Option<Rate>,
    pub arrivals: Option<Arrivals>,
    pub pipeline: usize,
    pub calls: Option<u64>,
    pub think_s: f64,
    pub threads: usize,
    pub cpus: Vec<usize>,
    pub warmup_s: f64,
    pub duration_s: Option<f64>,
    pub requests_total: Option<u64>,
    pub connections_total: Option<u64>,
    pub timeout_s: f64,
    pub seed: u64,
    pub io: &'static str,
}

impl LoadDescription {
    pub(crate) fn new(plan: &LoadPlan, requests: &[String], io: &'static str) -> Self {
        let (mut duration_s, mut requests_total, mut connections_total) = (None, None, None);
        match plan.stop {
            Stop::DurationS(seconds) => duration_s = Some(seconds),
            Stop::RequestsTotal(total) => requests_total = Some(total),
            Stop::ConnectionsTotal(total) => connections_total = Some(total),
        }
        Self {
            address: plan.address.to_string(),
            http: plan.http,
            requests: requests.to_vec(),
            pick: plan.pick,
            model: plan.model.name(),
            connections: plan.model.connections(),
            rate_rps: plan.model.rate_rps().cloned(),
            connection_rate_cps: plan.model.connection_rate_cps().cloned(),
            arrivals: plan.model.arrivals(),
            pipeline: plan.conversation.pipeline,
            calls: plan.conversation.calls,
            think_s: plan.conversation.think_s,
            threads: plan.threads,
            cpus: plan.cpus.clone(),
            warmup_s: plan.warmup_s,
            duration_s,
            requests_total,
            connections_total,
            timeout_s: plan.timeout_s,
            seed: plan.seed,
            io,
        }
    }
}
