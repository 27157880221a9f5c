//! Writes the seed corpus of the response targets and of the server target from what their crates are tested with.

use std::fs;
use std::io;
use std::path::Path;

use cases::CASES;
use corpus::CORPUS;

#[expect(dead_code, reason = "only the bytes of the requests are of use here")]
#[path = "../../crates/servers/tests/servers/cases.rs"]
mod cases;
#[expect(dead_code, unused_imports, reason = "only the bytes of the responses are of use here")]
#[path = "../../crates/wire/tests/response/corpus.rs"]
mod corpus;
#[path = "../../crates/wire/tests/response/reading.rs"]
mod reading;

/// A split into small pieces of changing length, as the targets `response` and `server` read it.
const PIECE_LENGTHS: [u8; 4] = [1, 7, 2, 64];

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for entry in CORPUS {
        let (name, bytes) = (file_name(entry.name), entry.bytes());
        fs::write(folder.join("response").join(&name), [&PIECE_LENGTHS, bytes.as_slice()].concat())?;
        fs::write(folder.join("response_differential").join(&name), bytes)?;
    }
    for case in CASES {
        let bytes = [&PIECE_LENGTHS, case.request].concat();
        fs::write(folder.join("server").join(file_name(case.name)), bytes)?;
    }
    let all = CASES.iter().map(|case| case.request).collect::<Vec<_>>().concat();
    fs::write(folder.join("server/all-of-them"), [&PIECE_LENGTHS, all.as_slice()].concat())
}

/// The words of a sentence in lower case with hyphens between them.
fn file_name(sentence: &str) -> String {
    let words = sentence.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
}
