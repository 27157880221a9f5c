//! Answers, and how they are written.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::time::SystemTime;

use super::{HttpDate, Status};

/// What a request is answered with.
#[derive(Debug)]
pub struct Answer {
    /// How the request went.
    pub status: Status,
    /// The file that was asked for; `None` if the request is not answered with one.
    pub content: Option<Content>,
    /// Whether another request may follow on the same connection.
    pub keeps_connection: bool,
}

/// A file, or what the answer to HEAD says about one.
#[derive(Debug)]
pub struct Content {
    /// How many bytes the file holds.
    pub length_bytes: u64,
    /// Its media type.
    pub media_type: &'static str,
    /// Where its bytes are read; none in the answer to HEAD.
    pub file: Option<File>,
}

impl Answer {
    /// The same answer, as the last one of its connection.
    #[must_use]
    pub fn and_close(self) -> Self {
        Self { keeps_connection: false, ..self }
    }

    /// Writes the answer.
    ///
    /// # Errors
    /// When writing or reading the file fails, or the file has become shorter ([`ErrorKind::UnexpectedEof`]): then the
    /// answer is not whole and nothing may follow it.
    pub fn write_to(self, writer: &mut impl Write, now: SystemTime) -> io::Result<()> {
        let (status, date) = (self.status, HttpDate(now));
        let length_bytes = self.content.as_ref().map_or(0, |content| content.length_bytes);
        write!(writer, "HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Length: {length_bytes}\r\n")?;
        if let Some(content) = &self.content {
            write!(writer, "Content-Type: {}\r\n", content.media_type)?;
        }
        if status == Status::MethodNotAllowed {
            writer.write_all(b"Allow: GET, HEAD\r\n")?;
        }
        let connection = if self.keeps_connection { "keep-alive" } else { "close" };
        write!(writer, "Connection: {connection}\r\n\r\n")?;
        let Some(file) = self.content.and_then(|content| content.file) else { return Ok(()) };
        if io::copy(&mut file.take(length_bytes), writer)? < length_bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}
