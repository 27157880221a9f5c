//! Responses as real servers send them. The expected counts are the lengths of the parts that each is made of.

use loadcurve_wire::{Limits, RequestKind, Response, ResponseParser};

use crate::reading::{Outcome, read_byte_by_byte, read_whole};

/// A part of what follows the header block.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Data(&'static str),
    Framing(&'static str),
}
use Part::{Data, Framing};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) request: RequestKind,
    pub(crate) interim: &'static str,
    pub(crate) head: &'static str,
    pub(crate) body: &'static [Part],
    /// Bytes that belong to the next response.
    pub(crate) rest: &'static str,
    pub(crate) status: u16,
    pub(crate) keep_alive: bool,
}

impl Entry {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.interim, self.head].concat();
        for part in self.body {
            let (Data(text) | Framing(text)) = *part;
            bytes.push_str(text);
        }
        bytes.push_str(self.rest);
        bytes.into_bytes()
    }

    pub(crate) fn expected(&self) -> Response {
        let sum = |length: fn(&Part) -> usize| self.body.iter().map(length).sum::<usize>();
        let data = sum(|part| if let Data(text) = part { text.len() } else { 0 });
        let framing = sum(|part| if let Framing(text) = part { text.len() } else { 0 });
        Response {
            status: self.status,
            header_bytes: self.head.len() as u64,
            body_bytes: data as u64,
            framing_bytes: (self.interim.len() + framing) as u64,
            inflated_bytes: None,
            keep_alive: self.keep_alive,
            grpc_status: None,
        }
    }

    pub(crate) fn expected_outcome(&self) -> Outcome {
        Outcome::Answered(self.expected(), self.bytes().len() - self.rest.len())
    }
}

const PLAIN: Entry = Entry {
    name: "",
    request: RequestKind::Other,
    interim: "",
    head: "",
    body: &[],
    rest: "",
    status: 200,
    keep_alive: true,
};

