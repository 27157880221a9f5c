//! What a workload consists of, in numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How often each kind of operation comes; the shares count in proportion to their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // The fields are the shares of the kinds of their names.
pub struct Mix {
    pub read: f64,
    pub update: f64,
    pub insert: f64,
    pub scan: f64,
    pub read_modify_write: f64,
    pub delete: f64,
}

/// How numbers are drawn: that of the record to ask for, the length of a field, or that of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Distribution {
    /// Always the largest: for lengths only.
    Constant,
    /// Every one is as likely.
    Uniform,
    /// A few are asked for often; where records are asked for, the few are scattered over all keys.
    Zipfian {
        /// How steep it is; YCSB's constant is 0.99.
        constant: f64,
    },
    /// Like `Zipfian`, from the newest record back: for records only.
    Latest,
    /// A part of the records is asked for by a part of the operations: for records only.
    Hotspot {
        /// The share of the records that is hot; YCSB's default is 0.2.
        records: f64,
        /// The share of the operations that goes there; YCSB's default is 0.8.
        operations: f64,
    },
    /// The newer, the likelier, falling exponentially: for records only.
    Exponential {
        /// The share of the operations, in percent, that goes to the newest part; YCSB's default is 95.
        percentile: f64,
        /// Which part that is; YCSB's default is 0.8571428571.
        fraction: f64,
    },
    /// One after the other: for records only.
    Sequential,
}

/// In which order of their keys records are inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InsertOrder {
    /// Keys are hashes of their numbers.
    #[default]
    Hashed,
    /// Keys are their numbers.
    Ordered,
}

/// A workload: the mix of operations, the records, and how records are chosen. The defaults are YCSB's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// The shares of the kinds of operations.
    pub mix: Mix,
    /// How many records there are when the operations begin.
    pub records: u64,
    /// The number of the first record that is inserted.
    pub insert_start: u64,
    /// How many records the load phase inserts; none for all.
    pub insert_count: Option<u64>,
    /// Fields of each record.
    pub field_count: usize,
    /// The longest value of a field, in bytes.
    pub field_bytes: usize,
    /// The shortest one.
    pub field_bytes_min: usize,
    /// How long the values between the two are: constant, uniform or Zipfian.
    pub field_bytes_distribution: Distribution,
    /// What the names of the fields begin with.
    pub field_prefix: String,
    /// Whether reads and scans ask for every field, or for one.
    pub read_all_fields: bool,
    /// Whether updates write every field, or one.
    pub write_all_fields: bool,
    /// Which record an operation asks for.
    pub request_distribution: Distribution,
    /// The fewest records of a scan.
    pub scan_records_min: usize,
    /// The most records of a scan.
    pub scan_records_max: usize,
    /// How many of them: uniform or Zipfian.
    pub scan_records_distribution: Distribution,
    /// The order of the keys.
    pub insert_order: InsertOrder,
    /// To how many digits the numbers in keys are filled up with zeros.
    pub zero_padding: usize,
    /// Whether values follow from their record and field, and are compared when they are read.
    pub verify_values: bool,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            mix: Mix { read: 0.95, update: 0.05, ..Mix::default() },
            records: 1000,
            insert_start: 0,
            insert_count: None,
            field_count: 10,
            field_bytes: 100,
            field_bytes_min: 1,
            field_bytes_distribution: Distribution::Constant,
            field_prefix: "field".into(),
            read_all_fields: true,
            write_all_fields: false,
            request_distribution: Distribution::Uniform,
            scan_records_min: 1,
            scan_records_max: 1000,
            scan_records_distribution: Distribution::Uniform,
            insert_order: InsertOrder::Hashed,
            zero_padding: 1,
            verify_values: false,
        }
    }
}

/// Why a workload cannot be run: a sentence for the person who asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidWorkload(pub String);

impl fmt::Display for InvalidWorkload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidWorkload {}
