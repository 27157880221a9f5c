//! Responses, as a client reads them.

use std::io::Read;

use crate::cases::Answer;
use crate::folder::bytes_of;

const MOST_FIELDS: usize = 16;

/// One response.
#[derive(Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    fields: Vec<(String, String)>,
}

impl Response {
    /// The value of a field; `None` if it is missing.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values =
            self.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} is there once");
        value
    }

    /// Compares with what a case expects.
    #[track_caller]
    pub(crate) fn assert_is(&self, answer: Answer, context: &str) {
        let (status, body, length) = match answer {
            Answer::File(name) => (200, bytes_of(name), bytes_of(name).len()),
            Answer::Head(name) => (200, Vec::new(), bytes_of(name).len()),
            Answer::Status(status) => (status, Vec::new(), 0),
        };
        assert_eq!(self.status, status, "{context}");
        assert!(self.body == body, "{context}: another body than expected");
        assert_eq!(self.field("Content-Length"), Some(length.to_string().as_str()), "{context}");
        assert_eq!(self.field("Content-Type").is_some(), status == 200, "{context}");
        assert_eq!(self.field("Allow"), (status == 405).then_some("GET, HEAD"), "{context}");
    }
}

/// The responses that a stream brings.
pub(crate) struct Responses<S> {
    pub(crate) stream: S,
    received: Vec<u8>,
}

impl<S: Read> Responses<S> {
    pub(crate) fn of(stream: S) -> Self {
        Self { stream, received: Vec::new() }
    }

    /// The next response; one to HEAD has no body, whatever its length.
    #[track_caller]
    pub(crate) fn next(&mut self, is_to_head: bool) -> Response {
        loop {
            let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
            let mut head = httparse::Response::new(&mut fields);
            let parsed = head.parse(&self.received).expect("a well-formed head");
            let httparse::Status::Complete(head_bytes) = parsed else {
                self.receive();
                continue;
            };
            let text = |value: &[u8]| String::from_utf8(value.to_vec()).expect("a field of text");
            let fields = head.headers.iter().map(|field| (field.name.to_owned(), text(field.value)));
            let mut response =
                Response { status: head.code.expect("a status"), body: Vec::new(), fields: fields.collect() };
            let length = response.field("Content-Length").expect("a length").parse().expect("a number");
            self.received.drain(..head_bytes);
            if !is_to_head {
                response.body = self.take(length);
            }
            return response;
        }
    }

    /// Whether nothing follows the responses that were read.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.received.is_empty() && self.stream.read(&mut [0]).expect("the end, not a reset") == 0
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        while self.received.len() < length {
            self.receive();
        }
        self.received.drain(..length).collect()
    }

    fn receive(&mut self) {
        let mut bytes = [0; 16 * 1024];
        let received_bytes = self.stream.read(&mut bytes).expect("more of the response");
        assert!(received_bytes > 0, "closed amid a response: {}", self.received.escape_ascii());
        self.received.extend_from_slice(&bytes[..received_bytes]);
    }
}
