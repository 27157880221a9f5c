//! The syntax of Java's property files, as `java.util.Properties` documents it.

use std::iter::Peekable;
use std::str::Chars;

/// One property as it is written, on one line of the file or on several that are continued.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogicalLine {
    /// The number of its first line, from one.
    pub(super) number: usize,
    /// Without leading blanks, without what continues lines, and not yet freed of escapes.
    text: String,
}

/// The blanks of Java's property files.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\x0c')
}

/// The properties of a file, without empty lines and comments.
pub(super) fn lines(text: &str) -> Vec<LogicalLine> {
    let mut logical: Vec<LogicalLine> = Vec::new();
    let mut is_continued = false;
    for (index, line) in natural_lines(text).enumerate() {
        let line = line.trim_start_matches(is_blank);
        if !is_continued && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        // An odd count of backslashes at the end: the last one escapes the end of the line.
        let backslashes = line.len() - line.trim_end_matches('\\').len();
        let ends_continued = backslashes % 2 == 1;
        let part = if ends_continued { &line[..line.len() - 1] } else { line };
        match logical.last_mut() {
            Some(last) if is_continued => last.text.push_str(part),
            _ => logical.push(LogicalLine { number: index + 1, text: part.to_owned() }),
        }
        is_continued = ends_continued;
    }
    // A backslash alone continues nothing with nothing.
    logical.retain(|line| !line.text.is_empty());
    logical
}

/// Lines that end with a line feed, a carriage return, or both.
fn natural_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

impl LogicalLine {
    /// Name and value, freed of escapes; or an escape that is none.
    pub(super) fn property(&self) -> Result<(String, String), String> {
        let mut characters = self.text.chars().peekable();
        let name =
            unescaped_until(&mut characters, |character| is_blank(character) || "=:".contains(character))?;
        while characters.next_if(|character| is_blank(*character)).is_some() {}
        // One separator at most, with blanks around it.
        if characters.next_if(|character| "=:".contains(*character)).is_some() {
            while characters.next_if(|character| is_blank(*character)).is_some() {}
        }
        Ok((name, unescaped_until(&mut characters, |_| false)?))
    }
}

/// The characters up to one that ends them, with escapes replaced by what they stand for.
fn unescaped_until(
    characters: &mut Peekable<Chars<'_>>,
    is_end: impl Fn(char) -> bool,
) -> Result<String, String> {
    let mut text = String::new();
    while let Some(character) = characters.next_if(|character| !is_end(*character)) {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('f') => text.push('\x0c'),
            Some('u') => text.push(code_unit(characters)?),
            Some(other) => text.push(other),
            None => {}
        }
    }
    Ok(text)
}

/// The character of four hexadecimal digits; half of a pair of surrogates becomes a sign for an unknown character, which
/// no property that is known here has.
fn code_unit(characters: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    let digits: String = characters.by_ref().take(4).collect();
    let is_number = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u32::from_str_radix(&digits, 16).ok().filter(|_| is_number);
    let number = number.ok_or_else(|| format!("\\u{digits}"))?;
    Ok(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests;
