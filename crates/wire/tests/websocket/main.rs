//! One connection's end of WebSocket: its handshake, its messages and how it ends, whatever the server does.

mod answer_ids;
mod closing;
mod compression;
mod fan_out;
mod frames;
mod handshake;
mod hostile;
mod messages;
mod splits;
mod support;
