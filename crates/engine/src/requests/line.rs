//! One line of a list of requests.

use std::fmt::Write as _;

use loadcurve_plan::limits::{STATUS_MAX, STATUS_MIN};
use loadcurve_plan::{ExpectedStatus, Nanos};
use loadcurve_wire::is_path;

/// What an error repeats of a line, in characters.
const SHOWN_CHARACTERS: usize = 60;
/// What begins the word that says when a request was recorded.
const TIME_MARK: u8 = b'@';
/// What begins the word that says which status is expected.
const STATUS_MARK: u8 = b'=';
/// The digits of whole seconds, which reach 31 years.
const SECONDS_DIGITS: usize = 9;
/// The decimals of a second, which are nanoseconds.
const DECIMALS: usize = 9;

/// What a line asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line<'a> {
    pub(crate) target: &'a [u8],
    /// `None` if the line has none.
    pub(crate) weight: Option<f64>,
    /// When it was recorded; `None` if the line has no time.
    pub(crate) moment: Option<Nanos>,
    /// The status that the answer is expected to have; `None` if the line has none.
    pub(crate) expected: Option<ExpectedStatus>,
}

/// Reads a line: a path and, after white space, a weight of 0 or more, or `@` and the seconds from the start of a
/// recording, and `=` and the status that is expected. From a word that begins with `#` on it is a comment; `None` for a
/// line without a path.
///
/// # Errors
/// What was found, and what was expected.
pub(crate) fn parse(line: &[u8]) -> Result<Option<Line<'_>>, String> {
    // Most lines are nothing but a path.
    if is_path(line) {
        return Ok(Some(Line { target: line, weight: None, moment: None, expected: None }));
    }
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut words = words.take_while(|word| !word.starts_with(b"#"));
    let mut next = || words.next();
    let Some(target) = next() else { return Ok(None) };
    let (mut behind, mut status) = (next(), None);
    if behind.is_some_and(|word| word[0] == STATUS_MARK) {
        status = behind.take();
    } else if behind.is_some() {
        status = next();
    }
    if !is_path(target) {
        return Err(if std::str::from_utf8(line).is_ok() {
            let found = shown(target);
            let encoded = encoded(target);
            if target.starts_with(b"/") && encoded.as_bytes() != target {
                let encoded = shown(encoded.as_bytes());
                return Err(format!("found {found}; expected it percent-encoded, {encoded} in UTF-8"));
            }
            format!(
                "found {found}; expected a path that begins with \"/\" and has no spaces, such as \"/1k.txt\""
            )
        } else {
            "not UTF-8 text; expected a file with one path on each line".to_owned()
        });
    }
    if status.is_some_and(|word| word[0] != STATUS_MARK) || next().is_some() {
        let found = shown(line.trim_ascii());
        let has_status = line.split(u8::is_ascii_whitespace).any(|word| word.starts_with(&[STATUS_MARK]));
        let behind = if has_status { ", and then at most one status" } else { "" };
        return Err(format!(
            "found {found}; expected a path, followed by at most one weight or time{behind}"
        ));
    }
    let expected = status.map(parse_status).transpose()?;
    Ok(Some(match behind {
        Some(word) if word[0] == TIME_MARK => {
            Line { target, weight: None, moment: Some(parse_moment(word)?), expected }
        }
        _ => Line { target, weight: behind.map(parse_weight).transpose()?, moment: None, expected },
    }))
}

