//! Whether what a database returns is what was written.

use crate::expected::append_expected;
use crate::operation::Selection;
use crate::workload::Workload;

/// Holds the fields of one answer after the other against what they must be, without allocating.
#[derive(Clone, Debug)]
pub struct Check {
    field_prefix: String,
    field_count: usize,
    field_bytes: usize,
    /// What the field looked at last must hold.
    expected: Vec<u8>,
    /// How many fields the answer has had so far.
    found: usize,
    /// Whether all of those were right.
    is_right: bool,
    /// Whether any was like those that can be verified, of whichever record.
    is_of_this_form: bool,
}

impl Check {
    /// For a workload whose values are to be verified; none for another.
    #[must_use]
    pub fn new(workload: &Workload) -> Option<Self> {
        workload.verify_values.then(|| Self {
            field_prefix: workload.field_prefix.clone(),
            field_count: workload.field_count,
            field_bytes: workload.field_bytes,
            expected: Vec::new(),
            found: 0,
            is_right: true,
            is_of_this_form: false,
        })
    }

    /// Begins with another answer.
    pub fn begin(&mut self) {
        self.found = 0;
        self.is_right = true;
        self.is_of_this_form = false;
    }

    /// Looks at a field of the answer; whether it is right.
    pub fn field(&mut self, key: &str, name: &str, text: &str) -> bool {
        let is_known = name
            .strip_prefix(self.field_prefix.as_str())
            .and_then(|digits| digits.parse::<usize>().ok())
            .is_some_and(|field| field < self.field_count);
        self.expected.clear();
        append_expected(&mut self.expected, self.field_bytes, key, name);
        let is_right = is_known && text.as_bytes() == self.expected;
        self.found += 1;
        self.is_right &= is_right;
        self.is_of_this_form |= self.is_like_verified(key, text);
        is_right
    }

    /// Whether a text has the name of a field behind its key; too short a one may have.
    fn is_like_verified(&self, key: &str, text: &str) -> bool {
        self.field_bytes <= key.len() + self.field_prefix.len()
            || text.split_once(':').is_some_and(|(_, rest)| rest.starts_with(&self.field_prefix))
    }

    /// Whether the answer had fields, and none that can be verified: they were written otherwise.
    #[must_use]
    pub fn is_of_another_form(&self) -> bool {
        self.found > 0 && !self.is_of_this_form
    }

    /// Whether the answer, of this many records, had all fields that were asked for, and each was right.
    #[must_use]
    pub fn is_passed(&self, selection: Selection, records: usize) -> bool {
        let fields = match selection {
            Selection::All => self.field_count,
            Selection::One(_) => 1,
        };
        self.is_right && self.found == records * fields
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, append_expected};
    use crate::operation::Selection;
    use crate::workload::Workload;

    /// What YCSB 0.17.0 inserted as record 0, with `dataintegrity=true` and two fields of 90 bytes, into its database that
    /// only prints.
    const KEY: &str = "user6284781860667377211";
    const FIELDS: [(&str, &str); 2] = [
        (
            "field0",
            "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:-1039",
        ),
        (
            "field1",
            "user6284781860667377211:field1:-56807846:-2133018101:933062878:139614226:1263461560:112461",
        ),
    ];

    fn check() -> Check {
        let workload =
            Workload { field_count: 2, field_bytes: 90, verify_values: true, ..Workload::default() };
        Check::new(&workload).unwrap()
    }

    #[test]
    fn values_that_were_written_otherwise_are_no_damage_to_those_that_can_be_verified() {
        let mut check = check();
        check.field(KEY, "field0", "-,$7H-6z;: Ze60`4Uo*Tk<Bq2Va");
        assert!(check.is_of_another_form());
        // What another record holds.
        check.field("user1", "field0", FIELDS[0].1);
        assert!(!check.is_of_another_form());
        check.begin();
        // One bit of the last character.
        let damaged = FIELDS[1].1.replace("112461", "112460");
        check.field(KEY, "field1", &damaged);
        assert!(!check.is_of_another_form());
        assert!(!check.is_passed(Selection::All, 1));
        check.begin();
        assert!(!check.is_of_another_form(), "an answer without fields");
    }

    #[test]
    fn what_ycsb_wrote_is_right() {
        let mut check = check();
        for (name, text) in FIELDS {
            assert!(check.field(KEY, name, text), "{name}");
        }
        assert!(check.is_passed(Selection::All, 1));
    }

    #[test]
    fn every_character_counts() {
        let mut check = check();
        let (name, text) = FIELDS[0];
        for place in 0..text.len() {
            let mut wrong = text.to_owned();
            wrong.replace_range(place..=place, "?");
            check.begin();
            assert!(!check.field(KEY, name, &wrong), "{wrong}");
            assert!(!check.is_passed(Selection::One(0), 1));
        }
        assert!(!check.field(KEY, name, &text[..89]));
        assert!(!check.field(KEY, name, &format!("{text}?")));
    }

    #[test]
    fn a_value_in_another_field_or_record_is_wrong() {
        let mut check = check();
        assert!(!check.field(KEY, "field1", FIELDS[0].1));
        assert!(!check.field("user8517097267634966620", "field0", FIELDS[0].1));
    }

    #[test]
    fn a_field_that_no_record_has_is_wrong_whatever_it_holds() {
        let mut check = check();
        for name in ["field2", "other", "field", "field-0"] {
            let mut text = Vec::new();
            append_expected(&mut text, 90, KEY, name);
            assert!(!check.field(KEY, name, str::from_utf8(&text).unwrap()), "{name}");
        }
    }

    #[test]
    fn an_answer_without_all_its_fields_is_wrong() {
        let mut check = check();
        assert!(!check.is_passed(Selection::All, 1));
        check.field(KEY, FIELDS[0].0, FIELDS[0].1);
        assert!(check.is_passed(Selection::One(0), 1));
        assert!(!check.is_passed(Selection::All, 1));
        check.begin();
        assert!(check.is_passed(Selection::All, 0), "a scan may find nothing");
    }

    #[test]
    fn a_workload_that_verifies_nothing_has_no_check() {
        assert!(Check::new(&Workload::default()).is_none());
    }
}
