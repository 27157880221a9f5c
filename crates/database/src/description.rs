//! A load on a database as it was run, as results show it.

use loadcurve_plan::{Arrivals, Rate, Stop};
use loadcurve_ycsb::Workload;
use serde::Serialize;

use crate::plan::{DatabasePlan, Phase, Settings};
use crate::product::Product;

/// What results call the way in which the drivers wait for the kernel: that of their runtime.
pub(crate) const IO: &str = "epoll";

/// A load on a database as it was run; what it does not have is none.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the contract's own; its documentation describes them.
pub struct DatabaseDescription {
    pub model: &'static str,
    pub address: String,
    pub database: &'static str,
    pub namespace: String,
    pub table: String,
    pub settings: Settings,
    pub workload: Workload,
    pub workload_name: Option<String>,
    pub phase: Phase,
    pub threads: usize,
    pub connections: usize,
    pub batch: usize,
    pub rate_rps: Option<Rate>,
    pub arrivals: Option<Arrivals>,
    pub cpus: Vec<usize>,
    pub warmup_s: f64,
    pub duration_s: Option<f64>,
    pub requests_total: Option<u64>,
    pub timeout_s: f64,
    pub seed: u64,
    pub io: &'static str,
}

impl DatabaseDescription {
    pub(crate) fn new(plan: &DatabasePlan, product: Product) -> Self {
        let (duration_s, requests_total) = match plan.stop {
            Stop::DurationS(seconds) => (Some(seconds), None),
            Stop::RequestsTotal(total) | Stop::ConnectionsTotal(total) => (None, Some(total)),
        };
        Self {
            model: "ycsb",
            address: without_credentials(&plan.url),
            database: product.label(),
            namespace: plan.namespace.clone(),
            table: plan.table.clone(),
            settings: plan.settings.clone(),
            workload: plan.workload.clone(),
            workload_name: plan.workload_name.clone(),
            phase: plan.phase,
            threads: plan.threads,
            connections: plan.threads,
            batch: plan.batch,
            rate_rps: plan.rate_rps.clone(),
            arrivals: plan.pace().arriving.map(|arriving| arriving.arrivals),
            cpus: plan.cpus.clone(),
            warmup_s: plan.warmup_s,
            duration_s,
            requests_total,
            timeout_s: plan.timeout_s,
            seed: plan.seed,
            io: IO,
        }
    }
}

/// An address without its user, password and key file, wherever it names them.
fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    // Whatever stands before the last @ may be part of a password that should have been encoded.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let is_secret = |option: &&str| {
        let name = option.split('=').next().unwrap_or_default().to_ascii_lowercase();
        ["user", "pass", "authmechanism", "key"].iter().any(|part| name.contains(part))
    };
    let options: Vec<&str> =
        options.split('&').filter(|option| !option.is_empty() && !is_secret(option)).collect();
    let question_mark = if options.is_empty() { "" } else { "?" };
    format!("{scheme}://{place}{question_mark}{}", options.join("&"))
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn addresses_tell_neither_user_nor_password() {
        let told = [
            ("mongodb://127.0.0.1:27017", "mongodb://127.0.0.1:27017"),
            ("mongodb://ann:secret@a:1,b:2/db?w=majority", "mongodb://a:1,b:2/db?w=majority"),
            ("postgresql:///db?host=/run&user=ann&password=secret", "postgresql:///db?host=/run"),
            ("mongodb://ann:sec/ret@a/", "mongodb://a/"),
            ("mongodb://ann:sec?r@et@a/", "mongodb://a/"),
            ("mongodb://a/?tlsCertificateKeyFilePassword=secret&replicaSet=r", "mongodb://a/?replicaSet=r"),
            (
                "mongodb://a/?tlsCertificateKeyFile=/me.pem&tlsCAFile=/ca.pem",
                "mongodb://a/?tlsCAFile=/ca.pem",
            ),
            ("postgresql://a/db?sslmode=require&sslkey=/me.key", "postgresql://a/db?sslmode=require"),
        ];
        for (url, expected) in told {
            assert_eq!(without_credentials(url), expected);
        }
    }
}
