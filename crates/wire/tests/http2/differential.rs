//! Other implementations of HPACK read what ours writes, and refuse what ours refuses.

use loadcurve_wire::h2::hpack::{Decoder, decode_huffman, encode_huffman};
use loadcurve_wire::{Exchange as _, Http2, Http2Settings};
use loadcurve_wire::{Hpack, Scheme};
use proptest::prelude::*;

use crate::support::{agreed_with, frames_of, request, template};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fn ours(decoder: &mut Decoder, block: &[u8]) -> Option<Fields> {
    let mut fields = Fields::new();
    let result = decoder.decode(block, |field| fields.push((field.name.to_vec(), field.value.to_vec())));
    result.ok().map(|()| fields)
}

fn fluke(decoder: &mut fluke_hpack::Decoder<'_>, block: &[u8]) -> Option<Fields> {
    decoder.decode(block).ok()
}

fn httlib(decoder: &mut httlib_hpack::Decoder<'_>, block: &[u8]) -> Option<Fields> {
    let mut fields = Vec::new();
    decoder.decode(&mut block.to_vec(), &mut fields).ok()?;
    Some(fields.into_iter().map(|(name, value, _)| (name, value)).collect())
}

/// Field lists whose names and values come again, as those of responses do.
fn lists() -> impl Strategy<Value = Vec<Fields>> {
    let name = prop_oneof![
        3 => prop::sample::select(vec!["server", "date", "content-type", "etag", "x-a", "x-b"]).prop_map(Vec::from),
        1 => prop::collection::vec(any::<u8>(), 1..20),
    ];
    let value = prop_oneof![
        3 => prop::sample::select(vec!["", "nginx", "text/html", "Mon, 21 Oct 2013 20:13:21 GMT"]).prop_map(Vec::from),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ];
    prop::collection::vec(prop::collection::vec((name, value), 0..8), 1..30)
}

proptest! {
    #[test]
    fn what_another_encoder_writes_is_read_as_it_was_meant(lists in lists()) {
        let mut encoder = fluke_hpack::Encoder::new();
        let mut decoder = Decoder::new(4096);
        for list in lists {
            let block = encoder.encode(list.iter().map(|(name, value)| (name.as_slice(), value.as_slice())));
            prop_assert_eq!(ours(&mut decoder, &block), Some(list));
        }
    }

    #[test]
    fn of_any_bytes_ours_and_another_decoder_read_the_same_fields(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..5),
    ) {
        let (mut decoder, mut other) = (Decoder::new(4096), fluke_hpack::Decoder::new());
        for block in blocks {
            let Some(fields) = ours(&mut decoder, &block) else { break };
            // The other one takes no change of size beyond its own limit, and ours none behind a field.
            if let Some(others) = fluke(&mut other, &block) {
                prop_assert_eq!(fields, others);
            } else {
                break;
            }
        }
    }

    #[test]
    fn the_huffman_code_is_that_of_another_implementation(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let (mut code, mut others) = (Vec::new(), Vec::new());
        encode_huffman(&bytes, &mut code);
        // Another encoder has the same string behind a literal's head.
        let flags = httlib_hpack::Encoder::HUFFMAN_VALUE;
        httlib_hpack::Encoder::default().encode((b"x".to_vec(), bytes.clone(), flags), &mut others).unwrap();
        prop_assert!(others.ends_with(&code));
        let mut decoded = Vec::new();
        decode_huffman(&code, &mut decoded).unwrap();
        prop_assert_eq!(decoded, bytes);
    }

    #[test]
    fn requests_are_read_by_others_as_by_us_in_every_mode_and_whatever_table_the_server_has(
        values in prop::collection::vec("[ -~]{0,40}", 1..12),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 1..30),
        table_bytes in prop_oneof![Just(0_u32), Just(100), Just(200), Just(4096), Just(65_536)],
        is_literal in any::<bool>(),
    ) {
        let hpack = if is_literal { Hpack::Literal } else { Hpack::Indexed };
        let settings = Http2Settings { hpack, scheme: Scheme::Https, ..Http2Settings::default() };
        let mut exchange: Http2 = agreed_with(1, &settings, &[(1, table_bytes)]);
        let names: Vec<String> = (0..values.len()).map(|number| format!("x-{number}")).collect();
        let values: Vec<&str> = values.iter().map(|value| value.trim()).collect();
        let templates: Vec<_> = names.iter().zip(&values).map(|(name, value)| {
            let headers = [(name.as_str(), *value), ("accept", "*/*")];
            template(&request("GET", &headers, b"")).unwrap()
        }).collect();
        let mut decoder = Decoder::new(4096.min(table_bytes as usize));
        let mut fluke_decoder = fluke_hpack::Decoder::new();
        let mut httlib_decoder = httlib_hpack::Decoder::default();
        for turn in turns {
            let number = turn.index(templates.len());
            let mut sent = Vec::new();
            exchange.begin(0, &templates[number], None, &mut sent);
            let frames = frames_of(&sent);
            exchange.cancel(0);
            let block = &frames[0].3;
            let expected: Fields = [
                (":method", "GET"), (":scheme", "https"), (":authority", "localhost:8080"), (":path", "/1k.txt"),
                (&names[number], values[number]), ("accept", "*/*"),
                ("user-agent", concat!("loadcurve/", env!("CARGO_PKG_VERSION"))),
            ].map(|(name, value)| (name.into(), value.into())).into();
            prop_assert_eq!(ours(&mut decoder, block), Some(expected.clone()));
            prop_assert_eq!(fluke(&mut fluke_decoder, block), Some(expected.clone()));
            prop_assert_eq!(httlib(&mut httlib_decoder, block), Some(expected));
        }
    }
}
