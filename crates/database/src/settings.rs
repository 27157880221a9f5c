//! What the modules' readings of their settings have in common.

use std::fmt::Display;
use std::str::FromStr;

use strsim::levenshtein;

use crate::database::{InvalidTarget, Settings};

/// Refuses a setting that a database does not know, naming the nearest that it does.
pub(crate) fn refuse_unknown(
    settings: &Settings,
    database: &str,
    known: &[&str],
) -> Result<(), InvalidTarget> {
    let Some(name) = settings.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let nearest =
        known.iter().min_by_key(|candidate| levenshtein(name, candidate)).copied().unwrap_or_default();
    Err(InvalidTarget(format!(
        "{database} has no setting {name}; did you mean {nearest}? Expected one of {}",
        known.join(", ")
    )))
}

/// A setting that is a number, or true or false; `None` if it is not given.
pub(crate) fn parsed<T: FromStr>(
    settings: &Settings,
    name: &str,
    expected: &str,
) -> Result<Option<T>, InvalidTarget> {
    settings.get(name).map(|text| text.parse().map_err(|_| invalid(name, text, expected))).transpose()
}

/// A setting that is one of a few words; `None` if it is not given.
pub(crate) fn chosen<T: Clone>(
    settings: &Settings,
    name: &str,
    choices: &[(&str, T)],
) -> Result<Option<T>, InvalidTarget> {
    let Some(text) = settings.get(name) else { return Ok(None) };
    let choice = choices.iter().find(|(word, _)| word == text).map(|(_, value)| value.clone());
    choice.map(Some).ok_or_else(|| {
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        invalid(name, text, words.join(", "))
    })
}

/// What is said of a setting that is not what it should be.
pub(crate) fn invalid(name: &str, text: &str, expected: impl Display) -> InvalidTarget {
    InvalidTarget(format!("the setting {name} is {text:?}; expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_setting_is_answered_with_the_nearest_known_one() {
        let settings = Settings::from([("write_concerns".into(), "1".into())]);
        let text =
            refuse_unknown(&settings, "mongodb", &["read_concern", "write_concern"]).unwrap_err().to_string();
        assert!(text.contains("no setting write_concerns; did you mean write_concern?"), "{text}");
    }

    #[test]
    fn a_wrong_value_is_answered_with_what_was_expected() {
        let settings = Settings::from([("journal".into(), "yes".into())]);
        let text = parsed::<bool>(&settings, "journal", "true or false").unwrap_err().to_string();
        assert_eq!(text, r#"the setting journal is "yes"; expected true or false"#);
        let text = chosen(&settings, "journal", &[("on", 1), ("off", 2)]).unwrap_err().to_string();
        assert_eq!(text, r#"the setting journal is "yes"; expected on, off"#);
    }
}
