//! Calls over HTTP/2 in clear text.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use loadcurve_wire::{Exchange as _, Grpc, GrpcCalls, GrpcSettings};

use crate::talk::{Arrival, Blocks, TICK, Talk, Transport};
use crate::{Call, Failure};

pub(crate) struct Tcp {
    stream: TcpStream,
    fields: Fields,
}

impl Tcp {
    #[expect(clippy::disallowed_methods, reason = "a client by itself reads the clock")]
    pub(crate) fn talk<'a>(call: &'a Call<'a>, calls: GrpcCalls) -> Result<Talk<'a, Self>, Failure> {
        let started = Instant::now();
        let stream = TcpStream::connect(call.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TICK))?;
        let exchange = Grpc::new(1, &GrpcSettings { calls, ..GrpcSettings::default() });
        Ok(Talk::new(call, Self { stream, fields: Fields::default() }, exchange, started))
    }
}

impl Transport for Tcp {
    type Exchange = Grpc;

    fn send(&mut self, bytes: &[u8], (): ()) {
        // Where the server has closed the connection, that shows in what is read.
        let _ = self.stream.write_all(bytes);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Arrival<Self::Exchange>, Failure> {
        match self.stream.read(buffer) {
            Ok(read) => Ok(Some((read, ()))),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read_fields(&mut self, bytes: &[u8], _: &mut Grpc) {
        self.fields.read(bytes);
    }

    fn blocks(&self) -> &Blocks {
        &self.fields.blocks
    }
}

/// The header blocks of a connection with one stream.
#[derive(Default)]
struct Fields {
    frames: Vec<u8>,
    block: Vec<u8>,
    blocks: Blocks,
    decoder: Option<fluke_hpack::Decoder<'static>>,
}

impl Fields {
    fn read(&mut self, bytes: &[u8]) {
        const HEADERS: u8 = 1;
        const CONTINUATION: u8 = 9;
        const END_HEADERS: u8 = 4;
        self.frames.extend_from_slice(bytes);
        while let Some([high, middle, low, kind, flags, ..]) = self.frames.get(..9) {
            let (kind, flags) = (*kind, *flags);
            let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
            if self.frames.len() < 9 + length {
                return;
            }
            let frame: Vec<u8> = self.frames.drain(..9 + length).skip(9).collect();
            if kind == HEADERS || kind == CONTINUATION {
                self.block.extend_from_slice(fragment(&frame, if kind == HEADERS { flags } else { 0 }));
                if flags & END_HEADERS != 0 {
                    let block = std::mem::take(&mut self.block);
                    self.decode(&block);
                }
            }
        }
    }

    fn decode(&mut self, block: &[u8]) {
        let decoder = self.decoder.get_or_insert_with(fluke_hpack::Decoder::new);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if let Ok(fields) = decoder.decode(block) {
            self.blocks.push(fields.iter().map(|(name, value)| (text(name), text(value))).collect());
        }
    }
}

/// A frame of HEADERS without padding and priority (RFC 9113 §6.2).
fn fragment(frame: &[u8], flags: u8) -> &[u8] {
    const PADDED: u8 = 8;
    const PRIORITY: u8 = 32;
    let (mut first, mut end) = (0, frame.len());
    if flags & PADDED != 0 && !frame.is_empty() {
        (first, end) = (1, end.saturating_sub(usize::from(frame[0])));
    }
    if flags & PRIORITY != 0 {
        first += 5;
    }
    frame.get(first..end).unwrap_or_default()
}
