//! What somebody may have meant.

/// The known name that is nearest to the given one, if any is near: at most a third of its characters differ.
pub(super) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, name) = known.map(|name| (distance(given, name), name)).min()?;
    (distance * 3 <= name.len()).then_some(name)
}

/// How many characters must be added, removed or replaced to make one text of the other (Levenshtein 1966).
fn distance(one: &str, other: &str) -> usize {
    // The distances of the part of `one` so far from each beginning of `other`.
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (index, character) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (place, counterpart) in other.chars().enumerate() {
            let replaced = diagonal + usize::from(character != counterpart);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row[other.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distances_are_those_of_the_textbook() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn what_is_far_from_every_name_was_not_meant_to_be_one() {
        let known = ["recordcount", "table"];
        assert_eq!(nearest("recordcont", known.into_iter()), Some("recordcount"));
        assert_eq!(nearest("colour", known.into_iter()), None);
    }
}
