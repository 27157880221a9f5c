//! The connections that servers have ended, and those that have lasted.

use serde::{Deserialize, Serialize};

use crate::extremes::Extremes;

/// Over all connections of a load, warm-up included; nothing of those that the load itself has closed or given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endings {
    /// Connections that the server has ended, announced or not.
    pub count: u64,
    /// The answers that these had carried together.
    pub answers: u64,
    /// The least and the greatest number of answers of one of them.
    pub extremes: Extremes,
    /// Connections that were open from the start of the load to its end, and carried answers.
    pub lasting: u64,
}

impl Endings {
    /// The server has ended a connection that had carried this many answers.
    pub fn add(&mut self, answers: u64) {
        self.count += 1;
        self.answers += answers;
        self.extremes.add(answers);
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.answers += other.answers;
        self.extremes.merge(other.extremes);
        self.lasting += other.lasting;
    }
}

#[cfg(test)]
mod tests {
    use super::{Endings, Extremes};

    #[test]
    fn the_least_and_the_greatest_number_of_answers_are_those_of_all_in_whatever_order_they_merge() {
        let answers = [100, 7, 250, 7];
        for split in 0..=answers.len() {
            let (mut first, mut second) = (Endings { lasting: 2, ..Endings::default() }, Endings::default());
            answers[..split].iter().for_each(|one| first.add(*one));
            answers[split..].iter().for_each(|one| second.add(*one));
            second.lasting = 3;
            first.merge(&second);
            assert_eq!(
                first,
                Endings { count: 4, answers: 364, extremes: Extremes(Some((7, 250))), lasting: 5 }
            );
        }
    }

    #[test]
    fn without_an_end_there_is_no_number_of_answers() {
        let mut none = Endings::default();
        none.merge(&Endings::default());
        assert_eq!(none.extremes, Extremes(None));
    }
}
