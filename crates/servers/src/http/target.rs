//! From a request target to the path of a file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The file that stands for a folder.
const INDEX: &[u8] = b"index.html";

/// The path, below the served folder, that a request target asks for; `None` if the target is malformed.
///
/// The target is a path with or without a query, or a whole `http` URI (RFC 9112 §3.2.1 and §3.2.2). Where the path leads
/// is for the kernel to find out: it may still hold `..`.
#[must_use]
pub fn path_of(target: &str) -> Option<PathBuf> {
    let target = target.split_once('?').map_or(target, |(path, _query)| path);
    let path = if target.starts_with('/') { target } else { path_of_uri(target)? };
    let mut path = percent_decoded(path)?;
    // With a slash in front it would not be a path below the folder.
    let slashes = path.iter().take_while(|byte| **byte == b'/').count();
    path.drain(..slashes);
    if path.is_empty() || path.ends_with(b"/") {
        path.extend_from_slice(INDEX);
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// The path of `http://authority/path`.
fn path_of_uri(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once("://")?;
    let is_http = scheme.eq_ignore_ascii_case("http");
    is_http.then(|| rest.find('/').map_or("", |start| &rest[start..]))
}

/// The bytes that a percent-encoded text stands for (RFC 3986 §2.1); none for a broken or a forbidden one.
fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let byte =
            if byte == b'%' { 16 * hex_digit(bytes.next()?)? + hex_digit(bytes.next()?)? } else { byte };
        // The kernel takes a zero for the end of the path.
        if byte == 0 {
            return None;
        }
        decoded.push(byte);
    }
    Some(decoded)
}

fn hex_digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::path_of;

    #[track_caller]
    fn assert_path(target: &str, expected: &str) {
        assert_eq!(path_of(target).as_deref(), Some(Path::new(expected)), "{target}");
    }

    #[test]
    fn a_path_is_read_without_its_query() {
        assert_path("/a.txt", "a.txt");
        assert_path("/a/b.txt?c=/d&e?f", "a/b.txt");
        assert_path("/?c", "index.html");
    }

    #[test]
    fn a_folder_stands_for_its_index() {
        assert_path("/", "index.html");
        assert_path("/a/", "a/index.html");
        assert_path("/a", "a");
    }

    #[test]
    fn a_whole_uri_is_read_like_its_path() {
        assert_path("http://a.test:80/b.txt?c", "b.txt");
        assert_path("HTTP://a.test/", "index.html");
        assert_path("http://a.test", "index.html");
        assert_path("http://a.test?b=/c", "index.html");
    }

    #[test]
    fn percent_encoded_bytes_are_decoded_once() {
        assert_path("/a%20b.txt", "a b.txt");
        assert_path("/%e2%82%AC", "€");
        assert_path("/%2561", "%61");
        assert_path("/a%3fb", "a?b");
    }

    #[test]
    fn no_path_is_absolute() {
        assert_path("//etc/passwd", "etc/passwd");
        assert_path("/%2fetc/passwd", "etc/passwd");
        assert_path("/%2F", "index.html");
    }

    #[test]
    fn a_malformed_target_has_no_path() {
        for target in
            ["", "a.txt", "*", "?", "/%", "/%4", "/%4g", "/%+4", "/%00", "/a%00.txt", "ftp://a.test/b"]
        {
            assert_eq!(path_of(target), None, "{target}");
        }
    }
}
