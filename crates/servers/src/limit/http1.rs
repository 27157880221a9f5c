//! Answers from memory, and each of them made only once for requests that are alike.

use memchr::memmem;

use crate::content::Content;

/// An answer, ready to be written.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    /// Whether it is the last one of its connection.
    pub(super) close: bool,
}

/// How an answer differs from the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It announces that it is the last one of its connection.
    Last,
    /// The status 500, without a body.
    Error,
    /// A body that is one byte longer, as its length says.
    WrongLength,
    /// The last byte is missing, and nothing follows.
    Truncated,
}

/// The content, and the answer to the latest request: one that equals it, byte for byte, is not read again.
pub(super) struct Answers {
    content: Content,
    last_request: Vec<u8>,
    last_answer: Answer,
}

impl Answers {
    pub(super) fn new(content: Content) -> Self {
        Self { content, last_request: Vec::new(), last_answer: Answer::default() }
    }

    /// Makes [`Self::last`] the answer to the first request of `bytes`; returns that request's length if it is whole.
    pub(super) fn prepare(&mut self, bytes: &[u8]) -> Option<usize> {
        if !self.last_request.is_empty() && bytes.starts_with(&self.last_request) {
            return Some(self.last_request.len());
        }
        let length = memmem::find(bytes, b"\r\n\r\n")? + 4;
        self.last_answer = Reply::to(&bytes[..length], &self.content).encoded();
        self.last_request = bytes[..length].to_vec();
        Some(length)
    }

    /// The answer to the latest request.
    pub(super) fn last(&self) -> &Answer {
        &self.last_answer
    }

    /// The same, with these changes.
    pub(super) fn changed(&self, changes: &[Change]) -> Answer {
        let mut reply = Reply::to(&self.last_request, &self.content);
        for change in changes {
            match change {
                Change::Last => reply.connection = Persistence::Close,
                Change::Error => {
                    reply =
                        Reply { connection: reply.connection, ..Reply::plain("500 Internal Server Error") };
                }
                Change::WrongLength => reply.padding_bytes = 1,
                Change::Truncated => {}
            }
        }
        let mut answer = reply.encoded();
        if changes.contains(&Change::Truncated) {
            answer.bytes.pop();
            answer.close = true;
        }
        answer
    }
}

/// What a field says of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Persistence {
    /// HTTP/1.1 persists unless told otherwise.
    Understood,
    /// A client of HTTP/1.0 wants to be told.
    KeepAlive,
    Close,
}

/// The parts of an answer.
struct Reply<'a> {
    status: &'static str,
    body: &'a [u8],
    /// How many bytes follow the body.
    padding_bytes: usize,
    /// Whether the body follows the head, or only its length is told.
    has_body: bool,
    connection: Persistence,
}

impl<'a> Reply<'a> {
    /// A status without a body, at the end of its connection.
    fn plain(status: &'static str) -> Self {
        Self { status, body: &[], padding_bytes: 0, has_body: true, connection: Persistence::Close }
    }

    /// The reply to one request header.
    fn to(request: &[u8], content: &'a Content) -> Self {
        let text = String::from_utf8_lossy(request);
        let mut lines = text.split("\r\n");
        let mut parts = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Self::plain("400 Bad Request");
        };
        let wants = |wish: &str| {
            lines.clone().filter_map(|line| line.split_once(':')).any(|(name, value)| {
                name.eq_ignore_ascii_case("connection") && value.trim().eq_ignore_ascii_case(wish)
            })
        };
        let connection = match version {
            "HTTP/1.1" if wants("close") => Persistence::Close,
            "HTTP/1.1" => Persistence::Understood,
            "HTTP/1.0" if wants("keep-alive") => Persistence::KeepAlive,
            "HTTP/1.0" => Persistence::Close,
            _ => return Self::plain("505 HTTP Version Not Supported"),
        };
        if !matches!(method, "GET" | "HEAD") {
            // A body may follow, which this server does not read.
            return Self::plain("405 Method Not Allowed");
        }
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        match content.get(path) {
            Some(body) => Self { body, has_body: method == "GET", connection, ..Self::plain("200 OK") },
            None => Self { connection, ..Self::plain("404 Not Found") },
        }
    }

    fn encoded(&self) -> Answer {
        let connection = match self.connection {
            Persistence::Understood => "",
            Persistence::KeepAlive => "Connection: keep-alive\r\n",
            Persistence::Close => "Connection: close\r\n",
        };
        let length_bytes = self.body.len() + self.padding_bytes;
        let status = self.status;
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length_bytes}\r\n{connection}\r\n");
        let mut bytes = head.into_bytes();
        if self.has_body {
            bytes.extend_from_slice(self.body);
            bytes.resize(bytes.len() + self.padding_bytes, b' ');
        }
        Answer { bytes, close: self.connection == Persistence::Close }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answers, Change, Reply};
    use crate::content::Content;

    fn answer(request: &str) -> (String, bool) {
        let content = Content::from([("/a.txt".into(), b"abc".to_vec())]);
        let answer = Reply::to(request.as_bytes(), &content).encoded();
        (String::from_utf8(answer.bytes).unwrap(), answer.close)
    }

    #[test]
    fn a_file_is_answered_with_its_length_and_its_bytes() {
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(answer("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
        assert_eq!(answer("GET /a.txt?b=c HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
    }

    #[test]
    fn the_answer_to_head_has_the_length_and_no_body() {
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(answer("HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
    }

    #[test]
    fn a_connection_is_kept_or_closed_as_the_version_and_the_client_say() {
        let closes = |request: &str| answer(request).1;
        assert!(!closes("GET /a.txt HTTP/1.1\r\n\r\n"));
        assert!(closes("GET /a.txt HTTP/1.1\r\nConnection: close\r\n\r\n"));
        assert!(closes("GET /a.txt HTTP/1.0\r\n\r\n"));
        assert!(answer("GET /a.txt HTTP/1.0\r\n\r\n").0.contains("Connection: close"));
        assert!(!closes("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
        assert!(
            answer("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                .0
                .contains("Connection: keep-alive")
        );
    }

    #[test]
    fn what_is_not_served_gets_its_status() {
        let status = |request: &str| answer(request).0[9..12].to_owned();
        assert_eq!(status("GET /b.txt HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("GET /../a.txt HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("POST /a.txt HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("GET /a.txt HTTP/3.0\r\n\r\n"), "505");
        assert_eq!(status("rubbish\r\n\r\n"), "400");
    }

    #[test]
    fn a_changed_answer_is_well_formed_but_for_a_truncated_one() {
        let mut answers = Answers::new(Content::from([("/a.txt".into(), b"abc".to_vec())]));
        answers.prepare(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
        let changed = |changes: &[Change]| {
            let answer = answers.changed(changes);
            (String::from_utf8(answer.bytes).unwrap(), answer.close)
        };
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: ";
        let error = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n";
        let close = "Connection: close\r\n";
        assert_eq!(changed(&[Change::Last]), (format!("{ok}3\r\n{close}\r\nabc"), true));
        assert_eq!(changed(&[Change::Error]), (format!("{error}\r\n"), false));
        assert_eq!(changed(&[Change::Last, Change::Error]), (format!("{error}{close}\r\n"), true));
        assert_eq!(changed(&[Change::WrongLength]), (format!("{ok}4\r\n\r\nabc "), false));
        assert_eq!(changed(&[Change::Truncated]), (format!("{ok}3\r\n\r\nab"), true));
    }
}
