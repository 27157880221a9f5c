//! The properties that are known here.

use std::str::FromStr;

use strsim::levenshtein;

use super::Properties;
use crate::operation::InsertOrder;
use crate::workload::{LengthDistribution, RequestDistribution};

/// A property that says something of the workload or of its run.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// Which field of the workload it sets; empty for what concerns the run.
    pub(super) field: &'static str,
    /// What its value must be.
    pub(super) expected: &'static str,
    /// Sets it from its value; `None` if that is not what is expected.
    pub(super) set: fn(&mut Properties, &str) -> Option<()>,
}

const COUNT: &str = "a whole number of 0 or more";
const NUMBER: &str = "a number";
const TRUTH: &str = "true or false";
const TEXT: &str = "a text";
const LENGTHS: &str = "constant, uniform or zipfian";
const REQUESTS: &str = "uniform, zipfian, latest, hotspot, exponential or sequential";
const CLASS: &str = "site.ycsb.workloads.CoreWorkload, the only supported class of workloads";

/// Every property of YCSB's core workload and of its client that changes something here. A distribution comes before the
/// properties that are its parameters.
pub(super) const KNOWN: &[Known] = &[
    known("workload", "", CLASS, |_, value| CORE_WORKLOADS.contains(&value).then_some(())),
    known("recordcount", "records", COUNT, |to, value| put(&mut to.workload.records, parsed(value))),
    known("insertstart", "insert_start", COUNT, |to, value| {
        put(&mut to.workload.insert_start, parsed(value))
    }),
    known("insertcount", "insert_count", COUNT, |to, value| {
        put(&mut to.workload.insert_count, parsed(value).map(Some))
    }),
    known("fieldcount", "field_count", COUNT, |to, value| put(&mut to.workload.field_count, parsed(value))),
    known("fieldlength", "field_bytes", COUNT, |to, value| put(&mut to.workload.field_bytes, parsed(value))),
    known("minfieldlength", "field_bytes_min", COUNT, |to, value| {
        put(&mut to.workload.field_bytes_min, parsed(value))
    }),
    known("fieldlengthdistribution", "field_bytes_distribution", LENGTHS, |to, value| {
        put(&mut to.workload.field_bytes_distribution, lengths(value))
    }),
    known("fieldnameprefix", "field_prefix", TEXT, |to, value| {
        put(&mut to.workload.field_prefix, Some(value.to_owned()))
    }),
    known("readallfields", "read_all_fields", TRUTH, |to, value| {
        put(&mut to.workload.read_all_fields, truth(value))
    }),
    known("writeallfields", "write_all_fields", TRUTH, |to, value| {
        put(&mut to.workload.write_all_fields, truth(value))
    }),
    known("readproportion", "mix", NUMBER, |to, value| put(&mut to.workload.mix.read, number(value))),
    known("updateproportion", "mix", NUMBER, |to, value| put(&mut to.workload.mix.update, number(value))),
    known("insertproportion", "mix", NUMBER, |to, value| put(&mut to.workload.mix.insert, number(value))),
    known("scanproportion", "mix", NUMBER, |to, value| put(&mut to.workload.mix.scan, number(value))),
    known("readmodifywriteproportion", "mix", NUMBER, |to, value| {
        put(&mut to.workload.mix.read_modify_write, number(value))
    }),
    known("deleteproportion", "mix", NUMBER, |to, value| put(&mut to.workload.mix.delete, number(value))),
    known("requestdistribution", "request_distribution", REQUESTS, |to, value| {
        put(&mut to.workload.request_distribution, requests(value))
    }),
    known("hotspotdatafraction", "request_distribution", NUMBER, |to, value| {
        let share = number(value)?;
        if let RequestDistribution::Hotspot { records, .. } = &mut to.workload.request_distribution {
            *records = share;
        }
        Some(())
    }),
    known("hotspotopnfraction", "request_distribution", NUMBER, |to, value| {
        let share = number(value)?;
        if let RequestDistribution::Hotspot { operations, .. } = &mut to.workload.request_distribution {
            *operations = share;
        }
        Some(())
    }),
    known("exponential.percentile", "request_distribution", NUMBER, |to, value| {
        let percent = number(value)?;
        if let RequestDistribution::Exponential { percentile, .. } = &mut to.workload.request_distribution {
            *percentile = percent;
        }
        Some(())
    }),
    known("exponential.frac", "request_distribution", NUMBER, |to, value| {
        let share = number(value)?;
        if let RequestDistribution::Exponential { fraction, .. } = &mut to.workload.request_distribution {
            *fraction = share;
        }
        Some(())
    }),
    known("minscanlength", "scan_records_min", COUNT, |to, value| {
        put(&mut to.workload.scan_records_min, parsed(value))
    }),
    known("maxscanlength", "scan_records_max", COUNT, |to, value| {
        put(&mut to.workload.scan_records_max, parsed(value))
    }),
    known("scanlengthdistribution", "scan_records_distribution", LENGTHS, |to, value| {
        put(&mut to.workload.scan_records_distribution, lengths(value))
    }),
    known("insertorder", "insert_order", "hashed or ordered", |to, value| {
        let order = match value {
            "hashed" => Some(InsertOrder::Hashed),
            "ordered" => Some(InsertOrder::Ordered),
            _ => None,
        };
        put(&mut to.workload.insert_order, order)
    }),
    known("zeropadding", "zero_padding", COUNT, |to, value| {
        put(&mut to.workload.zero_padding, parsed(value))
    }),
    known("dataintegrity", "verify_values", TRUTH, |to, value| {
        put(&mut to.workload.verify_values, truth(value))
    }),
    // Zero means in YCSB that there is no such bound.
    known("operationcount", "", COUNT, |to, value| {
        put(&mut to.run.operations, parsed(value).map(|count| Some(count).filter(|count| *count > 0)))
    }),
    known("threadcount", "", "a whole number of 1 or more", |to, value| {
        put(&mut to.run.threads, parsed(value).filter(|threads| *threads > 0).map(Some))
    }),
    known("target", "", "operations per second, a number of 0 or more", |to, value| {
        let rate = number(value).filter(|rate| *rate >= 0.0);
        put(&mut to.run.rate_rps, rate.map(|rate| Some(rate).filter(|rate| *rate > 0.0)))
    }),
    known("maxexecutiontime", "", "seconds, a whole number of 0 or more", |to, value| {
        put(&mut to.run.duration_max_s, parsed(value).map(|length| Some(length).filter(|length| *length > 0)))
    }),
    known("table", "", "a name", |to, value| {
        put(&mut to.run.table, Some(value.to_owned()).filter(|name| !name.is_empty()).map(Some))
    }),
];

