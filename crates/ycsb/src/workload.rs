//! What a workload consists of, in numbers.

use serde::{Deserialize, Serialize};

use crate::operation::{InsertOrder, Key, Kind};

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

impl Mix {
    /// Each kind with its share, in the order of results.
    #[must_use]
    pub fn shares(&self) -> [(Kind, f64); 6] {
        Kind::ALL.map(|kind| {
            let share = match kind {
                Kind::Read => self.read,
                Kind::Update => self.update,
                Kind::Insert => self.insert,
                Kind::Scan => self.scan,
                Kind::ReadModifyWrite => self.read_modify_write,
                Kind::Delete => self.delete,
            };
            (kind, share)
        })
    }
}

/// Which record an operation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum RequestDistribution {
    /// Every one is as likely.
    Uniform,
    /// A few are asked for often, and are scattered over all keys.
    Zipfian {
        /// How steep it is: above 0, and at most 0.9999. YCSB's constant is 0.99.
        #[serde(default = "zipfian_constant")]
        constant: f64,
    },
    /// Like `Zipfian`, from the newest record back.
    Latest,
    /// A part of the records is asked for by a part of the operations.
    Hotspot {
        /// The share of the records that is hot; YCSB's default is 0.2.
        #[serde(default = "hotspot_records")]
        records: f64,
        /// The share of the operations that goes there; YCSB's default is 0.8.
        #[serde(default = "hotspot_operations")]
        operations: f64,
    },
    /// The newer, the likelier, falling exponentially.
    Exponential {
        /// The share of the operations, in percent, that goes to the newest part; YCSB's default is 95.
        #[serde(default = "exponential_percentile")]
        percentile: f64,
        /// Which part that is; YCSB's default is 0.8571428571.
        #[serde(default = "exponential_fraction")]
        fraction: f64,
    },
    /// One after the other, and from the start again.
    Sequential,
}

/// How long something is, between a shortest and a longest length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum LengthDistribution {
    /// Always the longest.
    Constant,
    /// Every length is as likely.
    Uniform,
    /// The shorter, the likelier.
    Zipfian {
        /// How steep it is: above 0, and at most 0.9999. YCSB's constant is 0.99.
        #[serde(default = "zipfian_constant")]
        constant: f64,
    },
}

pub(crate) const ZIPFIAN_CONSTANT: f64 = 0.99;

fn zipfian_constant() -> f64 {
    ZIPFIAN_CONSTANT
}

fn hotspot_records() -> f64 {
    0.2
}

fn hotspot_operations() -> f64 {
    0.8
}

fn exponential_percentile() -> f64 {
    95.0
}

fn exponential_fraction() -> f64 {
    0.857_142_857_1
}

impl RequestDistribution {
    /// YCSB's Zipfian distribution.
    pub const ZIPFIAN: Self = Self::Zipfian { constant: ZIPFIAN_CONSTANT };

    /// YCSB's hotspot.
    #[must_use]
    pub fn hotspot() -> Self {
        Self::Hotspot { records: hotspot_records(), operations: hotspot_operations() }
    }

    /// YCSB's exponential distribution.
    #[must_use]
    pub fn exponential() -> Self {
        Self::Exponential { percentile: exponential_percentile(), fraction: exponential_fraction() }
    }
}

impl LengthDistribution {
    /// YCSB's Zipfian distribution.
    pub const ZIPFIAN: Self = Self::Zipfian { constant: ZIPFIAN_CONSTANT };
}

/// A workload: the mix of operations, the records, and how records are chosen. The defaults are YCSB's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// The shares of the kinds of operations.
    pub mix: Mix,
    /// How many records there are when the operations begin.
    pub records: u64,
    /// The number of the first record that the load phase inserts, and that operations ask for.
    pub insert_start: u64,
    /// How many records the load phase inserts from there on; none for all.
    pub insert_count: Option<u64>,
    /// Fields of each record.
    pub field_count: usize,
    /// The longest value of a field, in bytes.
    pub field_bytes: usize,
    /// The shortest one, where lengths are not constant.
    pub field_bytes_min: usize,
    /// How long the values between the two are.
    pub field_bytes_distribution: LengthDistribution,
    /// What the names of the fields begin with.
    pub field_prefix: String,
    /// Whether reads and scans ask for every field, or for one.
    pub read_all_fields: bool,
    /// Whether updates write every field, or one.
    pub write_all_fields: bool,
    /// Which record an operation asks for.
    pub request_distribution: RequestDistribution,
    /// The fewest records of a scan.
    pub scan_records_min: usize,
    /// The most records of a scan.
    pub scan_records_max: usize,
    /// How many of them.
    pub scan_records_distribution: LengthDistribution,
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
            field_bytes_distribution: LengthDistribution::Constant,
            field_prefix: "field".into(),
            read_all_fields: true,
            write_all_fields: false,
            request_distribution: RequestDistribution::Uniform,
            scan_records_min: 1,
            scan_records_max: 1000,
            scan_records_distribution: LengthDistribution::Uniform,
            insert_order: InsertOrder::Hashed,
            zero_padding: 1,
            verify_values: false,
        }
    }
}

