//! Answering a request with a file, the way of hyper's `send_file` example: open it, and stream it as it is read.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::TryStreamExt;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::Frame;
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

pub(crate) type Body = BoxBody<Bytes, io::Error>;

/// Answers a request from the files below `root`.
pub(crate) async fn answer<B>(root: &Path, request: &Request<B>) -> Response<Body> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = without_body(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let Some(path) = path_below(root, request.uri().path()) else {
        return without_body(StatusCode::NOT_FOUND);
    };
    match open(&path).await {
        Ok((file, length)) => {
            let body = if request.method() == Method::HEAD { empty() } else { stream(file, length) };
            let mut response = Response::new(body);
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(&path)));
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            response
        }
        Err(error) => without_body(match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                StatusCode::NOT_FOUND
            }
            io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }),
    }
}

/// Opens a regular file, and returns its length in bytes with it.
async fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path).await?;
    let facts = file.metadata().await?;
    if facts.is_file() { Ok((file, facts.len())) } else { Err(io::ErrorKind::IsADirectory.into()) }
}

/// The path of a request below `root`; `None` where a part of it is no plain name.
fn path_below(root: &Path, path: &str) -> Option<PathBuf> {
    let mut file = root.to_owned();
    for part in path.strip_prefix('/')?.split('/') {
        let name = Cow::<[u8]>::from(percent_decode_str(part));
        if matches!(&*name, b"" | b"." | b"..") || name.iter().any(|byte| matches!(byte, b'/' | 0)) {
            return None;
        }
        file.push(OsStr::from_bytes(&name));
    }
    Some(file)
}

/// The same types by the same endings as the other servers of the catalogue.
fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(OsStr::to_str) {
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("txt") => "text/plain",
        Some("js" | "mjs") => "text/javascript",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

fn stream(file: File, length: u64) -> Body {
    // A file that grows meanwhile must not send more than the header has announced.
    let chunks = ReaderStream::new(file.take(length));
    StreamBody::new(chunks.map_ok(Frame::data)).boxed()
}

fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed()
}

fn without_body(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::path_below;

    fn below_site(path: &str) -> Option<PathBuf> {
        path_below(Path::new("/site"), path)
    }

    #[test]
    fn a_path_leads_to_the_file_of_its_name() {
        assert_eq!(below_site("/deep/a.txt"), Some("/site/deep/a.txt".into()));
        assert_eq!(below_site("/a%20b.txt"), Some("/site/a b.txt".into()));
        assert_eq!(below_site("/100%.txt"), Some("/site/100%.txt".into()));
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        for path in
            ["/../a", "/deep/../../a", "/%2e%2e/a", "/..%2fa", "//etc/passwd", "/%2fetc", "*", "/a%00"]
        {
            assert_eq!(below_site(path), None, "{path}");
        }
    }
}
