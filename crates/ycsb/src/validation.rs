//! Whether a workload can be run.

use std::fmt;

use crate::operation::Kind;
use crate::workload::{LengthDistribution, RequestDistribution, Workload};

/// The most records whose numbers a distribution draws exactly: 2⁵³.
const RECORDS_MAX: u64 = 1 << 53;
/// The most bytes of one record: 1 GiB, more than any database takes.
const RECORD_BYTES_MAX: usize = 1 << 30;
/// The steepest Zipfian distribution: from 1 on the formula of Gray et al. has no value.
const ZIPFIAN_CONSTANT_MAX: f64 = 0.9999;
const ZERO_PADDING_MAX: usize = 1000;

/// One reason why a workload cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Which field of [`Workload`] is at fault.
    pub field: &'static str,
    /// A sentence for the person who asked for it, with the number and its range.
    pub text: String,
}

/// Why a workload cannot be run: one flaw or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidWorkload(pub Vec<Flaw>);

impl fmt::Display for InvalidWorkload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, flaw) in self.0.iter().enumerate() {
            let line_end = if place > 0 { "\n" } else { "" };
            write!(formatter, "{line_end}{}", flaw.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidWorkload {}

impl Workload {
    /// Whether the workload can be run.
    ///
    /// # Errors
    /// Every reason why not, in the order of the fields.
    pub fn validate(&self) -> Result<(), InvalidWorkload> {
        let mut flaws = Flaws(Vec::new());
        self.check_mix(&mut flaws);
        self.check_records(&mut flaws);
        self.check_fields(&mut flaws);
        self.check_requests(&mut flaws);
        self.check_scans(&mut flaws);
        flaws.require(self.zero_padding <= ZERO_PADDING_MAX, "zero_padding", || {
            format!(
                "numbers are zero-padded to {} digits; expected at most {ZERO_PADDING_MAX}",
                self.zero_padding
            )
        });
        flaws.require(
            !self.verify_values || self.field_bytes_distribution == LengthDistribution::Constant,
            "verify_values",
            || "values can be verified only if their length is constant".into(),
        );
        if flaws.0.is_empty() { Ok(()) } else { Err(InvalidWorkload(flaws.0)) }
    }

    fn check_mix(&self, flaws: &mut Flaws) {
        let shares = self.mix.shares();
        for (kind, share) in shares {
            flaws.require(share.is_finite() && share >= 0.0, "mix", || {
                format!("the share of {} is {share}; expected a number of 0 or more", kind.label())
            });
        }
        flaws.require(shares.iter().any(|(_, share)| *share != 0.0), "mix", || {
            "the shares of all operations are 0; at least one must be above 0".into()
        });
    }

    fn check_records(&self, flaws: &mut Flaws) {
        let needs_records =
            self.mix.shares().into_iter().any(|(kind, share)| kind != Kind::Insert && share > 0.0);
        flaws.require(self.records > 0 || !needs_records, "records", || {
            "there are 0 records; a mix that does not only insert requires at least 1".into()
        });
        flaws.require(self.records <= RECORDS_MAX, "records", || {
            format!("there are {} records; expected at most {RECORDS_MAX}", self.records)
        });
        let count = self.insert_count;
        flaws.require(self.records == 0 || self.insert_start < self.records, "insert_start", || {
            format!(
                "the first record is number {}; it must be below the count of records, {}",
                self.insert_start, self.records
            )
        });
        flaws.require(count != Some(0) || !needs_records, "insert_count", || {
            "0 records are inserted; a mix that does not only insert requires at least 1".into()
        });
        let room = self.records.saturating_sub(self.insert_start);
        flaws.require(count.is_none_or(|count| count <= room), "insert_count", || {
            format!(
                "{} records from number {} on are inserted; of {} records only {room} are left from there",
                self.load_records(),
                self.insert_start,
                self.records
            )
        });
    }

    fn check_fields(&self, flaws: &mut Flaws) {
        flaws.require(self.field_count > 0, "field_count", || {
            "a record has 0 fields; expected at least 1".into()
        });
        let record_bytes = self.field_count.checked_mul(self.field_bytes);
        let is_bearable = self.field_count <= RECORD_BYTES_MAX
            && record_bytes.is_some_and(|bytes| bytes <= RECORD_BYTES_MAX);
        flaws.require(is_bearable, "field_bytes", || {
            format!(
                "a record has {} fields of {} bytes; together they may have at most {RECORD_BYTES_MAX} bytes",
                self.field_count, self.field_bytes
            )
        });
        check_lengths(
            flaws,
            ("field_bytes_min", "field_bytes_distribution"),
            "a field",
            (self.field_bytes_min, self.field_bytes, "bytes"),
            self.field_bytes_distribution,
        );
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        flaws.require(self.field_prefix.chars().all(is_name), "field_prefix", || {
            format!(
                "the names of fields begin with {:?}; expected only letters from A to Z, digits and \
                underscores",
                self.field_prefix
            )
        });
    }

    fn check_requests(&self, flaws: &mut Flaws) {
        let mut require_share = |share: f64, what: &str| {
            flaws.require((0.0..=1.0).contains(&share), "request_distribution", || {
                format!("the hotspot's share of the {what} is {share}; it must be from 0 to 1")
            });
        };
        match self.request_distribution {
            RequestDistribution::Hotspot { records, operations } => {
                require_share(records, "records");
                require_share(operations, "operations");
            }
            RequestDistribution::Zipfian { constant } => {
                check_constant(flaws, "request_distribution", constant);
            }
            RequestDistribution::Exponential { percentile, fraction } => {
                flaws.require(percentile > 0.0 && percentile < 100.0, "request_distribution", || {
                    format!("the exponential percentile is {percentile}; it must be above 0 and below 100")
                });
                flaws.require(fraction.is_finite() && fraction > 0.0, "request_distribution", || {
                    format!("the exponential fraction is {fraction}; it must be above 0")
                });
            }
            RequestDistribution::Uniform | RequestDistribution::Latest | RequestDistribution::Sequential => {}
        }
    }

    /// A mix without scans may say of them what it likes.
    fn check_scans(&self, flaws: &mut Flaws) {
        if self.mix.scan > 0.0 {
            flaws.require(self.scan_records_max > 0, "scan_records_max", || {
                "the longest scan reads 0 records; expected at least 1".into()
            });
            flaws.require(self.scan_records_min > 0, "scan_records_min", || {
                "the shortest scan reads 0 records; expected at least 1".into()
            });
            check_lengths(
                flaws,
                ("scan_records_min", "scan_records_distribution"),
                "a scan",
                (self.scan_records_min, self.scan_records_max, "records"),
                self.scan_records_distribution,
            );
        }
    }
}

fn check_lengths(
    flaws: &mut Flaws,
    (least_field, distribution_field): (&'static str, &'static str),
    whose: &str,
    (least, most, unit): (usize, usize, &str),
    distribution: LengthDistribution,
) {
    flaws.require(least <= most || distribution == LengthDistribution::Constant, least_field, || {
        format!(
            "{whose} has at least {least} {unit} and at most {most}; the minimum must not exceed the maximum"
        )
    });
    if let LengthDistribution::Zipfian { constant } = distribution {
        check_constant(flaws, distribution_field, constant);
    }
}

fn check_constant(flaws: &mut Flaws, field: &'static str, constant: f64) {
    flaws.require(constant > 0.0 && constant <= ZIPFIAN_CONSTANT_MAX, field, || {
        format!("the Zipfian constant is {constant}; it must be above 0 and at most {ZIPFIAN_CONSTANT_MAX}")
    });
}

struct Flaws(Vec<Flaw>);

impl Flaws {
    fn require(&mut self, holds: bool, field: &'static str, text: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Flaw { field, text: text() });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::{LengthDistribution, Mix, RequestDistribution, Workload};

    /// The sentences about the workload that is YCSB's default but for a change.
    fn flaws(change: impl FnOnce(&mut Workload)) -> Vec<String> {
        let mut workload = Workload::default();
        change(&mut workload);
        workload
            .validate()
            .err()
            .map_or_else(Vec::new, |invalid| invalid.0.into_iter().map(|flaw| flaw.text).collect())
    }

    #[test]
    fn the_core_workloads_are_valid() {
        for name in Workload::PRESETS {
            assert_eq!(Workload::preset(name).unwrap().validate(), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_mix_needs_shares_from_zero_on_of_which_one_is_above() {
        let expected = ["the shares of all operations are 0; at least one must be above 0"];
        assert_eq!(flaws(|workload| workload.mix = Mix::default()), expected);
        let expected = ["the share of scan is -1; expected a number of 0 or more"];
        assert_eq!(flaws(|workload| workload.mix.scan = -1.0), expected);
        let expected = ["the share of delete is inf; expected a number of 0 or more"];
        assert_eq!(flaws(|workload| workload.mix.delete = f64::INFINITY), expected);
        assert_eq!(flaws(|workload| workload.mix.read = f64::NAN).len(), 1);
    }

    #[test]
    fn only_a_mix_of_inserts_begins_without_records() {
        let expected = ["there are 0 records; a mix that does not only insert requires at least 1"];
        assert_eq!(flaws(|workload| workload.records = 0), expected);
        let inserts = |workload: &mut Workload| {
            workload.records = 0;
            workload.mix = Mix { insert: 1.0, ..Mix::default() };
        };
        assert!(flaws(inserts).is_empty());
    }

    #[test]
    fn what_is_inserted_lies_within_the_records() {
        let expected = ["the first record is number 1000; it must be below the count of records, 1000"];
        assert_eq!(flaws(|workload| workload.insert_start = 1000), expected);
        let expected =
            ["501 records from number 500 on are inserted; of 1000 records only 500 are left from there"];
        let too_many =
            |workload: &mut Workload| (workload.insert_start, workload.insert_count) = (500, Some(501));
        assert_eq!(flaws(too_many), expected);
        let just_enough =
            |workload: &mut Workload| (workload.insert_start, workload.insert_count) = (500, Some(500));
        assert!(flaws(just_enough).is_empty());
        let expected = ["0 records are inserted; a mix that does not only insert requires at least 1"];
        assert_eq!(flaws(|workload| workload.insert_count = Some(0)), expected);
        let expected = ["there are 18446744073709551615 records; expected at most 9007199254740992"];
        assert_eq!(flaws(|workload| workload.records = u64::MAX), expected);
    }

    #[test]
    fn a_record_has_fields_that_memory_can_hold_and_names_that_databases_take() {
        assert_eq!(
            flaws(|workload| workload.field_count = 0),
            ["a record has 0 fields; expected at least 1"]
        );
        let expected =
            ["a record has 10 fields of 107374183 bytes; together they may have at most 1073741824 bytes"];
        assert_eq!(flaws(|workload| workload.field_bytes = 107_374_183), expected);
        assert!(flaws(|workload| workload.field_bytes = 107_374_182).is_empty());
        let huge = |workload: &mut Workload| (workload.field_count, workload.field_bytes) = (usize::MAX, 0);
        assert_eq!(flaws(huge).len(), 1);
        let expected = [
            "the names of fields begin with \"$x\"; expected only letters from A to Z, digits and underscores",
        ];
        assert_eq!(flaws(|workload| workload.field_prefix = "$x".into()), expected);
    }

    #[test]
    fn the_shortest_is_not_above_the_longest_where_lengths_differ() {
        let short = |workload: &mut Workload| (workload.field_bytes_min, workload.field_bytes) = (20, 10);
        assert!(flaws(short).is_empty(), "constant lengths have no shortest one");
        let uniform = |workload: &mut Workload| {
            short(workload);
            workload.field_bytes_distribution = LengthDistribution::Uniform;
        };
        let expected =
            ["a field has at least 20 bytes and at most 10; the minimum must not exceed the maximum"];
        assert_eq!(flaws(uniform), expected);
    }

    #[test]
    fn scans_are_looked_at_where_there_are_some() {
        let lengths =
            |workload: &mut Workload| (workload.scan_records_min, workload.scan_records_max) = (0, 0);
        assert!(flaws(lengths).is_empty());
        let scans = |workload: &mut Workload| {
            lengths(workload);
            workload.mix.scan = 0.1;
        };
        let expected = [
            "the longest scan reads 0 records; expected at least 1",
            "the shortest scan reads 0 records; expected at least 1",
        ];
        assert_eq!(flaws(scans), expected);
    }

    #[test]
    fn the_numbers_of_distributions_have_ranges() {
        let with =
            |request_distribution| flaws(|workload| workload.request_distribution = request_distribution);
        let expected = [
            "the hotspot's share of the records is 1.5; it must be from 0 to 1",
            "the hotspot's share of the operations is -0.1; it must be from 0 to 1",
        ];
        assert_eq!(with(RequestDistribution::Hotspot { records: 1.5, operations: -0.1 }), expected);
        let expected = ["the Zipfian constant is 1; it must be above 0 and at most 0.9999"];
        assert_eq!(with(RequestDistribution::Zipfian { constant: 1.0 }), expected);
        let expected = [
            "the exponential percentile is 100; it must be above 0 and below 100",
            "the exponential fraction is 0; it must be above 0",
        ];
        assert_eq!(with(RequestDistribution::Exponential { percentile: 100.0, fraction: 0.0 }), expected);
    }

    #[test]
    fn values_of_different_lengths_cannot_be_verified() {
        let varying = |workload: &mut Workload| {
            workload.verify_values = true;
            workload.field_bytes_distribution = LengthDistribution::Uniform;
        };
        assert_eq!(flaws(varying), ["values can be verified only if their length is constant"]);
    }

    #[test]
    fn keys_have_bounded_lengths() {
        let expected = ["numbers are zero-padded to 1001 digits; expected at most 1000"];
        assert_eq!(flaws(|workload| workload.zero_padding = 1001), expected);
    }
}
