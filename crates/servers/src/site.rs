//! The folder that a server serves.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::http::{Answer, Content, Method, Request, Status, path_of};

/// An open folder. Files are looked for below it at each request, and nothing outside it is ever opened.
#[derive(Debug)]
pub struct Site {
    root: OwnedFd,
}

impl Site {
    /// Opens a folder.
    ///
    /// # Errors
    /// When there is no such folder, or the kernel does not know `openat2` (Linux 5.6).
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: openat2(CWD, root, flags, Mode::empty(), ResolveFlags::empty())? })
    }

    /// The answer to a request, or to what was refused before it became one.
    #[must_use]
    pub fn answer(&self, request: Result<Request, Status>) -> Answer {
        let refused = |status| Answer { status, content: None, keeps_connection: false };
        let request = match request {
            Ok(request) => request,
            Err(status) => return refused(status),
        };
        let found = match request.method {
            Method::Unknown => Err(Status::NotImplemented),
            Method::NotAllowed => Err(Status::MethodNotAllowed),
            Method::Get | Method::Head if request.has_content => Err(Status::ContentTooLarge),
            Method::Get => self.content(&request.target),
            Method::Head => self.content(&request.target).map(|content| Content { file: None, ..content }),
        };
        // Content is never read, so that nothing behind it can be, either.
        let keeps_connection = request.keeps_connection && !request.has_content;
        match found {
            Ok(content) => Answer { status: Status::Ok, content: Some(content), keeps_connection },
            Err(status) => Answer { keeps_connection, ..refused(status) },
        }
    }

    /// The file that a request target asks for.
    fn content(&self, target: &str) -> Result<Content, Status> {
        let path = path_of(target).ok_or(Status::BadRequest)?;
        // A named pipe must not be waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let file = openat2(&self.root, &path, flags, Mode::empty(), within).map_err(status_of)?;
        let file = File::from(file);
        let metadata = file.metadata().map_err(|_| Status::InternalServerError)?;
        if !metadata.is_file() {
            return Err(Status::NotFound);
        }
        Ok(Content { length_bytes: metadata.len(), media_type: media_type(&path), file: Some(file) })
    }
}

/// What it means for a request that its file cannot be opened.
fn status_of(errno: Errno) -> Status {
    match errno {
        // EXDEV: the path leads out of the folder. ENXIO: the file is a socket.
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP | Errno::XDEV | Errno::NXIO => {
            Status::NotFound
        }
        Errno::ACCESS | Errno::PERM => Status::Forbidden,
        _ => Status::InternalServerError,
    }
}

/// The media type of a file, by the end of its name.
fn media_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("css") => "text/css",
        Some("gif") => "image/gif",
        Some("htm" | "html") => "text/html",
        Some("ico") => "image/x-icon",
        Some("jpeg" | "jpg") => "image/jpeg",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("pdf") => "application/pdf",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain",
        Some("webp") => "image/webp",
        Some("xml") => "application/xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::status_of;
    use crate::http::Status;

    // Root may read everything, so that no test run by root can meet this one through a file.
    #[test]
    fn a_file_that_may_not_be_read_is_forbidden() {
        assert_eq!(status_of(Errno::ACCESS), Status::Forbidden);
    }
}
