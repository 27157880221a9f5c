//! Records as JSON text, for the layout with one column.

use std::borrow::Cow;
use std::fmt;

use loadcurve_ycsb::Values;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::database::Found;

/// Fields as a JSON object.
pub(super) fn written(values: &Values, names: &[String]) -> String {
    serde_json::to_string(&Fields { values, names }).expect("strings as JSON in memory cannot fail")
}

struct Fields<'a> {
    values: &'a Values,
    names: &'a [String],
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.values.iter().map(|value| (&self.names[value.field], value.text)))
    }
}

/// Visits every field of a JSON object that is a string.
pub(super) fn visit(key: &str, text: &str, found: &mut impl Found) -> serde_json::Result<()> {
    serde_json::Deserializer::from_str(text).deserialize_map(Teller { key, found })
}

struct Teller<'a, F> {
    key: &'a str,
    found: &'a mut F,
}

impl<'de, F: Found> Visitor<'de> for Teller<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a record as a JSON object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, text)) = map.next_entry::<Cow<'de, str>, Cow<'de, str>>()? {
            self.found.field(self.key, &name, &text);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct FoundFields(Vec<(String, String)>);

    impl Found for FoundFields {
        fn field(&mut self, _key: &str, name: &str, text: &str) {
            self.0.push((name.into(), text.into()));
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let values = ["plain", r#"quote " and \ backslash"#].into_iter().enumerate().collect();
        let fields = ["field0".to_owned(), "field1".to_owned()];
        let text = written(&values, &fields);
        assert_eq!(text, r#"{"field0":"plain","field1":"quote \" and \\ backslash"}"#);
        let mut found = FoundFields::default();
        visit("user1", &text, &mut found).unwrap();
        let expected = [("field0", "plain"), ("field1", r#"quote " and \ backslash"#)];
        assert_eq!(found.0, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        assert!(visit("user1", "[1]", &mut FoundFields::default()).is_err());
        assert!(visit("user1", r#"{"field0": 1}"#, &mut FoundFields::default()).is_err());
    }
}
