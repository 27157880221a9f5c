//! How many messages a call on a socket asks for.

use loadcurve_datagrams::MESSAGES_MAX;

/// How many messages the next call on a socket asks for: as many as there were, or twice as many where all that were asked for had
/// come. Asking for several costs more than a single one, so a socket on which one comes at a time is asked for two more and
/// more rarely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Appetite {
    /// How many more than one.
    further: usize,
    /// How many calls ask for one before one asks for two again, and how many of these are left.
    singles: u8,
    singles_left: u8,
}

impl Appetite {
    const SINGLES_MAX: u8 = 63;

    pub(super) fn asks(self) -> usize {
        1 + self.further
    }

    /// After a call that asked and got this many.
    pub(super) fn fed(self, count: usize) -> Self {
        let asked = self.asks();
        if asked == 1 && self.singles_left > 0 {
            return Self { singles_left: self.singles_left - 1, ..self };
        }
        if count == asked {
            let singles = if asked == 1 { self.singles } else { 0 };
            return Self { further: (2 * asked).min(MESSAGES_MAX) - 1, singles, singles_left: 0 };
        }
        let further = count.max(1) - 1;
        let singles = if further == 0 { (2 * self.singles + 1).min(Self::SINGLES_MAX) } else { self.singles };
        Self { further, singles, singles_left: if further == 0 { singles } else { 0 } }
    }
}

#[cfg(test)]
mod tests {
    use super::Appetite;

    /// How many messages calls ask for, each of which gets what there is of what it asks for.
    fn asked(waiting: &[usize]) -> Vec<usize> {
        let mut appetite = Appetite::default();
        let mut asked = Vec::new();
        for count in waiting {
            asked.push(appetite.asks());
            appetite = appetite.fed(appetite.asks().min(*count));
        }
        asked
    }

    #[test]
    fn the_more_messages_wait_the_more_are_asked_for() {
        assert_eq!(asked(&[100; 7]), [1, 2, 4, 8, 16, 16, 16]);
        assert_eq!(asked(&[100, 100, 100, 3, 3, 3, 100, 100]), [1, 2, 4, 8, 3, 6, 3, 6]);
    }

    #[test]
    fn where_one_message_comes_at_a_time_two_are_asked_for_ever_more_rarely() {
        let asked = asked(&[1; 1_000]);
        let places: Vec<usize> = (0..1_000).filter(|place| asked[*place] == 2).collect();
        // A first one, then after two, four, eight … calls, and no more than 64 in the end.
        assert_eq!(places[..7], [1, 4, 9, 18, 35, 68, 133]);
        assert!(places.windows(2).skip(6).all(|two| two[1] - two[0] == 65), "{places:?}");
        assert!(asked.iter().all(|count| *count <= 2));
    }
}
