//! Dividing a plan among workers by arithmetic.

/// The share of worker `index` of `of`: every `of`-th item of the plan, starting at the `index`-th.
///
/// Interleaving, unlike cutting into blocks, keeps the items of each worker evenly spaced in time; the union of all
/// shares is the undivided plan. Machines divide a plan this way, and their threads divide their machine's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    index: u64,
    of: u64,
}

impl Share {
    /// The share of worker `index` (from zero) of `of` workers.
    ///
    /// # Panics
    /// When `index` is not below `of`: a programmer's error, never a user's.
    #[must_use]
    pub fn new(index: usize, of: usize) -> Self {
        assert!(index < of, "share {index} of {of} does not exist");
        Self { index: index as u64, of: of as u64 }
    }

    /// The undivided plan.
    #[must_use]
    pub fn whole() -> Self {
        Self { index: 0, of: 1 }
    }

    /// The share of worker `index` of the `of` workers that divide this share.
    ///
    /// The others' shares need not be divided among as many: each is whole, however it is divided.
    ///
    /// # Panics
    /// As for [`Self::new`].
    #[must_use]
    pub fn part(self, index: usize, of: usize) -> Self {
        let part = Self::new(index, of);
        Self { index: self.position(part.index), of: self.of * part.of }
    }

    /// How many shares there are: the distance between two items of this one.
    #[must_use]
    pub fn of(self) -> u64 {
        self.of
    }

    /// How many of the first `total` items of the plan are in this share.
    #[must_use]
    pub fn count(self, total: u64) -> u64 {
        (total + self.of - 1 - self.index) / self.of
    }

    /// The place in the undivided plan of this share's item `own`.
    #[must_use]
    pub fn position(self, own: u64) -> u64 {
        own * self.of + self.index
    }
}

#[cfg(test)]
mod tests {
    use super::Share;
    use proptest::prelude::*;

    #[test]
    fn seven_items_among_three_workers_are_three_two_and_two() {
        let counts: Vec<u64> = (0..3).map(|index| Share::new(index, 3).count(7)).collect();
        assert_eq!(counts, [3, 2, 2]);
    }

    #[test]
    fn a_part_of_a_share_takes_every_nth_of_its_items() {
        // Machine 1 of 2 has the odd items; thread 2 of its 3 has the third, the sixth … of those.
        let part = Share::new(1, 2).part(2, 3);
        assert_eq!((0..3).map(|own| part.position(own)).collect::<Vec<_>>(), [5, 11, 17]);
        assert_eq!(Share::whole().part(1, 4), Share::new(1, 4));
    }

    proptest! {
        #[test]
        fn the_union_of_all_parts_of_all_shares_is_the_undivided_plan_however_each_is_divided(
            total in 0_u64..2_000, threads in prop::collection::vec(1_usize..9, 1..9),
        ) {
            let machines = threads.len();
            let parts = threads.iter().enumerate().flat_map(|(machine, threads)| {
                (0..*threads).map(move |thread| Share::new(machine, machines).part(thread, *threads))
            });
            let mut items: Vec<u64> = parts
                .flat_map(|part| (0..part.count(total)).map(move |own| part.position(own)))
                .collect();
            items.sort_unstable();
            prop_assert_eq!(items, (0..total).collect::<Vec<_>>());
        }

        #[test]
        fn the_union_of_all_shares_is_the_undivided_plan(total in 0_u64..2_000, workers in 1_usize..40) {
            let mut items: Vec<u64> = (0..workers)
                .map(|index| Share::new(index, workers))
                .flat_map(|share| (0..share.count(total)).map(move |own| share.position(own)))
                .collect();
            items.sort_unstable();
            prop_assert_eq!(items, (0..total).collect::<Vec<_>>());
        }
    }
}
