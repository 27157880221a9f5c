//! Field sections that other encoders have made (qpackers/qifs, MIT licence, see `corpus/LICENSE`).

use std::collections::VecDeque;
use std::path::Path;

use loadcurve_wire::h3::qpack::Decoder;

use crate::support::{Fields, bytes, fields_of};

/// Lists of fields, each behind a blank line.
fn lists(text: &str) -> Vec<Fields> {
    let mut lists = vec![Fields::new()];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once('\t') {
            Some((name, value)) => lists.last_mut().unwrap().push((name.into(), value.into())),
            None => lists.push(Fields::new()),
        }
    }
    lists.retain(|list| !list.is_empty());
    lists
}

/// Reads blocks of a file, each behind the number of its stream and its length; stream 0 is that of the encoder. Gives the
/// lists in the order of their streams.
fn decode(decoder: &mut Decoder, file: &[u8]) -> Result<Vec<Fields>, String> {
    let mut read = Vec::new();
    let mut waiting = VecDeque::new();
    let mut rest = file;
    while let Some((stream, behind)) = rest.split_first_chunk() {
        let (length, behind) = behind.split_first_chunk().unwrap();
        let (block, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        rest = behind;
        match u64::from_be_bytes(*stream) {
            0 => {
                // In pieces, as a stream brings it.
                for piece in block.chunks(7) {
                    decoder.receive(piece).map_err(|error| format!("encoder stream: {error}"))?;
                }
            }
            stream => waiting.push_back((stream, block)),
        }
        let mut still = VecDeque::new();
        for (stream, block) in std::mem::take(&mut waiting) {
            match fields_of(decoder, stream, block).map_err(|error| format!("stream {stream}: {error}"))? {
                Some(fields) => read.push((stream, fields)),
                None => still.push_back((stream, block)),
            }
        }
        waiting = still;
    }
    assert!(waiting.is_empty(), "{} sections are still waiting", waiting.len());
    read.sort_by_key(|(stream, _)| *stream);
    Ok(read.into_iter().map(|(_, fields)| fields).collect())
}

/// A file's name ends in the size of the table, the streams that may wait, and whether all was acknowledged at once. Where an
/// encoder does not say so itself, it has all of the table from the beginning.
fn assert_read(path: &Path, expected: &[Fields]) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let table_bytes: usize = name.rsplit('.').nth(2).unwrap().parse().unwrap();
    let file = std::fs::read(path).unwrap();
    let mut decoder = Decoder::new(table_bytes);
    if table_bytes > 0 {
        let capacity = crate::support::prefixed(table_bytes, 5, 0x20);
        decoder.receive(&capacity).unwrap();
    }
    let lists = decode(&mut decoder, &file).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(lists == expected, "{}", path.display());
}

#[test]
fn what_other_encoders_have_written_is_read_as_they_meant_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http3/corpus");
    let expected = lists(&std::fs::read_to_string(folder.join("netbsd.qif")).unwrap());
    let mut files = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if !path.ends_with("netbsd.qif") && !path.ends_with("LICENSE") {
            assert_read(&path, &expected);
            files += 1;
        }
    }
    assert_eq!(files, 12);
}

/// All files of the drafts whose format is that of the RFC, where somebody has them: `QIFS=DIRECTORY cargo test -- --ignored`.
#[test]
#[ignore = "needs the whole corpus"]
fn the_whole_corpus_is_read() {
    let corpus = std::env::var("QIFS").expect("the directory of qifs");
    let mut files = 0;
    for encoder in std::fs::read_dir(Path::new(&corpus).join("encoded/qpack-05")).unwrap() {
        let folder = encoder.unwrap().path();
        if !folder.is_dir() || folder.ends_with("examples") {
            continue;
        }
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
            let list = Path::new(&corpus).join("qifs").join(format!("{name}.qif"));
            assert_read(&path, &lists(&std::fs::read_to_string(list).unwrap()));
            files += 1;
        }
    }
    println!("{files} files");
}

#[test]
fn what_others_call_an_error_is_refused() {
    // The files err1 to err12 of the corpus but for err9 and err10, whose entries 0 and 62 are in the table of the RFC.
    let files = [
        "000000000000000100000001ff",
        "00000000000000010000000100",
        "00000000000000010000000200ff",
        "0000000000000001000000020081",
        "000000000000000100000003000041",
        "000000000000000100000003000027",
        "000000000000000100000004000051ff",
        "0000000000000001000000030000bf",
        "00000000000000000000000101",
        "000000000000000000000007ff80ffffffff01",
    ];
    for file in files {
        let read = decode(&mut Decoder::new(4096), &bytes(file));
        assert!(read.is_err(), "{file}: {read:?}");
    }
}
