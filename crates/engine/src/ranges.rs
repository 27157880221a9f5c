//! Lists of numbers as the kernel writes them, such as `0-3,6`.

use std::ops::RangeInclusive;

/// The ranges of a list; `None` if the text is not one. An empty text is an empty list.
pub(crate) fn parse(text: &str) -> Option<Vec<RangeInclusive<usize>>> {
    let parts = text.trim().split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some(first..=last)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_list_has_single_numbers_and_ranges() {
        assert_eq!(parse("0\n"), Some(vec![0..=0]));
        assert_eq!(parse("0-3,6,8-9"), Some(vec![0..=3, 6..=6, 8..=9]));
        assert_eq!(parse("\n"), Some(vec![]));
    }

    #[test]
    fn what_is_no_list_is_none() {
        for text in ["3-0", "a", "1-", "-1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
