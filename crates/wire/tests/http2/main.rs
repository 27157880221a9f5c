//! HTTP/2 as its RFCs have it: header compression (RFC 7541) and one connection of a client (RFC 9113).

mod bodies;
mod corpus;
mod counts;
mod differential;
mod endings;
mod grpc;
mod grpc_kept;
mod hostile;
mod hpack_examples;
#[path = "../support/refused_fields.rs"]
mod refused_fields;
mod requests;
mod responses;
mod splits;
mod support;
mod websockets;
