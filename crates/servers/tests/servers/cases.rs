//! Requests, each alone on its connection, and what RFC 9110 and RFC 9112 have a server of files answer.

use Answer::{File, Head, Status};
use Connection::{Closes, Keeps};

/// What a request is answered with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// 200 and this file.
    File(&'static str),
    /// 200, and of this file only what the header says.
    Head(&'static str),
    /// Another status, with no content.
    Status(u16),
}

/// Whether another request may follow the answer; after an answer of `simple` none may.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Connection {
    Keeps,
    Closes,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) request: &'static [u8],
    pub(crate) answer: Answer,
    pub(crate) connection: Connection,
}

const fn case(name: &'static str, request: &'static [u8], answer: Answer, connection: Connection) -> Case {
    Case { name, request, answer, connection }
}

pub(crate) const CASES: &[Case] = &[
    // What is asked for.
    case("a file", b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case("a file's head", b"HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n", Head("a.txt"), Keeps),
    case("a large file", b"GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n", File("large.bin"), Keeps),
    case("a large file's head", b"HEAD /large.bin HTTP/1.1\r\nHost: a\r\n\r\n", Head("large.bin"), Keeps),
    case("an empty file", b"GET /empty.txt HTTP/1.1\r\nHost: a\r\n\r\n", File("empty.txt"), Keeps),
    case("no file", b"GET /b.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("no file's head", b"HEAD /b.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("a file taken for a folder", b"GET /a.txt/b HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("a folder", b"GET /deep HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("the index of the root", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", File("index.html"), Keeps),
    case("the index of a folder", b"GET /deep/ HTTP/1.1\r\nHost: a\r\n\r\n", File("deep/index.html"), Keeps),
    case("a named pipe", b"GET /pipe HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    // How it is named.
    case("a query", b"GET /a.txt?b=c HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case(
        "an encoded name",
        b"GET /%64eep/b%20c.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        File("deep/b c.txt"),
        Keeps,
    ),
    case("a whole URI", b"GET http://a/a.txt HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case("two slashes", b"GET //a.txt HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case("a broken encoding", b"GET /%6 HTTP/1.1\r\nHost: a\r\n\r\n", Status(400), Keeps),
    case("an encoded zero", b"GET /a.txt%00 HTTP/1.1\r\nHost: a\r\n\r\n", Status(400), Keeps),
    case("no path", b"GET a.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(400), Keeps),
    // What lies outside of the folder.
    case("the outer folder", b"GET /../secret.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("up at the root", b"GET /../a.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("out and in again", b"GET /../site/a.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("down and up", b"GET /deep/../a.txt HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case(
        "down and further up",
        b"GET /deep/../../secret.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        Status(404),
        Keeps,
    ),
    case("encoded dots", b"GET /%2e%2E/secret.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("encoded slashes", b"GET /..%2fsecret.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("an absolute path", b"GET //etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("an encoded absolute path", b"GET /%2Fetc%2Fpasswd HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("a link inside", b"GET /link-inside HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case("a link upwards", b"GET /deep/link-upwards HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case("a link outside", b"GET /link-outside HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case("an absolute link", b"GET /link-absolute HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    case(
        "a link to the outer folder",
        b"GET /link-to-outer-folder/secret.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        Status(404),
        Keeps,
    ),
    case("a link to itself", b"GET /link-to-itself HTTP/1.1\r\nHost: a\r\n\r\n", Status(404), Keeps),
    // Whether the connection continues.
    case("close", b"GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", File("a.txt"), Closes),
    case(
        "close among others",
        b"GET /a.txt HTTP/1.1\r\nHost: a\r\nconnection: te ,CLOSE\r\n\r\n",
        File("a.txt"),
        Closes,
    ),
    case(
        "close and no file",
        b"GET /b.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        Status(404),
        Closes,
    ),
    case("HTTP/1.0", b"GET /a.txt HTTP/1.0\r\n\r\n", File("a.txt"), Closes),
    case("HTTP/1.0 kept", b"GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", File("a.txt"), Keeps),
    case(
        "HTTP/1.0 both kept and closed",
        b"GET /a.txt HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
        File("a.txt"),
        Closes,
    ),
    // Methods, versions and content.
    case("POST", b"POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", Status(405), Keeps),
    case(
        "POST with content",
        b"POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        Status(405),
        Closes,
    ),
    case("OPTIONS", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", Status(405), Keeps),
    case("an unknown method", b"BREW /a.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(501), Keeps),
    case("a method in lower case", b"get /a.txt HTTP/1.1\r\nHost: a\r\n\r\n", Status(501), Keeps),
    case(
        "GET with content",
        b"GET /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        Status(413),
        Closes,
    ),
    case(
        "GET with chunks",
        b"GET /a.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Status(413),
        Closes,
    ),
    case(
        "GET without content",
        b"GET /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        File("a.txt"),
        Keeps,
    ),
    case("HTTP/2", b"GET /a.txt HTTP/2.0\r\nHost: a\r\n\r\n", Status(505), Closes),
    // What is no request.
    case("no version", b"GET /a.txt\r\n\r\n", Status(400), Closes),
    case("another protocol", b"GET /a.txt FTP/1.1\r\n\r\n", Status(400), Closes),
    case("an encrypted greeting", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", Status(400), Closes),
    case("no host", b"GET /a.txt HTTP/1.1\r\n\r\n", Status(400), Closes),
    case("two hosts", b"GET /a.txt HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", Status(400), Closes),
    case("a space before a colon", b"GET /a.txt HTTP/1.1\r\nHost : a\r\n\r\n", Status(400), Closes),
    case("a folded line", b"GET /a.txt HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", Status(400), Closes),
    case("a zero in a value", b"GET /a.txt HTTP/1.1\r\nHost: a\0\r\n\r\n", Status(400), Closes),
    case(
        "a length that is no number",
        b"GET /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
        Status(400),
        Closes,
    ),
    case(
        "no length at all",
        b"GET /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        Status(400),
        Closes,
    ),
    // What RFC 9112 has a server put up with.
    case("empty lines in front", b"\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n", File("a.txt"), Keeps),
    case("line ends of one byte", b"GET /a.txt HTTP/1.1\nHost: a\n\n", File("a.txt"), Keeps),
    case(
        "spaces around a value",
        b"GET /a.txt HTTP/1.0\r\nConnection: \t keep-alive \t\r\n\r\n",
        File("a.txt"),
        Keeps,
    ),
];

impl Case {
    /// Whether it asks for no more than the header of an answer.
    pub(crate) fn is_head(&self) -> bool {
        self.request.starts_with(b"HEAD ")
    }
}
