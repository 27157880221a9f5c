//! Finding the requests of a list.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use loadcurve_plan::{Choice, ExpectedStatus, Pick, Picker};
use loadcurve_record::Failure;

use crate::requests::line;
use crate::requests::lines::Lines;
use crate::requests::list::{Block, RequestList, without_mark};

const CHANGED: &str = "the list has changed since it was opened";

/// What a list asks for by one of its lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Listed<'a> {
    pub(crate) target: &'a [u8],
    pub(crate) expected: Option<ExpectedStatus>,
}

/// A line that was found, with its target as a place in the buffer.
struct Found {
    target: Range<usize>,
    weight: f64,
    expected: Option<ExpectedStatus>,
}

/// One thread's way through a list, with memory that does not grow.
pub(crate) struct ListReader {
    list: Arc<RequestList>,
    lines: Lines,
    /// The number of the request that is read next.
    next: u64,
}

impl ListReader {
    /// A reader at the beginning of the list.
    pub(crate) fn of(list: Arc<RequestList>) -> Self {
        let mut reader = Self { lines: Lines::of(Arc::clone(list.file())), list, next: 0 };
        reader.go_to_block(0);
        reader
    }

    /// What a request asks for.
    ///
    /// # Errors
    /// The file is not what it was, or cannot be read any more.
    pub(crate) fn find(&mut self, choice: Choice) -> Result<Listed<'_>, Failure> {
        let found = match choice {
            Choice::Number(number) => self.by_number(number),
            Choice::Share(share) => self.by_share(share),
        };
        let Found { target, expected, .. } = found.ok_or(Failure::FileUnavailable)?;
        Ok(Listed { target: self.lines.bytes(target), expected })
    }

    fn by_number(&mut self, number: u64) -> Option<Found> {
        let block = number / RequestList::BLOCK;
        // A little way ahead it is quicker to read on than to begin anew.
        if number < self.next || block > self.next / RequestList::BLOCK + 1 {
            self.go_to_block(usize::try_from(block).ok()?);
        }
        while self.next < number {
            let line = self.lines.next().ok()??;
            self.next += u64::from(line::is_request(self.lines.bytes(line)));
        }
        self.next_request()
    }

    fn by_share(&mut self, share: f64) -> Option<Found> {
        let place = share * self.list.weight();
        let block = self.list.block_at(place);
        self.go_to_block(block);
        let mut end = self.list.block(block).0.weight;
        for _ in 0..RequestList::BLOCK {
            let found = self.next_request()?;
            end += found.weight;
            if end > place {
                return Some(found);
            }
        }
        None
    }

    fn go_to_block(&mut self, block: usize) {
        let (Block { offset, .. }, length) = self.list.block(block);
        self.lines.seek(offset, length);
        self.next = block as u64 * RequestList::BLOCK;
    }

    /// The next request; `None` if the file is not what it was.
    fn next_request(&mut self) -> Option<Found> {
        loop {
            let place = self.lines.next().ok()??;
            let bytes = self.lines.bytes(place.clone());
            if let Some(line) = line::parse(bytes).ok()? {
                self.next += 1;
                let start = place.start + bytes.len() - bytes.trim_ascii_start().len();
                let target = start..start + line.target.len();
                return Some(Found { target, weight: line.weight.unwrap_or(1.0), expected: line.expected });
            }
        }
    }
}

/// The statuses that a list expects of each of these paths, each once and in their order.
///
/// # Errors
/// The file is not what it was.
pub fn expected_statuses(list: &RequestList, paths: &[String]) -> Result<Vec<BTreeSet<u16>>, String> {
    let mut found = vec![BTreeSet::new(); paths.len()];
    if !list.has_statuses() {
        return Ok(found);
    }
    let places: HashMap<&[u8], usize> =
        paths.iter().enumerate().map(|(place, path)| (path.as_bytes(), place)).collect();
    let mut lines = Lines::of(Arc::clone(list.file()));
    while let Some(line) = lines.next().map_err(|_| CHANGED)? {
        let line = line::parse(without_mark(lines.bytes(line))).map_err(|_| CHANGED)?;
        let expected = line.and_then(|line| Some((*places.get(line.target)?, line.expected?)));
        if let Some((place, expected)) = expected {
            found[place].insert(expected.code());
        }
    }
    Ok(found)
}

