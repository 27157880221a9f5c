//! HTTP/3 as its RFCs have it: frames and streams (RFC 9114) and field compression (RFC 9204).

mod allocations;
mod codes;
mod corpus;
mod examples;
mod grpc;
mod hostile;
#[path = "../support/refused_fields.rs"]
mod refused_fields;
mod requests;
mod responses;
mod splits;
mod streams;
mod support;
mod table;
