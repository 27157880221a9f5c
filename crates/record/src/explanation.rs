//! How peers explained failures.

use serde::{Deserialize, Serialize};

use crate::Failure;

/// How many explanations one recording keeps: more than a result has, so that the most frequent are among them.
const MOST_KEPT: usize = 64;

/// One explanation, and how often it came.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Explanation {
    /// The class of the failures.
    pub failure: Failure,
    /// The operation that failed.
    pub operation: usize,
    /// In the peer's words, or ours about what it has sent.
    pub text: String,
    /// A part of what it has sent, of one of them.
    #[serde(default)]
    pub example: Option<String>,
    /// How many requests failed so.
    pub count: u64,
}

/// The explanations of a load. Of more kinds than one worker keeps, its later ones are only in the counts of failures.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Explanations(Vec<Explanation>);

impl Explanations {
    pub(crate) fn add(
        &mut self,
        failure: Failure,
        operation: usize,
        text: &str,
        example: Option<&str>,
        count: u64,
    ) {
        self.add_up_to(MOST_KEPT, failure, operation, text, example, count);
    }

    fn add_up_to(
        &mut self,
        most: usize,
        failure: Failure,
        operation: usize,
        text: &str,
        example: Option<&str>,
        count: u64,
    ) {
        let is_it = |kept: &&mut Explanation| {
            kept.failure == failure && kept.operation == operation && kept.text == text
        };
        if let Some(kept) = self.0.iter_mut().find(is_it) {
            kept.count += count;
            // The same one in whatever order recordings merge.
            if example.is_some_and(|example| kept.example.as_deref().is_none_or(|kept| example < kept)) {
                kept.example = example.map(str::to_owned);
            }
        } else if self.0.len() < most {
            let (text, example) = (text.into(), example.map(str::to_owned));
            self.0.push(Explanation { failure, operation, text, example, count });
        }
    }

    /// Adds all of another recording's, however many they are, so that the order of merging is of no matter.
    pub(crate) fn merge(&mut self, other: &Self) {
        for Explanation { failure, operation, text, example, count } in &other.0 {
            self.add_up_to(usize::MAX, *failure, *operation, text, example.as_deref(), *count);
        }
        self.0.sort_unstable();
    }

    /// At most `most` of them, the most frequent first.
    #[must_use]
    pub fn most_frequent(&self, most: usize) -> Vec<&Explanation> {
        let mut kept: Vec<&Explanation> = self.0.iter().collect();
        kept.sort_unstable();
        kept.sort_by_key(|explanation| std::cmp::Reverse(explanation.count));
        kept.truncate(most);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::{Explanations, MOST_KEPT};
    use crate::Failure::{Malformed, Rejected, Timeout};

    #[test]
    fn failures_of_one_class_operation_and_text_are_counted_together() {
        let (mut first, mut second) = (Explanations::default(), Explanations::default());
        first.add(Rejected, 0, "disk full", None, 1);
        for (failure, operation, text) in
            [(Rejected, 0, "disk full"), (Rejected, 1, "disk full"), (Timeout, 0, "disk full")]
        {
            second.add(failure, operation, text, None, 1);
        }
        first.merge(&second);
        let found: Vec<_> = first.most_frequent(20).iter().map(|kept| (kept.failure, kept.count)).collect();
        // Of equally frequent ones the order is that of their classes.
        assert_eq!(found, [(Rejected, 2), (Timeout, 1), (Rejected, 1)]);
    }

    #[test]
    fn failures_that_are_explained_alike_have_one_example_in_whatever_order_they_merge() {
        let with = |examples: &[Option<&str>]| {
            let mut explanations = Explanations::default();
            for example in examples {
                explanations.add(Malformed, 0, "no status", *example, 1);
            }
            explanations
        };
        for (first, second) in
            [(with(&[Some("b"), None]), with(&[Some("a")])), (with(&[Some("a")]), with(&[None, Some("b")]))]
        {
            let mut both = first;
            both.merge(&second);
            let [kept] = both.most_frequent(20)[..] else { panic!("{both:?}") };
            assert_eq!((kept.count, kept.example.as_deref()), (3, Some("a")));
        }
    }

    #[test]
    fn texts_that_never_repeat_do_not_fill_the_memory_and_the_frequent_ones_are_reported_first() {
        let mut explanations = Explanations::default();
        for number in 0..10 * MOST_KEPT {
            explanations.add(Rejected, 0, &number.to_string(), None, 1);
            explanations.add(Rejected, 0, "3", None, 1);
        }
        assert_eq!(explanations.0.len(), MOST_KEPT);
        assert_eq!(explanations.most_frequent(1)[0].text, "3");
        assert_eq!(explanations.most_frequent(20).len(), 20);
    }
}