/// `count` paths of a list picked at random, the same for the same seed; one that is picked twice counts twice.
///
/// # Errors
/// The file is not what it was.
pub fn sample(list: &Arc<RequestList>, count: u64, seed: u64) -> Result<Vec<String>, String> {
    let picker = Picker::new(Pick::Random, list.count(), seed);
    let mut reader = ListReader::of(Arc::clone(list));
    (0..count)
        .map(|k| {
            let found = reader.find(picker.choice(k));
            let found = found.map_err(|_| CHANGED)?;
            Ok(String::from_utf8_lossy(found.target).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use std::sync::Arc;

    use loadcurve_plan::{Choice, Pick, Picker, Weights};
    use loadcurve_record::Failure;

    use super::{ListReader, expected_statuses};
    use crate::requests::list::RequestList;
    use crate::temporary_file::TemporaryFile;

    const COUNT: usize = 20_000;

    fn target(number: usize) -> String {
        // Some are long, so that blocks and lines lie across the pieces in which a file is read.
        format!("/{number}{}", "x".repeat(if number.is_multiple_of(997) { 5_000 } else { number % 31 }))
    }

    fn weight(number: usize) -> f64 {
        [0.0, 1.0, 0.1, 2.5][number % 4]
    }

    /// A list with weights, comments and blank lines, and a reader of it.
    fn long_list() -> (TemporaryFile, ListReader) {
        let mut text = String::new();
        for number in 0..COUNT {
            let comment = if number % 7 == 0 { "\n  # a comment\n" } else { "\n" };
            write!(text, " {} {}{comment}", target(number), weight(number)).unwrap();
        }
        let file = TemporaryFile::holding(text.trim_end().as_bytes());
        let list = RequestList::open(file.path()).unwrap();
        assert_eq!(list.count(), COUNT as u64);
        (file, ListReader::of(Arc::new(list)))
    }

    fn assert_found(reader: &mut ListReader, choice: Choice, number: usize) {
        let found = reader.find(choice).map(|found| String::from_utf8_lossy(found.target).into_owned());
        assert_eq!(found, Ok(target(number)), "{choice:?}");
    }

    #[test]
    fn the_statuses_that_a_list_expects_of_a_path_are_those_of_all_its_lines() {
        let text = "\u{feff}/a =404\n/b\n/a 2 =200 # again\n/a =404\n/c =301\n";
        let file = TemporaryFile::holding(text.as_bytes());
        let list = RequestList::open(file.path()).unwrap();
        let found = expected_statuses(&list, &["/a", "/b", "/d"].map(str::to_owned)).unwrap();
        assert_eq!(found, [BTreeSet::from([200, 404]), BTreeSet::new(), BTreeSet::new()]);
    }

    #[test]
    fn every_request_is_found_in_order_by_any_share_of_the_threads() {
        let (_file, mut reader) = long_list();
        for threads in [1, 2, 8, 63, 64, 200] {
            for number in (threads - 1..COUNT).step_by(threads) {
                assert_found(&mut reader, Choice::Number(number as u64), number);
            }
        }
    }

    #[test]
    fn every_request_is_found_at_random() {
        let (_file, mut reader) = long_list();
        let picker = Picker::new(Pick::Random, COUNT as u64, 5);
        for k in 0..5_000 {
            let Choice::Number(number) = picker.choice(k) else { panic!("a number was asked for") };
            assert_found(&mut reader, Choice::Number(number), usize::try_from(number).unwrap());
        }
    }

    #[test]
    fn by_weight_the_request_is_the_one_that_all_weights_together_give() {
        let (_file, mut reader) = long_list();
        let weights = Weights::new((0..COUNT).map(weight));
        let picker = Picker::new(Pick::Weighted, COUNT as u64, 5);
        let ends = [Choice::Share(0.0), Choice::Share(1.0 - f64::EPSILON / 2.0)];
        for choice in (0..5_000).map(|k| picker.choice(k)).chain(ends) {
            let Choice::Share(share) = choice else { panic!("a share was asked for") };
            assert_found(&mut reader, choice, weights.at(share));
        }
    }

    #[test]
    fn blocks_of_weight_zero_are_passed_over() {
        let file = TemporaryFile::holding(("/never 0\n".repeat(200) + "/always\n/never 0\n").as_bytes());
        let mut reader = ListReader::of(Arc::new(RequestList::open(file.path()).unwrap()));
        for share in [0.0, 0.5, 1.0 - f64::EPSILON / 2.0] {
            assert_eq!(
                reader.find(Choice::Share(share)).map(|found| found.target),
                Ok(b"/always".as_slice())
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_path() {
        let file = TemporaryFile::holding(("\u{feff}/first\n".to_owned() + &"/a\n".repeat(200)).as_bytes());
        let mut reader = ListReader::of(Arc::new(RequestList::open(file.path()).unwrap()));
        assert_eq!(reader.find(Choice::Number(0)).map(|found| found.target), Ok(b"/first".as_slice()));
    }

    #[test]
    fn a_list_that_is_not_what_it_was_is_a_failure() {
        let (file, mut reader) = long_list();
        let last = Choice::Number(COUNT as u64 - 1);
        assert!(reader.find(last).is_ok());
        file.set_length(1000);
        assert_eq!(reader.find(Choice::Number(COUNT as u64 - 100)), Err(Failure::FileUnavailable));
        assert!(reader.find(Choice::Number(0)).is_ok());
        // Where there were lines there are now zeros.
        file.set_length(0);
        file.set_length(1 << 20);
        assert_eq!(reader.find(last), Err(Failure::FileUnavailable));
    }
}
