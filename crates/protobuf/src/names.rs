//! Names of services, methods and fields in errors.

/// How many names an error repeats.
const NAMES_MAX: usize = 20;

/// Names for people, not all of very many.
pub(crate) fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<_> = names.collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    match (names.is_empty(), more) {
        (true, _) => "none".into(),
        (false, 0) => names.join(", "),
        (false, _) => format!("{} and {more} more", names.join(", ")),
    }
}
