//! Whatever a server sends on the streams of HTTP/3, and however that is split: reading it does not panic, the split changes
//! nothing, every request ends at most once, and no more is sent than what was received accounts for.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; then come chunks. The first byte of each says
//! on which stream it is and whether that ends behind it, the second one how long it is.

#![cfg_attr(fuzzing, no_main)]

use loadcurve_fuzz::target;
use loadcurve_wire::h3::Incoming;
use loadcurve_wire::{
    Body, Event, GrpcCalls, Http3, Http3Settings, Http3Template, Malformed, Method, Request, Response,
    Target, Version,
};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

const REQUESTS: usize = 5;
/// The unidirectional streams of the server.
const INCOMING: [u64; 3] = [3, 7, 11];

/// The place of that of the encoder among them.
const ENCODER: usize = 1;

/// Everything that one connection brings.
#[derive(Debug, PartialEq)]
struct Outcome {
    ends: Vec<Event>,
    malformed: Option<Malformed>,
    /// What is sent on a connection that is not malformed, its bytes sorted.
    output: Vec<u8>,
}

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    let whole = read(bytes, [0; PIECE_LENGTHS]);
    assert_eq!(read(bytes, *piece_lengths), whole);
    assert_eq!(read(bytes, [1; PIECE_LENGTHS]), whole);
    // An acknowledgement is not longer than what it is about, and that of a request given up has a few bytes.
    assert!(whole.output.len() <= 2 * bytes.len() + 10 * REQUESTS);
});

/// A connection, and what its transport holds of the streams.
struct Connection {
    http3: Http3,
    /// What was not consumed of an answer, and whether its stream has ended.
    held: [(Vec<u8>, bool); REQUESTS],
    is_closed: [bool; INCOMING.len()],
    open: [bool; REQUESTS],
    ends: Vec<Event>,
}

fn read(bytes: &[u8], piece_lengths: [u8; PIECE_LENGTHS]) -> Outcome {
    let settings = Http3Settings {
        header_bytes: 300,
        table_bytes: 200,
        blocked_streams: 3,
        calls: Some(GrpcCalls::default()),
    };
    let mut http3 = Http3::new(REQUESTS, &settings);
    http3.open();
    for tag in 0..REQUESTS {
        let request = Request {
            version: Version::Http11,
            method: Method::new(["GET", "HEAD", "POST"][tag % 3]).expect("it is a token"),
            target: Target::Fixed("/"),
            authority: "localhost",
            headers: &[],
            body: Body::Bytes(b""),
            is_chunked: false,
        };
        let template = Http3Template::new(&request).expect("it is sound");
        http3.begin(tag, 4 * tag as u64, &template, None, &mut Vec::new());
    }
    let mut connection = Connection {
        http3,
        held: Default::default(),
        is_closed: [false; INCOMING.len()],
        open: [true; REQUESTS],
        ends: Vec::new(),
    };
    let malformed = connection.chunks(bytes, piece_lengths).err();
    // Announced before the fault, if there is one, and seen between two pieces or now.
    connection.moves();
    connection.ends.sort_by_key(Event::tag);
    let mut output = Vec::new();
    if let Some(error) = malformed {
        assert!(!error.to_string().is_empty());
    } else {
        connection.http3.write_decoder_stream(&mut output);
        assert!(!connection.http3.has_decoder_output());
        // Two announcements of the end in one piece give up in another order what both move.
        output.sort_unstable();
    }
    Outcome { ends: connection.ends, malformed, output }
}

impl Connection {
    fn chunks(&mut self, bytes: &[u8], piece_lengths: [u8; PIECE_LENGTHS]) -> Result<(), Malformed> {
        let mut rest = bytes;
        while let Some((&[stream, length], behind)) = rest.split_first_chunk() {
            let (chunk, next) = behind.split_at(usize::from(length).min(behind.len()));
            rest = next;
            let (stream, is_end) = (usize::from(stream & 7), stream & 0x80 != 0);
            // Which entries are left when a section is read depends on when those of the encoder come: the target `qpack` cuts
            // its stream.
            let piece_lengths = if stream == ENCODER { [0; PIECE_LENGTHS] } else { piece_lengths };
            for piece in pieces(chunk, piece_lengths) {
                self.piece(stream, piece, false)?;
            }
            if is_end {
                self.piece(stream, &[], true)?;
            }
        }
        Ok(())
    }

    fn piece(&mut self, stream: usize, piece: &[u8], is_end: bool) -> Result<(), Malformed> {
        if let Some(id) = INCOMING.get(stream) {
            if !self.is_closed[stream] {
                let incoming = self.http3.receive_incoming(*id, piece, is_end)?;
                self.is_closed[stream] = is_end || incoming == Incoming::Unwanted;
            }
        } else {
            let tag = stream - INCOMING.len();
            let (held, has_ended) = &mut self.held[tag];
            if !*has_ended {
                held.extend_from_slice(piece);
                *has_ended = is_end;
                self.answer(tag)?;
            }
        }
        while let Some(tag) = self.http3.next_unblocked() {
            self.answer(tag)?;
        }
        self.moves();
        Ok(())
    }

    fn moves(&mut self) {
        while let Some(tag) = self.http3.next_moved() {
            self.end(Event::Moved(tag));
        }
    }

    /// Reads what is held of an answer.
    fn answer(&mut self, tag: usize) -> Result<(), Malformed> {
        loop {
            let (held, has_ended) = &mut self.held[tag];
            let received = self.http3.receive(tag, held, *has_ended)?;
            held.drain(..received.consumed);
            match received.event {
                None => return Ok(()),
                Some(Event::Begun(begun)) => assert_eq!(begun, tag),
                Some(event) => self.end(event),
            }
        }
    }

    /// Notes the end of a request, but for whether the connection stays, which a split may show earlier or later.
    fn end(&mut self, event: Event) {
        let tag = event.tag();
        assert!(std::mem::take(&mut self.open[tag]), "a request ends once");
        self.ends.push(match event {
            Event::Answered(tag, response) => Event::Answered(tag, Response { keep_alive: true, ..response }),
            event => event,
        });
    }
}
