//! Field compression (QPACK, RFC 9204).
//!
//! The [`Decoder`] keeps the dynamic table that the peer fills on its encoder stream, says which field sections have to wait
//! for it, and acknowledges what it has read; what was used of the table is counted. What this side encodes refers to the
//! static table alone: a request is then the same bytes on every connection.

mod acknowledgements;
mod decoder;
mod encoder;
mod instruction;
mod static_table;

pub use crate::compression::Field;
pub use crate::error::QpackError;
pub use acknowledgements::AcknowledgementReader;
pub use decoder::{Decoder, QpackCounts, Section};
pub use encoder::{NO_ENTRIES, encode_field};

pub(crate) use encoder::encode_path;
