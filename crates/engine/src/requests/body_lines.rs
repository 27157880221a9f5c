//! Bodies that are the lines of a file, which requests take in turn.

use std::io::Read as _;
use std::path::Path;

use crate::requests::file::open_regular;

/// The most lines: each is a request that is encoded before the load.
const LINES_MAX: usize = 100_000;
/// The most bytes of such a file.
const BYTES_MAX: u64 = 64 << 20;
const EXPECTED: &str = "a file with the body of a request on each line";

/// The lines of a file without their line breaks; those that are blank are left out. There is at least one.
///
/// # Errors
/// The file cannot be read, has no line, or is larger than what is held in memory; the text names it.
pub fn body_lines(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    let (file, length) = open_regular(path, EXPECTED)?;
    let name = path.display();
    if length > BYTES_MAX {
        return Err(format!("{name}: has {length} bytes; expected {EXPECTED}, of at most {BYTES_MAX} bytes"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{name}: cannot be read: {error}"))?;
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines: Vec<Vec<u8>> =
        lines.filter(|line| !line.trim_ascii().is_empty()).map(<[u8]>::to_vec).collect();
    match lines.len() {
        0 => Err(format!("{name}: has no line; expected {EXPECTED}")),
        count if count > LINES_MAX => {
            Err(format!("{name}: has {count} lines; expected {EXPECTED}, of at most {LINES_MAX} lines"))
        }
        _ => Ok(lines),
    }
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, body_lines};
    use crate::temporary_file::TemporaryFile;

    fn read(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        body_lines(TemporaryFile::holding(bytes).path())
    }

    #[test]
    fn every_line_that_is_not_blank_is_a_body() {
        let lines = read(b"{\"a\": 1}\r\n\n \xff \n \t\nlast").unwrap();
        assert_eq!(lines, [b"{\"a\": 1}".to_vec(), b" \xff ".to_vec(), b"last".to_vec()]);
    }

    #[test]
    fn a_file_without_lines_or_with_too_many_is_refused() {
        assert!(
            read(b"\n\n")
                .unwrap_err()
                .ends_with(": has no line; expected a file with the body of a request on each line")
        );
        let too_many = read(&b"x\n".repeat(LINES_MAX + 1)).unwrap_err();
        assert!(too_many.contains(": has 100001 lines; "), "{too_many}");
        assert_eq!(read(&b"x\n".repeat(LINES_MAX)).unwrap().len(), LINES_MAX);
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_unread() {
        let file = TemporaryFile::holding(b"");
        file.set_length(1 << 40);
        let found = body_lines(file.path()).unwrap_err();
        assert!(found.contains("of at most 67108864 bytes"), "{found}");
    }
}
