//! Lists of requests in files; only an index of them is held.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use loadcurve_plan::limits::LIST_LINE_BYTES_MAX;
use loadcurve_plan::{ExpectedStatus, Nanos, Recording};

use crate::requests::TALLIES_MAX;
use crate::requests::file::open_regular;
use crate::requests::line::{self, Line};
use crate::requests::lines::Lines;

const EXPECTED: &str = "a file with one path on each line";
/// What some editors put in front of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How many bad lines are named before the rest is not read any more.
const PROBLEMS_MAX: usize = 10;

/// One request of a short list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRequest {
    /// The path, with its query.
    pub target: String,
    /// None where the line gives none.
    pub weight: Option<f64>,
    /// The status that is expected; None where the line gives none.
    pub expected: Option<ExpectedStatus>,
    /// The line, from 1.
    pub line: u64,
}

/// Where a block of lines begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// In the file, in bytes.
    pub(crate) offset: u64,
    /// On the line of all weights, laid end to end.
    pub(crate) weight: f64,
}

/// A list of requests in a file: one on each line, checked once, and found again by an index of every 16th.
pub struct RequestList {
    file: Arc<File>,
    blocks: Box<[Block]>,
    count: u64,
    /// The sum of all weights.
    weight: f64,
    /// Where the last line ends.
    end: u64,
    has_weights: bool,
    has_statuses: bool,
    /// The moment of the last request, where the lines have times.
    recorded_length: Option<Nanos>,
    /// All requests, of a list that is short.
    short: Option<Vec<ListedRequest>>,
}

impl RequestList {
    /// How many requests a block has.
    pub(crate) const BLOCK: u64 = 16;

    /// Opens a list and checks every line.
    ///
    /// # Errors
    /// The file cannot be read or holds no request, or lines are not of the form; one text for each problem, which names
    /// the file and the line.
    pub fn open(path: &Path) -> Result<Self, Vec<String>> {
        let (scan, lines) = Scan::default().read(path)?;
        scan.into_list(&lines).map_err(|problem| vec![format!("{}: {problem}", path.display())])
    }

    /// Reads the moments of a list whose lines have times.
    ///
    /// # Errors
    /// As for [`Self::open`], and when the lines have no times.
    pub fn recording(path: &Path) -> Result<Recording, Vec<String>> {
        let of_list = |problem: String| vec![format!("{}: {problem}", path.display())];
        let (scan, _) = Scan { moments: Some(Vec::new()), ..Scan::default() }.read(path)?;
        if scan.last_moment.is_none() {
            return Err(of_list(
                "the lines have no times, which a replay requires; expected @ and seconds after each path, as \
                 `loadcurve import --as recording` writes them"
                    .into(),
            ));
        }
        Recording::new(scan.moments.unwrap_or_default()).map_err(|invalid| of_list(invalid.to_string()))
    }

    /// How many requests there are; at least one.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether any line gives a weight.
    #[must_use]
    pub fn has_weights(&self) -> bool {
        self.has_weights
    }

    /// Whether any line says which status is expected.
    #[must_use]
    pub fn has_statuses(&self) -> bool {
        self.has_statuses
    }

    /// When the last request was recorded, counted from the start of the recording; `None` if the lines have no times.
    #[must_use]
    pub fn recorded_length(&self) -> Option<Nanos> {
        self.recorded_length
    }

    /// All requests, where they are few enough for each to have its own figures.
    #[must_use]
    pub fn short(&self) -> Option<&[ListedRequest]> {
        self.short.as_deref()
    }

    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// A block, and how many bytes it has.
    pub(crate) fn block(&self, number: usize) -> (Block, u64) {
        let block = self.blocks[number];
        let end = self.blocks.get(number + 1).map_or(self.end, |next| next.offset);
        (block, end - block.offset)
    }

    /// The sum of all weights.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// The block in whose part a place on the line of all weights lies.
    pub(crate) fn block_at(&self, place: f64) -> usize {
        self.blocks.partition_point(|block| block.weight <= place).saturating_sub(1)
    }
}

/// A first line without a byte-order mark.
pub(crate) fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
}

fn unreadable(error: &io::Error) -> String {
    if error.kind() == ErrorKind::InvalidData {
        return format!("longer than {LIST_LINE_BYTES_MAX} bytes; expected a path");
    }
    format!("cannot be read: {error}")
}

