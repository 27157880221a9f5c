//! Header blocks that other encoders have made (http2jp/hpack-test-case, MIT licence, see `corpus/LICENSE`).

use loadcurve_wire::h2::hpack::Decoder;

use crate::support::fields_of;

/// Reads every story of a folder: blocks in one context, each with its fields. A story is made with a table of up to this
/// size.
fn read_stories(folder: &str, table_bytes: usize) -> usize {
    let mut blocks = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let story: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut decoder = Decoder::new(table_bytes);
        for case in story["cases"].as_array().unwrap() {
            let wire = case["wire"].as_str().unwrap();
            let block: Vec<u8> = (0..wire.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&wire[at..at + 2], 16).unwrap())
                .collect();
            let expected: Vec<(String, String)> = case["headers"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|field| field.as_object().unwrap())
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect();
            assert_eq!(fields_of(&mut decoder, &block), expected, "{}: {}", path.display(), case["seqno"]);
            blocks += 1;
        }
    }
    blocks
}

#[test]
fn what_other_encoders_have_written_is_read_as_they_meant_it() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http2/corpus");
    let mut blocks = 0;
    for folder in std::fs::read_dir(corpus).unwrap() {
        let path = folder.unwrap().path();
        if path.is_dir() {
            // One of them uses a table that was agreed to be larger.
            let table_bytes = if path.ends_with("nghttp2-16384-4096") { 16_384 } else { 4096 };
            blocks += read_stories(path.to_str().unwrap(), table_bytes);
        }
    }
    assert!(blocks > 100, "{blocks} blocks");
}

/// The whole corpus, where somebody has it: `HPACK_TEST_CASE=DIRECTORY cargo test -- --ignored`.
#[test]
#[ignore = "needs the whole corpus"]
fn the_whole_corpus_is_read() {
    let corpus = std::env::var("HPACK_TEST_CASE").expect("the directory of hpack-test-case");
    let mut blocks = 0;
    for folder in std::fs::read_dir(corpus).unwrap() {
        let path = folder.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && !["raw-data", "util", ".git"].contains(&name.as_str()) {
            blocks += read_stories(path.to_str().unwrap(), 16_384);
        }
    }
    println!("{blocks} blocks");
}