impl Workload {
    /// The names of YCSB's six core workloads.
    pub const PRESETS: [&'static str; 6] = ["a", "b", "c", "d", "e", "f"];

    /// The core workload of this name, as YCSB's files of the names `workloada` to `workloadf` have it; none for another
    /// name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        let zipfian =
            |mix| Self { mix, request_distribution: RequestDistribution::ZIPFIAN, ..Self::default() };
        let none = Mix::default();
        Some(match name {
            // Update heavy.
            "a" => zipfian(Mix { read: 0.5, update: 0.5, ..none }),
            // Read mostly.
            "b" => zipfian(Mix { read: 0.95, update: 0.05, ..none }),
            // Read only.
            "c" => zipfian(Mix { read: 1.0, ..none }),
            // Read the latest.
            "d" => Self {
                mix: Mix { read: 0.95, insert: 0.05, ..none },
                request_distribution: RequestDistribution::Latest,
                ..Self::default()
            },
            // Short ranges.
            "e" => Self { scan_records_max: 100, ..zipfian(Mix { scan: 0.95, insert: 0.05, ..none }) },
            // Read, modify, write.
            "f" => zipfian(Mix { read: 0.5, read_modify_write: 0.5, ..none }),
            _ => return None,
        })
    }

    /// How many records the load phase inserts: those from `insert_start` on.
    #[must_use]
    pub fn load_records(&self) -> u64 {
        self.insert_count.unwrap_or_else(|| self.records.saturating_sub(self.insert_start))
    }

    /// The name of each field, in the order of their indices.
    #[must_use]
    pub fn field_names(&self) -> Vec<String> {
        (0..self.field_count).map(|field| format!("{}{field}", self.field_prefix)).collect()
    }

    /// The key of a record.
    #[must_use]
    pub fn key(&self, record: u64) -> Key {
        let mut key = Key::default();
        key.set(record, self.insert_order, self.zero_padding);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::{LengthDistribution, Mix, RequestDistribution, Workload};
    use proptest::prelude::*;

    #[test]
    fn what_a_plan_does_not_say_is_ycsbs_default() {
        assert_eq!(serde_json::from_str::<Workload>("{}").unwrap(), Workload::default());
        let distribution: RequestDistribution = serde_json::from_str(r#"{"name": "hotspot"}"#).unwrap();
        assert_eq!(distribution, RequestDistribution::Hotspot { records: 0.2, operations: 0.8 });
        let distribution: RequestDistribution = serde_json::from_str(r#"{"name": "exponential"}"#).unwrap();
        assert_eq!(
            distribution,
            RequestDistribution::Exponential { percentile: 95.0, fraction: 0.857_142_857_1 }
        );
    }

    #[test]
    fn an_unknown_key_of_a_plan_is_refused() {
        for text in
            [r#"{"record": 5}"#, r#"{"mix": {"reads": 1}}"#, r#"{"request_distribution": {"name": "zipf"}}"#]
        {
            assert!(serde_json::from_str::<Workload>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn without_a_count_all_records_from_the_first_on_are_inserted() {
        let workload = Workload { records: 100, insert_start: 30, ..Workload::default() };
        assert_eq!(workload.load_records(), 70);
        assert_eq!(Workload { insert_count: Some(5), ..workload }.load_records(), 5);
    }

    /// Numbers of three decimal places up to the given one, as people write them: JSON's reader may take longer ones for
    /// their neighbours.
    fn decimals(most: u32) -> impl Strategy<Value = f64> {
        (0..=most * 1000).prop_map(|thousandths| f64::from(thousandths) / 1000.0)
    }

    fn any_request_distribution() -> impl Strategy<Value = RequestDistribution> {
        let share = || decimals(1);
        prop_oneof![
            Just(RequestDistribution::Uniform),
            Just(RequestDistribution::Latest),
            Just(RequestDistribution::Sequential),
            share().prop_map(|constant| RequestDistribution::Zipfian { constant }),
            (share(), share())
                .prop_map(|(records, operations)| RequestDistribution::Hotspot { records, operations }),
            (decimals(100), share())
                .prop_map(|(percentile, fraction)| RequestDistribution::Exponential { percentile, fraction }),
        ]
    }

    proptest! {
        #[test]
        fn a_workload_travels_as_json_unchanged(
            shares in prop::array::uniform6(decimals(10)),
            (records, insert_start, insert_count) in any::<(u64, u64, Option<u64>)>(),
            (field_count, field_bytes, zero_padding) in any::<(usize, usize, usize)>(),
            (read_all_fields, write_all_fields, verify_values) in any::<(bool, bool, bool)>(),
            request_distribution in any_request_distribution(),
            constant in decimals(1),
        ) {
            let [read, update, insert, scan, read_modify_write, delete] = shares;
            let workload = Workload {
                mix: Mix { read, update, insert, scan, read_modify_write, delete },
                records,
                insert_start,
                insert_count,
                field_count,
                field_bytes,
                zero_padding,
                read_all_fields,
                write_all_fields,
                verify_values,
                request_distribution,
                scan_records_distribution: LengthDistribution::Zipfian { constant },
                ..Workload::default()
            };
            let text = serde_json::to_string(&workload).unwrap();
            prop_assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), workload, "{}", text);
        }
    }
}
