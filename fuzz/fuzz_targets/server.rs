//! Whatever bytes a client sends, and however they are split: no server panics, the split changes no answer, the kinds of
//! servers agree, and nothing outside of the folder is served.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the client sends.

#![cfg_attr(fuzzing, no_main)]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use loadcurve_fuzz::target;
use loadcurve_servers::site::Site;

use folder::{Folder, LARGE, SECRET};
use memory::{PERSISTENT, PIPELINED, SIMPLE, ServeClient, answers};
use pieces::{PIECE_LENGTHS, pieces};

#[expect(dead_code, reason = "the folder is made once, and what its files hold is of no interest here")]
#[path = "../../crates/servers/tests/servers/folder.rs"]
mod folder;
#[path = "../../crates/servers/tests/servers/memory.rs"]
mod memory;
mod pieces;

/// A buffer that short inputs fill, and one that they do not.
const BUFFERS_BYTES: [usize; 2] = [64, 8192];

/// The folder, and the site that it is.
static SERVED: LazyLock<(Folder, Site)> = LazyLock::new(|| {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/served");
    let folder = Folder::at(place).expect("the folder can be made");
    // Many requests of one input could ask for it.
    fs::remove_file(folder.root().join(LARGE)).expect("the file is there");
    let site = Site::open(&folder.root()).expect("the folder can be served");
    (folder, site)
});

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    let (_, site) = &*SERVED;
    for buffer_bytes in BUFFERS_BYTES {
        let answers_in_one = |kind: ServeClient| answers(kind, site, [bytes], buffer_bytes);
        let answers_in_pieces =
            |kind: ServeClient| answers(kind, site, pieces(bytes, *piece_lengths), buffer_bytes);
        let answers_in_bytes = |kind: ServeClient| answers(kind, site, bytes.chunks(1), buffer_bytes);

        let first = answers_in_one(SIMPLE);
        assert_eq!(answers_in_pieces(SIMPLE), first);
        assert_eq!(answers_in_bytes(SIMPLE), first);
        let all = answers_in_one(PERSISTENT);
        assert_eq!(answers_in_pieces(PERSISTENT), all);
        assert_eq!(answers_in_bytes(PERSISTENT), all);
        assert_eq!(answers_in_one(PIPELINED), all);
        assert_eq!(answers_in_pieces(PIPELINED), all);
        assert_eq!(status_line(&first), status_line(&all));
        assert!(!all.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    }
});

fn status_line(answers: &[u8]) -> Option<&[u8]> {
    answers.split(|byte| *byte == b'\n').next()
}
