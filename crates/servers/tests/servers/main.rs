//! The forking servers: what they answer, in memory and as the real program over sockets. And the faults of `limit`, and
//! its HTTP/2, gRPC and HTTP/3.

mod answers;
mod cases;
mod clock;
mod connections;
mod events;
mod faults;
mod folder;
mod frames;
mod grpc;
mod http2;
mod http2_websocket;
mod http3;
mod limit_http2;
mod memory;
mod options;
mod pipelining;
mod process;
mod processes;
mod response;
mod splits;
mod streams;
mod websocket;