/// What is known of a list as far as it has been read.
#[derive(Default)]
struct Scan {
    blocks: Vec<Block>,
    count: u64,
    weight: f64,
    has_weights: bool,
    has_statuses: bool,
    /// The moment of the last request; `None` if the lines have no times.
    last_moment: Option<Nanos>,
    /// All moments, where they are asked for: they take more memory than the index.
    moments: Option<Vec<Nanos>>,
    /// The first requests, at most as many as a short list has.
    first: Vec<ListedRequest>,
}

impl Scan {
    /// Reads a file to its end.
    fn read(mut self, path: &Path) -> Result<(Self, Lines), Vec<String>> {
        let (file, _) = open_regular(path, EXPECTED).map_err(|problem| vec![problem])?;
        let name = path.display();
        let mut lines = Lines::of(Arc::new(file));
        let mut problems = Vec::new();
        let mut number = 0_u64;
        loop {
            number += 1;
            let offset = lines.position();
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    problems.push(format!("{name}:{number}: {}", unreadable(&error)));
                    break;
                }
            };
            if let Err(problem) = self.take(lines.bytes(line), number, offset) {
                problems.push(format!("{name}:{number}: {problem}"));
            }
            if problems.len() == PROBLEMS_MAX {
                problems.push(format!("{name}: the lines after these were not read"));
                break;
            }
        }
        if problems.is_empty() { Ok((self, lines)) } else { Err(problems) }
    }

    fn take(&mut self, bytes: &[u8], line: u64, mut offset: u64) -> Result<(), String> {
        let mut text = bytes;
        if line == 1 {
            text = without_mark(bytes);
            offset += (bytes.len() - text.len()) as u64;
        }
        let Some(Line { target, weight, moment, expected }) = line::parse(text)? else { return Ok(()) };
        self.take_moment(moment)?;
        if self.count.is_multiple_of(RequestList::BLOCK) {
            self.blocks.push(Block { offset, weight: self.weight });
        }
        if self.count < TALLIES_MAX as u64 {
            let target = String::from_utf8_lossy(target).into_owned();
            self.first.push(ListedRequest { target, weight, expected, line });
        }
        self.count += 1;
        self.weight += weight.unwrap_or(1.0);
        self.has_weights |= weight.is_some();
        self.has_statuses |= expected.is_some();
        Ok(())
    }

    /// Takes the moment of a request, which is not before that of the previous one; either all have one or none.
    fn take_moment(&mut self, moment: Option<Nanos>) -> Result<(), String> {
        match (self.last_moment, moment) {
            (Some(last), Some(moment)) if moment < last => {
                return Err(format!(
                    "found the time @{}, which is before that of the previous request, @{}; expected requests in \
                     the order of their times: sort the lines",
                    moment.as_secs_f64(),
                    last.as_secs_f64()
                ));
            }
            (Some(_), None) => {
                return Err(
                    "found no time, but the lines before have one; expected @ and seconds after the path"
                        .into(),
                );
            }
            (None, Some(moment)) if self.count > 0 => {
                return Err(format!(
                    "found the time @{}, but the lines before have none; expected one after each path, or none at all",
                    moment.as_secs_f64()
                ));
            }
            _ => {}
        }
        self.last_moment = moment;
        if let (Some(moments), Some(moment)) = (&mut self.moments, moment) {
            moments.push(moment);
        }
        Ok(())
    }

    fn into_list(self, lines: &Lines) -> Result<RequestList, &'static str> {
        if self.count == 0 {
            return Err("contains no request; expected a path such as /1k.txt on each line");
        }
        if !(self.weight > 0.0 && self.weight.is_finite()) {
            return Err("the sum of the weights is 0 or overflows; expected at least one above 0");
        }
        Ok(RequestList {
            file: Arc::clone(lines.file()),
            blocks: self.blocks.into_boxed_slice(),
            count: self.count,
            weight: self.weight,
            end: lines.position(),
            has_weights: self.has_weights,
            has_statuses: self.has_statuses,
            recorded_length: self.last_moment,
            short: (self.count <= TALLIES_MAX as u64).then_some(self.first),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ListedRequest, RequestList};
    use loadcurve_plan::{Nanos, Recording};

    use crate::temporary_file::TemporaryFile;

    fn open(text: &[u8]) -> Result<RequestList, Vec<String>> {
        RequestList::open(TemporaryFile::holding(text).path())
    }

    fn problems(text: &[u8]) -> Vec<String> {
        let file = TemporaryFile::holding(text);
        let problems = RequestList::open(file.path()).err().expect("the list was accepted");
        let name = file.path().display().to_string();
        problems.iter().map(|problem| problem.strip_prefix(&name).unwrap().to_owned()).collect()
    }

    #[test]
    fn a_short_list_is_known_line_by_line() {
        let list = open("\u{feff}/a\r\n# grün\n\n/b 2.5 # twice\n/a".as_bytes()).unwrap();
        let request = |target: &str, weight, line| ListedRequest {
            target: target.into(),
            weight,
            expected: None,
            line,
        };
        let expected = [request("/a", None, 1), request("/b", Some(2.5), 4), request("/a", None, 5)];
        assert_eq!(list.short(), Some(expected.as_slice()));
        assert_eq!((list.count(), list.has_weights()), (3, true));
    }

    #[test]
    fn a_list_with_times_has_a_recording_of_its_requests_in_their_order() {
        let text = b"/a @0.5\n# later\n/b @0.5\n/a @2\n";
        let list = open(text).unwrap();
        assert_eq!((list.count(), list.recorded_length()), (3, Some(Nanos::from_millis(2_000))));
        let recording = RequestList::recording(TemporaryFile::holding(text).path()).unwrap();
        assert_eq!(recording, Recording::new([500, 500, 2_000].map(Nanos::from_millis)).unwrap());
    }

    #[test]
    fn a_list_without_times_has_no_recording() {
        assert_eq!(open(b"/a 2\n/b\n").unwrap().recorded_length(), None);
        let problems = RequestList::recording(TemporaryFile::holding(b"/a 2\n/b\n").path()).unwrap_err();
        assert!(problems[0].contains("the lines have no times"), "{problems:?}");
    }

    #[test]
    fn times_that_go_backwards_and_lines_that_lack_one_are_named() {
        for (text, problem) in [
            (
                &b"/a @1.5\n\n/b @1.25\n"[..],
                ":3: found the time @1.25, which is before that of the previous request, @1.5; ",
            ),
            (b"/a @1\n/b\n", ":2: found no time, but the lines before have one; "),
            (b"/a @1\n/b 2\n", ":2: found no time, but the lines before have one; "),
            (b"/a\n/b @1\n", ":2: found the time @1, but the lines before have none; "),
        ] {
            let found = problems(text);
            assert!(found.len() == 1 && found[0].starts_with(problem), "{found:?}");
        }
    }

    #[test]
    fn a_list_of_more_than_a_hundred_requests_is_no_short_one() {
        let list = |count| open("/a\n".repeat(count).as_bytes()).unwrap();
        assert_eq!(list(100).short().map(<[_]>::len), Some(100));
        assert_eq!((list(101).short(), list(101).count()), (None, 101));
    }

    #[test]
    fn the_first_ten_bad_lines_are_named() {
        assert_eq!(
            problems("/a\nb\n/c x\n/stra\u{df}e%20 3\n".as_bytes()),
            [
                ":2: found \"b\"; expected a path that begins with \"/\" and has no spaces, such as \"/1k.txt\"",
                ":3: found the weight \"x\"; expected a number of 0 or more",
                ":4: found \"/stra\u{df}e%20\"; expected it percent-encoded, \"/stra%C3%9Fe%20\" in UTF-8",
            ]
        );
        let many = problems("b\n".repeat(1_000_000).as_bytes());
        assert_eq!(many.len(), 11);
        assert!(many[9].starts_with(":10: "), "{many:?}");
        assert_eq!(many[10], ": the lines after these were not read");
    }

    #[test]
    fn a_line_of_a_gigabyte_is_named_and_not_held() {
        let file = TemporaryFile::holding(b"/a\n/b\n");
        file.set_length(1 << 30);
        let problems = RequestList::open(file.path()).err().unwrap();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].ends_with(":3: longer than 65536 bytes; expected a path"), "{problems:?}");
    }

    #[test]
    fn a_list_from_which_nothing_can_be_taken_is_refused() {
        for text in ["", "\n", "# nothing\n"] {
            assert_eq!(
                problems(text.as_bytes()),
                [": contains no request; expected a path such as /1k.txt on each line"]
            );
        }
        for text in ["/a 0\n/b 0\n", "/a 1e308\n/b 1e308\n"] {
            assert!(problems(text.as_bytes())[0].contains("at least one above 0"));
        }
        let nowhere = RequestList::open("no-such-list".as_ref()).err().unwrap();
        assert_eq!(nowhere, ["no-such-list: there is no such file"]);
    }
}