pub(crate) const CORPUS: &[Entry] = &[
    Entry {
        name: "nginx: a static file, and the next response behind it",
        head: "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 09:15:41 GMT\r\n\
               Content-Type: text/plain\r\nContent-Length: 13\r\nLast-Modified: Sat, 21 Nov 2026 09:00:00 GMT\r\n\
               Connection: keep-alive\r\nETag: \"65f1a2b3-d\"\r\nAccept-Ranges: bytes\r\n\r\n",
        body: &[Data("Hello, world\n")],
        rest: "HTTP/1.1 200 OK\r\nServer: nginx",
        ..PLAIN
    },
    Entry {
        name: "nginx: an error page that closes the connection",
        head: "HTTP/1.1 400 Bad Request\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 09:15:41 GMT\r\n\
               Content-Type: text/html\r\nContent-Length: 16\r\nConnection: close\r\n\r\n",
        body: &[Data("<h1>400 Bad</h1>")],
        status: 400,
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "Apache: a static file in a kept connection",
        head: "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 09:15:41 GMT\r\nServer: Apache/2.4.62 (Debian)\r\n\
               Last-Modified: Sat, 21 Nov 2026 09:00:00 GMT\r\nETag: \"5-61f\"\r\nAccept-Ranges: bytes\r\n\
               Content-Length: 5\r\nKeep-Alive: timeout=5, max=100\r\nConnection: Keep-Alive\r\n\
               Content-Type: text/plain\r\n\r\n",
        body: &[Data("12345")],
        ..PLAIN
    },
    Entry {
        name: "Apache: HTTP/1.0 with keep-alive",
        head: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\n",
        body: &[Data("ok")],
        ..PLAIN
    },
    Entry {
        name: "lighttpd: an empty file",
        head: "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n\
               Content-Length: 0\r\nDate: Sat, 21 Nov 2026 09:15:41 GMT\r\nServer: lighttpd/1.4.69\r\n\r\n",
        rest: "HTTP/1.1 404 Not Found\r\n\r\n",
        ..PLAIN
    },
    Entry {
        name: "Node: chunked with trailers",
        head: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTrailer: Content-MD5\r\n\
               Date: Sat, 21 Nov 2026 09:15:41 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\
               Transfer-Encoding: chunked\r\n\r\n",
        body: &[
            Framing("6\r\n"),
            Data("first "),
            Framing("\r\n7\r\n"),
            Data("second\n"),
            Framing("\r\n0\r\nContent-MD5: 7895bf4b8828b55ceaf47747b4bca667\r\nContent-Length: 99\r\n\r\n"),
        ],
        rest: "H",
        ..PLAIN
    },
    Entry {
        name: "tiny chunks with extensions, padded and leading-zero sizes, and a line end as data",
        head: "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n",
        body: &[
            Framing("1\r\n"),
            Data("a"),
            Framing("\r\n1;name=\"a;b\"; other\r\n"),
            Data("b"),
            Framing("\r\n00000000000000000002 ;x\r\n"),
            Data("\r\n"),
            Framing("\r\nA  \r\n"),
            Data("0123456789"),
            Framing("\r\n1\r\n"),
            Data("\n"),
            Framing("\r\n000\r\n\r\n"),
        ],
        rest: "\r\n",
        ..PLAIN
    },
    Entry {
        name: "100 Continue, then the answer",
        interim: "HTTP/1.1 100 Continue\r\n\r\n",
        head: "HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\n",
        body: &[Data("new")],
        status: 201,
        ..PLAIN
    },
    Entry {
        name: "103 Early Hints twice, whose fields frame nothing",
        interim: "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nConnection: close\r\n\r\n\
                  HTTP/1.1 103\r\nContent-Length: 7\r\n\r\n",
        head: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n",
        body: &[Data("x")],
        ..PLAIN
    },
    Entry {
        name: "204 has no body, whatever Content-Length says",
        head: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
        rest: "HTTP/",
        status: 204,
        ..PLAIN
    },
    Entry {
        name: "304 has no body: its Content-Length is that of the cached file",
        head: "HTTP/1.1 304 Not Modified\r\nETag: \"5-61f\"\r\nContent-Length: 1024\r\n\r\n",
        rest: "HTTP/1.1 304",
        status: 304,
        ..PLAIN
    },
    Entry {
        name: "the answer to HEAD has no body",
        request: RequestKind::Head,
        head: "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n",
        rest: "HTTP/1.1 200 OK",
        ..PLAIN
    },
    Entry {
        name: "the answer to HEAD has no chunks",
        request: RequestKind::Head,
        head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ..PLAIN
    },
    Entry {
        name: "the answer to HEAD without any length keeps the connection",
        request: RequestKind::Head,
        head: "HTTP/1.1 200 OK\r\n\r\n",
        ..PLAIN
    },
    Entry {
        name: "Python's http.server: HTTP/1.0, until the connection closes",
        head: "HTTP/1.0 200 OK\r\nServer: SimpleHTTP/0.6 Python/3.13.1\r\nDate: Sat, 21 Nov 2026 09:15:41 GMT\r\n\
               Content-type: text/plain\r\n\r\n",
        body: &[Data("HTTP/1.0 200 OK\r\n\r\nis only text here")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "HTTP/1.1 without a length lasts until the connection closes, even if it says keep-alive",
        head: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n",
        body: &[Data("all of it")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "until the connection closes, and it closes at once",
        head: "HTTP/1.1 200 OK\r\n\r\n",
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "HTTP/1.0 with a length closes unless it says keep-alive",
        head: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n",
        body: &[Data("x")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "a handwritten server: LF only, no reason phrase, no space after the colon",
        head: "HTTP/1.1 200\ncontent-length:4\nX-Empty:\n\n",
        body: &[Data("\nabc")],
        rest: "HTTP/1.1 200\n",
        ..PLAIN
    },
    Entry {
        name: "LF only in trailers",
        head: "HTTP/1.1 200 \nTransfer-Encoding: chunked\n\n",
        body: &[Framing("1\r\n"), Data("x"), Framing("\r\n0\r\nA: b\n\n")],
        rest: " ",
        ..PLAIN
    },
    Entry {
        name: "close among several Connection fields and options, in any case, wins over keep-alive",
        head: "HTTP/1.1 200 OK\r\nConnection: Keep-Alive, Upgrade\r\nCONNECTION: foo ,\tCLOSE\r\n\
               Content-Length: 0\r\n\r\n",
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "an option that only begins with close does not close",
        head: "HTTP/1.1 200 OK\r\nConnection: closed, x-close\r\nContent-Length: 0\r\n\r\n",
        ..PLAIN
    },
    Entry {
        name: "repeated, equal values of Content-Length are one",
        head: "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: \t005 \r\n\r\n",
        body: &[Data("12345")],
        rest: "6",
        ..PLAIN
    },
    Entry {
        name: "Transfer-Encoding overrides Content-Length, and the connection is not kept",
        head: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        body: &[Framing("1\r\n"), Data("x"), Framing("\r\n0\r\n\r\n")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "Transfer-Encoding in HTTP/1.0 is faulty, and the connection is not kept",
        head: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
        body: &[Framing("0\r\n\r\n")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "chunked is the last of two codings, in two fields and with empty elements",
        head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip;level=9,\r\nTransfer-Encoding: , chunked ,\r\n\r\n",
        body: &[Framing("2\r\n"), Data("gz"), Framing("\r\n0\r\n\r\n")],
        ..PLAIN
    },
    Entry {
        name: "a last coding other than chunked lasts until the connection closes",
        head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        body: &[Data("0\r\n\r\n")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "a coding other than chunked overrides Content-Length",
        head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\n",
        body: &[Data("0\r\n\r\n")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "folded values are read with spaces for their line ends",
        head: "HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\n\t\r\nTransfer-Encoding:\r\n chunked\r\n\
               Connection: keep-alive,\n \tclose\r\n\r\n",
        body: &[Framing("0\r\nX-Trailer: one\r\n two\r\n\r\n")],
        keep_alive: false,
        ..PLAIN
    },
    Entry {
        name: "bytes above 0x7f and tabs may be in values and reasons, every token character in names",
        head: "HTTP/1.1 200 Tout\tva bien, ça va\r\n!#$%&'*+-.^_`|~09azAZ: ünïcödé\tvalue\r\n\
               Content-Length: 0\r\n\r\n",
        ..PLAIN
    },
    Entry {
        name: "a higher minor version is read as HTTP/1.1",
        head: "HTTP/1.2 599 Whatever\r\nContent-Length: 0\r\n\r\n",
        status: 599,
        ..PLAIN
    },
];

#[test]
fn what_servers_send_is_read_whole() {
    for entry in CORPUS {
        assert_eq!(read_whole(&entry.bytes(), entry.request), entry.expected_outcome(), "{}", entry.name);
    }
}

#[test]
fn what_servers_send_is_read_byte_by_byte() {
    for entry in CORPUS {
        assert_eq!(
            read_byte_by_byte(&entry.bytes(), entry.request),
            entry.expected_outcome(),
            "{}",
            entry.name
        );
    }
}

#[test]
fn no_byte_goes_uncounted() {
    for entry in CORPUS {
        let Outcome::Answered(response, consumed) = read_whole(&entry.bytes(), entry.request) else {
            panic!("no answer: {}", entry.name);
        };
        let counted = response.header_bytes + response.body_bytes + response.framing_bytes;
        assert_eq!(counted, consumed as u64, "{}", entry.name);
    }
}

#[test]
fn a_body_as_long_as_the_counter_holds_is_skipped_without_being_held() {
    let mut parser = ResponseParser::new(Limits::default());
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", u64::MAX);
    assert_eq!(parser.feed(head.as_bytes(), RequestKind::Other).unwrap().response, None);
    let progress = parser.feed(&[0; 4096], RequestKind::Other).unwrap();
    assert_eq!((progress.consumed, progress.response), (4096, None));
}
