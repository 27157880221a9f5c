//! Calls over HTTP/3.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroUsize;
use std::time::Instant;

use loadcurve_plan::{Tls, Verify};
use loadcurve_quic::connection::Windows;
use loadcurve_quic::{Http3, Settings};
use loadcurve_tls::Client;
use loadcurve_wire::h3::frame::{FrameReader, Part};
use loadcurve_wire::h3::qpack::Decoder;
use loadcurve_wire::{DatagramBytes, Exchange as _, GrpcCalls};

use crate::talk::{Arrival, Blocks, TICK, Talk, Transport};
use crate::{Call, Failure};

const WINDOWS: Windows = Windows {
    stream_bytes: 1 << 20,
    connection_bytes: 1 << 20,
    unacknowledged_bytes: 1 << 20,
    requests: 100,
    idle: None,
};
const HEADERS: u64 = 1;

pub(crate) struct Udp {
    socket: UdpSocket,
    frames: FrameReader,
    decoder: Decoder,
    blocks: Blocks,
}

impl Udp {
    #[expect(clippy::disallowed_methods, reason = "a client by itself reads the clock")]
    pub(crate) fn talk<'a>(call: &'a Call<'a>, calls: GrpcCalls) -> Result<Talk<'a, Self>, Failure> {
        let started = Instant::now();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(call.address)?;
        socket.set_read_timeout(Some(TICK))?;
        let (name, _) = call.address.rsplit_once(':').ok_or("the address has no port")?;
        let tls = Tls { verify: Verify::None, ..Tls::of(name) };
        let client = Client::new(&tls, 1, "h3", true).map_err(|invalid| invalid.to_string())?;
        let settings = Settings::new(client, &WINDOWS, started).calling(calls);
        let exchange = Http3::new(1, &settings);
        // The server's encoder is offered a table, and does without it.
        let (frames, decoder, blocks) = (FrameReader::default(), Decoder::new(0), vec![]);
        Ok(Talk::new(call, Self { socket, frames, decoder, blocks }, exchange, started))
    }
}

impl Transport for Udp {
    type Exchange = Http3;

    fn send(&mut self, bytes: &[u8], cut: DatagramBytes) {
        for datagram in bytes.chunks(cut.0.map_or(bytes.len(), NonZeroUsize::get).max(1)) {
            // What is lost is sent again.
            let _ = self.socket.send(datagram);
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Arrival<Self::Exchange>, Failure> {
        match self.socket.recv(buffer) {
            Ok(read) => Ok((read > 0).then_some((read, DatagramBytes::default()))),
            // Nobody is at the port, perhaps any more: QUIC does not trust that (RFC 9000 §10).
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read_fields(&mut self, _: &[u8], exchange: &mut Http3) {
        let observed = exchange.take_observed();
        let mut rest = &observed[..];
        while !rest.is_empty() {
            let (read, part) = self.frames.next(rest);
            let mut block = None;
            match part {
                Some(Part::Whole(_, section)) => block = Some(fields_of(&mut self.decoder, section)),
                Some(Part::Header(header, _)) if header.kind == HEADERS => self.frames.keep(header),
                _ => {}
            }
            self.blocks.extend(block);
            rest = &rest[read..];
        }
    }

    fn blocks(&self) -> &Blocks {
        &self.blocks
    }
}

fn fields_of(decoder: &mut Decoder, section: &[u8]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut fields = vec![];
    // What is no section the exchange refuses.
    let _ = decoder.decode(0, section, |field| fields.push((text(field.name), text(field.value))));
    fields
}