/// A path with what cannot be in a request percent-encoded (RFC 3986, 2.5).
fn encoded(path: &[u8]) -> String {
    let mut text = String::with_capacity(3 * path.len());
    for &byte in path {
        if byte.is_ascii_graphic() && byte != b'#' {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Whether a line that is of the form asks for something.
pub(crate) fn is_request(line: &[u8]) -> bool {
    line.trim_ascii_start().first().is_some_and(|byte| *byte != b'#')
}

fn parse_weight(word: &[u8]) -> Result<f64, String> {
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
    number
        .filter(|weight| *weight >= 0.0 && weight.is_finite())
        .ok_or_else(|| format!("found the weight {}; expected a number of 0 or more", shown(word)))
}

fn parse_status(word: &[u8]) -> Result<ExpectedStatus, String> {
    let digits =
        std::str::from_utf8(&word[1..]).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).and_then(ExpectedStatus::new).ok_or_else(|| {
        format!(
            "found the status {}; expected = and a status from {STATUS_MIN} to {STATUS_MAX}, such as =404",
            shown(word)
        )
    })
}

/// Reads the seconds after the mark, digit by digit: a floating-point number could not represent all of them.
fn parse_moment(word: &[u8]) -> Result<Nanos, String> {
    let text = &word[1..];
    let (seconds, decimals) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b"0"[..]),
    };
    let is_number =
        |digits: &[u8], most| (1..=most).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    if !is_number(seconds, SECONDS_DIGITS) || !is_number(decimals, DECIMALS) {
        return Err(format!(
            "found the time {}; expected @ and the seconds from the start of the recording, with up to nine decimals, \
             such as @1.25",
            shown(word)
        ));
    }
    let zeros = std::iter::repeat_n(&b'0', DECIMALS - decimals.len());
    let digits = seconds.iter().chain(decimals).chain(zeros);
    Ok(Nanos(digits.fold(0, |number, digit| 10 * number + u64::from(digit - b'0'))))
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.chars().count() <= SHOWN_CHARACTERS {
        return format!("{text:?}");
    }
    format!("{:?}…", text.chars().take(SHOWN_CHARACTERS).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{Line, is_request, parse};
    use loadcurve_plan::{ExpectedStatus, Nanos};

    fn line(target: &str, weight: Option<f64>) -> Line<'_> {
        Line { target: target.as_bytes(), weight, moment: None, expected: None }
    }

    #[test]
    fn a_time_behind_a_path_is_exact_to_the_nanosecond() {
        for (text, moment) in [
            ("/a @0", 0),
            ("/a @1.25", 1_250_000_000),
            (" /a\t@0.000000001 # first\r", 1),
            ("/a @999999999.999999999", 999_999_999_999_999_999),
        ] {
            let expected = Line { target: b"/a", weight: None, moment: Some(Nanos(moment)), expected: None };
            assert_eq!(parse(text.as_bytes()), Ok(Some(expected)), "{text:?}");
        }
    }

    #[test]
    fn a_status_is_the_last_of_what_is_behind_a_path() {
        let of = |weight, moment, code| Line {
            target: b"/a",
            weight,
            moment,
            expected: ExpectedStatus::new(code),
        };
        for (text, expected) in [
            ("/a =404", of(None, None, 404)),
            ("/a 2.5 =301", of(Some(2.5), None, 301)),
            ("/a\t@0.5  =200 # first\r", of(None, Some(Nanos(500_000_000)), 200)),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(Some(expected)), "{text:?}");
        }
    }

    #[test]
    fn a_line_is_a_path_and_perhaps_a_weight_and_perhaps_a_comment() {
        for (text, expected) in [
            ("/a", Some(line("/a", None))),
            ("  /b?x=1\t2.5 \r", Some(line("/b?x=1", Some(2.5)))),
            ("/a 0 # never", Some(line("/a", Some(0.0)))),
            ("/a #3", Some(line("/a", None))),
            ("/a # grün", Some(line("/a", None))),
            ("", None),
            (" \t\r", None),
            ("# /a", None),
            ("#/a", None),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(expected), "{text:?}");
            assert_eq!(is_request(text.as_bytes()), expected.is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_line_that_is_none_says_what_was_found_and_what_was_expected() {
        let long = format!("x{}", "y".repeat(100));
        for (bytes, parts) in [
            (b"b".as_slice(), ["found \"b\"; ", "a path that begins"]),
            ("/grün".as_bytes(), ["found \"/grün\"; ", "percent-encoded, \"/gr%C3%BCn\" in UTF-8"]),
            (b"/\xff", ["not UTF-8 text; ", "one path on each line"]),
            (b"/a x", ["found the weight \"x\"; ", "a number of 0 or more"]),
            (b"/a -1", ["found the weight \"-1\"; ", "a number of 0 or more"]),
            (b"/a nan", ["found the weight \"nan\"; ", "a number of 0 or more"]),
            (b"/a inf", ["found the weight \"inf\"; ", "a number of 0 or more"]),
            (b"/a =", ["found the status \"=\"; ", "such as =404"]),
            (b"/a =2xx", ["found the status \"=2xx\"; ", "such as =404"]),
            (b"/a =+20", ["found the status \"=+20\"; ", "such as =404"]),
            (b"/a =600", ["found the status \"=600\"; ", "from 100 to 599"]),
            (b"/a =404 1", ["found \"/a =404 1\"; ", "then at most one status"]),
            (b"/a 1 =404 =404", ["found \"/a 1 =404 =404\"; ", "then at most one status"]),
            (b"/a#b", ["found \"/a#b\"; ", "percent-encoded, \"/a%23b\""]),
            (b" /a 1 2\r", ["found \"/a 1 2\"; ", "at most one weight or time"]),
            (b"/a 1 @2", ["found \"/a 1 @2\"; ", "at most one weight or time"]),
            (b"/a @", ["found the time \"@\"; ", "seconds from the start"]),
            (b"/a @-1", ["found the time \"@-1\"; ", "seconds from the start"]),
            (b"/a @1.", ["found the time \"@1.\"; ", "seconds from the start"]),
            (b"/a @1e3", ["found the time \"@1e3\"; ", "seconds from the start"]),
            (b"/a @1.0000000001", ["found the time \"@1.0000000001\"; ", "nine decimals"]),
            (b"/a @1000000000", ["found the time \"@1000000000\"; ", "seconds from the start"]),
            (long.as_bytes(), ["yyyy\"…; ", "a path that begins"]),
        ] {
            let problem = parse(bytes).unwrap_err();
            assert!(parts.iter().all(|part| problem.contains(part)), "{problem}");
            assert!(problem.len() < 200, "{problem}");
        }
    }
}