/// Properties of YCSB and go-ycsb that change nothing here: what they print and how, and what is said in another way,
/// such as the phase. One that ends with a point stands for all that begin so.
const IGNORED: &[&str] = &[
    "columnfamily",
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_retry_limit",
    "db",
    "dotransactions",
    "exporter",
    "exportfile",
    "fieldlengthhistogram",
    "hdrhistogram.",
    "histogram.",
    "htrace.",
    "label",
    "latencytrackederrors",
    "measurement.",
    "measurementtype",
    "outputstyle",
    "readallfieldsbyname",
    "reportlatencyforeacherror",
    "silence",
    "status",
    "status.",
    "timeseries.",
    "verbose",
];

/// How the properties begin that say something of a database.
const OF_DATABASES: &[&str] = &["jdbc.", "mongodb.", "pg.", "postgrenosql."];

/// The names of the one class of workloads: YCSB's, YCSB's up to 0.16, and go-ycsb's.
const CORE_WORKLOADS: [&str; 3] =
    ["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core"];

const fn known(
    name: &'static str,
    field: &'static str,
    expected: &'static str,
    set: fn(&mut Properties, &str) -> Option<()>,
) -> Known {
    Known { name, field, expected, set }
}

/// Whether the property changes nothing here.
pub(super) fn is_ignored(name: &str) -> bool {
    IGNORED
        .iter()
        .any(|ignored| if ignored.ends_with('.') { name.starts_with(ignored) } else { name == *ignored })
}

/// What to say of a property that is not known.
pub(super) fn unknown(name: &str) -> String {
    if OF_DATABASES.iter().any(|beginning| name.starts_with(beginning)) {
        return "not a property of a workload; set the database by its URL, and its options as settings"
            .into();
    }
    let names = KNOWN.iter().map(|known| known.name).chain(IGNORED.iter().copied());
    let meant = nearest(name, names).map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
    format!("unknown property; expected one of YCSB's core workload{meant}")
}

/// The known name that is nearest to the given one, if any is near: at most a third of its characters differ.
fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, name) = known.map(|name| (levenshtein(given, name), name)).min()?;
    (distance * 3 <= name.len()).then_some(name)
}

fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn parsed<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

fn number(value: &str) -> Option<f64> {
    parsed(value).filter(|number: &f64| number.is_finite())
}

fn truth(value: &str) -> Option<bool> {
    // In any case, as Java reads them.
    parsed(&value.to_ascii_lowercase())
}

fn lengths(value: &str) -> Option<LengthDistribution> {
    Some(match value {
        "constant" => LengthDistribution::Constant,
        "uniform" => LengthDistribution::Uniform,
        "zipfian" => LengthDistribution::ZIPFIAN,
        _ => return None,
    })
}

fn requests(value: &str) -> Option<RequestDistribution> {
    Some(match value {
        "uniform" => RequestDistribution::Uniform,
        "zipfian" => RequestDistribution::ZIPFIAN,
        "latest" => RequestDistribution::Latest,
        "hotspot" => RequestDistribution::hotspot(),
        "exponential" => RequestDistribution::exponential(),
        "sequential" => RequestDistribution::Sequential,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_is_far_from_every_name_was_not_meant_to_be_one() {
        let known = ["recordcount", "table"];
        assert_eq!(nearest("recordcont", known.into_iter()), Some("recordcount"));
        assert_eq!(nearest("colour", known.into_iter()), None);
    }
}
