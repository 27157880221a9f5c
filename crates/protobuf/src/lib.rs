//! Messages of gRPC from JSON, by the schema that `.proto` files or a descriptor set have, without `protoc`.
//!
//! # Examples
//!
//! ```
//! use loadcurve_protobuf::Schema;
//!
//! let file = std::env::temp_dir().join("loadcurve-protobuf-example.proto");
//! std::fs::write(
//!     &file,
//!     "syntax = \"proto3\"; package h; message Who { string name = 1; }
//!      service Hello { rpc Say (Who) returns (Who); }",
//! )
//! .unwrap();
//! let schema = Schema::read(&file, &[]).unwrap();
//! let method = schema.method("/h.Hello/Say").unwrap();
//! assert_eq!(method.encode(r#"{"name": "x"}"#).unwrap(), b"\x0a\x01x");
//! ```

mod json;
mod names;
mod reflection;
mod schema;
mod set;

pub use reflection::{Answered, Question, ReflectedFile, answered};
pub use schema::{Method, Schema};
pub use set::of_files;
